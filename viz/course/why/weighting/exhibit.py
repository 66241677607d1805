"""Attention as a weighting: ten words share 100 percent, and so do the parts of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.shared.maths import weighting as lesson_of
from viz.course.shared.maths.scene import PORTRAIT
from viz.course.why.weighting import folds, panels
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Attention is a weighting", chapter=Chapter.WHY, order=10, minutes=6,
    claim="To attend is to give more weight to what matters. The weights are positive, and together they are 1.",
    cites=(
        Cite("ghojogh2023", "introduction", "the portrait and the sentence about it", step=5),
        Cite("ghojogh2020", "section 1", "Fig. 1", step=5),
        Cite("beigy2021", "introduction", step=1),
    ),
)  # fmt: skip
SLUG = "weighting."
MODEL = "gpt-mini"
SENTENCE = " ".join(lesson_of.WORDS) + "."
STEPS = (
    lesson.Step("Guess", "Some words, and 100 % of attention to share between them. You have time for a few of them only."),
    lesson.Step("Weigh", "Move the slider of a word: that is its score. The softmax turns the scores into weights."),
    lesson.Step("Share", "Nothing is free: what one word gains, all the others lose."),
    lesson.Step("Skim", "A fast reader leaves out what weighs too little. Choose how much is too little."),
    lesson.Step("Look", "A picture is attended to in the same way: its patches share 100 %. Touch a patch to move the attention there."),
)
GUESS, SHARE, SKIM, LOOK = 0, 2, 3, 4
GRID = (10, 8)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the sentence, where importances come from, their own ones, the threshold; a patch and its width."""

    text: str = SENTENCE
    source: str = "hand"
    own: tuple[float, ...] = lesson_of.BY_HAND
    threshold: int = 10
    at: tuple[float, float] = (3.5, 3.5)
    width: float = 1.2


@dataclass(frozen=True)
class Data:
    """Words, their importances and weights (n,), bits where a model gave them; weights of the patches (80,), parts."""

    words: tuple[str, ...]
    raw: tuple[float, ...]
    weights: np.ndarray
    bits: np.ndarray | None
    kept: tuple[int, ...]
    patches: np.ndarray
    parts: dict[str, float]


def compute(params: Params = Params()) -> Data:
    """Weights from importances, of words and of patches; how much of the attention each part of the picture holds.

    Errors: InputError for a sentence that cannot be shown.
    """
    bits, words = None, lesson_of.words_of(params.text)
    if params.source == "model":
        text = "\n" + params.text
        bits = lesson_of.word_bits(default().run(RunRequest(MODEL, text, keep=())), words, text)
    raw = {"hand": lesson_of.BY_HAND, "equal": (1.0,) * len(words), "own": params.own}.get(params.source)
    raw = lesson_of.from_bits(bits) if raw is None and bits is not None else raw or lesson_of.BY_HAND
    weights = lesson_of.softmax(raw)
    patches = lesson_of.spot(*GRID, params.at, params.width)
    shares = dict(zip(PORTRAIT.parts, (patches @ PORTRAIT.shares(*GRID)).tolist(), strict=True))
    return Data(words, raw, weights, bits, lesson_of.kept(weights, params.threshold / 100), patches, shares)


def thumbnail() -> str:
    """The five words that weigh most."""
    weights = compute().weights
    best = np.argsort(-weights, kind="stable")[:5]
    return thumbs.bars(weights[best], [lesson_of.WORDS[i] for i in best], marked=0)


def chosen(step: int) -> Params:
    """The visitor's choices; the picture has no sentence. Errors: InputError for a sentence that cannot be shown."""
    start, text = Params(), SENTENCE if step == LOOK else state.read(SLUG + "sentence", SENTENCE)
    words, sources = lesson_of.words_of(text), panels.sources(text == SENTENCE)
    return Params(
        text=text, source=state.read(SLUG + "source", sources[0], state.one_of(sources)),
        own=state.read(SLUG + "raw", start.own if text == SENTENCE else (1.0,) * len(words), partial(panels.importances, n=len(words))),
        threshold=state.read(SLUG + "threshold", start.threshold, state.whole(0, 40)),
        at=panels.place(start.at), width=state.read(SLUG + "width", start.width, state.real(0.4, 3)),
    )  # fmt: skip


def page() -> None:
    """Claim, steps, the sentence or the picture, one sentence of numbers, one control; everything else folded."""
    parts.title(EXHIBIT)
    step, start = lesson.steps(STEPS, SLUG), Params()
    shown, below = st.container(), st.container()
    with below:
        if step != LOOK and not lesson.presenting():
            controls.text("Sentence", SLUG + "sentence", SENTENCE, quiet=True, placeholder="Type a sentence of 2 to 16 words", drops=(SLUG + "raw", SLUG + "source"), of=MODEL, most=f"up to {lesson_of.MOST_WORDS} words")
    with errors.guard():
        with shown:
            params = chosen(step)
            data = ask.submit(("weighting", params), lambda: compute(params), 60 if params.source == "model" else 2)
            asked, picture, said, control, asked_below = (st.container() for _ in range(5))
            with asked:
                known = step != GUESS or panels.first_guess(SLUG, data)
            with picture:
                if step == LOOK:
                    panels.portrait(SLUG, data, params)
                else:
                    panels.sentence(SLUG, data, step == SKIM and params.threshold / 100, not known, folds.code(params))
            with said:
                parts.numbers(panels.numbers(data, step == LOOK, step == SKIM, params) if known else " ")
            with control:
                if step == LOOK:
                    panels.where(SLUG)
                elif step == SKIM:
                    controls.slider("A word that weighs less than this vanishes, %", 0, 40, SLUG + "threshold", start.threshold)
                elif known:
                    sources = panels.sources(params.text == SENTENCE)
                    controls.pills("Where the scores come from", sources, SLUG + "source", sources[0], panels.SOURCES.__getitem__)
            with asked_below:
                if step == SHARE:
                    panels.share_guess(SLUG, data)
        folds.equation(data, params, step == LOOK)
        folds.looking_at()
        parts.documents(EXHIBIT, folds.documents)
        parts.as_table(lambda: folds.table(data, step == LOOK), "weighting")
        parts.take_away(lambda: folds.arrays(data), folds.code(params), key="weighting")
