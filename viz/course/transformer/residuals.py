"""The residual stream of a trained model: the addition of a sub-layer to a word; and the same model without its sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from core import masks
from core.errors import InputError
from viz.course.transformer.depth import Depths, measure_stream

Array = NDArray[np.float32]
KEEP = ("*resid_in", "*resid_mid", "*resid_out", "*self_attn.out", "*ffn.out")


@dataclass(frozen=True)
class Sum:
    """One layer's first sum for all words, each (word, d): `before` + `added` = `after`; `out` is the output of the layer."""

    tokens: tuple[str, ...]
    before: Array
    added: Array
    after: Array
    out: Array

    @property
    def gap(self) -> float:
        """Return the largest difference between before + added and the recorded sum."""
        return float(np.abs(self.before + self.added - self.after).max())


def stem(run: Any) -> str:
    """Return the trace path of the layers that read the visitor's text: "encoder.layer" in a translator, otherwise "layer"."""
    return "encoder.layer" if run.source is not None else "layer"


def first_sum(run: Any, layer: int) -> Sum:
    """Return the sum around the attention of a layer, from a run that recorded `KEEP`. In a translator that of the encoder."""
    path = f"{stem(run)}.{layer}."
    leaves = ("resid_in", "self_attn.out", "resid_mid", "resid_out")
    return Sum((run.source or run).tokens, *(run.trace[path + leaf] for leaf in leaves))


def by_layer(run: Any) -> Array:
    """Return the root mean square of the stream at the input of each layer and the output of the last: (layer + 1,)."""
    n, at = run.model.config.n_layers, stem(run)
    stream = [run.trace[f"{at}.{i}.resid_in"] for i in range(n)] + [run.trace[f"{at}.{n - 1}.resid_out"]]
    return np.array([np.sqrt(np.square(x).mean()) for x in stream])


@dataclass(frozen=True)
class StreamRun:
    """Text through all layers: signal and gradient by depth, and the mean surprisal of the next token (nats)."""

    depths: Depths
    surprise: float


def run_stream(model: Any, text: str, *, residual: bool = True) -> StreamRun:
    """Run a GPT (norm before the sub-layer) as it was trained, or with f(LN(x)) in place of x + f(LN(x)) everywhere.

    The gradient is that of the mean surprise. Raises InputError for a text of fewer than two tokens.
    """
    ids = model.tokenizer.encode(text).ids
    if len(ids) < 2:
        raise InputError(
            "There is no next word to predict.",
            "The gradient is that of predicting each next token of the text.",
            "Type two words or more.",
        )
    network = model.network
    with torch.inference_mode(False), torch.enable_grad():
        held = torch.tensor([list(ids)[: model.config.n_ctx]])
        n = held.shape[1]
        start = network.embed["token"](held) + network.embed["position"](torch.arange(n))
        stream, allowed = [start.detach().clone().requires_grad_()], masks.causal(n)
        for block in network.layers:
            x = stream[-1]
            y = block.norm1(x)
            y = block.self_attn(y, y, allowed)
            x = x + y if residual else y
            y = block.ffn(block.norm2(x))
            stream.append(x + y if residual else y)
        logits = network.logits(network.final_norm(stream[-1]))
        loss = F.cross_entropy(logits[0, :-1], held[0, 1:])
        return StreamRun(measure_stream(stream, loss), loss.item())
