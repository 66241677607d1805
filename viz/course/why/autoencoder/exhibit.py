"""Encoder, hidden space, decoder: a concept squeezed into a few numbers, and what comes back, in several languages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import streamlit as st

from core.analysis.residual.vectors import unit
from core.serving.engine import default
from viz.charts import thumbs
from viz.course.shared.maths.word_vectors import row_of
from viz.course.why.autoencoder import folds, panels
from viz.course.why.autoencoder.maths import autoencoder as coding
from viz.course.why.autoencoder.maths import concepts
from viz.course.why.autoencoder.maths.glyphs import COLUMNS, ROWS, glyphs, letters, styles
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="The context vector", chapter=Chapter.WHY, order=20, minutes=8,
    claim="An encoder turns what it reads into a few numbers; a decoder has only these numbers to write from.",
    cites=(
        Cite("ghojogh2023", "autoencoder and the context vector", step=2),
        Cite("ghojogh2020", "section 2.1", "Fig. 2", step=2),
        Cite("beigy2021", "common concept representation", step=3),
        Cite("eckart1936", "the nearest matrix of lower rank", step=5),
    ),
)  # fmt: skip
SLUG = "autoencoder."
MODEL = "vectors-mini"
STEPS = (
    lesson.Step("Guess", "An English word goes in as a vector of 80 numbers. The encoder keeps only a few. A decoder turns those few into a French word."),
    lesson.Step("Three boxes", "Encoder, hidden space, decoder. Give the context more numbers until the right word comes out."),
    lesson.Step("Many targets", "One encoder, one context, four decoders: the same few numbers serve every language."),
    lesson.Step("Letters", "The same with pictures: 35 dots go in; four decoders draw from the same context in four styles."),
    lesson.Step("What is lost", "How much cannot come back with p numbers is known exactly, and learning reaches it."),
)
GUESS, BOXES, TARGETS, LETTERS, LOST = range(5)
LARGEST = 24
TRAINING_STEPS = 60


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the step, the word or letter that goes in, p, the size of the context, and where learning begins."""

    step: int = GUESS
    word: str = "elephant"
    letter: str = "A"
    p: int = 4
    draw: int = 0


@dataclass(frozen=True, eq=False)
class Data:
    """What went in, its context (p,), what each decoder made of it; and, at the last step, what is lost by p."""

    entry: np.ndarray
    context: np.ndarray
    limit: float
    exits: dict[str, np.ndarray | str]
    right: dict[str, float]
    lost: float
    near: dict[str, list[tuple[str, float]]]
    floors: dict[str, np.ndarray]
    learned: dict[int, float]
    course: np.ndarray


def vectors() -> dict[str, np.ndarray]:
    """The vectors of the lesson's English words, from the shipped model."""
    model = default().open(MODEL)
    words = [*(concept.english for concept in concepts.taught()), *concepts.UNTAUGHT]
    ids = {word: model.tokenizer.encode(word).ids[0] for word in words}
    return concepts.vectors(model.network.get_parameter("embed.token.weight").detach().cpu().numpy(), ids)


def own(word: str) -> np.ndarray:
    """The vector of a visitor's English word, brought to length 1. Errors: InputError for none or several, or one that the model does not know."""
    model = default().open(MODEL)
    return unit(model.network.get_parameter("embed.token.weight").detach().cpu().numpy().astype(np.float64)[row_of(model, word)])


@lru_cache(1)
def letter_data() -> coding.Data:
    """The 26 letters, decomposed once."""
    return coding.Data(glyphs())


def compute(params: Params = Params()) -> Data:
    """Encode the chosen word or letter with p numbers, and let every decoder write from them. Errors: InputError for an unknown word."""
    if params.step < LETTERS:
        known, word = vectors(), params.word.strip().casefold()
        if word not in known:
            known |= {word: own(word)}
        rows = coding.Data(np.array([known[concept.english] for concept in concepts.taught()]))
        book = concepts.Dictionary(rows, params.p)
        entry = known[word]
        context = book.coder.context(entry)
        exits: dict[str, np.ndarray | str] = {name: language.says(context) for name, language in book.languages.items()}
        near = {}
        for name, language in book.languages.items():
            order = np.argsort(-(nearness := language.nearness(context)), kind="stable")[:4]
            near[name] = [(language.words[i], float(nearness[i])) for i in order]
        right = {name: book.right(name) for name in book.languages}
        return Data(entry, context, float(np.abs(book.contexts).max()), exits, right, book.coder.lost(rows.rows), near, {}, {}, np.empty(0))
    data = letter_data()
    coder = data.best(params.p)
    entry = glyphs()[letters().index(params.letter)]
    contexts, context = coder.context(data.rows), coder.context(entry)
    exits = {"plain": coder.back(context).reshape(ROWS, COLUMNS)}
    for name, targets in styles().items():
        exits[name] = coding.head(contexts, targets.reshape(len(targets), -1))(context).reshape(targets.shape[1:])
    floors, learned, course = {}, {}, np.empty(0)
    if params.step == LOST:
        words = coding.Data(np.array([v for w, v in vectors().items() if w not in concepts.UNTAUGHT]))
        floors = {"letters, 35 dots": data.floor(), "words, vectors of 80 numbers": words.floor()}
        trained = {p: data.trained(p, TRAINING_STEPS, params.draw)[1] for p in range(1, data.rank + 1)}
        learned, course = {p: float(losses[-1]) for p, losses in trained.items()}, trained[params.p]
    shown: dict[str, np.ndarray | str] = dict(exits)
    return Data(entry, context, float(np.abs(contexts).max()), shown, {}, coder.lost(data.rows), {}, floors, learned, course)


def thumbnail() -> str:
    """An R as it comes back from eight numbers."""
    return thumbs.cells(np.clip(np.asarray(compute(Params(step=LETTERS, letter="R", p=8)).exits["plain"]), 0, 1))


def page() -> None:
    """Claim, steps, the three boxes or the curve, one sentence of numbers, the size of the context; the rest folded."""
    parts.title(EXHIBIT)
    step, start = lesson.steps(STEPS, SLUG), Params()
    params = Params(
        step=step,
        word=state.read(SLUG + "word", start.word),
        letter=state.read(SLUG + "letter", start.letter, state.one_of(letters(), start.letter)),
        draw=state.read(SLUG + "draw", start.draw, state.whole(0, 99)) if step == LOST else start.draw,
        p=state.read(SLUG + "p", start.p, state.whole(1, LARGEST)),
    )
    shown, below = st.container(), st.container()
    with below:
        panels.choose(SLUG, start, step)
    with errors.guard():
        data = ask.submit(("autoencoder", params), lambda: compute(params), 600 if step == LOST else 30)
        with shown:
            with st.container():
                known = True
                if step == GUESS:
                    known = panels.first_guess(SLUG, data, params)
                elif step == LOST:
                    known = panels.last_guess(SLUG, letter_data().floor())
            panels.picture(SLUG, data, params, step, known)
            parts.numbers(panels.numbers(data, params, step) if known else " ")
        folds.equation(data, params, step)
        folds.looking_at(step)
        parts.documents(EXHIBIT, folds.documents)
        parts.as_table(lambda: folds.table(data, params, step), "autoencoder")
        parts.take_away(lambda: folds.arrays(data), folds.code(params, step), key="autoencoder")
