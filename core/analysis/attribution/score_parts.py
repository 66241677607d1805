"""Why a head gives a pair of tokens its score: what each earlier part of the model put into the query and into the key."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.errors import InputError
from core.layers.linear import Linear
from core.layers.norm import LayerNorm, RMSNorm
from core.layers.score_terms import Terms, leaves, steps
from core.models import Batch, Family, Kind
from core.run import Run
from core.trace import Tap, matches

Array = np.ndarray
EMBEDDINGS = {"token": "token embedding", "position": "position embedding", "segment": "segment embedding"}
WRITERS = "|".join([*(f"*embed.{name}" for name in EMBEDDINGS), "*.heads", "*.ffn.out", "*.gated"])
"""The paths of what is added to a residual stream, in the names of all families."""


@dataclass(frozen=True)
class Part:
    """A part of a model that writes to the residual stream; `kind`, `layer` and `head` where it has them, counted from 0.

    >>> Part("head", "causal", 1, 4).label, Part("feed-forward", layer=0).label, Part("biases").label
    ('head 1.4', 'feed-forward 0', 'biases')
    """

    name: str
    kind: str = ""
    layer: int | None = None
    head: int | None = None

    @property
    def label(self) -> str:
        """Return its name with layer and head."""
        numbers = [str(number) for number in (self.layer, self.head) if number is not None]
        return " ".join([self.name, ".".join(numbers)]).strip()


@dataclass(frozen=True)
class ScoreParts:
    """A score as a sum: `products` (query part, key part) and what is `added` to the product by the name of the term.

    `score` is the one that the run recorded.
    """

    query_parts: tuple[Part, ...]
    key_parts: tuple[Part, ...]
    products: Array
    added: Mapping[str, float]
    score: float

    @property
    def total(self) -> float:
        """Return the sum of all parts, which is the score but for rounding."""
        return float(self.products.sum() + sum(self.added.values()))

    def largest(self, n: int) -> list[tuple[Part, Part, float]]:
        """Return the n products that are farthest from 0, the farthest first, each with its query part and its key part."""
        order = np.argsort(-np.abs(self.products), axis=None, kind="stable")[:n]
        pairs = (divmod(int(index), len(self.key_parts)) for index in order)
        return [(self.query_parts[a], self.key_parts[b], float(self.products[a, b])) for a, b in pairs]


def needed_for_parts(run: Run, kind: str, layer: int) -> tuple[str, ...]:
    """Return the paths that `score_parts` reads from the trace of a run."""
    found = run.model.spec.kind(kind)
    return tuple(
        found.path(layer, leaf) for leaf in ("scores", *leaves(found.terms(run.model.network, layer)))
    )


def score_parts(run: Run, kind: str, layer: int, head: int, query: int, key: int) -> ScoreParts:
    """Split the score of a query and a key (token indices) by the parts of the model that wrote to the residual stream before.

    A query is a linear map of the normed stream, and the stream is a sum: embeddings, and what each earlier head and feed-forward
    layer added. With the scale of every norm held at its value in this run a norm is linear but for its bias, so the query is
    the sum of one vector for each part and one for all biases, and so is the key; their dot products add up to q · k (Elhage et
    al. 2021, "A mathematical framework for transformer circuits"). Rotations by position, norms of queries and keys and norms behind
    a layer are on the way; a cap is held at the share of the score that it leaves. It says what the score consists of, not how it would
    change without a part: for that, ablate it. Raises InputError for an attention that reads no residual stream.
    """
    model, found = run.model, run.model.spec.kind(kind)
    if not found.layered or found.learned or model.spec.stream[0] not in ("resid_in", "features_in"):
        raise InputError(
            f"The scores of {kind} in {model.name} have no earlier parts.",
            "A score is split along a residual stream, to which each layer adds.",
            "Look at its arithmetic instead.",
        )
    sides = [run.side.without_padding], None if run.source is None else [run.source.without_padding]
    of_query, of_key = query_and_key_parts(
        model.network, model.spec, model.batch(*sides), kind, layer, head, query, key
    )
    queries, keys = np.stack([*of_query.values()]), np.stack([*of_key.values()])
    terms = found.terms(model.network, layer)
    numbers = {
        leaf: float(run.trace[found.path(layer, leaf)][head, query, key])
        for leaf in leaves(terms)
        if leaf != "sink"
    }
    share, added = _after_product(terms, float((queries @ keys.T).sum()), numbers)
    score = float(run.trace[found.path(layer, "scores")][head, query, key])
    return ScoreParts(tuple(of_query), tuple(of_key), share * (queries @ keys.T), added, score)


@torch.inference_mode(False)
def query_and_key_parts(
    network: Any, family: Family, batch: Batch, kind: str, layer: int, head: int, query: int, key: int
) -> tuple[dict[Part, Array], dict[Part, Array]]:
    """Return the vectors (d_head) that add up to a head's query of one token and to its key of another, by the part that they come from.

    The last part, "biases", is what a stream without any part would give: the biases of norms and maps on the way.
    """
    found, scales = family.kind(kind), deque[Tensor]()
    held = _with_held_norms(network, scales)
    ends = found.path(layer, "q"), found.path(layer, "k")
    with torch.enable_grad():
        tap = _record_writers(held, batch, ends)
    with torch.no_grad():
        empty = _record_writers(held, batch, ends, empty=True)
    kinds = family.kinds_of(network.cfg)
    of_query, of_key = (
        {
            **_split(tap, tap.end_values[path][0, head, position], kinds, network.cfg),
            Part("biases"): empty.end_values[path][0, head, position].double().numpy(),
        }
        for path, position in zip(ends, (query, key), strict=True)
    )
    return of_query, of_key


def _after_product(terms: Terms, dot: float, numbers: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Return by how much the terms after the product multiply it, and what each of the others adds, by title."""
    share, added, score = 1.0, dict[str, float](), dot
    for term in steps(terms)[1:]:
        if term.leaf:
            added[term.title.removeprefix("plus ")] = numbers[term.leaf]
            score += numbers[term.leaf]
        else:
            size = score or 1e-6
            ratio = float(term.apply(size)) / size
            share, score = share * ratio, score * ratio
            added = {name: ratio * number for name, number in added.items()}
    return share, added


class _HeldNorm(nn.Module):
    """A norm whose scale is recorded at the first passes and taken from there at later ones, call by call."""

    def __init__(self, norm: LayerNorm | RMSNorm, scales: deque[Tensor]) -> None:
        super().__init__()
        self.norm, self.scales = norm, scales

    def forward(self, x: Tensor) -> Tensor:
        centred = x if isinstance(self.norm, RMSNorm) else x - x.mean(-1, keepdim=True)
        if torch.is_grad_enabled():
            self.scales.append((centred.square().mean(-1, keepdim=True) + self.norm.eps).sqrt().detach())
            scale = self.scales[-1]
        else:
            scale = self.scales.popleft()
        y = centred / scale * self.norm.weight
        bias = getattr(self.norm, "bias", None)
        return y if bias is None else y + bias


class _PlainLinear(Linear):
    """A linear map of which many gradients can be asked at once: a weight in half precision is float32 while it is used."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)


def _with_held_norms(module: nn.Module, scales: deque[Tensor]) -> nn.Module:
    """Return the same network, weights shared, with norms that hold their scales."""
    if isinstance(module, (LayerNorm, RMSNorm)):
        return _HeldNorm(module, scales)
    twin = copy.copy(module)
    if isinstance(module, Linear):
        twin.__class__ = _PlainLinear
    twin.__dict__["_modules"] = {
        name: None if child is None else _with_held_norms(child, scales)
        for name, child in module._modules.items()
    }
    return twin


class _Reached(Exception):
    """The last value that is needed has been computed."""


class _WriterTap(Tap):
    """A tap that makes each value that is added to the stream a leaf of the gradient, zero where `empty`, and keeps those at `ends`."""

    __slots__ = ("empty", "end_values", "ends", "leaves", "prefix")

    def __init__(self, ends: tuple[str, ...], empty: bool) -> None:
        self.ends, self.empty, self.prefix = ends, empty, ""
        self.leaves: dict[str, tuple[Tensor, str]] = {}
        self.end_values: dict[str, Tensor] = {}

    def __truediv__(self, part: str) -> _WriterTap:
        child = copy.copy(self)
        child.prefix = f"{self.prefix}{part}."
        return child

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        path = self.prefix + name
        if matches(path, WRITERS):
            leaf = torch.zeros_like(value) if self.empty else value.detach().clone().requires_grad_()
            self.leaves[path] = leaf, axes
            return leaf
        if path in self.ends:
            self.end_values[path] = value
            if len(self.end_values) == len(self.ends):
                raise _Reached
        return value

    def wants(self, *names: str) -> bool:
        return True


def _record_writers(network: Any, batch: Any, ends: tuple[str, ...], empty: bool = False) -> _WriterTap:
    tap = _WriterTap(ends, empty)
    try:
        network(batch, tap=tap)
    except _Reached:
        return tap
    raise KeyError(f"The network has no {' and '.join(ends)}.")


def _split(tap: _WriterTap, vector: Tensor, kinds: tuple[Kind, ...], config: Any) -> dict[Part, Array]:
    """Return what each part put into a vector (d_head), which is linear in all of them."""
    values = [value for value, _ in tap.leaves.values()]
    units = torch.eye(len(vector), dtype=vector.dtype)
    grads = torch.autograd.grad(
        vector, values, units, retain_graph=True, allow_unused=True, is_grads_batched=True
    )
    attentions = {
        kind.path(layer, "heads"): (kind.name, layer)
        for kind in kinds
        if kind.layered
        for layer in range(kind.n_layers(config))
    }
    found: dict[Part, Array] = {}
    for (path, (value, axes)), grad in zip(tap.leaves.items(), grads, strict=True):
        if grad is None or not grad.any():
            continue
        others = [at + 1 for at, word in enumerate(axes.split()) if word != "head"]
        part = (grad * value.detach()).double().sum(others).numpy()  # (d_head, head) or (d_head)
        if path in attentions:
            kind, layer = attentions[path]
            found |= {Part("head", kind, layer, head): vector for head, vector in enumerate(part.T)}
        else:
            found[_other_part(path)] = found.get(_other_part(path), 0.0) + part
    return found


def _other_part(path: str) -> Part:
    """Return the part that is no head behind a path.

    >>> _other_part("encoder.embed.token").label, _other_part("layer.2.ffn.out").label, _other_part("layer.0.dense.1.gated").label
    ('token embedding', 'feed-forward 2', 'convolutions 0')
    """
    words = path.split(".")
    if words[-2] == "embed":
        return Part(EMBEDDINGS[words[-1]])
    layer = next(int(word) for word in words if word.isdigit())
    return Part("feed-forward" if words[-1] == "out" else "convolutions", layer=layer)
