"""The bottleneck: an encoder reads a word letter by letter, and one vector is all that the decoder gets of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.scoring.copying import same
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.why.bottleneck import folds, pictures
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="The bottleneck", chapter=Chapter.WHY, order=30, minutes=9,
    claim="One vector has to carry everything that was read. The longer the word, the more of it is lost.",
    cites=(
        Cite("ghojogh2023", "the sequence-to-sequence model", "Eq. (1)", step=2),
        Cite("ghojogh2020", "2.2", "Eq. (1), Fig. 3a", step=2),
        Cite("beigy2021", "sequence to sequence models", "the two disadvantages of one context vector", step=5),
        Cite("lifei2022", "introduction", "two problems of recurrent networks", step=6),
        Cite("sutskever2014", "2", "one vector between two recurrent networks", step=3),
        Cite("cho2014", "2.2, 2.3", "the gated unit", step=5),
        Cite("hochreiter1997", "3, 4", "vanishing gradients, the memory cell", step=6),
    ),
)  # fmt: skip
SLUG = "bottleneck."
STEPS = (
    lesson.Step("Guess", "One network reads a word letter by letter and keeps one vector. Another has to write the word again from it."),
    lesson.Step("Read", "Each letter changes the state: h_i is made of h_(i-1) and the letter x_i. What is held at the end is the one vector c."),
    lesson.Step("Write", "The decoder starts from c and nothing else. Each state l_i is made of the state before and the letter just written."),
    lesson.Step("Look back", "The same cell, trained in the same way, but this decoder may look at every h_j again before it writes a letter."),
    lesson.Step("Length", "The same question for hundreds of words of each length, and for all six models."),
    lesson.Step("Slope", "How far can the first letter still move c? Where the gradient is zero, training cannot teach the letter to matter."),
)  # fmt: skip
CELLS = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
LONGEST = 30
WORDS = ("thequickbrownfox", "attention", "abcdefghijklmnopqrst", "aaaaabaaaa")


@dataclass(frozen=True)
class Params:
    """What the visitor chose: letters to be copied, and the cell of both networks."""

    word: str = WORDS[0]
    cell: str = "rnn"


@dataclass(frozen=True)
class Copy:
    """What one model made of the word. `chances[i]` is the probability of the i-th letter written, END's behind them.

    Shapes: read_states (n, d) with the left to right half first, context (d,), first and written_states (step, d) = l_i,
    pattern (step, n) or None without attention.
    """

    model: str
    read: tuple[str, ...]
    written: tuple[str, ...]
    chances: np.ndarray
    read_states: np.ndarray
    context: np.ndarray
    first: np.ndarray
    written_states: np.ndarray
    pattern: np.ndarray | None

    @property
    def right(self) -> int:
        """How many letters of the word stand in their places."""
        return round(same("".join(self.written), "".join(self.read)) * len(self.read))


@dataclass(frozen=True)
class Data:
    """The word through one vector, and the same word by the model of the same cell that may look back."""

    one: Copy
    looks: Copy


def letters_of(text: str) -> str:
    """What these models can read of a text: lower-case letters, not more than the page draws.

    >>> letters_of("Attention, please!")
    'attentionplease'
    """
    return "".join(letter for letter in text.lower() if "a" <= letter <= "z")[:LONGEST]


def copied(model: str, word: str) -> Copy:
    """One model reads the word and writes what it makes of it."""
    keep = ("encoder.layer.0.hidden", "decoder.start.*", "decoder.layer.0.hidden", "logits")
    attends = model.endswith("-attention")
    run = default().run(RunRequest(model, word, keep=(*keep, "decoder.attn.pattern") if attends else keep))
    logits = run.logits.astype(float)
    chances = np.exp(logits - logits.max(-1, keepdims=True))
    chances /= chances.sum(-1, keepdims=True)
    written = run.ids[1:]
    end = run.model.tokenizer.end
    taken = [*written, end]
    trace = run.trace
    return Copy(
        model, run.source.tokens, run.tokens[1:], chances[np.arange(len(taken)), taken], trace["encoder.layer.0.hidden"],
        trace["decoder.start.context"], trace["decoder.start.layer.0.hidden"], trace["decoder.layer.0.hidden"],
        trace["decoder.attn.pattern"][0] if attends else None,
    )  # fmt: skip


def compute(params: Params = Params()) -> Data:
    """Both models of the cell on the word."""
    word = letters_of(params.word) or Params.word
    return Data(*(copied(f"copy-{params.cell}{attends}", word) for attends in ("", "-attention")))


def thumbnail() -> str:
    """Letters right by length: one vector, and looking back."""
    rows = [pictures.tables()[f"copy-gru{attends}"] for attends in ("-attention", "")]
    lengths = np.arange(1, max(map(max, rows)) + 1)
    return thumbs.curves([np.interp(lengths, sorted(row), [row[n] for n in sorted(row)]) for row in rows])


def page() -> None:
    """Claim, steps, one picture, one sentence; word and cell below it; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    cell = state.read(SLUG + "cell", Params.cell, state.one_of(tuple(CELLS)))
    typed = state.read(SLUG + "word", Params.word)
    params = Params(letters_of(typed) or Params.word, cell)
    with errors.guard():
        _show(step, params, typed)


def _show(step: int, params: Params, typed: str) -> None:
    data = ask.submit(("bottleneck", params), lambda: compute(params), 40 * len(params.word))
    origin.tell(model=data.one.model, text=params.word)
    question = st.container()
    with question:
        known = _predict(data) if step == 0 else True
    with st.container(key=f"bottleneck-picture-{step}"):
        parts.numbers(pictures.draw(step, params, data, known))
    _change(typed, params)
    with st.container():
        if step == len(STEPS) - 1:
            controls.draw(SLUG + "draw", 0, 99, again="Other held-out words")
    folds.show(EXHIBIT, params, data)


def _predict(data: Data) -> bool:
    """How much of this word comes back? The answer is counted in what the model wrote."""
    one, n = data.one, len(data.one.read)
    return lesson.predict(
        SLUG + "right", f"The {CELLS[one.model.split('-')[1]]} has read the {n} letters of “{''.join(one.read)}” into one vector of "
        f"{len(one.context)} numbers. How many letters come back right?",
        folds.ANSWERS, answer=folds.share_in_words(one.right, n),
        why=f"{one.right} of {n}: it wrote “{''.join(one.written)}”. " + folds.why(one),
    )  # fmt: skip


def _change(typed: str, params: Params) -> None:
    """The one control: the word and the cell."""
    with st.container(key="bottleneck-change"):
        controls.text("Your word, letters a to z", SLUG + "word", Params.word, placeholder="Type a word")
        controls.preset_row(WORDS, SLUG + "word", Params.word, "Words")
        controls.segmented("Cell", tuple(CELLS), SLUG + "cell", Params.cell, CELLS.__getitem__, quiet=True)
        told = "" if typed == params.word else f"These models read letters a to z, {LONGEST} at most. Read here: {params.word}"
        st.caption(told)
