"""What a model that fills blanks has to say: the hidden word, and whether a second text follows the first."""

from __future__ import annotations

import re

import streamlit as st

from core.analysis.guesses import guesses, probabilities
from core.run import Run
from viz.labels import literal, percent
from viz.ui import controls, state
from viz.workspace._look_heads import blanks

_FILLED = "look.filled"
_BLANK = re.compile(r"_{2,}|<mask>|\[mask\]", re.IGNORECASE)


def blanked(text: str, mask: str | None) -> str:
    """The text with the model's own sign for each blank, however it was typed.

    >>> blanked("A ___ and a <mask>, a [mask].", "[MASK]")
    'A [MASK] and a [MASK], a [MASK].'
    """
    return text if mask is None else _BLANK.sub(lambda _: mask, text)


def show(run: Run) -> None:
    """The most probable words for each blank; choosing one writes it into the sentence."""
    found = blanks(run)
    if not found:
        st.caption("Write [MASK] in the place of a word, and the model says which word it expects there.")
        return
    for number, row in enumerate(found, 1):
        which = "the blank" if len(found) == 1 else f"blank {number} of {len(found)}"
        _choice(run, row, f"Which word stands in {which}? Its guesses, with their probabilities:")


def _choice(run: Run, row: int, asks: str) -> None:
    words = dict(guesses(run, row))
    span = run.spans[row]
    key = f"look.blank:{row}:{run.side.text}"
    st.pills(
        asks, list(words), key=key, on_change=_fill,
        args=(key, run.side.text, span), format_func=lambda word: f"{literal(word)} :gray[:small[{percent(words[word])}]]",
    )  # fmt: skip


def second_text() -> str:
    """The box of the second text, which is read behind the first."""
    return controls.text("A second text, read behind the first (leave it empty for none)", "pair", "")


def follows(run: Run) -> None:
    """What the model thinks of the second text as the continuation of the first."""
    if run.side.pair is not None and "next_sentence" in run.model.outputs:
        st.text(f"That the second text follows the first has, for this model, a probability of {probabilities(run.next_sentence)[0]:.1%}.")


def _fill(key: str, text: str, span: tuple[int, int] | None) -> None:
    word = st.session_state.get(key)
    if word is not None and span is not None:
        state.write(text=text[: span[0]] + word.removeprefix("##") + text[span[1] :])
        st.session_state[_FILLED] = True


def filled() -> bool:
    """Whether a guess was just written into the sentence: then the whole page has to follow, not the picture alone."""
    return bool(st.session_state.pop(_FILLED, False))
