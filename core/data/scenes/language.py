"""Scenes: coloured things in the cells of a grid, written as a short text, and the sentences that describe them.

`red cat 1,2; blue house 0,0` is a red cat in column 1, row 2 and a blue house in the corner; columns and rows count from
0, the corner is top left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InputError
from core.text.tokenizer import check_text

COLOURS = ("red", "green", "blue", "yellow", "purple", "black")
KINDS = ("cat", "house", "tree", "star", "boat", "heart", "circle", "square")
COUNTS = ("a", "two", "three")
RELATIONS = ("above", "below", "left of", "right of")
VERBS = ("is", "are")
GRID = 5
"""Cells on each side."""
EXAMPLE = "red cat 1,0; blue house 0,3; blue house 3,4"
_THING = re.compile(r"\s*([a-z]+)\s+([a-z]+)\s+(\d+)\s*,\s*(\d+)\s*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Thing:
    """A thing in a cell. `span` is its (start, end) in the text that it was read from."""

    colour: str
    kind: str
    column: int
    row: int
    span: tuple[int, int] = (0, 0)

    @classmethod
    def from_cell(cls, name: str, place: int, grid: int = GRID) -> Thing:
        """Make a thing from its name, "colour kind", and the index of its cell, counted row by row.

        >>> Thing.from_cell("red cat", 6)
        Thing(colour='red', kind='cat', column=1, row=1, span=(0, 0))
        """
        colour, kind = name.split()
        return cls(colour, kind, place % grid, place // grid)

    @property
    def name(self) -> str:
        return f"{self.colour} {self.kind}"

    def cell(self, grid: int = GRID) -> int:
        """Return the index of its cell, counted row by row."""
        return self.row * grid + self.column


Scene = tuple[Thing, ...]


def read(text: str, grid: int = GRID) -> Scene:
    """Parse the text of a scene into its things. Raises InputError that names the first part which cannot be read.

    >>> [thing.name for thing in read("red cat 1,2; blue house 0,0")]
    ['red cat', 'blue house']
    """
    check_text(text)
    found: dict[int, Thing] = {}
    start = 0
    for part in text.split(";"):
        if part.strip():
            thing = _thing(part, start, grid)
            if (there := found.get(thing.cell(grid))) is not None:
                raise InputError(
                    "Two things stand at {column},{row}: {name} and {name2}.",
                    "A cell holds one.",
                    "Move one of them.",
                    column=thing.column,
                    row=thing.row,
                    name=there.name,
                    name2=thing.name,
                )
            found[thing.cell(grid)] = thing
        start += len(part) + 1
    if not found:
        raise InputError(
            "The scene is empty.",
            "It needs at least one thing.",
            "Write {example!r}.",
            example=EXAMPLE,
        )
    return tuple(found.values())


def _thing(part: str, start: int, grid: int) -> Thing:
    shown = part.strip()[:40]
    match = _THING.fullmatch(part)
    if match is None:
        raise InputError(
            "'{shown}' is not a thing of a scene.",
            "Each is a colour, a kind and column,row, with a semicolon between two.",
            "Write for example red cat 1,2.",
            shown=shown,
        )
    colour, kind = match[1].lower(), match[2].lower()
    for word, known, what in ((colour, COLOURS, "colours"), (kind, KINDS, "kinds")):
        if word not in known:
            raise InputError(
                "'{word}' cannot be drawn.",
                "The {what} are {names}.",
                "Choose one of them.",
                word=word[:40],
                what=what,
                names=", ".join(known),
            )
    if len(match[3]) > 2 or len(match[4]) > 2 or max(int(match[3]), int(match[4])) >= grid:
        raise InputError(
            "'{shown}' stands outside.",
            "Columns and rows go from 0 to {most}.",
            "Move it inside.",
            shown=shown,
            most=grid - 1,
        )
    lead = len(part) - len(part.lstrip())
    return Thing(colour, kind, int(match[3]), int(match[4]), (start + lead, start + len(part.rstrip())))


def scene_text(scene: Sequence[Thing]) -> str:
    """Return the text of a scene, as `read` takes it.

    >>> scene_text(read("Red cat 1 , 2 ;blue house 0,0"))
    'red cat 1,2; blue house 0,0'
    """
    return "; ".join(f"{thing.name} {thing.column},{thing.row}" for thing in scene)


def groups(scene: Sequence[Thing]) -> list[list[Thing]]:
    """Group things of one colour and kind; smaller groups come first, equal ones in the order of their names.

    >>> [group[0].name for group in groups(read("red cat 0,0; blue star 1,0; black boat 2,0; red cat 3,0"))]
    ['black boat', 'blue star', 'red cat']
    """
    found: dict[str, list[Thing]] = {}
    for thing in scene:
        found.setdefault(thing.name, []).append(thing)
    return sorted(found.values(), key=lambda group: (len(group), group[0].name))


def offset(first: Sequence[Thing], second: Sequence[Thing]) -> tuple[float, float]:
    """Return (rows, columns) by which the centre of the second group is below, and to the right of, the centre of the first.

    >>> offset(read("red cat 1,0"), read("blue house 0,3; blue house 3,4"))
    (3.5, 0.5)
    """
    here, there = (
        [sum(getattr(thing, axis) for thing in group) for axis in ("row", "column")]
        for group in (first, second)
    )
    n, m = len(first), len(second)
    down, right = ((two * n - one * m) / (n * m) for one, two in zip(here, there, strict=True))
    return down, right


def relation(first: Sequence[Thing], second: Sequence[Thing]) -> str | None:
    """Return the relation of one group to another by their centres: above or below where these are at least as far apart
    in rows as in columns, else left or right; None where they are the same.

    >>> relation(read("red cat 1,0"), read("blue house 0,3; blue house 3,4"))
    'above'
    """
    down, right = offset(first, second)
    if not (down or right):
        return None
    vertical = abs(down) >= abs(right)
    return RELATIONS[(0 if vertical else 2) + ((down if vertical else right) < 0)]


def caption(scene: Sequence[Thing]) -> str | None:
    """Return the caption of a scene in the grammar; None for three groups, for more than three things alike, and for two groups with the same centre.

    >>> caption(read("red cat 1,0; blue house 0,3; blue house 3,4"))
    'a red cat is above two blue houses .'
    """
    found = groups(scene)
    if len(found) > 2 or any(len(group) > len(COUNTS) for group in found):
        return None
    said = [f"{COUNTS[len(group) - 1]} {group[0].name}{'s' if len(group) > 1 else ''}" for group in found]
    if len(found) == 2:
        way = relation(*found)
        if way is None:
            return None
        said.insert(1, f"{VERBS[len(found[0]) > 1]} {way}")
    return " ".join([*said, "."])


def named_things(scene: Sequence[Thing], words: Sequence[str]) -> list[list[Thing] | None]:
    """Return for each word of a caption the things that it names, where it is a noun and there are such things, else None.

    The nouns are in the order of `groups`: each is the first group of its kind that no earlier noun named.

    >>> [None if group is None else len(group) for group in named_things(read(EXAMPLE), "a red cat is above two blue houses".split())]
    [None, None, 1, None, None, None, None, 2]
    """
    left = groups(scene)
    found: list[list[Thing] | None] = []
    for place, word in enumerate(words):
        colour = words[place - 1] if place else ""
        fits = [group for group in left if word in (group[0].kind, group[0].kind + "s")]
        named = next((group for group in fits if group[0].colour == colour), fits[0] if fits else None)
        if named is not None:
            left = [group for group in left if group is not named]
        found.append(named)
    return found
