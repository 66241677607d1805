"""Readers of the training sets: text and tab-separated pairs, plain or xz-packed, found by name below one folder."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError

NEW_TEXT = "=== "
"""A line that begins so begins a new text, and is none of its lines."""
PROSE = ("prose_children/train_simple.txt", "prose_children/train_more.txt")
PROSE_VALID = "prose_children/valid.txt"
SENTENCES = "english_sentences/train.txt"
ENGLISH = (*PROSE, SENTENCES)


@dataclass(frozen=True)
class TextDescription:
    """A description of the texts of a training set, as help for typing one: their language, their kind, and the language of the output."""

    language: str
    kind: str
    writes: str = ""


BOOKS = TextDescription("English", "old children's books and everyday sentences")
PAGES = TextDescription("English", "pages of old books")
PAIRS = TextDescription("English", "short everyday sentences", writes="Spanish")


def find_file(data: Path, name: str) -> Path:
    """Return the path of `name` below the folder `data`, as it is or with `.xz` appended. Raises InputError where neither file exists."""
    for path in (data / name, data / f"{name}.xz"):
        if path.is_file():
            return path
    raise InputError(
        f"There is no {name}(.xz) in {data}.",
        "A recipe reads its training set from --data.",
        "Give the folder that holds it.",
    )


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 text without their line ends; a file that ends in `.xz` is unpacked while it is read."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            yield line.rstrip("\r\n")


def english_lines(data: Path) -> Iterator[str]:
    """Yield every line of the English training sets below the folder `data`, for learning a tokenizer from; headers of texts are left out."""
    return (
        line
        for name in ENGLISH
        for line in read_lines(find_file(data, name))
        if not line.startswith(NEW_TEXT)
    )


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the (source, target) pairs of a file with `source TAB target` lines; empty lines are skipped. Raises InputError for a line without both."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(path), 1):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) < 2 or not cells[0].strip() or not cells[1].strip():
            raise InputError(
                f"Line {number} of {path.name} has no source and target: {line[:60]!r}.",
                "A pair is 'source TAB target' on one line.",
                "Mend or delete that line.",
            )
        found.append((cells[0], cells[1]))
    return found
