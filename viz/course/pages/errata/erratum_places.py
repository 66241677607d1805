"""The exhibits that show each entry of the errata, read from their source: a call with "E1" shows E1."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from viz import exhibit_text as texts
from viz.shell import pages
from viz.shell.pages import Entry, ExhibitInfo

NAME = re.compile(r"E[1-9][0-9]?")
COURSE = "viz.course"


@functools.cache
def places() -> dict[str, tuple[Entry, ...]]:
    """Return the exhibits that show an entry, by its id, in the order of the course."""
    found: dict[str, list[Entry]] = {}
    for entry in pages.discover():
        if isinstance(entry.info, ExhibitInfo):
            for id in dict.fromkeys((*_declared(entry.file), *sorted(errata_ids(entry.file)))):
                found.setdefault(id, []).append(entry)
    return {id: tuple(entries) for id, entries in found.items()}


def _declared(file: Path) -> tuple[str, ...]:
    words = file.with_name("text.md")
    return texts.read(words).errata if words.exists() else ()


def errata_ids(file: Path) -> set[str]:
    """Return the ids that a file of the course, or a part of the course that it imports, gives to a function call."""
    found, seen, waiting = set[str](), set[Path](), [file]
    while waiting:
        if (at := waiting.pop()) not in seen:
            seen.add(at)
            ids, parts = _ids_and_imports(at)
            found |= ids
            waiting += parts
    return found


@functools.cache
def _ids_and_imports(file: Path) -> tuple[frozenset[str], tuple[Path, ...]]:
    """Return the ids that a file itself gives to calls, and the files of the course that it imports; most are parts of many exhibits."""
    ids, parts = set[str](), list[Path]()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))) if file.exists() else ():
        if isinstance(node, ast.Call):
            ids |= {
                part.value
                for part in node.args
                if isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and NAME.fullmatch(part.value)
            }
        elif isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(f"{COURSE}."):
            home = Path(*file.parts[: -_depth(file)])
            names = (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            parts += [home.joinpath(*name.split(".")).with_suffix(".py") for name in names]
    return frozenset(ids), tuple(parts)


def _depth(file: Path) -> int:
    """Return the depth of a file of the course below the root of the repository."""
    return len(file.parts) - file.parts.index(COURSE.partition(".")[0])
