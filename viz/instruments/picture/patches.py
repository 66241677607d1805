"""The attention of a model of patches, on the doodle that it read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from core.data import doodles
from core.data.patches import SPECIAL_TOKENS, PatchReader, with_hidden_mark, without_hidden_mark
from core.errors import InputError
from viz.instruments.picture.picture import PictureView
from viz.instruments.words.words import Sentences
from viz.languages import _, mark

if TYPE_CHECKING:
    from core.model import Model
    from core.run import Run

CALLED = {"class": mark("class token"), "distillation": mark("distillation token")}
"""Names in a picture for the tokens before the patches."""
SHARES = Sentences(
    looks="By {word}, {key} has {percent} of it.",
    two="By {word}, {key} has {percent} of it and {key2} {percent2}.",
    spreads="By {word}, 90% of it lies on {count} patches, most on {key} ({percent}).",
)
"""Sentences on the shares of a reading."""
SHIFTS = Sentences(
    looks="{word}: most at {key}, {percent} of the vector's length.",
    two="{word}: most at {key}, {percent} of the vector's length, and at {key2}, {percent2}.",
    spreads="{word}: most at {key}, {percent} of the vector's length; 90% of all of it at {count} patches.",
)
"""Sentences on how far vectors moved."""


def reads_patches(model: Model) -> bool:
    """Return whether a model reads a doodle, patch by patch.

    >>> import core
    >>> reads_patches(core.open_model("gpt-mini"))
    False
    """
    return isinstance(model.reader, PatchReader)


def patch_names(names: Sequence[str]) -> list[str]:
    """Name the tokens of patches for a picture.

    >>> patch_names(("class", "1,2", "1,2 hidden", "cat"))
    ['class token', 'row 1, column 2', 'row 1, column 2', 'cat']
    """
    places = (name.removesuffix(" hidden").split(",") for name in names)
    return [
        _("row {row}, column {column}", row=place[0], column=place[1])
        if len(place) == 2
        else _(CALLED[place[0]])
        if place[0] in CALLED
        else place[0]
        for place in places
    ]


def grid(run: Run) -> tuple[int, int] | None:
    """Return the numbers of rows and columns of the patches of a run; None for one that read no picture."""
    reader = run.model.reader
    if not isinstance(reader, PatchReader):
        return None
    side = reader.image // reader.patch
    return side, side


def first(model: Model) -> int:
    """Return the position of the first patch: tokens before it are no part of the picture."""
    reader = model.reader
    return reader.n_special if isinstance(reader, PatchReader) else 0


def pixels(run: Run) -> doodles.Pixels:
    """Return the drawing that a run read."""
    return doodles.from_text(without_hidden_mark(run.side.text))


def without_hiding(model: Model, text: str) -> str:
    """Return a doodle's text such that this model sees every patch: a model that hides some by itself gets an order to hide none. Other texts stay.

    Two models can be compared only on patches that both see.
    """
    reader = model.reader
    if not isinstance(reader, PatchReader) or not reader.share or without_hidden_mark(text) != text.strip():
        return text
    return with_hidden_mark(text, ())


def on_patches(run: Run, weights: ArrayLike, *, painted: Collection[int] = (), **options: Any) -> PictureView:
    """Return the picture of one head's weights (query, key) over the patches of the run's doodle, the class token and other tokens beside it; options as of `PictureView`.

    `painted` are places of patches that are drawn black: an edit painted them over. With `rows` they are numbers of anything that is named so, for each patch: a layer, a reading.
    Raises InputError for a run that read no picture.
    """
    cells = grid(run)
    if cells is None:
        raise InputError(
            "{model} reads no picture.",
            "Weights lie on a picture where its patches were read.",
            "Take a model of pictures, or give pixels, weights and cells.",
            model=run.model.name,
        )
    drawn = pixels(run).copy()
    high, wide = (size // n for size, n in zip(drawn.shape, cells, strict=True))
    begin = first(run.model)
    inside = (place - begin for place in painted if begin <= place < begin + cells[0] * cells[1])
    for row, column in (divmod(place, cells[1]) for place in inside):
        drawn[row * high : (row + 1) * high, column * wide : (column + 1) * wide] = 0
    return PictureView(
        drawn, weights, cells, special=patch_names(SPECIAL_TOKENS[:begin]), ground="dark", **options
    )
