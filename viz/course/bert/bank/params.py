"""Settings of the exhibit on one word with two meanings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.serving.engine import default
from viz.course.bert.contextual_vectors import HOWS
from viz.course.bert.senses import DOCUMENTS, WORDS
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, pills, segmented, sentence

SLUG = "bank."
MODEL, TABLE = "bert-mini", "vectors-mini"


def names_of(n: int) -> list[str]:
    """Return the names of the rows of vectors: the table, the input of the first layer, the output of each layer."""
    return ["table", "+ position", *(f"after L{i}" for i in range(n - 2))]


def how_label(how: str) -> str:
    """Return the name of a sentence vector on screen; in a link it keeps its old one."""
    return how.replace("places", "positions")


def _rows() -> int:
    return default().open(MODEL).config.n_layers + 2


def _layer(raw: str) -> int:
    return state.whole_number(0, _rows() - 1)(raw)


def _pick_layer(name: str, opening: int, params: Params, names: Callable[[str], str]) -> None:
    n = _rows()
    controls.select_slider("Layer", range(n), name, n - 1, lambda at: names_of(n)[at])


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: two sentences and a word of both; one of our words, a sentence; a
    layer."""

    one: str = knob(DOCUMENTS[0], sentence("One sentence", model=MODEL, placeholder=None))
    two: str = knob(DOCUMENTS[1], sentence("Another sentence", model=MODEL, placeholder=None))
    word: str = knob("bank", sentence("A word in both", placeholder=None))
    which: str = knob("bank", pills("Word", tuple(WORDS)))
    own: str = knob(
        "",
        sentence(
            lambda params: f"Your own sentence with “{params.which}”",
            model=MODEL,
            placeholder=lambda params: f"Type a sentence with the word {params.which}",
        ),
    )
    layer: int = knob(7, Control(_pick_layer, lambda opening: _layer))
    how: str = knob(HOWS[1], segmented("The sentence's vector", HOWS, how_label))
    sentence: str = knob(
        "The weather was cold.", sentence("Your own sentence", model=MODEL, placeholder=None)
    )
