"""What can be set on the exhibit on training and inference: the pair that is learnt, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.errors import InputError
from core.text.tokenizer import typed
from viz.course.transformer.training_and_inference.maths.taught import MOST, RATES
from viz.labels import literal
from viz.shell import state
from viz.widgets import compute, controls
from viz.widgets.knobs import Control, Knobs, knob, segmented, sentence, slider, toggle, touched

SLUG = "training_and_inference."
MODEL = "translator-en-es"
PAIRS = (
    ("She has a white car.", "Ella tiene un coche blanco."),
    ("You are welcome.", "De nada."),
    ("You are welcome.", "Con mucho gusto."),
    ("I am a student.", "Soy estudiante."),
)
FACTORS = (0.25, 1.0, 4.0)
WHERE = {"paper": "On paper", "model": "The translator"}
SENTENCES = (
    "It was so cold that nobody went out.",
    "The teacher asked us to be quiet.",
    "Keep an eye on my bag.",
)
DROPS = (SLUG + "steps", SLUG + "passes", SLUG + "place")
"""What belongs to a pair."""
_PILLS = SLUG + "pairs"


def own(text: str) -> str:
    """The target of a sentence that the visitor chose none for: ours, or what the model writes. Raises
    InputError for no text."""
    ours = next((target for source, target in PAIRS if source == text), None)
    return ours or compute.run(MODEL, text, keep=()).target_text or ""


def _pair(name: str, opening: None, params: Params, names: Callable[[str], str]) -> None:
    """Both sentences side by side, and examples that set both."""
    try:
        wanted = own(params.text)
    except InputError:  # told above, where the picture would be
        wanted = ""
    left, right = st.columns(2, gap="medium")
    with left:
        text = controls.text(
            "English sentence",
            names("text"),
            PAIRS[0][0],
            placeholder="Type a sentence",
            drops=(name, *DROPS),
            of=MODEL,
        )
    with right:
        target = controls.text(
            "Spanish, as it is wanted", name, wanted, placeholder="Type its translation", drops=DROPS
        )
    now = PAIRS.index((text, target)) if (text, target) in PAIRS else None
    state.held(_PILLS, now)
    st.pills(
        "Examples",
        range(len(PAIRS)),
        format_func=lambda i: literal(" → ".join(PAIRS[i])),
        key=_PILLS,
        default=now,
        on_change=_chosen,
        label_visibility="collapsed",
        wrap=True,
    )


def _chosen() -> None:
    at = st.session_state.get(_PILLS)
    if at is not None:
        text, target = PAIRS[at]
        state.write(text=text, target=target, **dict.fromkeys(DROPS))


@dataclass(frozen=True)
class Params(Knobs):
    """What the visitor chose: the pair, the optimiser's rule and rate, and the steps that were taken; the
    switch of the shift; the temperature; whose greedy choice, and of which sentence."""

    text: str = knob(PAIRS[0][0], touched(typed), link="text")
    target: str | None = knob(None, Control(_pair, lambda opening: typed), link="target")
    rule: str = knob("SGD", segmented("Optimiser", tuple(RATES)))
    rate: float = knob(1.0, segmented("Learning rate ×", FACTORS, "{:g}".format))
    steps: int = knob(0, touched(state.whole(0, MOST)))
    shift: bool = knob(True, toggle("Shift the target by one position"))
    temperature: float = knob(1.0, slider("Temperature", 0.25, 4.0, 0.25))
    where: str = knob("paper", segmented("Where", tuple(WHERE), WHERE.__getitem__, quiet=True))
    sentence: str = knob(SENTENCES[0], sentence("English sentence", SENTENCES, of=MODEL))

    @property
    def wanted(self) -> str:
        """The target, or that of the sentence while none was chosen."""
        return own(self.text) if self.target is None else self.target
