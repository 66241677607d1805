"""Luong's global and local attention: the whole source for every word, or a window around a centre; on a trained model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.look_up.luong import data as data_of
from viz.course.look_up.luong import folds, steps
from viz.course.shared.maths import luong as lessons
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Global and local attention",
    chapter=Chapter.LOOK_UP,
    order=60,
    minutes=9,
    claim="To write one word, look at every source word (global); or predict a position, and look only around it (local).",
    cites=(
        Cite("beigy2021", "Global vs Local Attention", "p_t, a_st", step=2),
        Cite("luong2015", "sections 3.1, 3.2", "Eqs. (7) to (10)", step=3),
        Cite("bahdanau2015", "section 3.1", "Eqs. (5), (6)", step=1),
        Cite("ghojogh2020", "section 2.3", "cited with Eq. (2)", step=1),
    ),
)
STEPS = (
    lesson.Step("Global", "For each word it writes, the model scores every word of the source and mixes them all."),
    lesson.Step("A centre", "Local attention first chooses a position p_t in the source, and looks at most D words to each side."),
    lesson.Step("Window and Gaussian", "Softmax inside the window, times a Gaussian around p_t: soft like attention, narrow like a choice."),
    lesson.Step("What it saves", "A window saves scores. Put into the trained model, what does it cost?"),
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: sentence and score; the written word (-1: the clearest crossing); centre, window, sigma (0: D / 2)."""

    text: str = "She has a white car."
    score: str = "concat"
    row: int = -1
    centre: str = "row"
    window: int = 2
    windowed: bool = True


def compute(params: Params = Params()) -> data_of.Data:
    """The model's run on the sentence: words of both sides, scores and weights (query key) under the chosen score."""
    return data_of.read(params.text, params.score)


def thumbnail() -> str:
    """The bell, the softmax inside the window and their product, over nine words that fit alike."""
    row = lessons.local(np.zeros(9), 4.5, 2)
    return thumbs.curves([row.gaussian, row.align, row.product])


def _sentence(start: Params) -> None:
    controls.text("Sentence", "text", start.text, quiet=True, placeholder="Type an English sentence", drops=steps.OF_A_SENTENCE, of=data_of.CONCAT)


def page() -> None:
    """Claim, steps, sentence, one picture and its sentence; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, steps.SLUG)
    start = Params()
    text = state.read("text", start.text)
    if not lesson.presenting():
        _sentence(start)
    with errors.guard():
        scores = data_of.offered()
        score = state.read(steps.SLUG + "score", data_of.opening(), state.one_of(tuple(scores), data_of.opening()))
        data = ask.submit(("luong", text, score, scores[score]), lambda: compute(Params(text, score)), 30 * max(1, len(text)))
        params = Params(
            text=text, score=score,
            row=state.read(steps.SLUG + "row", lessons.crossing(data.weights), state.whole(0, len(data.written) - 1)),
            centre=state.read(steps.SLUG + "centre", start.centre, state.one_of(tuple(steps.centres(data)), start.centre)),
            window=state.read(steps.SLUG + "window", start.window, state.whole(1, steps.WIDEST)),
            windowed=state.read(steps.SLUG + "windowed", start.windowed, state.flag),
        )  # fmt: skip
        origin.tell(model=data.model, text=text, beside=data.target, kind="alignment")
        told = steps.SHOWN[at](params, data, start)
        if lesson.presenting():  # the picture first
            _sentence(start)
        parts.numbers(data_of.missing())
        folds.change_it(start)
        folds.equation(told, params, data)
        folds.looking_at(at, params, data)
        parts.documents(EXHIBIT, lambda: lesson.errata("E29", "E27"))
        parts.as_table(lambda: folds.table(params, data) if told else folds.LATER, "luong")
        parts.take_away(lambda: folds.arrays(params, data), folds.code(params, data), key="luong")
