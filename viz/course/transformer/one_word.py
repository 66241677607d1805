"""Settings that exhibits on one layer share: the sentence, the model, one of its layers, one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.serving.engine import default
from viz.labels import distinct, visible
from viz.widgets import controls
from viz.widgets.knobs import knob, sentence


def text(sentences: Sequence[str], longest: int) -> Any:
    """Return the setting of the sentence; another sentence resets the word."""
    box = sentence(
        "Sentence", sentences, drops=("word",), model=lambda p: p.model, most=f"up to {longest} tokens"
    )
    return knob(sentences[0], box, link="text")


class OneWord:
    """Chosen word and layer, limited to a sentence that may be shorter and a model that may be shallower."""

    model: str
    layer: int
    word: int

    @property
    def layers(self) -> range:
        """Return the layers of the model."""
        return range(default().open(self.model).config.n_layers)

    @property
    def at_layer(self) -> int:
        """Return the chosen layer, or the last one of a shallower model."""
        return min(self.layer, self.layers[-1])

    def at_word(self, tokens: Sequence[str]) -> int:
        """Return the position of the chosen word, or the last one of a shorter sentence."""
        return min(self.word, len(tokens) - 1)

    def pick_word(self, slug: str, tokens: Sequence[str]) -> None:
        """Draw pills with the tokens of the sentence."""
        names = names_of(tokens)
        controls.pills("Word", range(len(names)), f"{slug}word", self.at_word(tokens), names.__getitem__)

    def pick_layer(self, slug: str) -> None:
        """Draw pills with the layers of the model."""
        controls.pills("Layer", self.layers, f"{slug}layer", self.at_layer)


def names_of(tokens: Sequence[str]) -> list[str]:
    """Return the tokens of a sentence as labels, repeated ones made distinct."""
    return distinct([visible(token.strip() or token) for token in tokens])
