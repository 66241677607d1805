"""The command `python -m viz.languages extract` (or `compile`): catalogues brought up to date with the source, or compiled."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from viz.languages import FOLDER, extract

WIDTH = 0
"""Letters of a line in a catalogue: no limit, so that a changed word is one changed line."""
FIRST_DAY = datetime(2026, 11, 1, tzinfo=UTC)
"""The date in compiled files: today's would change them with every run."""


def main(argv: list[str]) -> int:
    """Run the command; return its exit status."""
    if argv not in (["extract"], ["compile"]):
        print("python -m viz.languages extract | compile", file=sys.stderr)
        return 2
    for file in sorted(FOLDER.glob("*.po")):
        if argv == ["extract"]:
            file.write_bytes(updated(file))
        file.with_suffix(".mo").write_bytes(compiled(file))
        print(file.name)
    return 0


def updated(file: Path) -> bytes:
    """Return a catalogue with the messages of the source, below its own head: new ones are empty, those that are gone are left out."""
    from babel.messages.catalog import Catalog  # here, for the app needs no Babel
    from babel.messages.pofile import read_po, write_po

    with file.open("rb") as stored:
        old = read_po(stored)
    new = Catalog(locale=file.stem)
    for text, message in extract.messages().items():
        before = old.get(text)
        string = before.string if before else ""
        if message.plural and isinstance(string, str):
            string = (string,) * old.num_plurals
        key = (text, message.plural) if message.plural else text
        new.add(key, string, locations=[(name, 1) for name in message.files])
    written = BytesIO()
    write_po(written, new, width=WIDTH, omit_header=True, include_lineno=False)
    head = file.read_bytes().partition(b"\n\n")[0].rstrip(b"\n")
    return head + b"\n\n" + written.getvalue()


def compiled(file: Path) -> bytes:
    """Return the compiled catalogue, as gettext reads it."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with file.open("rb") as stored:
        catalogue = read_po(stored)
    catalogue.creation_date = FIRST_DAY
    written = BytesIO()
    write_mo(written, catalogue)
    return written.getvalue()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
