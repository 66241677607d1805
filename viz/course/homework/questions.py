"""Questions of the homework page: those of the sources, and ours for each chapter. Their words are in `questions.toml`.

Every truth below runs the thing that is asked about, from the third chapter on those in `chapters`, of the last in `sounds`; no answer is stored here.
"""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.layers.attention import MultiHeadAttention, masked_softmax
from core.layers.positions import sinusoidal
from core.layers.recurrent.alignment import gaussian
from core.layers.scores import Cosine, Dot, General, LinearAdditive, ScaledDot
from viz.course.homework import chapters, sounds
from viz.course.homework.form import answered
from viz.languages import mark

WORDS, SIZE = 5, 16
STAYS, MOVES, CHANGES = (
    mark("the outputs do not change at all"),
    mark("the same outputs, in the new order"),
    mark("other outputs"),
)
YES, NO = mark("yes"), mark("no")
SUM, MEAN, LAST = mark("their sum"), mark("their mean"), mark("the last of them")


def _layer() -> tuple[nn.Module, Tensor]:
    """Create untrained self-attention and five random words: the answers hold for any weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return MultiHeadAttention(SIZE, 2).double().eval(), torch.randn(WORDS, SIZE, dtype=torch.float64)


def _attend(layer: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return layer(x[None], x[None], torch.ones(len(x), len(x), dtype=torch.bool))[0]


def _reordered(positions: bool) -> str:
    layer, x = _layer()
    order = torch.tensor([3, 0, 4, 1, 2])
    places = sinusoidal(WORDS, SIZE).double() if positions else torch.zeros(WORDS, SIZE, dtype=torch.float64)
    before, after = _attend(layer, x + places), _attend(layer, x[order] + places)
    if torch.allclose(after, before, atol=1e-9):
        return STAYS
    return MOVES if torch.allclose(after, before[order], atol=1e-9) else CHANGES


def _pooled() -> str:
    layer, x = _layer()
    return (
        YES
        if torch.allclose(_attend(layer, x).mean(0), _attend(layer, x[[3, 0, 4, 1, 2]]).mean(0), atol=1e-9)
        else NO
    )


def _said_twice() -> str:
    layer, x = _layer()
    return (
        YES
        if torch.allclose(_attend(layer, torch.cat([x, x[:1]]))[1:WORDS], _attend(layer, x)[1:], atol=1e-9)
        else NO
    )


def _softmax(*scores: float) -> Tensor:
    row = torch.tensor([scores], dtype=torch.float64)
    return masked_softmax(row, torch.ones_like(row, dtype=torch.bool))[0]


def _equal_scores() -> str:
    _, states = _layer()
    context = _softmax(*[0.7] * WORDS) @ states
    for name, made in (
        (SUM, states.sum(0)),
        (MEAN, states.mean(0)),
        (LAST, states[-1]),
    ):
        if torch.allclose(context, made):
            return name
    return mark("none of these")


def _variance_lost() -> float:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 4)))[0]
    data = basis @ np.diag([4.0, 3.0, 2.0, 1.0])
    u, s, v = np.linalg.svd(data, full_matrices=False)
    return float(((data - (u[:, :2] * s[:2]) @ v[:2]) ** 2).sum())


def _nearest() -> str:
    table = {"king": (1, 1), "man": (1, 0), "woman": (0, 0), "queen": (0, 1), "child": (0.5, 0.2)}
    point = np.subtract(table["king"], table["man"]) + table["woman"]
    return min(
        (name for name in table if name != "king"),
        key=lambda name: float(np.linalg.norm(np.subtract(table[name], point))),
    )


def _still_there(factor: float, steps: int) -> float:
    with torch.inference_mode(False), torch.enable_grad():
        state = torch.ones(1, requires_grad=True)
        last = state
        for _ in range(steps):
            last = factor * last
        last.backward()
    assert state.grad is not None
    return float(state.grad)


def _parameters(kind: Callable[[int, int], nn.Module]) -> float:
    return float(sum(p.numel() for p in kind(4, 8).parameters()))


def _people(where: str) -> float:
    with sqlite3.connect(":memory:") as table:
        table.execute("create table persons (id text, name text, family text)")
        table.executemany(
            "insert into persons values (?, ?, ?)",
            [
                ("005123174812", "Ali", "Ahmadi"),
                ("015843268901", "Mohammad Reza", "Ali Mohammadi"),
                ("005123174823", "Ashkan", "Mohammadi"),
            ],
        )
        return float(table.execute(f"select count(*) from persons where {where}").fetchone()[0])


ADDITIVE = mark("additive, linear")
SCORES = {
    "dot": Dot,
    mark("scaled"): ScaledDot,
    "general": General,
    ADDITIVE: LinearAdditive,
    mark("cosine"): Cosine,
}
SEEING = tuple(name for name in SCORES if name != ADDITIVE)


def _blind() -> str:
    """Return the score whose weights do not change with the query."""
    return _unmoved(tuple(SCORES), torch.randn_like)


def _unstretched() -> str:
    """Return the score, of those that use the query, whose weights do not change when the query is doubled."""
    return _unmoved(SEEING, lambda query: 2 * query)


def _unmoved(names: tuple[str, ...], change: Callable[[Tensor], Tensor]) -> str:
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(2)
        query, keys = torch.randn(1, 1, 4), torch.randn(1, 3, 4)
        other = change(query)
        for name in names:
            score = SCORES[name](4, 4)
            for weight in score.parameters():
                nn.init.normal_(weight)
            if torch.allclose(score(query, keys).softmax(-1), score(other, keys).softmax(-1), atol=1e-6):
                return name
    return "none"


def _spread(size: int) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return float((torch.randn(20_000, size) * torch.randn(20_000, size)).sum(1).var())


def _ratio() -> float:
    """Return the ratio of the weights of two keys, one along the query and one against it, scored by cosine."""
    query, keys = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 2.0], [-1.0, -2.0]]])
    weights = Cosine(2, 2)(query, keys).softmax(-1)[0, 0]
    return float(weights[0] / weights[1])


def _sharp() -> float:
    """Find by bisection the inverse temperature at which the better of the scores 1 and 2 gets 90% of the weight."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _softmax(middle, 2 * middle)[1] < 0.9 else (low, middle)
    return high


def _slope() -> Callable[..., float]:
    def slope(a: float, b: float) -> float:
        """Compute by autograd the derivative of the weight a by the score of the weight b."""
        with torch.inference_mode(False), torch.enable_grad():
            scores = torch.tensor([a, b, 1 - a - b], dtype=torch.float64).log().requires_grad_(True)
            (gradient,) = torch.autograd.grad(scores.softmax(0)[0], scores)
        return float(gradient[1])

    return slope


def _cells() -> Callable[..., float]:
    return lambda m, n: float((torch.zeros(int(m), 3) @ torch.zeros(3, int(n))).numel())


def _at_the_edge() -> float:
    return float(gaussian(torch.tensor([6.0]), torch.tensor([3.0]), 1.5).squeeze())


ANSWERS = {
    "invariant": answered(lambda: _reordered(False), (STAYS, MOVES, CHANGES)),
    "set": answered(_said_twice, (YES, NO)),
    "pooled": answered(_pooled, (YES, NO)),
    "positions": answered(lambda: _reordered(True), (STAYS, MOVES, CHANGES)),
    "share": answered(lambda: float(_softmax(1, 2, 3)[2]), near=0.01),
    "alike": answered(lambda: float(_softmax(*[1.0] * 8)[0]), near=0.002),
    "mean": answered(_equal_scores, (SUM, MEAN, LAST)),
    "rank": answered(_variance_lost, near=0.05),
    "vanish": answered(lambda: _still_there(0.5, 10), near=0.0002),
    "lstm": answered(lambda: _parameters(nn.LSTM), near=0.5),
    "rows": answered(lambda: float(torch.stack([_softmax(*range(7)) for _ in range(5)]).sum()), near=0.01),
    "cells": answered(_cells, letters=("m", "n")),
    "king": answered(_nearest, ("king", "man", "woman", "queen", "child")),
    "like": answered(lambda: _people("id like '00512317%'"), near=0.1),
    "flat": answered(lambda: float(_softmax(*[0 * s for s in (3.0, -1.0, 2.0, 0.5)])[0]), near=0.002),
    "sharp": answered(_sharp, near=0.02),
    "times": answered(
        lambda: float(_softmax(np.log(5.0), 0.0)[0] / _softmax(np.log(5.0), 0.0)[1]), near=0.01
    ),
    "blind": answered(_blind, tuple(SCORES)),
    "length": answered(_unstretched, SEEING),
    "ratio": answered(_ratio, near=0.02),
    "variance": answered(lambda: _spread(64), near=4.0),
    "edge": answered(_at_the_edge, near=0.002),
    "slope": answered(_slope, letters=("a", "b"), shares=True),
}
DOCUMENTS = mark("From the sources")
QUESTIONS = tuple(
    (ANSWERS | chapters.ANSWERS | sounds.ANSWERS)[key](key=key, group=group, **words)
    for group, asked in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
    for key, words in asked.items()
)
GROUPS = tuple(dict.fromkeys(question.group for question in QUESTIONS))
