"""Settings of the exhibit on positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from viz.course.self_attention.positions import read
from viz.shell import state
from viz.widgets import controls, exhibit_parts
from viz.widgets.knobs import Control, Knobs, knob, pills, segmented, sentence, slider, url_only, with_rule

SLUG = "positions"
SENTENCES = (
    "The dog saw the man.",
    "She has a white car and he has a red car.",
    "The king loved the queen.",
    "The cat did not drink the milk because it was sour.",
)
CODES = ("none", "fraction", "integer", "sinusoid", "sinusoid, i/d", "learned")
TABLES = {"bert-mini": "bert-mini's", "gpt-mini": "gpt-mini's"}
MODELS = {"translator-en-es": "Translator", "gpt-mini": "GPT", "bert-mini": "BERT"}
RIM = 20
MOST = f"up to {read.LONGEST} tokens"


def _codes(_: Params) -> tuple[str, ...]:
    """Return the position codes that can be shown: without the model not the learned one."""
    return CODES if read.learned(read.WRITER) is not None else CODES[:-1]


def _row(name: str, opening: str, params: Params, names: Callable[[str], str]) -> None:
    """Draw the choice of the model, and another shuffle; in present mode the sentence, too."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width="content"):
            controls.segmented("Model", tuple(MODELS), name, opening, MODELS.__getitem__)
        controls.seed_input(names("draw"), 0, next_label="Shuffle again")
        if exhibit_parts.presenting():  # the examples stand at the first step
            controls.text(
                "Sentence",
                names("text"),
                SENTENCES[0],
                quiet=True,
                placeholder="Type a sentence",
                model=params.model,
                most=MOST,
            )


@dataclass(frozen=True)
class Params(Knobs):
    """The sentence is read by bert-mini at the first step and by the model at the last."""

    text: str = knob(SENTENCES[0], sentence("Sentence", SENTENCES, model=read.READER, most=MOST), link="text")
    trained: str = knob(
        SENTENCES[0],
        sentence("Sentence", SENTENCES, model=lambda params: params.model, most=MOST),
        link="text",
    )
    short: int = knob(5, slider("A short sentence, words", 3, 10, width="stretch"))
    long: int = knob(20, slider("A long sentence, words", 11, 100, width="stretch"))
    code: str = knob("fraction", with_rule(pills("Position code", _codes, quiet=True), state.one_of(CODES)))
    position: int = knob(3, slider("Position", 0, RIM - 1))
    table: str = knob("bert-mini", segmented("Table of", tuple(TABLES), TABLES.__getitem__))
    model: str = knob("translator-en-es", Control(_row, lambda _: state.one_of(tuple(MODELS))))
    draw: int = knob(0, url_only(state.whole_number(0, 9999)))
