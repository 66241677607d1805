"""Errata on scores: formulas that ignore the query, lack the exponential, or divide by the wrong number."""

from __future__ import annotations

import math

import numpy as np
import torch

from core.layers.scores import Additive, Cosine, LinearAdditive, Score
from viz.course.errata._draws import filled, gap, normal, tensor
from viz.course.errata.entry import Array, Evidence, Panel, erratum
from viz.course.shared.masks import softmax
from viz.languages import _
from viz.number_text import in_brackets, number, small_difference


def _weights(score: Score, query: torch.Tensor, keys: torch.Tensor) -> Array:
    return score(query[None], keys[None])[0].softmax(-1).numpy()


@erratum("E8")
def linear_additive() -> Evidence:
    queries, keys = tensor(2, 3), tensor(4, 5, start=1)
    linear = LinearAdditive(3, 5).double().requires_grad_(False)
    linear.query.copy_(tensor(3, start=2))
    linear.key.copy_(tensor(5, start=3))
    bent = filled(Additive(3, 5, d_ff=8), start=4, spread=2)
    bent.v.copy_(tensor(8, start=5))
    rows = {"linear": _weights(linear, queries, keys), "tanh": _weights(bent, queries, keys)}
    numbers = {name: gap(found[0], found[1]) for name, found in rows.items()}
    sentence = _(
        "{n_queries} queries drawn once, the same {n_keys} keys: as printed their weights differ by {linear}, with tanh by up to {tanh:.3f}.",
        n_queries=len(queries),
        n_keys=len(keys),
        linear=small_difference(numbers["linear"]),
        tanh=numbers["tanh"],
    )
    names, keys_ = (
        (_("query {i}", i=1), _("query {i}", i=2)),
        tuple(_("key {i}", i=i + 1) for i in range(len(keys))),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("As printed: both queries give the same weights"), rows["linear"], names, keys_, "weights"
            ),
            Panel(_("With tanh"), rows["tanh"], names, keys_, "weights"),
        ),
    )


@erratum("E9")
def no_exponential() -> Evidence:
    cases = np.array([[1.0, -1.0, 0.5], [1.0, -1.0, 0.0]])
    p = 4
    with np.errstate(divide="ignore", invalid="ignore"):
        bare = cases / cases.sum(1, keepdims=True)
    bare[~np.isfinite(bare)] = np.nan
    right = softmax(cases)
    printed = float((bare[0] / math.sqrt(p)).sum())
    stopped = int(np.isnan(bare[1]).sum())
    numbers = {f"bare_{i}": float(v) for i, v in enumerate(bare[0])} | {
        f"right_{i}": float(v) for i, v in enumerate(right[0])
    }
    numbers |= {"sum": printed, "no_number": float(stopped), "p": float(p)}
    sentence = _(
        "Scores {one}: without the exponential the weights are {bare}, right is {right}. Scores {other} sum to {total}, and {stopped} weights do not exist. With √p outside, p = {p}, the printed weights sum to {printed:.1f}.",
        one=in_brackets(cases[0], 1),
        bare=in_brackets(bare[0], 1),
        right=in_brackets(right[0], 3),
        other=in_brackets(cases[1], 1),
        total=number(cases[1].sum(), 0, grouped=True),
        stopped=stopped,
        p=p,
        printed=printed,
    )
    keys = tuple(_("key {i}", i=i + 1) for i in range(3))
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Scores {one}", one=in_brackets(cases[0], 1)),
                np.array([bare[0] / math.sqrt(p), bare[0], right[0]]).T,
                keys,
                (_("as printed"), _("without exp"), _("softmax")),
                "bars",
                2,
            ),
        ),
    )


@erratum("E26")
def root_of_what() -> Evidence:
    size, lengths = 64, (5, 50, 500)
    spread = float((normal(4000, size) * normal(4000, size, start=1)).sum(1).std())
    printed = [spread / math.sqrt(n) for n in lengths]
    right = spread / math.sqrt(size)
    numbers = {f"printed_{n}": value for n, value in zip(lengths, printed, strict=True)} | {"right": right}
    sentence = _(
        "Vectors of {size} numbers: divided by √n the spread of the scores is {printed} for {lengths} words; divided by √{size} it is {right:.2f} for every length.",
        size=size,
        printed=in_brackets(printed, 2),
        lengths=", ".join(map(str, lengths)),
        right=right,
    )
    rows = tuple(_("{n} words", n=n) for n in lengths)
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Spread of the scores"),
                np.array([printed, [right] * len(lengths)]).T,
                rows,
                ("/ √n", f"/ √{size}"),
                "bars",
                2,
            ),
        ),
    )


@erratum("E36")
def saturation() -> Evidence:
    d_k, n_keys, n_draws, score, d_score = 1024, 32, 400, 1600.0, 64
    scores = np.einsum("b d, b k d -> b k", normal(n_draws, d_k), normal(n_draws, n_keys, d_k, start=1))
    bare, scaled = (_entropy(softmax(s)) for s in (scores, scores / math.sqrt(d_k)))
    limit, bits = math.log(np.finfo(np.float32).max), np.finfo(np.float32).bits
    divided = np.float32(score / math.sqrt(d_score))
    with np.errstate(over="ignore"):
        overflows = bool(np.isinf(np.exp(divided)))
    safe = torch.tensor([score, 0.0]).softmax(0)
    numbers = {
        "bare": bare,
        "scaled": scaled,
        "most": math.log(n_keys),
        "limit": limit,
        "divided": float(divided),
        "overflows": float(overflows),
        "safe": float(safe[0]),
    }
    sentence = _(
        "d_k = {d_k}, {n_keys} keys: the mean entropy of the weights is {bare:.2f} without the division and {scaled:.2f} with it; uniform weights have {most:.2f}. A score of {score:.0f} divided by √{d_score} is {divided:.0f}, and its exponential {result} in {bits} bits (the limit is {limit:.2f}). torch's softmax of {vector}, unscaled, is {safe}: it subtracts the largest score.",
        d_k=d_k,
        n_keys=n_keys,
        bare=bare,
        scaled=scaled,
        most=math.log(n_keys),
        score=score,
        d_score=d_score,
        divided=divided,
        result=_("still overflows") if overflows else _("fits"),
        bits=bits,
        limit=limit,
        vector=in_brackets([score, 0], 0),
        safe=in_brackets(safe, 0),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Entropy over {n_keys} keys", n_keys=n_keys),
                [[bare], [scaled], [math.log(n_keys)]],
                ("q·k", "q·k / √dₖ", _("uniform weights")),
                (_("entropy"),),
                "bars",
                2,
            ),
        ),
    )


def _entropy(weights: Array) -> float:
    return float(-(weights * np.log(np.maximum(weights, 1e-300))).sum(1).mean())


@erratum("E47")
def of_the_keys() -> Evidence:
    query, keys, values, fresh = (
        tensor(1, 1, 3),
        tensor(1, 4, 3, start=1),
        tensor(1, 4, 3, start=2),
        tensor(1, 4, 3, start=3),
    )
    looked = [_effective_weights(query, k, v) for k, v in ((keys, values), (keys, fresh), (fresh, values))]
    numbers = {"values": gap(looked[0], looked[1]), "keys": gap(looked[0], looked[2])}
    sentence = _(
        "Drawing all values anew changes the weights by {values}, drawing the keys anew by up to {keys:.2f}.",
        values=small_difference(numbers["values"]),
        keys=numbers["keys"],
    )
    names = tuple(_("key {i}", i=i + 1) for i in range(keys.shape[1]))
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Weights"),
                np.vstack(looked),
                (_("as drawn"), _("other values"), _("other keys")),
                names,
                "weights",
            ),
        ),
    )


def _effective_weights(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Array:
    """Return the weights with which attention mixes `values`, read off its output for appended one-hot values."""
    marked = torch.cat((values, torch.eye(keys.shape[1], dtype=values.dtype)[None]), dim=-1)
    out = torch.nn.functional.scaled_dot_product_attention(query, keys, marked)
    return out[0, :, values.shape[-1] :].numpy()


@erratum("E53")
def flat_cosine() -> Evidence:
    n, beta = 10, 10.0
    keys = -torch.ones(n, 2, dtype=torch.float64)
    keys[0] = 1.0
    query = torch.ones(1, 2, dtype=torch.float64)
    plain, sharp = (_weights(Cosine(2, 2, sharpness=b), query, keys)[0] for b in (1.0, beta))
    numbers = {
        "ratio": float(plain.max() / plain.min()),
        "plain": float(plain.max()),
        "sharp": float(sharp.max()),
    }
    sentence = _(
        "{n} rows of memory, one equal to the query and the others opposite, the clearest case there is: two weights differ by a factor of {ratio:.2f} and the largest is {plain:.3f}. With β = {beta:.0f} it is {sharp:.3f}.",
        n=n,
        ratio=numbers["ratio"],
        plain=numbers["plain"],
        beta=beta,
        sharp=numbers["sharp"],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Weights of the rows"),
                np.array([plain, sharp]),
                (_("cosine"), _("{beta:.0f} · cosine", beta=beta)),
                tuple(str(i + 1) for i in range(n)),
                "weights",
            ),
        ),
    )
