"""The mixture of ELMo's layers at one word, with adjustable weights, and the weights that tasks learned.

ELMo_k = gamma * sum_j s_j h_kj,  s = softmax(w)        (Peters et al. 2018, Eq. (1))
dELMo_k / dw_j = gamma * s_j (h_kj - sum_i s_i h_ki)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.scores import Score, by_part
from core.maths import softmax
from core.model import Model
from viz.course.bert.contextual_vectors import Uses, cosines
from viz.course.shared.word_vectors import pieces_of

Array = NDArray[np.float64]
KEEP = ("layer.*.inputs", "layer.*.out", "mixture.*")


@dataclass(frozen=True, eq=False)
class Mixed:
    """A word's `layers` (layer d_model), the `weights` s (layer,), gamma, and the `mixture` (d_model,)."""

    layers: Array
    weights: Array
    gamma: float
    mixture: Array

    def likeness(self) -> Array:
        """Return the cosine of the mixture with each layer (layer,)."""
        return cosines(np.vstack([self.mixture, self.layers]))[0, 1:]


def layers_of(model: Model, text: str) -> Array:
    """Return all layers of all tokens of a text, the token table first: (layer pos d_model)."""
    return model.run(text, keep=KEEP).hidden().astype(np.float64)


def mixed(layers: Array, w: Sequence[float], gamma: float, only: int | None = None) -> Mixed:
    """Return the mixture of a word's layers; with `only` s is exactly one there and 0 elsewhere.

    >>> one = mixed(np.eye(3), (0.0, 0.0, 0.0), 1.0, only=2)
    >>> bool((one.mixture == one.layers[2]).all())
    True
    """
    weights = np.eye(len(layers))[only] if only is not None else softmax(np.array(w, dtype=np.float64))
    return Mixed(layers, weights, gamma, gamma * (weights @ layers))


def learned(
    scores: Sequence[Score], model: str, split: str, task: str
) -> tuple[dict[str, float], tuple[float, ...]]:
    """Return the recorded results of a task: accuracy by the layers that the head reads, and the learned s."""
    accuracy = by_part(scores, f"{task}_by_mixture", split, model)
    return accuracy, tuple(by_part(scores, f"{task}_mixture", split, model).values())


def set_to(s: Sequence[float]) -> tuple[float, ...]:
    """Return w whose softmax is s, with mean 0.

    >>> softmax(np.array(set_to((0.5, 0.25, 0.25)))).round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    w = np.log(np.array(s, dtype=np.float64))
    return tuple((w - w.mean()).tolist())


def uses(model: Model, texts: Sequence[str], word: str) -> Uses:
    """Return the vectors of a word in each text, at the positions of `contextual_vectors.uses`: the token table, each LSTM
    layer, and last the mixture by the model's own w and gamma."""
    vectors, places = [], []
    for text in texts:
        run = model.run(text, keep=KEEP)
        pieces = list(pieces_of(run, word))
        every = np.concatenate([run.hidden(), np.asarray(run.trace["mixture.out"])[None]]).astype(np.float64)
        vectors.append(every[:, pieces].mean(1))
        places.append(pieces[0])
    return Uses(tuple(texts), np.stack(vectors, 1), tuple(places))
