"""Why scores are divided by sqrt(d_k), on drawn vectors and on a trained model; and why softmax subtracts the maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.look_up.scaling import folds, steps
from viz.course.look_up.scaling import maths as lessons
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Why divide by √d",
    chapter=Chapter.LOOK_UP,
    order=40,
    minutes=8,
    claim="The more dimensions, the larger the dot product. Scaled by 1/√d, the softmax does not saturate.",
    cites=(
        Cite("ghojogh2023", "query-retrieval modelling", "Eq. (10)", step=2),
        Cite("ghojogh2020", "section 2.4.2", "Eq. (10)", step=2),
        Cite("beigy2021", "alignment score functions, table", "scaled dot product", step=3),
        Cite("lifei2022", "practical considerations", "s = q·k / √d_k", step=2),
        Cite("vaswani2017", "section 3.2.1", "Eq. (1), footnote 4", step=1),
    ),
)
SLUG = "scaling."
STEPS = (
    lesson.Step("Spread", "A score is a sum of d products. The more of them, the larger its spread (standard deviation)."),
    lesson.Step("Weights", "Softmax turns far-apart scores into one winner. Here is one query over 32 keys."),
    lesson.Step("Every width", "From short vectors to long ones: how much entropy is left?"),
    lesson.Step("A real model", "Now take the division out of a trained model and let it read the same sentence."),
    lesson.Step("Overflow", "Another problem, another cure: exp overflows, so subtract the largest score."),
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the width and the draw; the real model's sentence; the largest of three scores, and the switch."""

    d_k: int = 64
    draw: int = 0
    text: str = "The little dog ran after the ball."
    score: int = 200
    safe: bool = False


@dataclass(frozen=True)
class Data:
    """One draw at the chosen width, its measures as drawn and divided, and the query whose row is shown."""

    scores: lessons.Scores
    raw: lessons.Measures
    scaled: lessons.Measures
    typical: int


def compute(params: Params = Params()) -> Data:
    """Draw queries and keys of the chosen width, and measure their dot products."""
    drawn = lessons.drawn(params.d_k, params.draw)
    return Data(drawn, lessons.measured(drawn.raw), lessons.measured(drawn.scaled), lessons.typical(drawn.raw))


def thumbnail() -> str:
    """Entropy over the width, undivided and divided."""
    found = lessons.by_width(lessons.WIDTHS[::2])
    return thumbs.curves([np.array([m.entropy for m in found[name]]) for name in ("scaled", "raw")])


def page() -> None:
    """Claim, steps, one picture and its sentence; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, SLUG)
    start = Params()
    params = Params(
        d_k=state.read(SLUG + "d_k", start.d_k, state.one_of(steps.WIDTHS, start.d_k)),
        draw=state.read(SLUG + "draw", start.draw, state.whole(0, 99)),
        text=state.read("text", start.text),
        score=state.read(SLUG + "score", start.score, state.whole(0, 200)),
        safe=state.read(SLUG + "safe", start.safe, state.flag),
    )
    with errors.guard():
        data = ask.submit(("scaling", params.d_k, params.draw), lambda: compute(params), 40)
        told = steps.SHOWN[at](params, data, start)
        folds.equation(told, at, params, data)
        folds.looking_at(at)
        parts.documents(EXHIBIT, lambda: lesson.errata("E36", "E26"))
        parts.as_table(lambda: folds.table(at, params) if told else folds.LATER, "scaling")
        parts.take_away(lambda: folds.arrays(params), folds.code(at, params), key="scaling")
