"""Sentences from assets/texts, as rows: those that pages offer and that heads are measured on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, overload

from core.data.home import assets
from core.errors import InputError
from core.text.words import words_in

FOLDER = assets("texts")
Links = Sequence[tuple[int, int]]
"""Pairs of words that belong together, each by its place: (word looked at, word that looks), of two texts (source word, written word)."""


@dataclass(frozen=True)
class Example:
    """A sentence; for translators with its translation and `links` from each source word to its target word, (source word, target word)."""

    text: str
    target: str | None = None
    links: Links = ()

    def __post_init__(self) -> None:
        _check(self.links, self.text, self.target or "")


@dataclass(frozen=True)
class Sentence:
    """A sentence for measuring heads; `links` are (word attended to, word that attends), and `copy_of` is the id of the sentence that it copies.

    >>> row = Sentence("quote-01", "quotes", '"Run!" cried Ruth.', ((0, 3),), "", "")
    >>> row.links_by_run_word(("START", '"', "Run", '!"', "cried", "Ruth", "."))
    ((1, 3),)
    """

    id: str
    group: str
    text: str
    links: Links
    copy_of: str
    note: str

    def __post_init__(self) -> None:
        _check(self.links, self.text, self.text)

    def links_by_run_word(self, words: Sequence[str]) -> Links:
        """Translate the links into indices of the `words` of a run, each (word attended to, word that attends).

        A word of the run may cover several words of the sentence, as `."` does, or none, as [CLS] does.

        Raises ValueError where words are missing, as of a tokenizer that drops what it does not know.
        """
        if not self.links:
            return ()
        place = _places(self.text, words)
        return tuple((place[seen], place[looking]) for seen, looking in self.links)


@dataclass(frozen=True)
class Preset:
    """A sentence that a page offers; `second` is its translation, masked word, next word or second text, and `cites` are keys of sources.

    `also` holds what is as good as `second`; whether a model does either is judged by `core.analysis.preset_checks`.
    """

    kind: str
    task: str
    text: str
    second: str
    also: tuple[str, ...]
    cites: tuple[str, ...]
    note: str

    @property
    def answers(self) -> tuple[str, ...]:
        """Return all right answers; none where the sentence only shows attention."""
        return (self.second, *self.also) if self.second else ()


@dataclass(frozen=True)
class Neighbors:
    """Two sentences on one subject, and whether the second follows the first in the text."""

    first: str
    second: str
    follows: bool
    subject: str
    note: str


@dataclass(frozen=True)
class WordPair:
    """Two words with the relation of their group, such as king and queen."""

    group: str
    first: str
    second: str


@dataclass(frozen=True)
class Concept:
    """A thing and its name in five languages, with the article where a dictionary gives one."""

    english: str
    spanish: str
    french: str
    german: str
    persian: str


FILES: dict[str, tuple[str, type]] = {
    "battery": ("battery.tsv", Sentence),
    "presets": ("presets.tsv", Preset),
    "pairs_next": ("pairs_next.tsv", Neighbors),
    "word_pairs": ("word_pairs.tsv", WordPair),
    "concepts": ("concepts.tsv", Concept),
    "head_maps": ("head_maps.txt", Example),
    "heads_en": ("heads_en.txt", Example),
    "heads_en-es": ("heads_en-es.tsv", Example),
}
HEADED = (Sentence, Preset, Neighbors, WordPair, Concept)


@overload
def texts(name: Literal["battery"]) -> tuple[Sentence, ...]: ...
@overload
def texts(name: Literal["presets"]) -> tuple[Preset, ...]: ...
@overload
def texts(name: Literal["pairs_next"]) -> tuple[Neighbors, ...]: ...
@overload
def texts(name: Literal["word_pairs"]) -> tuple[WordPair, ...]: ...
@overload
def texts(name: Literal["concepts"]) -> tuple[Concept, ...]: ...
@overload
def texts(name: Literal["head_maps", "heads_en", "heads_en-es"]) -> tuple[Example, ...]: ...
@cache
def texts(name: str) -> tuple[Any, ...]:
    """Return all rows of one file of assets/texts, in its order. assets/texts/README.md describes the files.

    >>> texts("heads_en-es")[0]
    Example(text='She has a white car.', target='Ella tiene un auto blanco.', links=((0, 0), (1, 1), (2, 2), (4, 3), (3, 4)))

    Raises InputError for another name, and for a damaged file.
    """
    if name not in FILES:
        raise InputError(
            f"There are no texts called {name!r}.", f"There are {', '.join(FILES)}.", "Take one of these."
        )
    file, row = FILES[name]
    return tuple(read(FOLDER / file, row))


def read(path: Path, row: type) -> Iterator[Any]:
    """Yield the rows of one file: tab-separated cells in the order of the fields of `row`, or in a .txt the text alone.
    Raises InputError that names the file and the line.
    """
    again = "Take the file from the repository again."
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path.name} cannot be read: {error}.", "Our sentences are UTF-8 files in assets/texts.", again
        ) from None
    columns = ["text"] if path.suffix == ".txt" else [field.name for field in fields(row)]
    head = row in HEADED
    if head and lines[:1] != ["\t".join(columns)]:
        raise InputError(
            f"The first line of {path.name} is {''.join(lines[:1])[:60]!r}.",
            f"It names the columns: {', '.join(columns)}.",
            again,
        )
    for number, line in enumerate(lines[head:], 1 + head):
        cells = line.split("\t")
        if len(cells) != len(columns) or not cells[0].strip():
            raise InputError(
                f"Line {number} of {path.name} has {len(cells)} cells: {line[:60]!r}.",
                f"A line has {len(columns)}, with tabs between and the first not empty: {', '.join(columns)}.",
                again,
            )
        try:
            yield row(*(CELLS.get(name, str)(cell) for name, cell in zip(columns, cells, strict=True)))
        except ValueError as error:
            raise InputError(
                f"Line {number} of {path.name} is damaged: {error}.",
                "Cells are as assets/texts/README.md says.",
                again,
            ) from None


def _links(cell: str) -> Links:
    return tuple((int(seen), int(looking)) for seen, looking in (link.split("-") for link in cell.split()))


def _flag(cell: str) -> bool:
    if cell not in ("0", "1"):
        raise ValueError(f"{cell!r} is neither 0 nor 1")
    return cell == "1"


CELLS: dict[str, Callable[[str], Any]] = {
    "links": _links,
    "follows": _flag,
    "cites": lambda cell: tuple(cell.split()),
    "also": lambda cell: tuple(filter(None, cell.split(" | "))),
}


def _check(links: Links, key_text: str, query_text: str) -> None:
    n_seen, n_looking = (len(words_in(text)) for text in (key_text, query_text))
    for link in links:
        if not (0 <= link[0] < n_seen and 0 <= link[1] < n_looking):
            raise ValueError(f"link {link[0]}-{link[1]} points at a word that is not there")


def _places(text: str, words: Sequence[str]) -> list[int]:
    """Return for each word of the text the index in `words` of the word that covers it."""
    found: list[int] = []
    at = 0
    for place, word in enumerate(words):
        begin = at + len(text[at:]) - len(text[at:].lstrip())
        if word.strip() and text.startswith(word, begin):
            at = begin + len(word)
            found.extend([place] * (len(words_in(text[:at])) - len(found)))
    if len(found) != len(words_in(text)):
        raise ValueError(f"these are not the words of {text!r}: {list(words)}")
    return found
