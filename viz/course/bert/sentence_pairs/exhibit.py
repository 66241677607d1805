"""The second game: does text B follow text A? The draw of pairs, what [CLS] reads, and the loss of both games."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.run import Run
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.bert.sentence_pairs import game, reading
from viz.course.bert.sentence_pairs.maths import next_sentence
from viz.course.shared.shown import folds as show
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Sentence pairs", chapter=Chapter.BERT, order=25, minutes=10,
    claim="BERT's second pre-training objective: does text B follow text A? One vector, [CLS], must answer for both texts.",
    cites=(
        Cite("beigy2021", "BERT, next sentence prediction"),
        Cite("beigy2024", "BERT, next sentence prediction", step=2),
        Cite("lifei2022", "BERT, quotation from the paper", step=5),
        Cite("ghojogh2020", "4", "the task, without its name"),
        Cite("beigy2024", "BERT, sentence pair classification", step=4),
        Cite("devlin2019", "section 3.1; appendix A.1, A.2", step=2),
    ),
)  # fmt: skip
SLUG = "sentence_pairs."
STEPS = (
    lesson.Step("A pair", "Two texts in one row. From the vector of [CLS] the model says how probable it is that B follows A."),
    lesson.Step("Random pairs", "Training draws pairs: in half of them B really follows, in half it is not the next sentence."),
    lesson.Step("Does it know?", "All our 64 pairs: of each first text, once with the next sentence and once with another."),
    lesson.Step("What [CLS] reads", "Every token may look at both texts. How much goes to its own, and how much across?"),
    lesson.Step("The loss", "Both objectives at once: the mean cross-entropy of the masked words, plus that of the next-sentence answer."),
    lesson.Step("Swap", "The same two texts in the other order, or without telling which is which. What does the answer depend on?"),
)
MODEL, LONGEST = game.MODEL, 64


@dataclass(frozen=True)
class Params:
    """What the visitor chose: two texts and whether B follows in truth; the draw and how many pairs of it; the cut; a head; the batch."""

    a: str = game.EXAMPLES[0][0]
    b: str = game.EXAMPLES[0][1]
    follows: bool = True
    draw: int = game.START
    draws: int = 10
    cut: float = 0.5
    head: int = -1
    block: str = reading.BLOCKS[0]
    batch: int = 8


def compute(params: Params = Params()) -> Run:
    """The pair as bert-mini reads it, with its patterns. Errors: InputError for a text without a word, or more than can be drawn."""
    next_sentence.read(default().open(MODEL), params.a, params.b, LONGEST)
    return default().run(RunRequest(MODEL, params.a, pair=params.b, keep=("layer.*.resid_out", "*.pattern", "*.allowed")))


def thumbnail() -> str:
    """Attention between the two opening texts, the mean of all heads."""
    run = compute()
    return thumbs.cells(next_sentence.blocks(run.attention("self").weights, next_sentence.groups(run)).mean((0, 1)) ** 0.5)


def chosen() -> Params:
    """The visitor's choices."""
    start = Params()
    config = default().open(MODEL).config
    reads = {
        "a": state.typed, "b": state.typed, "follows": state.flag, "draw": state.whole(0, 9999), "draws": state.whole(1, game.MOST), "cut": state.real(0.3, 0.8),
        "head": state.whole(-1, config.n_layers * config.n_heads - 1), "block": state.one_of(reading.BLOCKS), "batch": state.one_of(reading.BATCHES, start.batch),
    }  # fmt: skip
    return Params(**state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the two texts; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen()
    with errors.guard():
        run = ask.submit(("sentence_pairs", params.a, params.b), lambda: compute(params), 15 * max(1, len(params.a + params.b)))
        origin.tell_run(run)
        with st.container(key=f"pairs-picture-{step}"):
            shown = (game.one, game.drawn, game.known, reading.who, reading.loss, reading.swapped)[step](params, run)
        show(EXHIBIT, "sentence_pairs", str(step), shown, lambda: st.markdown(game.TRY[step]), lambda: lesson.errata("E24"))
    with st.container():
        if not lesson.presenting() and step not in (1, 2):
            controls.text("Text A", SLUG + "a", Params.a, placeholder="Type a sentence", drops=(SLUG + "follows",), of=MODEL, most=f"up to {LONGEST} tokens, both together")
            controls.text("Text B", SLUG + "b", Params.b, placeholder="Type a sentence", drops=(SLUG + "follows",), of=MODEL, most=f"up to {LONGEST} tokens, both together")
