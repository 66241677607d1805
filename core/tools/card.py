"""Write what is computed in a shipped model's card: `python -m core.tools.card NAME`.

Fills the places of assets/models/NAME/README.md (core/tools/card_template.py) from the files beside it, draws curve.svg, and
brings the manifest up to date; the prose stays. Where heads.json is missing, or of other weights, the heads are measured
first; where there is no card, one is begun.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.checkpoints import store
from core.errors import InputError
from core.tools.card_sections import CURVE, compute_places, picture
from core.tools.card_template import fill_places, make_place
from core.tools.survey import current_survey

UNWRITTEN = "(To be written.)"
HEADINGS = (
    ("", "What it is for.", ""),
    ("Architecture.", "What it follows, and where it does not.", "architecture"),
    ("Data.", "", ""),
    ("How.", "Optimiser, schedule, what happened on the way.", "training curve"),
    ("How well.", "The splits, and what the baselines are.", "scores"),
    ("Its heads.", "What is worth looking at.", "heads"),
    (
        "Samples.",
        "Ten unpicked and five chosen outputs; of a translator also ten everyday sentences of neither phrasebook nor training.",
        "",
    ),
    ("Weaknesses and biases.", "", ""),
)


def new_card(name: str, attribution: str) -> str:
    """Return a new card with every computed place, and a note where prose belongs."""
    parts = [f"# {name}\n"]
    for heading, hint, places in HEADINGS:
        words = attribution if heading == "Data." and attribution else f"{UNWRITTEN} {hint}".strip()
        parts.append(f"**{heading}** {words}\n" if heading else f"{words}\n")
        parts += [make_place(each) for each in places.split()]
    return "\n".join(parts)


def write_card(folder: Path) -> Path:
    """Write the card of a shipped model's folder and its curve, and return the card's path. Raises InputError for a folder that is no shipped model."""
    if not (folder / "config.json").is_file():
        raise InputError(
            f"There is no shipped model '{folder.name}'.",
            "Cards are those of assets/models.",
            "Check the name.",
        )
    current_survey(folder.name)
    card, svg = folder / "README.md", picture(folder)
    entry = store.read_manifest(folder.parent).get(folder.name)
    text = (
        card.read_text(encoding="utf-8")
        if card.is_file()
        else new_card(folder.name, entry.attribution if entry else "")
    )
    text = fill_places(text, compute_places(folder))
    if svg is not None:
        (folder / CURVE).write_text(svg, encoding="utf-8")
    card.write_text(text, encoding="utf-8")
    return card


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.tools.card", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    ask.add_argument("name", help="a shipped model")
    try:
        card = write_card(store.shipped_folder() / ask.parse_args(argv).name)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    store.write_manifest(store.shipped_folder())
    left = card.read_text(encoding="utf-8").count(UNWRITTEN)
    print(f"wrote {card.parent.name}/{card.name}" + (f"; {left} parts are to be written" if left else ""))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
