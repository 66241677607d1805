"""The logit lens: what a model would answer if it stopped after each layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.run import Run

Array = np.ndarray

KEEP = ("*resid_in", "*resid_out", "logits")
"""What a run must have kept."""


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
    found = [softmax(read_out(run.model, stream).astype(np.float64)) for stream in hidden]
    best = found[-1].argmax(-1)
    tops = [np.argsort(-chances, axis=-1, kind="stable")[:, :n] for chances in found]
    places = np.arange(len(best))
    return Lens(
        np.stack(tops),
        np.stack([np.take_along_axis(chances, top, axis=-1) for chances, top in zip(found, tops, strict=True)]),
        np.stack([chances[places, best] for chances in found]),
    )


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
        raise InputError(f"{model.name} has no layers that its output could be read after.", "The lens reads a residual stream.", "Choose another model.")
    return "decoder" if "decoder" in model.spec.stacks else "encoder"
