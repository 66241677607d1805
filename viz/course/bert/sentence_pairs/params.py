"""Settings of the exhibit on sentence pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.serving.engine import default
from viz.exhibit_text import data
from viz.labels import head_name
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import (
    Control,
    Knobs,
    knob,
    seed_input,
    segmented,
    select_slider,
    sentence,
    slider,
    toggle,
    url_only,
)

SLUG = "sentence_pairs."
MODEL = "bert-mini"
LONGEST = 64
START, MOST = 3, 500
HALF = 0.5
BLOCKS = ("A → A", "A → B", "B → A", "B → B", "[CLS] → A", "[CLS] → B")
BATCHES = (1, 4, 8, 16)
EXAMPLES: list[tuple[str, str, bool]] = data(__file__)["pairs"]
BOX = {"drops": ("follows",), "model": MODEL, "most": f"up to {LONGEST} tokens, both together"}


def heads() -> list[str]:
    """Return the names of all heads, layer by layer."""
    config = default().open(MODEL).config
    return [head_name(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]


def _head(raw: str) -> int:
    return state.whole_number(-1, len(heads()) - 1)(raw)


def _pick_head(name: str, opening: int, params: Params, names: Callable[[str], str]) -> None:
    of = ["mean of all heads", *heads()]
    controls.select("Head", range(-1, len(of) - 1), name, opening, lambda at: of[at + 1])


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: two texts, whether B follows; samples, threshold, head, share, batch."""

    a: str = knob(EXAMPLES[0][0], sentence("Text A", **BOX))
    b: str = knob(EXAMPLES[0][1], sentence("Text B", **BOX))
    follows: bool = knob(True, toggle("The true answer of your pair: B follows", width=1))
    draw: int = knob(START, seed_input(strong=True))
    draws: int = knob(10, url_only(state.whole_number(1, MOST)))
    cut: float = knob(HALF, slider("Threshold", 0.3, 0.8, 0.01))
    head: int = knob(-1, Control(_pick_head, lambda opening: _head))
    block: str = knob(BLOCKS[0], segmented("Shown on the right", BLOCKS))
    batch: int = knob(8, select_slider("Pairs in the batch, yours among them", BATCHES, width=0))
