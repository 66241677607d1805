"""Settings of the exhibit on training and inference: a pair, with a box for each language, the optimiser, its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.errors import InputError
from core.text.tokenizer import readable_part
from viz.course.transformer.training_and_inference.teacher_forcing_steps import MOST, RATES
from viz.exhibit_text import data
from viz.labels import literal, visible
from viz.shell import state
from viz.widgets import controls, engine_client
from viz.widgets.knobs import Control, Knobs, knob, segmented, toggle, url_only

SLUG = "training_and_inference."
MODEL = "translator-en-es"
PAIRS: list[tuple[str, str]] = [(source, target) for source, target in data(__file__)["pairs"]]
FACTORS = (0.25, 1.0, 4.0)
_PILLS = SLUG + "pairs"


def default_target(text: str) -> str:
    """Return the target of a sentence without a chosen one: ours, or the translation of the model. Raises InputError for no text."""
    return (
        next((target for source, target in PAIRS if source == text), None)
        or engine_client.run(MODEL, text, keep=()).target_text
        or ""
    )


def _pair(name: str, start: str, params: Params, _: object) -> None:
    """Draw the boxes of the pair to learn: English, the Spanish target, and examples of both."""
    text = params.text
    try:
        wanted = default_target(text)
    except InputError:  # told above, where the picture would be
        wanted = ""
    drops = (SLUG + "steps", SLUG + "passes", SLUG + "place")
    left, right = st.columns(2, gap="medium")
    with left:
        controls.text(
            "English sentence",
            name,
            start,
            placeholder="Type a sentence",
            drops=("target", *drops),
            model=MODEL,
        )
    with right:
        target = controls.text(
            "Spanish translation (the target)",
            "target",
            wanted,
            placeholder="Type its translation",
            drops=drops,
        )
    now = PAIRS.index((text, target)) if (text, target) in PAIRS else None
    state.seed_widget(_PILLS, now)
    st.pills(
        "Examples",
        range(len(PAIRS)),
        format_func=lambda i: literal(" → ".join(PAIRS[i])),
        key=_PILLS,
        default=now,
        on_change=_choose_pair,
        label_visibility="collapsed",
        wrap=True,
    )


def _choose_pair() -> None:
    at = st.session_state.get(_PILLS)
    if at is not None:
        text, target = PAIRS[at]
        state.write(
            text=text, target=target, **{SLUG + "steps": None, SLUG + "passes": None, SLUG + "place": None}
        )


def word(token: str) -> str:
    """Return a token as a word: its leading space left out, other white space visible."""
    return visible(token.removeprefix(" ") or token)


def as_words(tokens: Sequence[str]) -> list[str]:
    """Return tokens as words."""
    return [word(token) for token in tokens]


@dataclass(frozen=True)
class Params(Knobs):
    """Settings: the pair (`target` is "" if none was typed), the optimiser and its learning rate, and the number of steps taken."""

    text: str = knob(PAIRS[0][0], Control(_pair, lambda opening: readable_part), link="text")
    target: str = knob("", url_only(readable_part), link="target")
    shift: bool = knob(True, toggle("Shift the target by one position"))
    rule: str = knob("SGD", segmented("Optimiser", tuple(RATES), width=1))
    rate: float = knob(1.0, segmented("Learning rate ×", FACTORS, lambda factor: f"{factor:g}", width=1))
    steps: int = knob(0, url_only(state.whole_number(0, MOST)))

    @property
    def spanish(self) -> str:
        """Return the target. Raises InputError for no text."""
        return self.target or default_target(self.text)
