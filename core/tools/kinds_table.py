"""The table of kinds in README, from the formats themselves: `python -m core.tools.kinds_table` writes it, a test compares.

Of each kind: by which `model_type` it is known, a model that is of it, what is shown, and the names in config.json of what is not computed.
"""

from __future__ import annotations

from pathlib import Path

from core.checkpoints.foreign import UNREAD, formats

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- kinds: python -m core.tools.kinds_table -->\n", "<!-- /kinds -->\n"
HEAD = "| Kind (`model_type`) | For example | What is shown | Refused, where config.json sets it otherwise |\n| --- | --- | --- | --- |\n"


def table() -> str:
    """Return the table as Markdown, a row a format.

    >>> [row.split(" | ")[0] for row in table().splitlines() if "`qwen3`" in row]
    ['| `qwen3`']
    """
    rows = ""
    for form in {form.model_type: form for form in formats().values()}.values():
        kinds = ", ".join(f"`{kind}`" for kind in form.kinds)
        switches = ", ".join(sorted({f"`{name}`" for row in form.fields for name in row.only}))
        rows += f"| {kinds} | {form.like} | {form.shows} | {switches} |\n"
    return HEAD + rows


def refusals() -> str:
    """Return what is said of kinds that are known and not read, those of one reason together."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for kind, reason in UNREAD.items():
        by_reason.setdefault(reason, []).append(f"`{kind}`")
    return "".join(f"- {', '.join(kinds)}: {why} {remedy}\n" for (why, remedy), kinds in by_reason.items())


def written(text: str) -> str:
    """Return the README with today's table."""
    before, _, rest = text.partition(BEGIN)
    return (
        f"{before}{BEGIN}{table()}\nKnown by name, and not read:\n\n{refusals()}{END}{rest.partition(END)[2]}"
    )


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {README.name}")
