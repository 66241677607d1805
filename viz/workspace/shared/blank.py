"""What a model that fills blanks has to say: the hidden word, and whether a second text follows the first."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import streamlit as st

from core.analysis.attribution.target_token import blank_rows
from core.analysis.predictions import top_predictions
from core.maths import softmax
from core.model import Model
from core.run import Run
from viz.labels import literal, percent
from viz.shell import state
from viz.widgets import controls
from viz.workspace.shared.model_run import run_text as look_at

_FILLED, _BLANKS = "look.filled", "look.blanks"
BETWEEN = "\0\x1e\0"
_BLANK = re.compile(r"_{2,}|<mask>|\[mask\]", re.IGNORECASE)


def read_by(model: Model, text: str) -> str:
    """The text as this model reads it: one that fills blanks has its own sign for them."""
    return blanked(text, sign(model))


def sign(model: Model) -> str | None:
    """The mask token of a model that reads blanks, as it is typed."""
    mask = model.tokenizer.mask if model.spec.framed else None
    return None if mask is None else model.tokenizer.token(mask)


def blanked(text: str, mask: str | None) -> str:
    """The text with the model's own sign for each blank, however it was typed.

    >>> blanked("A ___ and a <mask>, a [mask].", "[MASK]")
    'A [MASK] and a [MASK], a [MASK].'
    """
    return text if mask is None else _BLANK.sub(lambda _: mask, text)


@dataclass(frozen=True)
class Blanks:
    """A text with its blanks, and what was chosen for each so far; the second text, if there is one, stands behind `BETWEEN`."""

    template: str
    mask: str
    words: tuple[str | None, ...]

    @classmethod
    def of(cls, run: Run) -> Blanks:
        """The blanks of this text: those that were there before words were chosen for them, as long as nothing else was changed."""
        mask = run.model.tokenizer.mask
        sign = "" if mask is None else run.model.tokenizer.token(mask)
        text = BETWEEN.join(filter(None, (run.side.text, run.side.pair)))
        count = text.count(sign) if sign else 0
        held = st.session_state.get(_BLANKS)
        return (
            held
            if held and held.mask == sign and held.written() == text
            else cls(text, sign, (None,) * (count if count == len(blank_rows(run)) else 0))
        )

    def with_(self, number: int, word: str | None) -> Blanks:
        return replace(self, words=(*self.words[:number], word, *self.words[number + 1 :]))

    def written(self) -> str:
        """The text as it is read: a chosen word in its place, the others still blank.

        >>> Blanks("A [MASK] and a [MASK].", "[MASK]", ("cat", None)).written()
        'A cat and a [MASK].'
        """
        if not self.mask:
            return self.template
        first, *others = self.template.split(self.mask)
        return first + "".join(
            (self.mask if word is None else word.removeprefix("##")) + after
            for word, after in zip(self.words, others, strict=True)
        )


def show(run: Run) -> None:
    """The most probable words for each blank. One that is chosen is written into the sentence; the guesses stay, so that another can be tried."""
    found = Blanks.of(run)
    if not found.words:
        st.caption("Write ___ in the place of a word, and the model predicts the word that is missing.")
    for number in range(len(found.words)):
        _choice(run, found, number)


def _choice(run: Run, found: Blanks, number: int) -> None:
    """The guesses for one blank, with the words that were chosen for the others in their places."""
    word, many = found.words[number], len(found.words)
    empty = found.with_(number, None)
    text, _, pair = empty.written().partition(BETWEEN)
    here = run if word is None else look_at(run.model.name, text, None, pair or None)
    row = blank_rows(here)[empty.words[:number].count(None)]
    chances = dict(top_predictions(here, row))
    if word is not None and word not in chances:
        chances[word] = dict(top_predictions(here, row, len(here.model.tokenizer)))[
            word
        ]  # it was among the first before another blank was filled
    which = "the blank" if many == 1 else f"blank {number + 1} of {many}"
    key = f"look.blank:{number}:{empty.written()}"
    st.pills(
        f"Which word stands in {which}? Its guesses, with their probabilities:"
        + (" Touch the chosen one to make it a blank again." if word else ""),
        list(chances),
        key=key,
        default=state.seed_widget(key, word),
        on_change=_fill,
        args=(key, found, number),
        format_func=lambda word: f"{literal(word)} :gray[:small[{percent(chances[word])}]]",
    )


def second_text() -> str:
    """The box of the second text, which is read behind the first."""
    return controls.text("A second text, read after the first (leave it empty for none)", "pair", "")


def follows(run: Run) -> None:
    """What the model thinks of the second text as the continuation of the first, or of the order of the two."""
    if run.side.pair is not None and "next_sentence" in run.model.outputs:
        st.text(
            f"That the second text follows the first has, for this model, a probability of {percent(softmax(run.next_sentence)[0])}."
        )
    if run.side.pair is not None and "sentence_order" in run.model.outputs:
        st.text(
            f"That the two texts stand in their order has, for this model, a probability of {percent(softmax(run.sentence_order)[0])}."
        )


def _fill(key: str, found: Blanks, number: int) -> None:
    chosen = found.with_(number, st.session_state.get(key))
    text, _, pair = chosen.written().partition(BETWEEN)
    state.write(text=text, **({"pair": pair} if pair else {}))
    st.session_state.update({_BLANKS: chosen, _FILLED: True})


def filled() -> bool:
    """Whether a guess was just written into the sentence: then the whole page has to follow, not the picture alone."""
    return bool(st.session_state.pop(_FILLED, False))
