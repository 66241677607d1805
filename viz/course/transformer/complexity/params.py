"""Settings of the exhibit on costs."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.transformer.complexity.maths import WIDTHS
from viz.widgets.knobs import Knobs, knob, segmented, select_slider, toggle

N = (4, 8, 16, 32, 50, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 10_000, 16_384, 32_768, 65_536)
P = (32, 64, 128, 256, 512, 768, 1024, 2048)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings: length and width, whether all multiplications count, the measured width."""

    n: int = knob(50, select_slider("n, words in the text", N, "{:,}".format, width="stretch"))
    p: int = knob(512, select_slider("p, numbers per word", P, "{:,}".format, width="stretch"))
    whole: bool = knob(False, toggle("Count everything (projections, gates of an LSTM)"))
    width: int = knob(512, segmented("p", WIDTHS))
