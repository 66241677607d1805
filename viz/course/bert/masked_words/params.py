"""Settings of the exhibit on masked words."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.bert.masking import Rates
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, seed_input, select_slider, sentence, slider, url_only

SLUG = "masked_words."
MODEL, WRITER = "bert-mini", "gpt-mini"
LONGEST = 30
SENTENCES: list[str] = data(__file__)["sentences"]
DRAWS = (10, 100, 1000, 10_000)
WARM_UPS = (0, 1_000, 10_000, 100_000, 300_000)
STEPS = (100_000, 500_000, 1_000_000, 2_000_000)
SEQUENCES = (16, 32, 64, 128, 256, 512)
LENGTHS = (64, 128, 256, 512)
BOX = sentence("Sentence", SENTENCES, drops=("word",), model=MODEL, most=f"up to {LONGEST} tokens")


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: sentence, masked word, seed, rates, number of samples; the recipe."""

    text: str = knob(SENTENCES[0], BOX, link="text")
    word: int = knob(3, url_only(state.whole_number(0, LONGEST)))
    draw: int = knob(3, seed_input(strong=True))
    share: float = knob(0.15, slider("Share of tokens chosen", 0.05, 0.5, 0.05, width=240))
    masked: float = knob(0.8, slider("Of these: [MASK]", 0.0, 1.0, 0.05, width=240))
    redrawn: float = knob(0.1, slider("Of these: a random word", 0.0, 1.0, 0.05, width=240))
    draws: int = knob(1000, select_slider("Draws", DRAWS, "{:,}".format, width=420))
    warm_up: int = knob(10_000, select_slider("Warm-up", WARM_UPS, "{:,}".format, width=220))
    steps: int = knob(1_000_000, select_slider("Steps", STEPS, "{:,}".format, width=220))
    sequences: int = knob(256, select_slider("Sequences per step", SEQUENCES, width=220))
    length: int = knob(512, select_slider("Tokens per sequence", LENGTHS, width=220))

    @property
    def rates(self) -> Rates:
        """Return the rates; no more tokens become a random word than are left by [MASK]."""
        return Rates(self.share, self.masked, min(self.redrawn, round(1 - self.masked, 6)))
