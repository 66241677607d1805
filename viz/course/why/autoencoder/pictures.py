"""Letters compressed into p numbers, decoded in four styles; and the loss by the size of p."""

from __future__ import annotations

import numpy as np
import pandas as pd

from viz.course.exhibit import Folds
from viz.course.why.autoencoder import charts, compression, glyphs
from viz.course.why.autoencoder.params import SLUG, Params
from viz.course.why.autoencoder.words import equations, numbers
from viz.labels import percent
from viz.widgets import engine_client, exhibit_parts, page_parts

ENOUGH = 0.05
"""The share of the letters that may be lost in the last question."""
DOTS = "letters, 35 dots"


def letters(params: Params, _: object) -> Folds:
    """Draw a letter of 35 dots, p numbers, and the output of four decoders."""
    data, p = _squeezed(params), params.p
    page_parts.show(
        charts.boxes(
            (params.letter, data.entry.reshape(glyphs.ROWS, glyphs.COLUMNS), False),
            data.context,
            list(data.exits.items()),
            limit=data.limit,
            height=400,
        ),
        f"{SLUG}.boxes",
        f"The letter {params.letter} of 35 dots, {p} numbers, and what four decoders draw from them.",
    )
    made = data.exits["plain"]
    wrong = int(((made > 0.5) != (data.entry.reshape(made.shape) > 0.5)).sum())
    page_parts.summary(
        f"With {numbers(p)} {wrong} of the {params.letter}'s 35 dots come back wrong (above one half instead of "
        f"below, or the reverse); of all 26 letters {percent(data.lost_share, 2)} is lost."
    )

    def table() -> pd.DataFrame:
        return pd.DataFrame(made.round(3)).rename_axis(index="row", columns="column").rename(columns=str)

    return Folds(
        table,
        lambda: _arrays(data),
        code(params),
        more=lambda: equations(p, data.entry, data.context, data.lost_share),
    )


def loss_by_size(params: Params, _: object) -> Folds:
    """Ask how many numbers the letters need, then draw the loss by the size of the context."""
    floor, n = compression.letter_data().floor(), len(glyphs.letters())
    enough = int((floor <= ENOUGH).argmax())
    told = exhibit_parts.predict_number(
        f"{SLUG}.size",
        "26 letters of 35 dots each. How many numbers must the context have "
        f"so that at most {percent(ENOUGH)} is lost?",
        1,
        35,
        enough,
        f"With {enough - 1} numbers {percent(floor[enough - 1], 2)} is lost, with {enough} "
        f"{percent(floor[enough], 2)}. "
        f"With {len(floor) - 1} nothing is lost: {n} points and their mean span {n - 1} dimensions at most. Far "
        "fewer are enough because letters are made of few strokes.",
        near=2,
    )
    p, draw, data = params.p, params.draw, _squeezed(params)
    found = engine_client.submit((SLUG, "loss", p, draw), lambda: compression.loss(p, draw), 600)
    here = f"; with {p} numbers {percent(data.lost_share, 2)} of the letters." if told else ", still covered."
    page_parts.show(
        charts.lost(found.floors, found.learned, p, covered=not told),
        f"{SLUG}.lost.{told}",
        f"What is lost by the size of the context{here}",
    )
    course = found.course
    page_parts.summary(
        f"With {numbers(p)} the smallest possible loss of the letters is {percent(data.lost_share, 2)}; learned "
        "from a random "
        f"start it is {percent(course[0], 2)} after one step and {percent(course[-1], 2)} after "
        f"{len(course)}."
        if told
        else " "
    )

    def table() -> pd.DataFrame:
        learned = [
            percent(found.learned[size], 4) if size in found.learned else "" for size in range(len(floor))
        ]
        least = [percent(share, 4) for share in found.floors[DOTS]]
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
    return {"input": data.entry, "context": data.context} | {
        f"out {name}": dots for name, dots in data.exits.items()
    }


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
