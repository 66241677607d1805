"""Self-attention at the blackboard: from the words over queries, keys and values to scores, shares and mixes, every number shown."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from viz.charts import thumbs
from viz.course.self_attention.self_attention import boards, folds, link, steps
from viz.course.shared.maths import self_attention as lessons
from viz.course.shared.shown import folds as draw_folds
from viz.shell import errors, room, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Self-attention", chapter=Chapter.SELF_ATTENTION, order=10, minutes=12,
    claim="Each word asks, each word answers, and each becomes a mix of all: every number of it on one blackboard.",
    cites=(
        Cite("ghojogh2020", "section 2.4.3", "Eqs. (13) to (15)", step=2), Cite("ghojogh2023", "attention formulation", "Eqs. (13) to (15)", step=2),
        Cite("beigy2021", "self-attention, in matrices", step=3), Cite("lifei2022", "self-attention", "s(x_i, x_j), then queries, keys and values", step=4),
        Cite("ghojogh2020", "section 2.4.3", "Eq. (16)", step=5), Cite("ghojogh2023", "attention formulation", "Eq. (16)", step=5),
        Cite("beigy2024", "transformers", "first formula", step=5), Cite("ghojogh2023", "attention formulation", "“I am a student”", step=6),
        Cite("beigy2021", "self-attention", "the mix for apple", step=6), Cite("vaswani2017", "section 3.2.1", "Eq. (1)", step=5),
    ),
)  # fmt: skip
SLUG = steps.SLUG
STEPS = (
    lesson.Step("The question", "A word's numbers are the same in every sentence. How can it take something from the others?"),
    lesson.Step("One word", "Three small matrices make three vectors of a word: a query, what it asks; a key, what it answers to; a value, what it hands over."),
    lesson.Step("All words", "The same matrices for every word, however many. All is made of the same words, hence “self”."),
    lesson.Step("Scores and shares", "Each query meets each key: a score. Softmax turns a row of scores into attention weights."),
    lesson.Step("The mix", "Each word becomes a weighted sum of all values, by its own row of weights. Each row sums to 1, so it is the row that has to meet the values, not the column."),
    lesson.Step("By hand", "The slides work two examples with given weights. Touch a score, move it, and watch the weights and the sum; and decide whether a word may look at itself."),
)


@dataclass(frozen=True)
class Params:
    """The sentence and how much of it, the sizes d, p, r, which draw, weights set by hand, the marked word, switches, the example."""

    text: str = "She is eating a green apple"
    n: int = 6
    d: int = 4
    p: int = 3
    r: int = 2
    lot: int = 1538
    changes: tuple[lessons.Change, ...] = ()
    at: int = 5
    itself: bool = True
    tied: bool = False
    printed: bool = False
    example: str = "student"
    scores: tuple[float, ...] = ()
    own: bool = False


@dataclass(frozen=True, eq=False)
class Data:
    """The words and how many the text has, all matrices, Eq. (16) as printed, torch's difference, the kernel, the example's mix."""

    words: tuple[str, ...]
    total: int
    found: lessons.Attended
    printed: lessons.Printed
    off: float
    kernel: lessons.Kernel
    mixed: lessons.Mixed
    example: lessons.Example = field(default=lessons.EXAMPLES["student"])


def compute(params: Params = Params()) -> Data:
    """Draw vectors and weights, attend, and mix the example; in `viz.course.shared.maths.self_attention` words are rows."""
    words, total = lessons.words_of(params.text, params.n)
    weights = lessons.weight_matrices(params.d, params.p, params.r, params.lot, params.changes, params.tied)
    found = lessons.attend(lessons.word_vectors(words, params.d, params.lot), *weights, itself=params.itself)
    example = lessons.EXAMPLES[params.example]
    values = lessons.word_vectors(example.words, params.d, params.lot) @ weights[2]
    scores = params.scores if len(params.scores) == len(example.words) else example.scores
    mixed = lessons.mixed(scores, values, itself=params.own)
    return Data(words, total, found, lessons.as_printed(found), lessons.off_torch(found), lessons.kernel(found), mixed, example)


def thumbnail() -> str:
    """The shares of the six words."""
    return thumbs.cells(compute().found.weights)


def page() -> None:
    """Claim, steps, the board, one sentence of numbers, one control; everything else folded."""
    parts.title(EXHIBIT)
    step, start = lesson.steps(STEPS, SLUG), Params()
    with errors.guard():
        asked, board, control = (st.container() for _ in range(3))
        with control:
            steps.control(step, start)
        params = Params(
            text=state.read("text", start.text), at=state.read(SLUG + "at", start.at, state.whole(0, lessons.LONGEST - 1)),
            **{name: state.read(SLUG + name, getattr(start, name), state.whole(1, most)) for name, most in steps.SIZES.items()},
            lot=state.read(SLUG + "draw", start.lot, state.whole(0, steps.LOTS)), example=state.read(SLUG + "example", start.example, state.one_of(tuple(lessons.EXAMPLES))),
            changes=link.changed(), scores=link.moved(),
            **{name: state.read(SLUG + name, getattr(start, name), state.flag) for name in ("itself", "tied", "printed", "own")},
        )  # fmt: skip
        data = ask.submit(("self_attention", params), lambda: compute(params), 3)
        with asked:
            known = steps.question(step, data, params)
        with board, room.wide():
            boards.picture(step, data, params, known, folds.code(params))
            parts.numbers(steps.numbers(step, data, params, known))
        shown = folds.shown(step, data, params, known, lambda: steps.more(step, start))
        draw_folds(EXHIBIT, "self_attention", str(step), shown, folds.aside, lambda: lesson.errata("E1", "E5", "E13", "E14", "E17"))
