"""The table of shipped models in assets/README.md, from their cards and files: `python -m core.tools.models_table` writes it, a test compares.

A row has the first sentence of the card, the number of parameters, the size of the weights, and the main measures of scores.json;
below the table is what the models learned from, as the manifest has it.
"""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

from core.checkpoints.manifest import read_manifest, shipped_folder
from core.checkpoints.scores import MEASURES, Score, read_scores
from core.checkpoints.weights import SINGLE, find_weights
from core.tools.kinds_table import with_part

README = shipped_folder().parent / "README.md"
COMMAND = "models: python -m core.tools.models_table"
HEAD = "| model | what it is | parameters | weights | measured |\n| --- | --- | ---: | ---: | --- |\n"
TITLE, LAST = re.compile(r"# .+\n+"), re.compile(r"\.`?(?= [A-Z]|$)")


def table() -> str:
    """Return the table as Markdown, a row per model of the manifest.

    >>> [row.split(" | ")[2] for row in table().splitlines() if "[gpt-mini]" in row]
    ['5,918,720']
    """
    return HEAD + "".join(_row(shipped_folder() / name) for name in read_manifest(shipped_folder()))


def sources() -> str:
    """Return the training data as a list, one entry for all models with the same attribution."""
    models: dict[str, list[str]] = {}
    for name, entry in read_manifest(shipped_folder()).items():
        models.setdefault(entry.attribution, []).append(name)
    return "".join(f"- {', '.join(names)}: {attribution}\n" for attribution, names in models.items())


def first_sentence(card: str) -> str:
    """Return the first sentence under the title of a card, in one line.

    >>> first_sentence("# a\\n\\nReads a\\nstring. One of six.\\n")
    'Reads a string.'
    """
    paragraph = " ".join(TITLE.sub("", card, count=1).partition("\n\n")[0].split())
    end = LAST.search(paragraph)
    return paragraph[: end.end() if end else None]


def _row(folder: Path) -> str:
    card = (folder / "README.md").read_text(encoding="utf-8")
    n = sum(prod(entry.shape) for entry in find_weights(folder).scaled().entries.values())
    size = (folder / SINGLE).stat().st_size
    cells = (
        f"[{folder.name}](models/{folder.name}/README.md)",
        first_sentence(card),
        f"{n:,}",
        f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB",
        "; ".join(_measured(read_scores(folder), folder.name)),
    )
    return f"| {' | '.join(cells)} |\n"


def _measured(scores: tuple[Score, ...], name: str) -> list[str]:
    """Return the main measures of a model, each on the first of its splits."""
    own = {score.measure: score for score in reversed(scores) if score.subject == name}
    return [
        f"{how.words}: {how.number.format(own[measure].value)} ({own[measure].split})"
        for measure, how in MEASURES.items()
        if how.telling and measure in own
    ]


def updated(document: str) -> str:
    """Return assets/README.md with today's table and list."""
    return with_part(document, COMMAND, f"{table()}\nThey learned from:\n\n{sources()}")


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
    print("wrote assets/README.md")
