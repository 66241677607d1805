"""Settings of the exhibit on alignment: the English sentence, and the decoder state that is the query."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.why.alignment.maths import ASKERS, LONGEST, usable
from viz.languages import _
from viz.widgets.knobs import Knobs, knob, segmented, sentence

SLUG = "alignment"
CALLED = {"before": "sₜ₋₁, Bahdanau", "now": "sₜ, Luong"}
"""The query and who uses it; the same in every language."""
SENTENCES = (
    "The black cat is sleeping on the white bed.",
    "She has a white car.",
    "You are welcome.",
    "The animal didn't cross the street because it was too tired.",
)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds."""

    text: str = knob(
        SENTENCES[0],
        sentence(
            "English sentence",
            SENTENCES,
            model=lambda params: ASKERS[params.asks],
            most=lambda: _("up to {n:,} tokens", n=LONGEST),
        ),
        link="text",
    )
    asks: str = knob("before", segmented("The state that is the query", tuple(ASKERS), CALLED.__getitem__))

    @property
    def model(self) -> str:
        """Return the translator that asks with the chosen state; where it is missing, the other."""
        return ASKERS[self.asks] if usable(ASKERS[self.asks]) else ASKERS["before"]
