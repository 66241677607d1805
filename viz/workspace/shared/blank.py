"""Predictions for blanks: the words for each hidden place, and whether a second text follows the first."""

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
from viz.languages import _
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import controls
from viz.workspace.shared import model_run

_FILLED, _BLANKS = "look.filled", "look.blanks"
BETWEEN = "\0\x1e\0"
_BLANK = re.compile(r"_{2,}|<mask>|\[mask\]", re.IGNORECASE)


def read_by(model: Model, text: str) -> str:
    """Return the text as this model reads it: one that fills blanks has its own mask token for them."""
    return blanked(text, sign(model))


def sign(model: Model) -> str | None:
    """Return the mask token of a model that reads blanks, as it is typed; None for other models."""
    mask = model.tokenizer.mask if model.spec.framed else None
    return None if mask is None else model.tokenizer.token(mask)


def blanked(text: str, mask: str | None) -> str:
    """Return the text with the model's mask token for each blank, however it was typed.

    >>> blanked("A ___ and a <mask>, a [mask].", "[MASK]")
    'A [MASK] and a [MASK], a [MASK].'
    """
    return text if mask is None else _BLANK.sub(lambda _: mask, text)


@dataclass(frozen=True)
class Blanks:
    """A text with its blanks, and the word chosen for each so far; a second text, if there is one, follows after `BETWEEN`."""

    template: str
    mask: str
    words: tuple[str | None, ...]

    @classmethod
    def from_run(cls, run: Run) -> Blanks:
        """Return the blanks of this text: those that were there before words were chosen for them, as long as nothing else was changed."""
        mask = run.model.tokenizer.mask
        sign = "" if mask is None else run.model.tokenizer.token(mask)
        text = BETWEEN.join(filter(None, (run.side.text, run.side.pair)))
        count = text.count(sign) if sign else 0
        held = st.session_state.get(_BLANKS)
        return (
            held
            if held and held.mask == sign and held.filled_text() == text
            else cls(text, sign, (None,) * (count if count == len(blank_rows(run)) else 0))
        )

    def replace_word(self, number: int, word: str | None) -> Blanks:
        return replace(self, words=(*self.words[:number], word, *self.words[number + 1 :]))

    def filled_text(self) -> str:
        """Return the text as it is read: a chosen word in its place, the others still blank.

        >>> Blanks("A [MASK] and a [MASK].", "[MASK]", ("cat", None)).filled_text()
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
    """Draw the most probable words for each blank. A chosen one is put into the sentence; the guesses stay, so that another can be tried."""
    found = Blanks.from_run(run)
    if not found.words:
        st.caption(_("Write ___ in the place of a word, and the model predicts the word that is missing."))
    for number in range(len(found.words)):
        _choice(run, found, number)


def _choice(run: Run, blanks: Blanks, number: int) -> None:
    """Draw the guesses for one blank, with the words that were chosen for the others in their places."""
    word, many = blanks.words[number], len(blanks.words)
    empty = blanks.replace_word(number, None)
    text, _between, pair = empty.filled_text().partition(BETWEEN)
    here = run if word is None else model_run.run(Selection(run.model.name, text, pair=pair))
    row = blank_rows(here)[empty.words[:number].count(None)]
    chances = dict(top_predictions(here, row))
    if word is not None and word not in chances:
        chances[word] = dict(top_predictions(here, row, len(here.model.tokenizer)))[
            word
        ]  # it was among the first before another blank was filled
    which = _("the blank") if many == 1 else _("blank {number} of {many}", number=number + 1, many=many)
    key = f"look.blank:{number}:{empty.filled_text()}"
    st.pills(
        _("Which word stands in {which}? Its guesses, with their probabilities:", which=which)
        + (_(" Touch the chosen one to make it a blank again.") if word else ""),
        list(chances),
        key=key,
        default=state.seed_widget(key, word),
        on_change=_fill,
        args=(key, blanks, number),
        format_func=lambda word: f"{literal(word)} :gray[:small[{percent(chances[word])}]]",
    )


def second_text() -> str:
    """Draw the box of the second text, which is read after the first, and return it."""
    return controls.text(_("A second text, read after the first (leave it empty for none)"), "pair", "")


def show_pair_probabilities(run: Run) -> None:
    """Show how probable the second text is as the continuation of the first, or the order of the two."""
    if run.side.pair is not None and "next_sentence" in run.model.outputs:
        st.text(
            _(
                "That the second text follows the first has, for this model, a probability of {chance}.",
                chance=percent(softmax(run.next_sentence)[0]),
            )
        )
    if run.side.pair is not None and "sentence_order" in run.model.outputs:
        st.text(
            _(
                "That the two texts stand in their order has, for this model, a probability of {chance}.",
                chance=percent(softmax(run.sentence_order)[0]),
            )
        )


def _fill(key: str, blanks: Blanks, number: int) -> None:
    chosen = blanks.replace_word(number, st.session_state.get(key))
    text, _, pair = chosen.filled_text().partition(BETWEEN)
    state.write(text=text, **({"pair": pair} if pair else {}))
    st.session_state.update({_BLANKS: chosen, _FILLED: True})


def take_filled() -> bool:
    """Return, once, whether a guess was just put into the sentence: then the whole page has to follow, not the picture alone."""
    return bool(st.session_state.pop(_FILLED, False))
