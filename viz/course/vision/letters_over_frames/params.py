"""The settings of the exhibit on letters and frames: the text, the voice, the speed and the noise."""

from __future__ import annotations

from dataclasses import dataclass

from core.data.speech.clips import DIGITS, HELD_OUT_VOICES, TRAINING_VOICES, WORDS
from core.data.speech.reader import RANGES, seconds
from core.models.las import LasConfig
from viz.course.vision.letters_over_frames.maths import MODEL, spoken
from viz.widgets.knobs import Knobs, knob, pills, seed_input, sentence, slider

SLUG = "letters_over_frames"
TEXTS = ("yes winter pencil", "4 7 2", "0 garden 9")
(SLOW, FAST), (QUIETEST, LOUDEST) = RANGES["speed"], RANGES["noise"]
MOST = f"the digits and {len(WORDS) - len(DIGITS)} words, up to {seconds(LasConfig().n_ctx, LasConfig().n_frames):.0f} seconds"
VOICE = f"Voice ({', '.join(HELD_OUT_VOICES)}: not in training)"


@dataclass(frozen=True)
class Params(Knobs):
    """`own` is what is said, `rate` how fast the other sound of the third step is; `seed` draws the noise and the sounds of the last."""

    own: str = knob(
        TEXTS[0],
        sentence("Digits and words to say", TEXTS, placeholder="yes winter pencil", model=MODEL, most=MOST),
    )
    voice: str = knob(HELD_OUT_VOICES[0], pills(VOICE, (*TRAINING_VOICES, *HELD_OUT_VOICES)))
    speed: float = knob(1.0, slider("Speed", SLOW, FAST, 0.05, width=260))
    noise: float = knob(0.0, slider("Noise, as a share of the speech", QUIETEST, LOUDEST, 0.05, width=260))
    rate: float = knob(0.5, slider("Speed of the second sound", SLOW, FAST, 0.05))
    seed: int = knob(0, seed_input(9999, next_label="Other sounds"))

    @property
    def text(self) -> str:
        """Return the sound as a text. Raises InputError for words that have no clip."""
        return spoken(self.own, self.voice, self.speed, self.noise, self.seed)

    @property
    def other(self) -> str:
        """Return the same sound at the other speed."""
        return spoken(self.own, self.voice, self.rate, self.noise, self.seed)
