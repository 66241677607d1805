"""What exhibits on one layer let a visitor choose alike: the sentence, the model, one of its layers, one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.serving.engine import default
from viz.labels import distinct, visible
from viz.widgets import controls
from viz.widgets.knobs import knob, sentence


def text(sentences: Sequence[str], longest: int) -> Any:
    """The box of the sentence; another one takes back the word."""
    box = sentence(
        "Sentence", sentences, drops=("word",), model=lambda p: p.model, most=f"up to {longest} tokens"
    )
    return knob(sentences[0], box, link="text")


class OneWord:
    """A word and a layer as they were chosen, in a sentence that may be shorter and a model that may be shallower."""

    model: str
    layer: int
    word: int

    @property
    def layers(self) -> range:
        """Those of the model."""
        return range(default().open(self.model).config.n_layers)

    @property
    def at_layer(self) -> int:
        """The layer."""
        return min(self.layer, self.layers[-1])

    def at_word(self, tokens: Sequence[str]) -> int:
        """The place of the word."""
        return min(self.word, len(tokens) - 1)

    def pick_word(self, slug: str, tokens: Sequence[str]) -> None:
        """Pills with the pieces of the sentence."""
        names = names_of(tokens)
        controls.pills("Word", range(len(names)), f"{slug}word", self.at_word(tokens), names.__getitem__)

    def pick_layer(self, slug: str) -> None:
        """Pills with the layers of the model."""
        controls.pills("Layer", self.layers, f"{slug}layer", self.at_layer)


def names_of(tokens: Sequence[str]) -> list[str]:
    """The pieces of a sentence as labels, repeated ones told apart."""
    return distinct([visible(token.strip() or token) for token in tokens])
