"""Reading the training sets: plain or xz-packed text and pairs, by name below one folder."""

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
class Reads:
    """A description of the texts of a training set, as help for typing one: their language, their kind, and the language of the output."""

    language: str
    kind: str
    writes: str = ""


BOOKS = Reads("English", "old children's books and everyday sentences")
PAGES = Reads("English", "pages of old books")
PAIRS = Reads("English", "short everyday sentences", writes="Spanish")


def find(data: Path, name: str) -> Path:
    """Return the path of `name` below `data`, as it is or with `.xz`. Raises InputError where there is neither."""
    for path in (data / name, data / f"{name}.xz"):
        if path.is_file():
            return path
    raise InputError(
        f"There is no {name}(.xz) in {data}.",
        "A recipe reads its training set from --data.",
        "Give the folder that holds it.",
    )


def lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 text, `.xz` unpacked on the way, line ends removed."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            yield line.rstrip("\r\n")


def english(data: Path) -> Iterator[str]:
    """Every line of the English training sets: what their tokenizers are learned from."""
    return (line for name in ENGLISH for line in lines(find(data, name)) if not line.startswith(NEW_TEXT))


def pairs(path: Path) -> list[tuple[str, str]]:
    """`source TAB target` a line."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(lines(path), 1):
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
