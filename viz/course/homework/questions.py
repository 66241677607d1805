"""The questions of the homework page: the documents' own, and ours for each chapter; from the third chapter on they stand in `homework_chapters`.

Every `truth` below runs the thing that is asked about; no answer stands in this file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from core.layers.alignment import gaussian
from core.layers.attention import MultiHeadAttention, masked_softmax
from core.layers.positions import sinusoidal
from core.layers.scores import Cosine, Dot, General, LinearAdditive, ScaledDot
from viz.course.homework import chapters as homework_chapters
from viz.course.homework.form import Question

DOCUMENTS, WHY, LOOK_UP = "The documents' own", "Why attention", "Look-up"
GROUPS = (DOCUMENTS, WHY, LOOK_UP, *homework_chapters.CHAPTERS)
WORDS, SIZE = 5, 16
STAYS, MOVES, CHANGES = (
    "the outputs do not change at all",
    "the same outputs, in the new order",
    "other outputs",
)
YES, NO = "yes", "no"


def _layer() -> tuple[nn.Module, Tensor]:
    """Untrained self-attention and five random words: what is asked holds for any weights."""
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
        ("their sum", states.sum(0)),
        ("their mean", states.mean(0)),
        ("the last of them", states[-1]),
    ):
        if torch.allclose(context, made):
            return name
    return "none of these"


def _lost() -> float:
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


SCORES = {
    "dot": Dot,
    "scaled": ScaledDot,
    "general": General,
    "additive, linear": LinearAdditive,
    "cosine": Cosine,
}
SEEING = tuple(name for name in SCORES if name != "additive, linear")


def _blind() -> str:
    """The score whose weights stay when the query is another one."""
    return _unmoved(tuple(SCORES), torch.randn_like)


def _unstretched() -> str:
    """Of those that look at the query, the score whose weights stay when it is twice as long."""
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
    """Two keys, one along the query and one against it, scored by cosine."""
    query, keys = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 2.0], [-1.0, -2.0]]])
    weights = Cosine(2, 2)(query, keys).softmax(-1)[0, 0]
    return float(weights[0] / weights[1])


def _sharp() -> float:
    """Found by halving: the sharpness at which the better of the scores 1 and 2 gets nine tenths."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _softmax(middle, 2 * middle)[1] < 0.9 else (low, middle)
    return high


def _slope() -> Callable[..., float]:
    def slope(a: float, b: float) -> float:
        """By autograd: how the weight a answers to the score of the weight b."""
        with torch.inference_mode(False), torch.enable_grad():
            scores = torch.tensor([a, b, 1 - a - b], dtype=torch.float64).log().requires_grad_(True)
            (gradient,) = torch.autograd.grad(scores.softmax(0)[0], scores)
        return float(gradient[1])

    return slope


def _cells() -> Callable[..., float]:
    return lambda m, n: float((torch.zeros(int(m), 3) @ torch.zeros(3, int(n))).numel())


def _at_the_edge() -> float:
    return float(gaussian(torch.tensor([6.0]), torch.tensor([3.0]), 1.5).squeeze())


QUESTIONS: tuple[Question, ...] = (
    Question(
        "invariant",
        DOCUMENTS,
        "Is self-attention permutation-invariant? Five words without positions are put in another order. What comes out?",
        lambda: _reordered(False),
        "Computed: {}. So it is equivariant, not invariant.",
        "permutation",
        (STAYS, MOVES, CHANGES),
    ),
    Question(
        "set",
        DOCUMENTS,
        "Is self-attention a set operation? In a set a thing that is said twice is there once. One word is said twice: do the outputs of the other words stay as they were?",
        _said_twice,
        "Computed: {}. A word that is there twice counts twice: it works on a multiset.",
        "permutation",
        (YES, NO),
    ),
    Question(
        "pooled",
        DOCUMENTS,
        "And the mean of all outputs: is it the same in every order of the words?",
        _pooled,
        "Computed: {}. The mean forgets the order that equivariance keeps.",
        "permutation",
        (YES, NO),
    ),
    Question(
        "positions",
        DOCUMENTS,
        "Now each position adds its position vector. The words are put in another order. What comes out?",
        lambda: _reordered(True),
        "Computed: {}. The positions are what tells one order from another.",
        "permutation",
        (STAYS, MOVES, CHANGES),
    ),
    Question(
        "share",
        WHY,
        "Three words have the scores 1, 2 and 3. What share does the softmax give to the largest?",
        lambda: float(_softmax(1, 2, 3)[2]),
        "The softmax gives it {}.",
        "weighting",
        near=0.01,
    ),
    Question(
        "alike",
        WHY,
        "Eight words have equal scores. What share does each get?",
        lambda: float(_softmax(*[1.0] * 8)[0]),
        "Each gets {}.",
        "weighting",
        near=0.002,
    ),
    Question(
        "mean",
        WHY,
        "All scores of a source are equal. The context vector is then, of the encoder's states,",
        _equal_scores,
        "Computed: {}.",
        "alignment",
        ("their sum", "their mean", "the last of them"),
    ),
    Question(
        "rank",
        WHY,
        "Four directions of the data have the singular values 4, 3, 2 and 1. A linear encoder keeps two numbers. What is the smallest squared error?",
        _lost,
        "The two that are dropped leave {}.",
        "autoencoder",
        near=0.05,
    ),
    Question(
        "vanish",
        WHY,
        "A state is multiplied by 0.5 at each step. By how much does the last of 10 steps still depend on the first?",
        lambda: _still_there(0.5, 10),
        "The gradient is {}.",
        "bottleneck",
        near=0.0002,
    ),
    Question(
        "lstm",
        WHY,
        "An LSTM reads 4 numbers and keeps 8. How many weights does it have, biases as in PyTorch (two for each gate)?",
        lambda: _parameters(nn.LSTM),
        "Counted: {}.",
        "bottleneck",
        near=0.5,
    ),
    Question(
        "rows",
        WHY,
        "Seven words are translated into five. What do all the attention weights of the alignment sum to?",
        lambda: float(torch.stack([_softmax(*range(7)) for _ in range(5)]).sum()),
        "Each of the five rows sums to 1: {}.",
        "alignment",
        near=0.01,
    ),
    Question(
        "cells",
        WHY,
        "How many scores are there for m output words and n source words? Write it with m and n.",
        _cells,
        "Counted: {}.",
        "alignment",
        letters=("m", "n"),
    ),
    Question(
        "king",
        LOOK_UP,
        "King is at (1, 1), man at (1, 0), woman at (0, 0). Which word is nearest to king − man + woman?",
        _nearest,
        "Computed: {}.",
        "word_vectors",
        ("king", "man", "woman", "queen", "child"),
    ),
    Question(
        "like",
        LOOK_UP,
        "The PERSONS table is asked for ID like '00512317%'. How many rows come back?",
        lambda: _people("id like '00512317%'"),
        "The database gives {}.",
        "retrieval",
        near=0.1,
    ),
    Question(
        "flat",
        LOOK_UP,
        "Four keys, any scores, and the inverse temperature β is 0. What is the weight of each?",
        lambda: float(_softmax(*[0 * s for s in (3.0, -1.0, 2.0, 0.5)])[0]),
        "Each weighs {}.",
        "retrieval",
        near=0.002,
    ),
    Question(
        "sharp",
        LOOK_UP,
        "Two keys score 1 and 2. At which inverse temperature β does the second get 90 %?",
        _sharp,
        "Found by trying: {}.",
        "retrieval",
        near=0.02,
    ),
    Question(
        "times",
        LOOK_UP,
        "One key scores higher than another by ln 5. How many times its weight does it get?",
        lambda: float(_softmax(np.log(5.0), 0.0)[0] / _softmax(np.log(5.0), 0.0)[1]),
        "Computed: {}.",
        "retrieval",
        near=0.01,
    ),
    Question(
        "blind",
        LOOK_UP,
        "Which of these scores gives the same weights whatever the query is?",
        _blind,
        "Computed: {}. Its query adds the same number to every key, and the softmax cancels it.",
        "score_functions",
        tuple(SCORES),
    ),
    Question(
        "length",
        LOOK_UP,
        "The query is made twice as long. Which score that does look at the query gives the same weights as before?",
        _unstretched,
        "Computed: {}. It divides by the length of the query.",
        "score_functions",
        SEEING,
    ),
    Question(
        "ratio",
        LOOK_UP,
        "Cosine scores lie between −1 and 1. How many times as large as another can a weight be at most?",
        _ratio,
        "Computed with one key along the query and one against it: {}.",
        "retrieval",
        near=0.02,
    ),
    Question(
        "variance",
        LOOK_UP,
        "Queries and keys of 64 numbers, each drawn with mean 0 and variance 1. About what is the variance of q·k?",
        lambda: _spread(64),
        "Measured on 20,000 draws: {}.",
        "scaling",
        near=4.0,
    ),
    Question(
        "edge",
        LOOK_UP,
        "Local attention with D = 3 and a width of D/2. What factor does the Gaussian give a word at the edge of the window?",
        _at_the_edge,
        "Computed: {}.",
        "luong",
        near=0.002,
    ),
    Question(
        "slope",
        LOOK_UP,
        "Two weights of one softmax are a and b. What is the derivative of a with respect to the score of b? Write it with a and b.",
        _slope,
        "By autograd: {}. It is minus the product: what one weight wins, the others lose in proportion.",
        "soft_and_hard",
        letters=("a", "b"),
        shares=True,
    ),
    *homework_chapters.QUESTIONS,
)
