"""The logit lens: the output of a model if it stopped after each layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.abilities import ASKABLE
from core.analysis.one_line import OneLine
from core.analysis.task_outputs import chances
from core.errors import InputError
from core.model import Model
from core.models import ENTERS, LEAVES
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float, Int


Array = np.ndarray

KEEP = (ENTERS, LEAVES, "|".join(ASKABLE))
"""The values that a run must keep for this."""
CHUNK_SIZE = 64
"""Positions that are read at once: the probabilities of a whole vocabulary after every layer take much room."""


@dataclass(frozen=True, repr=False)
class LensResult(OneLine):
    """The top words after each layer: `ids` and `chances`, best first; stage 0 is before any layer.

    `final_chances` is the probability that each layer gives to the last layer's first word. Positions are the rows of
    `Run.scores`: one of classes; of a score `chances` are the score itself.
    """

    ids: Int[Array, "stage pos n"]
    chances: Float[Array, "stage pos n"]
    final_chances: Float[Array, "stage pos"]

    @cached_property
    def decision_layer(self) -> Int[Array, " pos"]:
        """Return the row from which on the last layer's first word stays first; 0 is before any layer.

        >>> LensResult(np.array([[[4]], [[7]], [[7]]]), np.ones((3, 1, 1)), np.ones((3, 1))).decision_layer.tolist()
        [1]
        """
        same = self.ids[..., 0] == self.ids[-1, :, 0]
        return np.logical_not(np.logical_and.accumulate(same[::-1])).sum(0)


def logit_lens(run: Run, n: int = 5) -> LensResult:
    """Compute the `n` most probable words after each layer, at each position (nostalgebraist 2020).

        p_l = softmax(W_U norm(x_l))

    x_l is the residual stream behind layer l, norm the final norm (none in a model whose blocks end with one), W_U the
    output layer: of BERT its whole head for hidden words, of a fine-tuned model the head of its task. The last row is what the
    model says. The rows before it ask the output layer to read what it was not trained to read: a word there is a hint, not an answer.
    Raises InputError for a model without layers of heads, or without an output.
    """
    hidden = run.hidden(_side(run.model))[:, : run.side.n_real]
    at_once = CHUNK_SIZE if run.model.main_output in ("logits", "tags") else hidden.shape[1]
    parts = [
        _read(run.model, hidden[:, first : first + at_once], n)
        for first in range(0, hidden.shape[1], at_once)
    ]
    return LensResult(*(np.concatenate(found, axis=1) for found in zip(*parts, strict=True)))


def _read(model: Model, hidden: Array, n: int) -> tuple[Array, Array, Array]:
    """Return `ids`, `chances` and `final_chances` of a few positions: hidden (layer + 1, position, d_model)."""
    found = [chances(model, unembed(model, stream).astype(np.float64)) for stream in hidden]
    best = found[-1].argmax(-1)
    rows, ids = np.arange(len(best)), [_top(each, n) for each in found]
    kept = [np.take_along_axis(each, top, axis=-1) for each, top in zip(found, ids, strict=True)]
    return np.stack(ids), np.stack(kept), np.stack([each[rows, best] for each in found])


def _top(chances: Array, n: int) -> Array:
    """Return the indices of the `n` largest of each row, best first; of equal ones the earlier first.

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


def unembed(model: Model, stream: Float[Array, "pos d_model"]) -> Float[Array, "row choice"]:
    """Compute the logits, or what else `Run.scores` are, from vectors of the residual stream after the last layer."""
    _side(model)
    network = model.network
    norm = getattr(network, "final_norm", None) or getattr(network, "decoder_norm", None)
    with torch.inference_mode():
        hidden = torch.tensor(np.asarray(stream))[None]
        found = _output(model, model.main_output, hidden if norm is None else norm(hidden))[0].float().numpy()
    if model.main_output == "answer":
        return found.T
    return found if found.ndim > 1 else found[None]


def _output(model: Model, name: str, hidden: torch.Tensor) -> torch.Tensor:
    """Compute an output from what the last layer gave, through the outputs that it reads."""
    if name == "hidden":
        return hidden
    output, real = model.outputs[name], torch.ones(hidden.shape[:2], dtype=torch.bool)
    return output.compute(name, model.network, _output(model, output.reads, hidden), real)


def _side(model: Model) -> str:
    """Return the stack that the output layer reads."""
    if not any(kind.layered for kind in model.spec.kinds):
        raise InputError(
            "{name} has no layers after which its output could be read.",
            "The lens reads a residual stream.",
            "Choose another model.",
            name=model.name,
        )
    return "decoder" if "decoder" in model.spec.stacks else "encoder"
