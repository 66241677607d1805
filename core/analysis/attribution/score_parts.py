"""Explanations of a score: what each earlier part of a model put into a query and into a key, and what attending adds to words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from core.analysis.residual.held_network import EMBEDDINGS, HeldNetwork, StreamTap
from core.errors import InputError
from core.layers.grouped_attention import soft_cap
from core.layers.score_terms import Terms, leaves, steps
from core.model import Model
from core.models import Batch, Family, Kind
from core.run import Run
from core.trace import Tap

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


@dataclass(frozen=True)
class Part:
    """A part of a model that writes to the residual stream; `kind`, `layer` and `head` where it has them, counted from 0.

    >>> Part("head", "causal", 1, 4).label, Part("feed-forward", layer=0).label, Part("biases").label
    ('head L1.H4', 'feed-forward L0', 'biases')
    """

    name: str
    kind: str = ""
    layer: int | None = None
    head: int | None = None

    @property
    def label(self) -> str:
        """Return its name with layer and head."""
        numbers = {"L": self.layer, "H": self.head}
        place = ".".join(f"{letter}{number}" for letter, number in numbers.items() if number is not None)
        return f"{self.name} {place}".strip()


@dataclass(frozen=True)
class ScoreParts:
    """A score as a sum: `products` (query part, key part) and what is `added` to the product by the name of the term.

    `score` is the one that the run recorded.
    """

    query_parts: tuple[Part, ...] = field(repr=False)
    key_parts: tuple[Part, ...] = field(repr=False)
    products: Array = field(repr=False)
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


@torch.inference_mode(False)
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
    if (
        not found.layered
        or found.has_learned_queries
        or model.spec.stream[0] not in ("resid_in", "features_in")
    ):
        raise InputError(
            "The scores of {kind} in {name} have no earlier parts.",
            "A score is split along a residual stream, to which each layer adds.",
            "Look at its arithmetic instead.",
            kind=kind,
            name=model.name,
        )
    of_query, of_key = query_and_key_parts(
        model.network, model.spec, batch_of(run), kind, layer, head, query, key
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
) -> tuple[dict[Part, Float[Array, " d_head"]], dict[Part, Float[Array, " d_head"]]]:
    """Return the vectors that add up to a head's query of one token and to its key of another, by the part that they come from.

    The last part, "biases", is what a stream without any part would give: the biases of norms and maps on the way.
    """
    held, found = HeldNetwork(network), family.kind(kind)
    ends = found.path(layer, "q"), found.path(layer, "k")

    def forward(network: Any, tap: Tap) -> Tensor:
        return network(batch, tap=tap)

    tap, empty = StreamTap(ends), StreamTap(ends, replaced_by={})
    with torch.enable_grad():
        held.run(forward, tap)
    with torch.no_grad():
        held.run(forward, empty)
    kinds = family.kinds_of(network.cfg)
    of_query, of_key = (
        {
            **_split(tap, tap.end_values[path][0, head, position], kinds, network.cfg),
            Part("biases"): empty.end_values[path][0, head, position].double().numpy(),
        }
        for path, position in zip(ends, (query, key), strict=True)
    )
    return of_query, of_key


@torch.inference_mode(False)
@torch.no_grad()
def scores_of_attending(
    run: Run, kind: str, layer: int, head: int, query: int, key: int
) -> Float[Array, " vocab"]:
    """Return what a weight of 1 on a key (a token index) adds directly to the scores of all words at the row of the query.

    The head's value of the key goes through W_O, the norms (scales held) and the output layer; times the weight, and summed over the
    keys, that is the head's part in `logit_attribution`. What later parts make of it is left out. Needs the path of the values "v".
    Raises InputError for a model that scores no words, and for an attention whose stack the output does not read.
    """
    model, found = run.model, run.model.spec.kind(kind)
    if not reaches_words(model, kind):
        raise InputError(
            "What {kind} in {name} writes does not reach a score of words directly.",
            "The output layer reads the residual stream of the stack that predicts words.",
            "Choose an attention of that stack, or look at its parts (Why here?).",
            kind=kind,
            name=model.name,
        )
    held, output = HeldNetwork(model.network), model.outputs["logits"]
    batch, cap = batch_of(run), getattr(model.network, "logit_cap", 0.0)
    held.network.__dict__["logit_cap"] = 0.0
    value = torch.tensor(run.trace[found.path(layer, "v")][head, key])

    def forward(network: Any, tap: Tap) -> Tensor:
        return output.compute("logits", network, network(batch, tap=tap), batch.real)[0, query]

    def only_the_value(heads: Tensor) -> Tensor:
        alone = torch.zeros_like(heads)
        alone[0, head, query] = value
        return alone

    with torch.enable_grad():
        whole = held.run(forward, StreamTap())
    nothing = held.run(forward, StreamTap(replaced_by={}))
    added = held.run(forward, StreamTap(replaced_by={found.path(layer, "heads"): only_the_value}))
    assert whole is not None and nothing is not None and added is not None
    share = soft_cap(whole, cap) / whole if cap else 1.0
    return ((added - nothing) * share).detach().numpy()


def reaches_words(model: Model, kind: str) -> bool:
    """Return whether the output layer for words reads the stream to which an attention adds.

    >>> import core
    >>> [reaches_words(core.open_model("translator-en-es"), kind) for kind in ("self", "causal", "cross")]
    [False, True, True]
    """
    found, stacks = model.spec.kind(kind), model.spec.stacks
    return (
        model.can("score_words")
        and found.layered
        and not found.has_learned_queries
        and found.stack == (stacks.get("decoder") or stacks.get("encoder"))
    )


def batch_of(run: Run) -> Batch:
    """Return what the network read in a run, without padding."""
    source = None if run.source is None else [run.source.without_padding]
    return run.model.batch([run.side.without_padding], source)


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


def _split(tap: StreamTap, vector: Tensor, kinds: tuple[Kind, ...], config: Any) -> dict[Part, Array]:
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
    ('token embedding', 'feed-forward L2', 'convolutions L0')
    """
    words = path.split(".")
    if words[-2] == "embed":
        return Part(EMBEDDINGS[words[-1]])
    layer = next(int(word) for word in words if word.isdigit())
    return Part("feed-forward" if words[-1] == "out" else "convolutions", layer=layer)
