"""The logit lens: what a model would answer if it stopped after each layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.models import ENTERS, LEAVES
from core.run import Run

Array = np.ndarray

KEEP = (ENTERS, LEAVES, "logits")
"""What a run must have kept."""
ROWS = 64
"""Positions that are read at once: the probabilities of a whole vocabulary after every layer take much room."""


@dataclass(frozen=True)
class Lens:
    """The words on top after each layer: `ids` and `chances` (layer + 1, position, n), best first; row 0 is before any layer.

    `final` (layer + 1, position) is the probability that each layer gives to the last layer's first word.
    """

    ids: Array
    chances: Array
    final: Array

    @cached_property
    def settled(self) -> Array:
        """(position,) the row from which on the last layer's first word stays first: 0 = before any layer.

        >>> Lens(np.array([[[4]], [[7]], [[7]]]), np.ones((3, 1, 1)), np.ones((3, 1))).settled.tolist()
        [1]
        """
        same = self.ids[..., 0] == self.ids[-1, :, 0]
        return np.logical_not(np.logical_and.accumulate(same[::-1])).sum(0)


def logit_lens(run: Run, n: int = 5) -> Lens:
    """The `n` most probable words after each layer, at each position (nostalgebraist 2020).

        p_l = softmax(W_U norm(x_l))

    x_l is the residual stream behind layer l, norm the final norm (none in a model whose blocks end with one), W_U the
    output layer: of BERT its whole head for hidden words. The last row is what the model says. The rows before it ask the
    output layer to read what it was not trained to read: a word there is a hint, not an answer.
    Raises InputError for a model without layers of heads, or without an output.
    """
    hidden = run.hidden(_side(run.model))[:, : run.side.n_real]
    parts = [
        _read(run.model, hidden[:, first : first + ROWS], n) for first in range(0, hidden.shape[1], ROWS)
    ]
    return Lens(*(np.concatenate(found, axis=1) for found in zip(*parts, strict=True)))


def _read(model: Model, hidden: Array, n: int) -> tuple[Array, Array, Array]:
    """`ids`, `chances` and `final` of a few positions: (layer + 1, position, d_model)."""
    found = [softmax(read_out(model, stream).astype(np.float64)) for stream in hidden]
    places, best = np.arange(hidden.shape[1]), found[-1].argmax(-1)
    ids = [_top(chances, n) for chances in found]
    kept = [np.take_along_axis(chances, top, axis=-1) for chances, top in zip(found, ids, strict=True)]
    return np.stack(ids), np.stack(kept), np.stack([chances[places, best] for chances in found])


def _top(chances: Array, n: int) -> Array:
    """Where the `n` largest of each row stand, best first; of equal ones the earlier.

    >>> _top(np.array([[0.1, 0.4, 0.2, 0.3], [0.25, 0.25, 0.25, 0.25]]), 2).tolist()
    [[1, 3], [0, 1]]
    """
    n = min(n, chances.shape[-1])
    large = chances >= np.partition(chances, -n, axis=-1)[:, -n, None]
    if (large.sum(-1) != n).any():  # equal ones, or what is no number
        return np.argsort(-chances, axis=-1, kind="stable")[:, :n]
    places = np.nonzero(large)[1].reshape(
        len(chances), n
    )  # to sort a whole vocabulary takes ten times as long
    order = np.argsort(-np.take_along_axis(chances, places, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(places, order, axis=-1)


def read_out(model: Model, stream: Array) -> Array:
    """The logits of vectors of the residual stream, as if the last layer had left them: (position, d_model) -> (position, vocab)."""
    _side(model)
    network = model.network
    norm = getattr(network, "final_norm", None) or getattr(network, "decoder_norm", None)
    with torch.inference_mode():
        hidden = torch.tensor(np.asarray(stream))[None]
        return network.logits(hidden if norm is None else norm(hidden))[0].float().numpy()


def _side(model: Model) -> str:
    """The stack that the output layer reads."""
    if not any(kind.layered for kind in model.spec.kinds):
        raise InputError(
            f"{model.name} has no layers after which its output could be read.",
            "The lens reads a residual stream.",
            "Choose another model.",
        )
    return "decoder" if "decoder" in model.spec.stacks else "encoder"
