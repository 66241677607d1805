"""A picture under a grid of cells, each shaded by its weight: patches of a Vision Transformer, cells of a captioner, frames of a sound.

Where `rows` are named, each is a word (or a letter) that was written: choosing one shades the cells by its row, and one small
picture for each word shows all rows at once. Where they are not, the cells are queries, too: a click chooses the one that
looks, and Python hears of it. A key that is no place of the picture, such as a class token, is drawn beside it.

A cell's colour is that of its weight: the picture is blended with it, darker than paper on a light ground (multiplied), lighter than
black on a dark one (screened), so that ground of weight w has exactly the colour of w in the scale; what is drawn on it is a little fainter than it was, so that its colour is seen, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, latest, nothing
from viz.instruments.kit.head_stack import HeadContext
from viz.instruments.kit.payload import OVERHEAD, Layer, Packet, as_allowed, as_matrix, labels
from viz.instruments.kit.spec import Spec, as_function
from viz.instruments.words.words import READING, Sentences
from viz.languages import _, mark

PICTURE = Instrument("attention_atlas_picture", "picture/picture")
MOST_CELLS = 1024
MOST_PIXELS = 1_000_000
GROUNDS = ("dark", "light")
SCALES = ("weight", "difference")
FORMS = ("one", "all")
FIRST = (SCALES[0], FORMS[0])
"""The scale and the form of a page that names none."""
DIFFERS = mark(
    "At {word} the difference is largest for {key}: {percent}. All differences of this row, added up without their signs: {total}."
)
"""The sentence on a row of differences."""
DESCRIBING = Sentences(
    spreads="Writing {word}, this head spreads its attention: 90% of it falls on {count} cells, most on {key} ({percent})."
)
"""Sentences where a word, or a letter, is written from a picture or a sound."""
LOOKING = Sentences(
    looks="In this head, {word} gives {percent} of its attention to {key}.",
    two="In this head, {word} gives {percent} of its attention to {key} and {percent2} to {key2}.",
    spreads=(
        "In this head, {word} spreads its attention: 90% of it falls on {count} cells, most on {key} ({percent})."
    ),
    itself="In this head, {word} gives {percent} of its attention to itself.",
    only="In this head, {word} may attend to {key} only: {percent}.",
    shut="For {word}, every key is masked in this head.",
    broken="For {word}, this row of the tensor holds a number that is not finite.",
    unwritten=READING.unwritten,
    key="Most attention to {key} comes from {word}: {percent}.",
    unseen="{key} gets hardly any attention: most from {word}, {percent}.",
    empty="There are no cells to look at yet.",
)
"""Sentences where cells of one picture attend to each other."""


@dataclass(frozen=True)
class Looks:
    """The row of weights that the visitor chose, None before any choice."""

    query: int | None


@dataclass(frozen=True, eq=False)
class PictureView(Spec):
    """Weights over the cells of a picture.

    pixels: (row column) grey or (row column 3) red, green, blue, whole numbers from 0 to 255.
    weights: (query, key). keys are the `special` ones, then the cells row after row; `cells` is (rows, columns) of them.
    rows: the queries by name, words that were written; None where keys are the queries.
    special: names of keys that are no place of the picture, such as "class token"; they come first.
    called: a name for each cell, as "0.12 s"; without them a cell is named by its row and column, counted from 1.
    selected: the row that is chosen from the start; None: the first.
    ground: "dark" or "light", what most of the picture is; None: measured.
    limit: the weight at the end of the scale; None takes the largest on any cell. Pictures to compare get one limit.
    scale: "weight", or "difference" (centred on 0, from -limit to limit), whose colours are those of the page, the picture drawn on them.
    form: "one" row at a time, or "all" the rows that are named, each a small picture; the visitor turns it.
    subject: the subject of the sentences ("the model" where there are no heads). height: the largest height of the picture.
    among: all heads of this kind, `weights` among them: another one that is chosen in the grid of the group is then drawn without asking
        Python. titled: the title then, {head} is its name.
    names: what the queries and the picture are called. hint: what one can do here, not saved. url: a parameter that follows the choices.

    Raises ValueError naming both numbers when pixels, weights and names do not fit.

    Example:
        >>> shown = PictureView(np.zeros((4, 4)), [[0.7, 0.1, 0.1, 0.1]], (2, 2), rows=["a cat"])
        >>> shown.packet().header["ground"], shown.packet().header["limit"], shown.packet().header["keys"][3]
        ('dark', 0.7, 'row 2, column 2')
        >>> picture_view(pixels, attention[3, 1], (7, 7), special=["class token"], key="p").query    # doctest: +SKIP
        0
    """

    pixels: ArrayLike
    weights: ArrayLike
    cells: tuple[int, int]
    _: KW_ONLY
    rows: Sequence[str] | None = None
    special: Sequence[str] = ()
    called: Sequence[str] | None = None
    allowed: ArrayLike | None = None
    selected: int | None = None
    ground: str | None = None
    limit: float | None = None
    scale: str = "weight"
    form: str = "one"
    say: Sentences | None = None
    subject: str = ""
    names: tuple[str, str] = ("", "")
    title: str = ""
    hint: str = ""
    group: str = ""
    among: HeadContext | None = None
    titled: str = "{head}"
    url: str | None = None
    height: int | None = None

    def show(self) -> Looks:
        """Draw it in the page."""
        chosen, echo = latest(
            self.key, "query", None if self.selected is None else (self.selected,), np.shape(self.weights)[:1]
        )
        query = chosen[0] if chosen else None
        packet = replace(self, selected=query).packet()
        packet.header["echo"] = echo
        PICTURE.show(packet, key=self.key, on_query_change=nothing)
        return Looks(query)

    def packet(self) -> Packet:
        image = _bytes(self.pixels)
        matrix = as_matrix(self.weights)
        keys = [*self.special, *self._cells()]
        asking = self.rows is not None
        queries = labels(self.rows, matrix.shape[0], "query") if self.rows is not None else None
        named = labels(keys, matrix.shape[1], "key")
        if not asking and matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"{matrix.shape[0]} queries and {matrix.shape[1]} keys are not the same cells: name the queries, rows=[...]"
            )
        for name, value, some in (("scale", self.scale, SCALES), ("form", self.form, FORMS)):
            if value not in some:
                raise ValueError(f"{name}={value!r}; there are {', '.join(some)}")
        may = as_allowed(self.allowed, matrix.shape)
        say = self.say or (DESCRIBING if asking else LOOKING)
        packet = Packet(
            {
                "image": list(image.shape),
                "ground": self._ground(image),
                "cells": list(self.cells),
                "asks": queries,
                "keys": named,
                "special": len(self.special),
                "selected": self._start(matrix.shape[0]),
                "limit": self._limit(matrix, may),
                "say": say.spoken(self.subject),
                "names": list(self.names),
                "place": self.key,
                "echo": None,
                **self.plain("title", "titled", "hint", "group", "url", "height", "python"),
                **{name: value for name, value in self.plain("scale", "form").items() if value not in FIRST},
            }
        )
        if self.scale == "difference":
            packet.header["say"] |= {"differs": _(DIFFERS)}
        packet.add("pixels", image.tobytes())
        shown = {"": Layer(matrix, 1.0, centred=self.scale == "difference")}
        if not self.among or self.among.stack.rough:
            packet.add_matrices(shown, may, spare=len(packet.to_bytes()) - image.size + OVERHEAD)
        if self.among:
            self.among.join(packet)
            self.among.holds(packet, shown, may)
        return packet

    def _cells(self) -> list[str]:
        down, across = self.cells
        if down < 1 or across < 1 or down * across > MOST_CELLS:
            raise ValueError(
                f"{down} by {across} cells; a picture has at least one and at most {MOST_CELLS:,}"
            )
        if self.called is not None:
            return labels(self.called, down * across, "cell")
        if down == 1:
            return [_("column {column}", column=c + 1) for c in range(across)]
        return [
            _("row {row}, column {column}", row=r + 1, column=c + 1)
            for r in range(down)
            for c in range(across)
        ]

    def _ground(self, image: NDArray[np.uint8]) -> str:
        if self.ground is None:
            return GROUNDS[int(np.median(image) >= 128)]
        if self.ground not in GROUNDS:
            raise ValueError(f"ground={self.ground!r}; there are {', '.join(GROUNDS)}")
        return self.ground

    def _start(self, n: int) -> int | None:
        return min(max(int(self.selected or 0), 0), n - 1) if n else None

    def _limit(self, matrix: NDArray[np.float64], may: NDArray[np.bool_] | None) -> float:
        on_cells = (matrix if may is None else np.where(may, matrix, 0.0))[:, len(self.special) :]
        on_cells = np.abs(on_cells) if self.scale == "difference" else on_cells
        return float(self.limit or on_cells[np.isfinite(on_cells)].max(initial=0.0) or 1.0)


picture_packet = as_function(PictureView, PictureView.packet)
picture_view = as_function(PictureView, PictureView.show)


def _bytes(pixels: ArrayLike) -> NDArray[np.uint8]:
    """Return (row column) or (row column 3) as bytes. Raises ValueError for anything else."""
    image = np.asarray(pixels)
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3) or not image.size:
        raise ValueError(f"pixels of shape {image.shape}; a picture has (row, column) or (row, column, 3)")
    if image.size > MOST_PIXELS:
        raise ValueError(f"{image.size:,} numbers in a picture; it has at most {MOST_PIXELS:,}")
    whole = np.clip(np.nan_to_num(image), 0, 255).astype(np.uint8)
    if (whole != image).any():
        raise ValueError(
            f"pixels from {image.min():g} to {image.max():g}; they are whole numbers from 0 to 255"
        )
    return whole
