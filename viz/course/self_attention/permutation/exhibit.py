"""Another order of the words: is self-attention permutation-invariant, and is it a set operation? Both measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.charts import thumbs
from viz.course.self_attention.permutation import folds, steps
from viz.course.self_attention.permutation import maths as lesson_of
from viz.instruments.kit import origin
from viz.labels import distinct
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Another order of the words", chapter=Chapter.SELF_ATTENTION, order=60, minutes=8,
    claim="Self-attention has no sense of order: put the words in another order, and each takes its output along.",
    cites=(
        Cite("beigy2024", "introduction", "homework: is self-attention permutation-invariant?", step=1),
        Cite("beigy2024", "introduction", "homework: is self-attention a set operation?", step=5),
        Cite("ghojogh2023", "encoder of the transformer", "no sense of order"),
        Cite("ghojogh2020", "section 3.2.1", "no recurrence and no convolution: no sense of order"),
        Cite("zaheer2017", "section 2.2", "permutation-invariant and -equivariant functions", step=4),
        Cite("haviv2022", "sections 1 and 6", "the causal mask tells positions apart", step=6),
    ),
)  # fmt: skip
SLUG = steps.SLUG
STEPS = (
    lesson.Step("Guess", "Homework: is self-attention permutation-invariant? No positions are added."),
    lesson.Step("Why", "A score compares two words. In another order rows and columns move, and so do the outputs."),
    lesson.Step("Positions", "Now each position adds its own vector to the word that stands there, as in a Transformer. A word at another position is another vector."),
    lesson.Step("The mean", "One vector for the whole sentence: the mean of all outputs. A sum does not ask for the order."),
    lesson.Step("A set?", "Homework: is it a set operation? In a set, what is said twice is there once."),
    lesson.Step("A mask", "A causal mask: each word looks back only. No positions are added."),
)  # fmt: skip
MODEL, LONGEST = "bert-mini", 12


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the sentence, the new order of its pieces (empty: two words change places), and the piece said twice (−1: the first moved)."""

    text: str = steps.SENTENCES[0]
    order: tuple[int, ...] = ()
    twice: int = -1


@dataclass(frozen=True, eq=False)
class Data:
    """One layer on the pieces, on another order of them, with positions, under a mask, and with a piece said twice.

    names are the pieces told apart; patterns (head, n, n) before and after; `whole` is the largest difference after all
    layers of the model; `counted` how far the weights of the repeated pieces are from the closed form.
    """

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    order: tuple[int, ...]
    twice: int
    plain: lesson_of.Moved
    placed: lesson_of.Moved
    causal: lesson_of.Moved
    said: lesson_of.Moved
    patterns: tuple[np.ndarray, np.ndarray]
    head: int
    whole: float
    counted: float
    n_layers: int


def pieces_of(text: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ids and pieces of a sentence. Errors: InputError for fewer than two, or for more than can be drawn."""
    found = default().open(MODEL).tokenizer.encode(text)
    n = len(found.ids)
    if not 2 <= n <= LONGEST:
        raise InputError(f"The sentence has {n} token{'' if n == 1 else 's'}.", f"An order needs 2 of them, and this page draws up to {LONGEST}.",
                         "Take an example, or type a short sentence.")  # fmt: skip
    return found.ids, found.tokens


def compute(params: Params = Params()) -> Data:
    """Everything that the six steps show, from the weights of the model's first layer, in float64."""
    network, (ids, pieces) = default().open(MODEL).network, pieces_of(params.text)
    n = len(ids)
    order = params.order if sorted(params.order) == list(range(n)) else lesson_of.swapped(pieces)
    moved = next((place for place, i in enumerate(order) if place != i), 0)
    twice = params.twice if 0 <= params.twice <= n else moved
    layer, at = lesson_of.in_double(network.layers[0].self_attn), range(1, n + 1)  # the first place is that of [CLS]
    x, new = (lesson_of.rows_of(network, each) for each in (ids, [ids[i] for i in order]))
    placed = [lesson_of.rows_of(network, each, at) for each in (ids, [ids[i] for i in order])]
    again = (*range(n), twice) if twice < n else (*range(n), *range(n))
    before, after = (lesson_of.attend(layer, each)[1] for each in (x, new))
    repeated = lesson_of.attend(layer, x[list(again)])[1][:, :n]
    counts = np.bincount(again, minlength=n)
    copies = np.stack([repeated[:, :, [place for place, i in enumerate(again) if i == j]].sum(-1) for j in range(n)], axis=-1)
    through = [lesson_of.through(network, each) for each in (x, new)]
    return Data(
        pieces, tuple(distinct(pieces)), order, twice, lesson_of.reordered(layer, x, new, order), lesson_of.reordered(layer, placed[0], placed[1], order),
        lesson_of.reordered(layer, x, new, order, causal=True), lesson_of.reordered(layer, x, x[list(again)], again), (before, after),
        int(before.max(-1).mean(-1).argmax()), float(np.abs(through[1] - through[0][list(order)]).max()),
        float(np.abs(copies - lesson_of.repeated(before, counts.tolist())).max()), len(network.layers),
    )  # fmt: skip


def thumbnail() -> str:
    """Each word of the opening sentence, joined to its new place."""
    data = compute()
    return thumbs.links(lesson_of.matrix(data.order), data.pieces, [data.pieces[i] for i in data.order])


def page() -> None:
    """Claim, steps, question, picture, one sentence of numbers, one control; the rest folded."""
    parts.title(EXHIBIT)
    step, text = lesson.steps(STEPS, SLUG), state.read("text", Params.text)
    shown = None
    with errors.guard():
        n = len(pieces_of(text)[0])
        params = Params(text, state.read(SLUG + "order", steps.shuffled(n), steps.order_of(n)), state.read(SLUG + "twice", -1, state.whole(-1, n)))
        data = ask.submit(("permutation", params), lambda: compute(params), 60)
        with st.container():
            known = steps.ask(data, params, step)
        origin.tell(model=MODEL, text=text, kind="self", layer=0, head=data.head, changed="without positions")
        steps.draw(data, step, known)
        parts.numbers(steps.numbers(data, step, known))
        steps.control(data, step)
        shown = (data, params, step, known)
    steps.change(MODEL, LONGEST)
    if shown:
        with errors.guard():
            folds.show(EXHIBIT, *shown)
