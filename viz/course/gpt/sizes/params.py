"""What can be set on the exhibit on sizes, and what it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from viz.course.gpt.sizes import maths
from viz.shell import state
from viz.widgets import exhibit_parts
from viz.widgets.knobs import Control, Knobs, knob, pills, segmented, select_slider, slider, toggle

SLUG = "sizes."
MODELS = ("BERT-Base", "BERT-Large", "TinyBERT", "GPT-2 small", "GPT-2 XL")
VARIANTS = tuple(name for name in maths.BERTS if name != "BERT-Base")
GROWN = tuple(name for name in maths.GPT2 if name != "GPT-2 small")
AGAINST = tuple(name for name in maths.RACE if name != "GPT-3")
START = maths.GPT2["GPT-2 small"]
WIDTHS = (64, 128, 256, 512, 768, 1024, 1280, 1600, 2048, 3072, 4256, 8192, 12_288)
HEADS = (1, 2, 4, 8, 12, 16, 20, 25, 28, 32, 64, 96)
VOCABULARIES = (256, 1000, 8000, 30_522, 50_257, 100_000, 250_000)
CONTEXTS = (128, 512, 1024, 2048, 8192, 32_768)
READY = ("GPT-2 small", "GPT-2 XL", "GPT-3", "Megatron-LM", "Turing-NLG")
IN_A_ROOM = 3
_PILLS = SLUG + "ready"


def _values(shape: maths.Shape) -> dict[str, int]:
    return {
        "layers": shape.n_layers,
        "width": shape.d_model,
        "heads": shape.n_heads,
        "vocabulary": shape.n_vocab,
        "context": shape.n_ctx,
    }


def _ready(_name: str, _opening: int, params: Params, _names: object) -> None:
    """Ready shapes, above the layers."""
    ready = READY[:IN_A_ROOM] if exhibit_parts.presenting() else READY
    lit = next((name for name in ready if _values(maths.ALL[name]) == _values(params.shape)), None)
    state.seed_widget(_PILLS, lit)
    st.pills("Ready shapes", ready, key=_PILLS, default=lit, on_change=_load, label_visibility="collapsed")


def _load() -> None:
    name = st.session_state.get(_PILLS)
    if name in READY:
        state.write(**{SLUG + part: value for part, value in _values(maths.ALL[name]).items()})


@dataclass(frozen=True)
class Params(Knobs):
    """What is compared at each step, and the shape in the calculator; the named models have their own."""

    model: str = knob(MODELS[0], segmented("Model", MODELS, quiet=True))
    variant: str = knob("RoBERTa", pills("Compare with BERT-Base", VARIANTS, maths.shown, quiet=True))
    grown: str = knob("GPT-2 XL", segmented("Compare with the small one", GROWN, quiet=True))
    against: str = knob("GPT-2 XL", segmented("Compare GPT-3 with", AGAINST, quiet=True, width=720))
    plain: bool = knob(False, toggle("Linear axis", width=1))
    ready: int = knob(0, Control(_ready, lambda opening: state.whole_number(0, 0)))
    layers: int = knob(START.n_layers, slider("Layers L", 1, 96, width=320))
    width: int = knob(START.d_model, select_slider("Width d", WIDTHS, "{:,}".format, width=320))
    heads: int = knob(START.n_heads, select_slider("Heads h", HEADS, width=320))
    vocabulary: int = knob(
        START.n_vocab, select_slider("Vocabulary V", VOCABULARIES, "{:,}".format, width=320)
    )
    context: int = knob(START.n_ctx, select_slider("Context C", CONTEXTS, "{:,}".format, width=320))

    @property
    def shape(self) -> maths.Shape:
        """That of the calculator."""
        return maths.Shape(
            n_layers=self.layers,
            d_model=self.width,
            n_heads=self.heads,
            n_vocab=self.vocabulary,
            n_ctx=self.context,
        )


@dataclass(frozen=True)
class Data:
    """Parameters by part: of each named model, and of the shape in the calculator."""

    counts: Mapping[str, Mapping[str, int]]
    shape: maths.Shape
    own: Mapping[str, int]

    def total(self, name: str) -> int:
        """All parameters of a named model."""
        return sum(self.counts[name].values())
