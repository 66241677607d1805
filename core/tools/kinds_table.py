"""The table of model types in core/README.md, from the formats themselves: `python -m core.tools.kinds_table` writes it, a test compares.

A row has a `model_type`, a model of it, what is shown, and the names in config.json of what is not computed.
"""

from __future__ import annotations

from pathlib import Path

from core.checkpoints.foreign import UNREAD, formats

README = Path(__file__).parents[1] / "README.md"
COMMAND = "kinds: python -m core.tools.kinds_table"
HEAD = "| Model type (`model_type`) | For example | What is shown | Refused, where config.json sets it otherwise |\n| --- | --- | --- | --- |\n"


def table() -> str:
    """Return the table as Markdown, a row per format.

    >>> [row.split(" | ")[0] for row in table().splitlines() if "`qwen3`" in row]
    ['| `qwen3`']
    """
    rows = ""
    for form in {form.model_type: form for form in formats().values()}.values():
        kinds = ", ".join(f"`{kind}`" for kind in form.kinds)
        switches = ", ".join(sorted({f"`{name}`" for row in form.fields for name in row.only}))
        rows += f"| {kinds} | {form.example} | {form.summary} | {switches} |\n"
    return HEAD + rows


def list_unread_types() -> str:
    """List the known model types that are not read, grouped by reason, as Markdown."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for kind, reason in UNREAD.items():
        by_reason.setdefault(reason, []).append(f"`{kind}`")
    return "".join(f"- {', '.join(kinds)}: {why} {remedy}\n" for (why, remedy), kinds in by_reason.items())


def with_part(document: str, command: str, text: str) -> str:
    """Return a document with the text between the mark that names a command and its end replaced.

    >>> with_part("a\\n<!-- b: c -->\\nold\\n<!-- /b -->\\nd", "b: c", "new\\n")
    'a\\n<!-- b: c -->\\nnew\\n<!-- /b -->\\nd'
    """
    begin, end = f"<!-- {command} -->\n", f"<!-- /{command.partition(':')[0]} -->\n"
    before, _, rest = document.partition(begin)
    return f"{before}{begin}{text}{end}{rest.partition(end)[2]}"


def updated(document: str) -> str:
    """Return the text of core/README.md, `document`, with its table made from the formats."""
    return with_part(document, COMMAND, f"{table()}\nKnown by name, and not read:\n\n{list_unread_types()}")


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
    print("wrote core/README.md")
