"""Attention from one sentence to another: where queries, keys and values come from, measured on a translator.

Queries are made of the decoder's words, keys and values of the encoder's output (Vaswani et al. 2017, section 3.2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from core.maths import max_difference
from core.model import Model
from core.models import Batch
from core.models.transformer import DECODER_BLOCKS, ENCODER_BLOCKS, TransformerConfig
from core.run import Run

Array = NDArray[np.floating[Any]]
LEAVES = ("q", "k", "v")
KEEP = (
    "decoder.layer.*.cross_attn.*",
    "decoder.layer.*.self_attn.pattern",
    "encoder.final_norm.out",
    "encoder.layer.*.resid_out",
)


def largest_change(one: Run, other: Run) -> Array:
    """Return the largest change of Q, K and V of cross-attention between two runs of equal shape, as (layer, 3)."""
    layers = range(one.model.config.n_layers)
    return np.array(
        [[np.abs(_leaf(one, i, leaf) - _leaf(other, i, leaf)).max() for leaf in LEAVES] for i in layers],
        dtype=np.float64,
    )


def _leaf(run: Run, layer: int, leaf: str) -> Array:
    return run.trace[f"decoder.layer.{layer}.cross_attn.{leaf}"]


@dataclass(frozen=True)
class Steps:
    """Record of a translation that was fed token by token through a cache; one entry per step.

    `own_rows` and `source` (step,) count the rows of keys that the step computed, in one layer; `uncached_rows` those that it would
    compute without a cache. `gap` is the largest difference of the logits from one pass over everything, `source_cached` whether
    the source's keys and values were the same arrays at every step.
    """

    own_rows: tuple[int, ...]
    source: tuple[int, ...]
    uncached_rows: tuple[int, ...]
    gap: float
    source_cached: bool


@torch.inference_mode()
def decode_with_cache(run: Run) -> Steps:
    """Feed the run's own decoder input token by token, and inspect the cache after each token.

    Raises ValueError for a model without a source.
    """
    if run.source is None:
        raise ValueError(f"{run.model.name} has one stack, so it has no cross-attention")
    network, n, m = run.model.network, len(run.source.ids), len(run.ids)
    ids, words = torch.tensor([run.ids]), torch.tensor([run.source.ids])
    given = Batch(ids=ids, real=ids >= 0, source=words, source_real=words >= 0)
    memory, cache = network.encode(given), network.new_cache()
    own, source, logits, first = [], [], [], None
    kept = True
    for t in range(m):
        before = cache.n_read
        now = Batch(
            ids=ids[:, t : t + 1],
            real=torch.ones(1, 1, dtype=torch.bool),
            source=words,
            source_real=words >= 0,
        )
        logits.append(network.logits(network(now, cache=cache, memory=memory))[0, 0])
        held = cache.cross_attn[0].tensors()
        source.append(0 if held is first else n)
        kept = kept and (first is None or held is first)
        first = held
        own.append(cache.n_read - before)
    gap = max_difference(torch.stack(logits).numpy(), run.logits[:m])
    return Steps(tuple(own), tuple(source), tuple(t + 1 + n for t in range(m)), gap, kept)


@dataclass(frozen=True)
class Counts:
    """Parameters of one layer of each stack: `encoder`, `decoder`, and the decoder's parts by name."""

    encoder: int
    decoder: int
    parts: dict[str, int]

    @property
    def without_cross(self) -> int:
        """Return the parameters of a decoder layer without cross-attention and its norm."""
        return self.decoder - self.parts["cross-attention"] - self.parts["its norm"]


def counts(model: Model | None = None) -> Counts:
    """Count the parameters in one layer of each stack of the model, or of the paper's base model, which is not allocated.

    >>> found = counts()
    >>> found.encoder, found.decoder, found.without_cross
    (3152384, 4204032, 3152384)
    """
    decoder: Any
    if model is None:
        config = TransformerConfig()
        with torch.device("meta"):
            encoder, decoder = (blocks[config.order](config) for blocks in (ENCODER_BLOCKS, DECODER_BLOCKS))
    else:
        encoder, decoder = model.network.encoder[0], model.network.decoder[0]
    parts = {
        "masked self-attention": _size(decoder.self_attn),
        "cross-attention": _size(decoder.cross_attn),
        "feed-forward network": _size(decoder.ffn),
    }
    norms = [_size(norm) for norm in (decoder.norm1, decoder.norm2, decoder.norm3)]
    return Counts(
        _size(encoder),
        _size(decoder),
        parts | {"its norm": norms[1], "the two other norms": norms[0] + norms[2]},
    )


def _size(module: nn.Module) -> int:
    return sum(weights.numel() for weights in module.parameters())
