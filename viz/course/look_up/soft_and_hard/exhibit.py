"""Soft and hard attention: mix every patch of a picture by its weight, or draw one patch; and how each can learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from viz.charts import thumbs
from viz.course.look_up.soft_and_hard import folds, panels
from viz.course.look_up.soft_and_hard import maths as lesson_of
from viz.course.shared.maths.scene import HARBOUR
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Soft and hard attention", chapter=Chapter.LOOK_UP, order=50, minutes=7,
    claim="Soft attention reads a little of everything; hard attention reads one thing, drawn with the same weights.",
    cites=(
        Cite("beigy2021", "soft vs hard attention", "the lists of pro and con", step=3),
        Cite("xu2015", "sections 4.1 and 4.2", step=5),
        Cite("williams1992", "REINFORCE", step=5),
    ),
)  # fmt: skip
SLUG = "soft_and_hard."
STEPS = (
    lesson.Step("Guess", "A patch of the picture asks: which patches look like me? The more alike their colours, the more weight they get."),
    lesson.Step("Soft", "Soft attention mixes all 24 patches, each as much as its weight says. What is read is a blend that stands nowhere in the picture."),
    lesson.Step("Hard", "Hard attention draws one patch with these weights and reads that alone: it crops the picture."),
    lesson.Step("Many draws", "One draw is a gamble. The mean of many draws comes ever nearer to the soft read."),
    lesson.Step("Learning", "To read something brighter, which scores should grow? Soft attention can ask its derivative. Hard attention must try and see."),
)
GUESS, SOFT, HARD, MANY, LEARN = range(5)
GRID, SIDE = (4, 6), 30
WANTED = {"brighter": (1.0, 1.0, 1.0), "redder": (1.0, -0.5, -0.5), "greener": (-0.5, 1.0, -0.5), "bluer": (-0.5, -0.5, 1.0)}


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the patch that asks, how sharp the weights are, how many draws, which lot, what is wanted."""

    asks: int = 13
    beta: int = 30
    draws: int = 200
    lot: int = 0
    wanted: str = "brighter"


@dataclass(frozen=True, eq=False)
class Data:
    """Patches (24, side, side, 3), their mean colours V (24, 3), weights (24,), draws, and both gradients."""

    patches: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    drawn: np.ndarray
    near: lesson_of.Running
    w: np.ndarray
    learning: lesson_of.Learning
    automatic: np.ndarray | None
    argmax: np.ndarray | None


def compute(params: Params = Params()) -> Data:
    """Scores by colour, weights, draws, the distance of their mean, and the gradient exactly and by REINFORCE."""
    patches = HARBOUR.patches(*GRID, SIDE)
    values = patches.mean((1, 2))
    scores = lesson_of.scores_by_colour(values, params.asks, params.beta)
    weights = lesson_of.softmax(scores)
    drawn = lesson_of.draw(weights, params.draws, params.lot)
    w = np.array(WANTED[params.wanted]) / 3
    return Data(
        patches, values, scores, weights, drawn, lesson_of.running(weights, values, drawn), w,
        lesson_of.learning(weights, values @ w, drawn), lesson_of.autograd(scores, values, w),
        lesson_of.autograd(scores, values, w, hard=True),
    )  # fmt: skip


def thumbnail() -> str:
    """The patches that weigh most, the one that the first draw takes in ink."""
    data = compute()
    best = np.argsort(-data.weights, kind="stable")[:6].tolist()
    return thumbs.bars(data.weights[best], [panels.NAMES[i] for i in best], marked=best.index(first) if (first := int(data.drawn[0])) in best else -1)


def page() -> None:
    """Claim, steps, the picture and what is read from it, one sentence of numbers, one control; the rest folded."""
    parts.title(EXHIBIT)
    step, start = lesson.steps(STEPS, SLUG), Params()
    params = Params(
        asks=state.read(SLUG + "asks", start.asks, state.whole(0, 23)),
        beta=state.read(SLUG + "beta", start.beta, state.whole(0, 100)),
        draws=state.read(SLUG + "draws", start.draws, state.one_of(panels.DRAWS)),
        lot=state.read(SLUG + "draw", start.lot, state.whole(0, 9999)),
        wanted=state.read(SLUG + "wanted", start.wanted, state.one_of(tuple(WANTED))),
    )
    with errors.guard():
        data = ask.submit(("soft_and_hard", params), lambda: compute(params), 20 + params.draws // 100)
        with st.container():
            known = step != GUESS or panels.first_guess(SLUG, data, params)
        left, right = st.columns([1, 1] if lesson.presenting() else [3, 2], gap="medium")
        with left:
            panels.picture(SLUG, data, params, step)
        with right:
            panels.beside(SLUG, data, params, step, known)
        parts.numbers(panels.numbers(data, params, step) if known else " ")
        with st.container():
            panels.choose(SLUG, start, step)
        with st.container():
            if step == LEARN:
                panels.last_guess(SLUG, data)
        folds.equation(data, params, step)
        folds.looking_at()
        parts.documents(EXHIBIT, folds.documents)
        parts.as_table(lambda: folds.table(data), "soft_and_hard")
        parts.take_away(lambda: folds.arrays(data), folds.code(params), key="soft_and_hard")
