"""What a model that fills blanks has to say: the hidden word, and whether a second text follows the first."""

from __future__ import annotations

import streamlit as st

from core.analysis.guesses import guesses, probabilities
from core.run import Run
from viz.labels import literal, percent
from viz.ui import controls, state
from viz.workspace._look_heads import blanks

_FILLED = "look.filled"


def show(run: Run) -> None:
    """The most probable words for the first blank; choosing one writes it into the sentence."""
    found = blanks(run)
    if not found:
        st.caption("Write [MASK] in the place of a word, and the model says which word it expects there.")
        return
    words = dict(guesses(run, found[0]))
    span = run.spans[found[0]]
    key = f"look.blank:{run.side.text}"
    st.pills(
        "Which word stands in the blank? Its guesses, with their probabilities:", list(words), key=key, on_change=_fill,
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
