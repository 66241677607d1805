"""Measure every head of a shipped model, and of an untrained copy: `python -m core.tools.survey NAME`.

Writes heads.json beside the weights, from which pages and cards take what heads do, and brings the manifest up to date.
`python -m core.tools.card NAME` does this by itself where heads.json is missing or of other weights.
"""

from __future__ import annotations

import argparse
import sys

from core.analysis.heads.head_file import HeadMeasures, read_heads, write_heads
from core.analysis.heads.head_survey import survey_heads
from core.checkpoints import store
from core.errors import InputError
from core.training.recipe import SEED, recipes, untrained


def survey(name: str) -> HeadMeasures | None:
    """Measure a shipped model and write its heads.json; None for one that has no attention."""
    folder = store.shipped_folder() / name
    model = store.load_model(
        folder, name, shipped=True
    )  # no manifest asked: it is brought up to date when all is written
    if not model.spec.kinds_of(model.config):
        return None
    recipe = recipes().get(model.name)
    own = recipe.examples() if recipe else ()
    return write_heads(
        folder, survey_heads(model, own), survey_heads(untrained(model), own), SEED, own_items=bool(own)
    )


def current_survey(name: str) -> HeadMeasures | None:
    """Return heads.json if it belongs to the present weights, else measure now."""
    folder = store.shipped_folder() / name
    stored = read_heads(folder)
    return stored if stored is not None and stored.matches(folder) else survey(name)


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.tools.survey", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    ask.add_argument("name", help="a shipped model")
    name = ask.parse_args(argv).name
    try:
        result = survey(name)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    store.write_manifest(store.shipped_folder())
    for kind, heads in result.trained.items() if result else ():
        best = (
            f"{heads.label(*place)} L{place[0]}.H{place[1]} {heads.score(*place):.2f}"
            for place in heads.best_head_by_habit().values()
        )
        print(f"{kind:10} {'; '.join(best)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
