"""The command `python -m viz.languages extract` (or `compile`): catalogues brought up to date with the source, or compiled.

A language is a folder with one catalogue for each package, `es/course_why.po`, so that who translates sees one place of the app.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from viz.languages import FOLDER, extract

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

WIDTH = 0
"""Letters of a line in a catalogue: no limit, so that a changed word is one changed line."""
HEAD = "head.txt"
"""The file in the folder of a language with the entry that each of its catalogues begins with: its plurals, its encoding."""
FIRST_DAY = datetime(2026, 11, 1, tzinfo=UTC)
"""The date in compiled files: today's would change them with every run."""


def main(argv: list[str]) -> int:
    """Run the command; return its exit status."""
    if argv not in (["extract"], ["compile"]):
        print("python -m viz.languages extract | compile", file=sys.stderr)
        return 2
    for folder in sorted(path for path in FOLDER.iterdir() if (path / HEAD).exists()):
        if argv == ["extract"]:
            update(folder)
        folder.with_suffix(".mo").write_bytes(compiled(folder))
        print(folder.name)
    return 0


def update(folder: Path) -> None:
    """Bring the catalogues of a language up to date with the source: new messages are empty, those that are gone are left out."""
    from babel.messages.catalog import Catalog  # here, for the app needs no Babel
    from babel.messages.pofile import write_po

    old = read(folder)
    parts: dict[str, Catalog] = {}
    for text, message in extract.messages().items():
        before = old.get(text)
        string = before.string if before else ""
        if message.plural and isinstance(string, str):
            string = (string,) * old.num_plurals
        key = (text, message.plural) if message.plural else text
        part = extract.part(message.files[0])
        names = [name for name in message.files if extract.part(name) == part]
        parts.setdefault(part, Catalog(locale=folder.name)).add(
            key, string, locations=[(name, 1) for name in names]
        )
    for file in folder.glob("*.po"):
        if file.stem not in parts:
            file.unlink()
    for part, catalogue in parts.items():
        written = BytesIO()
        write_po(written, catalogue, width=WIDTH, omit_header=True, include_lineno=False)
        (folder / f"{part}.po").write_bytes(written.getvalue())


def read(folder: Path) -> Catalog:
    """Return all messages of a language, of all its files; of a message in two of them the first translation counts."""
    from babel.messages.pofile import read_po

    head = (folder / HEAD).read_bytes()
    together = read_po(BytesIO(head))
    for file in sorted(folder.glob("*.po")):
        for message in read_po(BytesIO(head + b"\n" + file.read_bytes())):
            before = together.get(message.id)
            if message.id and not (before and before.string):
                together[message.id] = message
    return together


def compiled(folder: Path) -> bytes:
    """Return the compiled catalogue of a language, as gettext reads it."""
    from babel.messages.mofile import write_mo

    catalogue = read(folder)
    catalogue.creation_date = FIRST_DAY
    written = BytesIO()
    write_mo(written, catalogue)
    return written.getvalue()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
