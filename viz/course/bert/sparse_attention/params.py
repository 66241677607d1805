"""Settings of the exhibit on sparse attention."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.bert.sparse_attention.maths import DRAWN_PARTS, LENGTHS, Shape
from viz.exhibit_text import data
from viz.widgets.knobs import Control, Knobs, knob, pills, seed_input, select_slider, sentence, slider

SLUG = "sparse_attention."
LONG: str = " ".join(data(__file__)["long"].split())
SHORT = "The fox looked at the moon and went home."
BLOCKS = (16, 32, 64, 128)
WINDOWS = (1, 3, 5, 7, 9)
NAMES = {"all": "all three", "window": "window", "global": "global", "random": "random"}
N_LAYERS, N_HEADS = 6, 8
"""Layers and heads of bigbird-mini."""


def place(label: str, help_text: str) -> Control:
    """Return a slider for a position in the text, in percent of its length: it keeps its value when n changes."""
    return slider(f"{label}, % of the text", 0, 100, width=240, help=help_text)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: the text's length, the mask in blocks, the drawn part, two positions, a
    text and a head."""

    n: int = knob(4096, select_slider("n, tokens in the text", LENGTHS, "{:,}".format, width=260))
    block: int = knob(64, select_slider("Tokens in a block", BLOCKS, width=220))
    window: int = knob(3, select_slider("w, blocks in the window", WINDOWS, width=220))
    n_global: int = knob(2, slider("g, global blocks", 0, 6, width=200))
    n_random: int = knob(3, slider("r, random blocks per row", 0, 6, width=200))
    seed: int = knob(0, seed_input(99))
    shown: str = knob("all", pills("Drawn", tuple(DRAWN_PARTS), NAMES.__getitem__, quiet=True))
    allowed: str = knob("window", pills("Allowed", tuple(DRAWN_PARTS), NAMES.__getitem__))
    first: int = knob(20, place("From", "The word that sends information."))
    second: int = knob(80, place("To", "The word that receives it."))
    own: str = knob(LONG, sentence("Text", (SHORT,), placeholder="Paste a long text"))
    layer: int = knob(3, pills("Layer", tuple(range(N_LAYERS)), width=1))
    head: int = knob(0, pills("Head", tuple(range(N_HEADS)), width=1))

    @property
    def shape(self) -> Shape:
        """Return the mask over blocks."""
        return Shape(self.n, self.block, self.window, self.n_global, self.n_random, self.seed)

    @property
    def source(self) -> int:
        """Return the block of the word that sends information."""
        return self._block_at(self.first)

    @property
    def target(self) -> int:
        """Return the block of the word that receives it.

        >>> Params(second=0).target, Params(second=100).target
        (0, 63)
        """
        return self._block_at(self.second)

    def _block_at(self, percent: int) -> int:
        return min(self.shape.n_blocks - 1, percent * self.shape.n_blocks // 100)
