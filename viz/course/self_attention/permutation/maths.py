"""Self-attention of another order of the words, of a repeated word, and under a mask: measured.

Self-attention maps n rows to n rows. Without positions f(P X) = P f(X) for every permutation P: it is equivariant. All numbers
are float64, so that a difference that should be 0 is only rounding, about 1e-15.

Beigy 2024 asks it as homework: is self-attention permutation-invariant, and is it a set operation?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from core import masks
from core.errors import InputError
from core.layers.attention import MultiHeadAttention
from core.layers.linear import outside_inference_mode
from core.maths import max_difference
from core.serving.engine import default
from core.trace import record
from viz.labels import distinct

Array = NDArray[np.float64]
Order = tuple[int, ...]
MODEL, LONGEST = "bert-mini", 12

STAYS, MOVES, CHANGES = (
    "The same rows in the same positions",
    "The same rows, each moved along with its word",
    "Other rows",
)
SAME = 1e-9
"""Numbers that differ by less are equal: rounding is about 1e-15."""


def matrix(order: Sequence[int]) -> Array:
    """Return the permutation matrix P of an order: row i of P X is row order[i] of X.

    >>> (matrix((2, 0, 1)) @ [[10.0], [20.0], [30.0]]).ravel().tolist()
    [30.0, 10.0, 20.0]
    """
    return np.eye(len(order))[list(order)]


def in_double(layer: MultiHeadAttention) -> MultiHeadAttention:
    """Return a copy of an attention layer that calculates in float64."""
    with outside_inference_mode():
        copy = MultiHeadAttention(
            layer.n_heads * layer.d_head, layer.n_heads, bias=layer.to_q.bias is not None
        ).double()
        copy.load_state_dict({name: weight.double() for name, weight in layer.state_dict().items()})
        return copy.eval().requires_grad_(False)


def attend(layer: MultiHeadAttention, x: Array, causal: bool = False) -> tuple[Array, Array]:
    """Return outputs (n, d) and patterns (head, n, n) of any rows; `causal`: each attends to itself and before.

    >>> with torch.random.fork_rng():
    ...     f = in_double(MultiHeadAttention(6, 2))
    >>> x = np.random.default_rng(0).normal(size=(4, 6))
    >>> bool(np.allclose(attend(f, x[::-1])[0], attend(f, x)[0][::-1]))
    True
    """
    with outside_inference_mode():
        rows = torch.tensor(np.ascontiguousarray(x), dtype=torch.float64)[None]
        allowed = masks.causal(len(x)) if causal else torch.ones(len(x), len(x), dtype=torch.bool)
        out, trace = record(lambda tap: layer(rows, rows, allowed, tap), keep=["pattern"])
        return out[0].numpy(), trace["pattern"][0].numpy()


def rows_of(network: Any, ids: Sequence[int], places: Sequence[int] | None = None) -> Array:
    """Return the input of BERT's first layer, (n, d), with the position vectors of `places` or with none.

    BERT adds word, segment and position and norms the sum; without places the position is left out of the sum.
    """
    embed = network.embed
    with outside_inference_mode():
        total = embed["token"].weight[list(ids)].double() + embed["segment"].weight[0].double()
        if places is not None:
            total = total + embed["position"].weight[list(places)].double()
        norm = embed["norm"]
        return F.layer_norm(
            total, norm.weight.shape, norm.weight.double(), norm.bias.double(), norm.eps
        ).numpy()


def run_layers(network: Any, x: Array) -> Array:
    """Run rows through every layer of the network, in float32 and without a mask, (n, d) -> (n, d)."""
    with outside_inference_mode():
        rows, allowed = (
            torch.tensor(np.ascontiguousarray(x), dtype=torch.float32)[None],
            torch.ones(len(x), len(x), dtype=torch.bool),
        )
        for block in network.layers:
            rows = block(rows, allowed)
        return rows[0].double().numpy()


@dataclass(frozen=True, eq=False)
class Reordering:
    """Rows before (n, d) and after (m, d): row i after is the word that was row origin[i]."""

    before: Array
    after: Array
    origin: Order

    @property
    def along(self) -> Array:
        """Return P f(X): the rows before, in the positions of their words after, (m, d)."""
        return self.before[list(self.origin)]

    @property
    def change(self) -> Array:
        """Return the relative change of each word's row, (m,)."""
        return np.linalg.norm(self.after - self.along, axis=1) / np.linalg.norm(self.along, axis=1)

    @property
    def largest(self) -> float:
        """Return the largest difference of any number between f(P X) and P f(X)."""
        return max_difference(self.after, self.along)

    @property
    def in_place(self) -> float:
        """Return the largest difference between f(P X) and f(X), position by position."""
        return max_difference(self.after, self.before)

    @property
    def pooled(self) -> tuple[Array, Array]:
        """Return the mean of all rows before and after, (d,) each."""
        return self.before.mean(0), self.after.mean(0)

    @property
    def pooled_largest(self) -> float:
        """Return the largest difference of any number between the two means."""
        before, after = self.pooled
        return max_difference(after, before)

    @property
    def unchanged(self) -> NDArray[np.bool_]:
        """Return whether each word has the same row after as before, (m,)."""
        return np.abs(self.after - self.along).max(1) < SAME

    @property
    def kind(self) -> str:
        """Return STAYS, MOVES or CHANGES."""
        if self.before.shape == self.after.shape and self.in_place < SAME:
            return STAYS
        return MOVES if self.largest < SAME else CHANGES


def reordered(
    layer: MultiHeadAttention, before: Array, after: Array, order: Sequence[int], causal: bool = False
) -> Reordering:
    """Run the layer on `before` and on `after`: the same words in another order, or some repeated."""
    return Reordering(attend(layer, before, causal)[0], attend(layer, after, causal)[0], tuple(order))


def same_past(words: Sequence[Hashable], order: Sequence[int]) -> list[bool]:
    """Return for each position of the new order whether a causal mask keeps its row: the same word and, as a multiset, the same
    words up to it.

    Two copies of a word at different positions are distinguished by the words before them.

    >>> same_past(["the", "dog", "saw", "the", "man"], (0, 4, 2, 3, 1))
    [True, False, False, False, False]
    >>> same_past(["a", "b", "c"], (1, 0, 2))
    [False, False, True]
    """
    after = [words[i] for i in order]
    return [Counter(after[: place + 1]) == Counter(words[: i + 1]) for place, i in enumerate(order)]


def repeated(weights: Array, counts: Sequence[int]) -> Array:
    """Return a row of weights when word j occurs c_j times; all copies of a word together.

    Equation: a'_j = c_j a_j / sum_k c_k a_k: equal words have equal scores, so each copy adds the same exp(score). Shapes:
    weights (.., n), counts (n,) -> (.., n). Only the proportions of the counts matter.

    >>> repeated(np.array([0.5, 0.25, 0.25]), (2, 1, 1)).round(4).tolist()
    [0.6667, 0.1667, 0.1667]
    >>> repeated(np.array([0.5, 0.25, 0.25]), (2, 2, 2)).tolist()
    [0.5, 0.25, 0.25]
    """
    total = weights * np.asarray(counts, dtype=float)
    return total / total.sum(-1, keepdims=True)


def swapped(pieces: Sequence[str]) -> Order:
    """Return an order that exchanges the roles: the second word changes places with the last other one.

    Punctuation stays where it is.

    >>> swapped(["the", "dog", "saw", "the", "man", "."]), swapped(["hello", "you"]), swapped(["one"])
    ((0, 4, 2, 3, 1, 5), (1, 0), (0,))
    >>> swapped(["a", "rose", "is", "a", "rose", "."])
    (0, 3, 2, 1, 4, 5)
    """
    order = list(range(len(pieces)))
    words = [i for i, piece in enumerate(pieces) if any(letter.isalnum() for letter in piece)] or order
    first = words[1] if len(words) > 2 else words[0]
    last = [i for i in words if pieces[i] != pieces[first]] or words
    order[first], order[last[-1]] = last[-1], first
    return tuple(order)


def forward(order: Sequence[int], place: int) -> Order:
    """Move the word at a position one position to the front and return the new order; the first word goes to the end.

    >>> forward((0, 1, 2), 2), forward((0, 1, 2), 0)
    ((0, 2, 1), (1, 2, 0))
    """
    made = list(order)
    word = made.pop(place)
    made.insert(place - 1 if place else len(made), word)
    return tuple(made)


@dataclass(frozen=True, eq=False)
class Measured:
    """One layer on the tokens: in another order, with positions, under a mask, and with a token repeated.

    `names` are distinct labels of the tokens; `patterns` (head, n, n) before and after; `all_layers` is the largest difference
    after all layers of the model; `counted` the largest difference of the repeated tokens' weights from the closed form.
    """

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    order: Order
    twice: int
    plain: Reordering
    placed: Reordering
    causal: Reordering
    repetition: Reordering
    patterns: tuple[np.ndarray, np.ndarray]
    head: int
    all_layers: float
    counted: float
    n_layers: int


def pieces_of(text: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return ids and tokens of a sentence. Errors: InputError for fewer than two, or for more than can be drawn."""
    found = default().open(MODEL).tokenizer.encode(text)
    n = len(found.ids)
    if not 2 <= n <= LONGEST:
        raise InputError(
            f"The sentence has {n} token{'' if n == 1 else 's'}.",
            f"An order needs 2 of them, and this page draws up to {LONGEST}.",
            "Take an example, or type a short sentence.",
        )
    return found.ids, found.tokens


def shuffled(n: int, lot: int) -> Order:
    """Return a random order; empty for seed 0.

    >>> sorted(shuffled(3, 1)), shuffled(3, 0)
    ([0, 1, 2], ())
    """
    return tuple(int(i) for i in np.random.default_rng(lot).permutation(n)) if lot else ()


def measured(text: str, order: Order = (), twice: int = -1, lot: int = 0) -> Measured:
    """Return the results of all six steps, from the weights of the model's first layer, in float64.

    If `order` is not an order of these tokens, a random one is used, or two words change places; `twice` below 0: the first
    token that moved. Errors: InputError of `pieces_of`.
    """
    network, (ids, pieces) = default().open(MODEL).network, pieces_of(text)
    n = len(ids)
    usable = sorted(order) == list(range(n))
    order = tuple(order) if usable else shuffled(n, lot) or swapped(pieces)
    moved = next((place for place, i in enumerate(order) if place != i), 0)
    twice = twice if 0 <= twice <= n else moved
    layer, at = in_double(network.layers[0].self_attn), range(1, n + 1)  # the first place is that of [CLS]
    new_ids = [ids[i] for i in order]
    x, new = rows_of(network, ids), rows_of(network, new_ids)
    again = (*range(n), twice) if twice < n else (*range(n), *range(n))
    before, after = attend(layer, x)[1], attend(layer, new)[1]
    weights = attend(layer, x[list(again)])[1][:, :n]
    copies = [weights[:, :, [place for place, i in enumerate(again) if i == j]].sum(-1) for j in range(n)]
    closed = repeated(before, np.bincount(again, minlength=n).tolist())
    whole, whole_new = run_layers(network, x), run_layers(network, new)
    return Measured(
        pieces,
        tuple(distinct(pieces)),
        order,
        twice,
        plain=reordered(layer, x, new, order),
        placed=reordered(layer, rows_of(network, ids, at), rows_of(network, new_ids, at), order),
        causal=reordered(layer, x, new, order, causal=True),
        repetition=reordered(layer, x, x[list(again)], again),
        patterns=(before, after),
        head=int(before.max(-1).mean(-1).argmax()),
        all_layers=max_difference(whole_new, whole[list(order)]),
        counted=max_difference(np.stack(copies, axis=-1), closed),
        n_layers=len(network.layers),
    )
