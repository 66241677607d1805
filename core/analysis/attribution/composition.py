"""Composition of heads from the weights alone: how much of what an earlier head may write a later head reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import InputError
from core.layers.norm import LayerNorm, RMSNorm
from core.model import Model
from core.models import Family

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
Head = tuple[int, int]
"""Layer and number."""


@dataclass(frozen=True, eq=False)
class Composition:
    """The composition scores of all pairs of heads: the later head's layer and number, then the earlier head's.

    NaN where the second head is not in an earlier layer than the first. `by_chance` is the score of random matrices of this width.
    """

    query: Float[Array, "layer head layer head"] = field(repr=False)
    key: Float[Array, "layer head layer head"] = field(repr=False)
    value: Float[Array, "layer head layer head"] = field(repr=False)
    by_chance: float

    def largest(self, n: int, by: str = "key") -> list[tuple[Head, Head, float]]:
        """Return the n pairs with the largest score, the largest first: the later head, the earlier head, and the score.

        `by` is "query", "key" or "value".
        """
        scores: Array = {"query": self.query, "key": self.key, "value": self.value}[by]
        pairs = sorted(np.argwhere(~np.isnan(scores)).tolist(), key=lambda pair: -scores[tuple(pair)])
        return [
            ((layer, head), (earlier, number), float(scores[layer, head, earlier, number]))
            for layer, head, earlier, number in pairs[:n]
        ]


@torch.no_grad()
def composition(model: Model, kind: str, *, above_chance: bool = False) -> Composition:
    """Compute the Q-, K- and V-composition of every earlier head of a kind with every later one, from the weights.

    With column vectors, as in Elhage et al. 2021 ("A mathematical framework for transformer circuits"), W_QK = W_Q^T W_K and
    W_OV = W_O W_V. For a later head 2 and an earlier head 1, all norms being Frobenius norms,

        Q: ||W_QK2^T W_OV1|| / (||W_QK2^T|| ||W_OV1||)    K: ||W_QK2 W_OV1|| / (||W_QK2|| ||W_OV1||)
        V: ||W_OV2 W_OV1|| / (||W_OV2|| ||W_OV1||)

    each from 0 (head 2 reads no direction that head 1 writes) to 1. Norms are held at a scale, which cancels: the gain, and LayerNorm's
    subtraction of the mean, are multiplied into what a head reads (W_Q, W_K, W_V), or into W_OV1 where it passes a norm on its way
    to head 2; the gains of norms of queries and keys into W_Q and W_K. A query head has the key and value head of its group.
    Left out are biases, everything that is added to a score (relative positions, ALiBi), windows and masks, which tokens occur,
    and paths through other heads and feed-forward layers. Rotary positions make W_QK depend on the distance: here it is that of
    distance 0, a token attending to itself.

    For matrices without any relation the mean square of a score is exactly 1 / d_model; with `above_chance` its root is subtracted
    from every score (Elhage et al. subtract the mean over random matrices, which is nearly the same).
    Raises InputError for an attention that reads no residual stream, or one whose keys are those of another text.

    >>> import core
    >>> scores = composition(core.open_model("induction-tiny"), "causal")
    >>> scores.key.shape, round(scores.by_chance, 3)
    ((2, 2, 2, 2), 0.125)
    """
    check_stream(model, kind)
    spec, network, config = model.spec, model.network, model.config
    depth, by_chance = spec.kind(kind).n_layers(config), config.d_model**-0.5
    scores = np.full((3, depth, config.n_heads, depth, config.n_heads), np.nan)
    value_roots: list[Tensor] = []
    for layer, reader, writers in head_maps(network, spec, kind):
        reads = (
            _root(reader.key.mT) @ reader.query,  # of the same norm with any matrix as W_QK^T
            _root(reader.query.mT) @ reader.key,
            _root(reader.out) @ reader.value,
        )
        for earlier, (writer, root) in enumerate(zip(writers, value_roots, strict=True)):
            writes = writer.out @ root.mT  # W_OV but for an orthonormal factor on its right
            scores[:, layer, :, earlier] = [_overlap(read, writes).numpy() for read in reads]
        value_roots.append(_root(reader.value.mT))
    query, key, value = scores - by_chance if above_chance else scores
    return Composition(query, key, value, by_chance)


def check_stream(model: Model, kind: str) -> None:
    """Check that the heads of a kind read and write one residual stream. Raises InputError."""
    streams = model.can("attend_in_layers") and model.spec.stream[0] == "resid_in"
    if not streams or not model.spec.kind(kind).layered:
        raise InputError(
            "The attention of {name} does not compose along a residual stream.",
            "Composition needs layers of heads that all add to one stream.",
            "Choose a Transformer, such as gpt-mini.",
            name=model.name,
        )
    attention = model.spec.kind(kind)
    if not attention.one_text:
        others = [each.name for each in model.spec.kinds_of(model.config) if each.one_text]
        raise InputError(
            "The heads of {kind} in {name} read keys and values of another text.",
            "Composition compares heads that read the stream to which they add.",
            "Choose {names}.",
            kind=kind,
            name=model.name,
            names=" or ".join(others),
        )


@dataclass(frozen=True, eq=False)
class HeadMaps:
    """The maps of a layer's heads from and to the residual stream, the norms on the way multiplied in."""

    query: Float[Tensor, "head d_head d_model"]
    key: Float[Tensor, "head d_head d_model"]
    value: Float[Tensor, "head d_head d_model"]
    out: Float[Tensor, "head d_model d_head"]


def head_maps(
    network: nn.Module, family: Family, kind: str
) -> Iterator[tuple[int, HeadMaps, tuple[HeadMaps, ...]]]:
    """Yield each layer with the maps of its heads, and those of each earlier layer with `out` as it arrives in this layer.

    A norm before a sub-layer is read through; one behind it is passed by all that was written before.
    """
    config: Any = network.cfg
    attention = family.kind(kind)
    kinds = [each for each in family.kinds if each.layered and each.stack == attention.stack]
    post = getattr(config, "order", "post") == "post"
    writers: tuple[HeadMaps, ...] = ()
    for layer in range(attention.n_layers(config)):
        block = attention.block(network, layer)
        for step in range(len(kinds) + hasattr(block, "ffn")):
            norm = getattr(block, f"norm{step + 1}", None)
            if kinds.index(attention) == step:
                maps = _maps(attention.module(network, layer), None if post else norm)
                maps = replace(maps, out=_apply_norm(getattr(block, f"after{step + 1}", None), maps.out))
                yield layer, maps, writers
                writers = (*writers, maps)
            if post:
                writers = tuple(replace(each, out=_apply_norm(norm, each.out)) for each in writers)


def _maps(attention: Any, norm: nn.Module | None) -> HeadMaps:
    """Return the maps of the heads of one attention that reads the stream through a norm."""
    d_head, out = attention.d_head, attention.to_out.weight
    n_heads = out.shape[1] // d_head

    def split(layer: Any, inner: Any = None) -> Tensor:
        heads = layer.weight.unflatten(0, (-1, d_head))
        if inner is not None:  # a norm of each head, or of all heads together
            heads = heads * inner.weight.view(-1, d_head, 1)
        return _fold_norm(norm, heads).repeat_interleave(n_heads // len(heads), 0)

    return HeadMaps(
        split(attention.to_q, getattr(attention, "q_norm", None)),
        split(attention.to_k, getattr(attention, "k_norm", None)),
        split(attention.to_v),
        out.unflatten(1, (n_heads, d_head)).movedim(1, 0),
    )


def _fold_norm(
    norm: nn.Module | None, maps: Float[Tensor, "head d_head d_model"]
) -> Float[Tensor, "head d_head d_model"]:
    """Return maps of a norm's output as maps of its input, scale and bias left out."""
    if not isinstance(norm, (LayerNorm, RMSNorm)):
        return maps
    maps = maps * norm.weight
    return maps - maps.mean(-1, keepdim=True) if isinstance(norm, LayerNorm) else maps


def _apply_norm(
    norm: nn.Module | None, out: Float[Tensor, "head d_model d_head"]
) -> Float[Tensor, "head d_model d_head"]:
    """Return the columns that heads write as a norm gives them, scale and bias left out."""
    if not isinstance(norm, (LayerNorm, RMSNorm)):
        return out
    out = out - out.mean(-2, keepdim=True) if isinstance(norm, LayerNorm) else out
    return out * norm.weight[:, None]


def _root(columns: Float[Tensor, "head d_model d_head"]) -> Float[Tensor, "head d_head d_head"]:
    """Return R of the decomposition Q R of each head's columns: Q has orthonormal columns, which change no Frobenius norm."""
    return torch.linalg.qr(columns, mode="r").R


def _overlap(
    reads: Float[Tensor, "head d_head d_model"], writes: Float[Tensor, "head d_model d_head"]
) -> Float[Tensor, "head head"]:
    """Return ||A B|| / (||A|| ||B||) of all pairs; 0 where a matrix is 0."""
    products = torch.einsum("hrd,ods->hors", reads, writes).flatten(2).norm(dim=-1)
    sizes = reads.flatten(1).norm(dim=-1)[:, None] * writes.flatten(1).norm(dim=-1)
    return torch.where(sizes > 0, products / sizes, 0.0)
