"""Letters compressed into p numbers, decoded in four styles; and the loss by the size of p."""

from __future__ import annotations

import numpy as np
import pandas as pd

from viz.course.exhibit import Folds
from viz.course.why.autoencoder import charts, compression, glyphs
from viz.course.why.autoencoder.params import SLUG, Params
from viz.course.why.autoencoder.words import equations, numbers
from viz.labels import percent
from viz.languages import _, mark
from viz.widgets import engine_client, exhibit_parts, page_parts

ENOUGH = 0.05
"""The share of the letters that may be lost in the last question."""
STYLES = {"plain": mark("plain"), "bold": mark("bold"), "slanted": mark("slanted"), "framed": mark("framed")}
"""The names of the decoders, as they are in the picture."""


def letters(params: Params, _data: object) -> Folds:
    """Draw a letter of 35 dots, p numbers, and the output of four decoders."""
    data, p = _squeezed(params), params.p
    page_parts.show(
        charts.boxes(
            (params.letter, data.entry.reshape(glyphs.ROWS, glyphs.COLUMNS), False),
            data.context,
            [(_(STYLES[style]), dots) for style, dots in data.exits.items()],
            limit=data.limit,
            height=400,
        ),
        f"{SLUG}.boxes",
        _(
            "The letter {letter} of 35 dots, {p} numbers, and what four decoders draw from them.",
            letter=params.letter,
            p=p,
        ),
    )
    made = data.exits["plain"]
    wrong = int(((made > 0.5) != (data.entry.reshape(made.shape) > 0.5)).sum())
    page_parts.summary(
        _(
            "With {numbers} {wrong} of the {letter}'s 35 dots come back wrong (above one half instead of below, or the reverse); of all 26 letters {share} is lost.",
            numbers=numbers(p),
            wrong=wrong,
            letter=params.letter,
            share=percent(data.lost_share, 2),
        )
    )

    def table() -> pd.DataFrame:
        return pd.DataFrame(made.round(3)).rename_axis(index="row", columns="column").rename(columns=str)

    return Folds(
        table,
        lambda: _arrays(data),
        code(params),
        more=lambda: equations(p, data.entry, data.context, data.lost_share),
    )


def loss_by_size(params: Params, _data: object) -> Folds:
    """Ask how many numbers the letters need, then draw the loss by the size of the context."""
    floor, n = compression.letter_data().floor(), len(glyphs.letters())
    enough = int((floor <= ENOUGH).argmax())
    told = exhibit_parts.predict_number(
        f"{SLUG}.size",
        _(
            "26 letters of 35 dots each. How many numbers must the context have so that at most {share} is lost?",
            share=percent(ENOUGH),
        ),
        1,
        35,
        enough,
        _(
            "With {fewer} numbers {fewer_lost} is lost, with {enough} {enough_lost}. With {most} nothing is lost: {n} points and their mean span {dimensions} dimensions at most. Far fewer are enough because letters are made of few strokes.",
            fewer=enough - 1,
            fewer_lost=percent(floor[enough - 1], 2),
            enough=enough,
            enough_lost=percent(floor[enough], 2),
            most=len(floor) - 1,
            n=n,
            dimensions=n - 1,
        ),
        near=2,
    )
    p, draw, data = params.p, params.draw, _squeezed(params)
    found = engine_client.submit((SLUG, "loss", p, draw), lambda: compression.loss(p, draw), 600)
    page_parts.show(
        charts.losses(
            {_(name): curve for name, curve in found.floors.items()}, found.learned, p, covered=not told
        ),
        f"{SLUG}.lost.{told}",
        _(
            "What is lost by the size of the context; with {p} numbers {share} of the letters.",
            p=p,
            share=percent(data.lost_share, 2),
        )
        if told
        else _("What is lost by the size of the context, still covered."),
    )
    course = found.course
    page_parts.summary(
        _(
            "With {numbers} the smallest possible loss of the letters is {share}; learned from a random start it is {first} after one step and {last} after {steps}.",
            numbers=numbers(p),
            share=percent(data.lost_share, 2),
            first=percent(course[0], 2),
            last=percent(course[-1], 2),
            steps=len(course),
        )
        if told
        else " "
    )

    def table() -> pd.DataFrame:
        learned = [
            percent(found.learned[size], 4) if size in found.learned else "" for size in range(len(floor))
        ]
        least = [percent(share, 4) for share in found.floors[compression.DOTS]]
        return pd.DataFrame({"smallest possible loss": least, "learned": learned}).rename_axis("p")

    floors = {f"floor {name}": curve for name, curve in found.floors.items()}
    return Folds(
        table,
        lambda: _arrays(data) | {"learning": course} | floors,
        code(params),
        told,
        more=lambda: equations(p, data.entry, data.context, data.lost_share),
    )


def _squeezed(params: Params) -> compression.Letter:
    letter, p = params.letter, params.p
    return engine_client.submit((SLUG, "letter", letter, p), lambda: compression.letter(letter, p), 30)


def _arrays(data: compression.Letter) -> dict[str, np.ndarray]:
    exits = {f"out {name}": dots for name, dots in data.exits.items()}
    return {"input": data.entry, "context": data.context, "lost": np.array(data.lost_share)} | exits


def code(params: Params) -> str:
    """Return lines of Python that compute the same in a notebook."""
    p, at = params.p, glyphs.letters().index(params.letter)
    return (
        "from viz.course.why.autoencoder.linear_autoencoder import Data\n"
        "from viz.course.why.autoencoder.glyphs import glyphs\n\n"
        f"data = Data(glyphs())  # (26, 35)\ncoder = data.best({p})\ncontext = "
        f"coder.context(data.rows[{at}])\n"
        "print(coder.back(context).reshape(7, 5).round(1))\n"
        f"print(coder.lost_share(data.rows), data.trained({p}, 60, {params.draw})[1][-1])"
    )
