"""Which exhibit shows which entry of the errata, read from the exhibits' own source: whoever names "E1" shows it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from viz import pages
from viz.pages import Entry, Exhibit

NAME = re.compile(r"E[1-9][0-9]?")
PACKAGE = "viz.exhibits"


@functools.cache
def places() -> dict[str, tuple[Entry, ...]]:
    """The exhibits that show an entry, by its id, in the order of the course."""
    found: dict[str, list[Entry]] = {}
    for entry in pages.discover():
        if isinstance(entry.info, Exhibit):
            for id in named(entry.file):
                found.setdefault(id, []).append(entry)
    return {id: tuple(entries) for id, entries in found.items()}


def named(file: Path) -> set[str]:
    """The ids that a file, or a part of it in the same folder, gives to a function call."""
    seen: set[Path] = set()
    return set(_ids(file, seen))


def _ids(file: Path, seen: set[Path]) -> Iterator[str]:
    if file in seen or not file.exists():
        return
    seen.add(file)
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            given = (part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str))
            yield from (text for text in given if NAME.fullmatch(text))
        elif isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(f"{PACKAGE}."):
            inside = node.module.removeprefix(PACKAGE).lstrip(".")
            for name in [inside] if inside else [alias.name for alias in node.names]:
                if name.startswith("_"):
                    yield from _ids(file.parent / f"{name}.py", seen)
