"""Properties of position vectors: curves, dot products, distances, four criteria.

A *table* is an array (pos, d_model): row t is the vector added to the word at position t, counted from 0.
Everything is float64 numpy; nothing here draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from core.errors import InputError
from core.layers.positions import Variant, alibi_bias, alibi_slopes, frequencies, rotary, sinusoidal_at
from viz.number_text import signed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Formula:
    """One choice of the sinusoidal formula; see `core.layers.positions.sinusoidal` for the variants.

    ``cut=False`` keeps the entries too many that j = 0 .. floor(d/2) yields.

    >>> Formula(4).table(2).round(4).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 1.0]]
    """

    d_model: int
    base: float = 10000.0
    variant: Variant = "paired"
    p: float | None = None
    cut: bool = True

    def vectors_at(self, positions: Array) -> Array:
        """Return the vectors at any positions, fractional ones too: (pos,) -> (pos, d_model)."""
        where = torch.as_tensor(positions, dtype=torch.float64)
        return sinusoidal_at(where, self.d_model, self.base, self.variant, p=self.p, cut=self.cut).numpy()

    def table(self, n_positions: int) -> Array:
        return self.vectors_at(np.arange(n_positions, dtype=float))

    def wavelengths(self) -> Array:
        """Return the positions until each dimension repeats: 2 pi / w_i, (d_model,)."""
        w = frequencies(self.d_model, self.base, self.variant, p=self.p, cut=self.cut)
        return (2 * math.pi / w).numpy()

    def name_of(self, dimension: int) -> str:
        """Return the dimension as a plain formula: ``sin(pos / 100)``."""
        divisor = self.wavelengths()[dimension] / (2 * math.pi)
        wave = "cos" if dimension % 2 else "sin"
        return f"{wave}(pos)" if math.isclose(divisor, 1) else f"{wave}(pos / {signed(divisor, '.4g')})"


@dataclass(frozen=True)
class Curves:
    """Some dimensions of a table over position, and, where a formula knows them, the values in between.

    Shapes: samples (dimension, pos); x (point,); smooth (dimension, point), or both empty for a learned table.
    """

    dimensions: tuple[int, ...]
    names: tuple[str, ...]
    samples: Array
    x: Array
    smooth: Array


def choose_dimensions(d_model: int, count: int, selection: str = "first") -> tuple[int, ...]:
    """Choose up to `count` dimensions: the ``first``, the ``last``, or ``spread`` evenly from first to last.

    >>> choose_dimensions(512, 4, "spread"), choose_dimensions(4, 6), choose_dimensions(60, 2, "last")
    ((0, 170, 340, 511), (0, 1, 2, 3), (58, 59))
    """
    count = min(count, d_model)
    if selection == "last":
        return tuple(range(d_model - count, d_model))
    if selection == "spread":
        return tuple(int(i) for i in np.linspace(0, d_model - 1, count))
    return tuple(range(count))


def curves(source: Formula | Array, n_positions: int, dimensions: Sequence[int], per_step: int = 8) -> Curves:
    """Evaluate the chosen dimensions at the integers, and at `per_step` points per position between them.

    The points in between come from the same formula at fractional positions, so a fast wave is drawn as the
    wave it is. A learned table has no values in between.

    Errors: InputError for a dimension that the vectors do not have.

    >>> curves(Formula(4), 3, (0, 2)).names
    ('sin(pos)', 'sin(pos / 100)')
    >>> curves(np.zeros((3, 2)), 3, (1,)).x.tolist()
    []
    """
    table = source.table(n_positions) if isinstance(source, Formula) else source[:n_positions]
    width = table.shape[1]
    wrong = [i for i in dimensions if not 0 <= i < width]
    if wrong:
        raise InputError(
            f"There is no dimension {wrong[0]}.",
            f"Vectors of {width} numbers have the dimensions 0 to {width - 1}.",
            "Choose fewer or smaller ones.",
        )
    picked = list(dimensions)
    if not isinstance(source, Formula):
        nothing = np.empty(0)
        names = tuple("learned" for _ in picked)
        return Curves(tuple(picked), names, table[:, picked].T, nothing, np.empty((len(picked), 0)))
    x = _offsets(n_positions, per_step)
    names = tuple(source.name_of(i) for i in picked)
    return Curves(tuple(picked), names, table[:, picked].T, x, source.vectors_at(x)[:, picked].T)


def dot_products(table: Array) -> Array:
    """Return the dot products of the vectors of all pairs of positions: (pos, d_model) -> (pos, pos).

    >>> dot_products(Formula(4).table(2)).round(3).tolist()
    [[2.0, 1.54], [1.54, 2.0]]
    """
    return table @ table.T


def match(source: Formula | Array, position: int, n_positions: int, per_step: int = 8) -> tuple[Array, Array]:
    """Return the dot products of one position's vector with all others, and between positions where there is a formula.

    Shapes: returns (point,) positions and (point,) dot products.

    >>> x, y = match(Formula(4), 0, 3, per_step=1)
    >>> y.round(4).tolist()
    [2.0, 1.5403, 0.5837]
    """
    if not isinstance(source, Formula):
        return _offsets(n_positions, 1), source[:n_positions] @ source[position]
    x = _offsets(n_positions, per_step)
    return x, source.vectors_at(x) @ source.vectors_at(np.array([float(position)]))[0]


@dataclass(frozen=True)
class Profile:
    """Mean, least and largest value of a quantity over all positions t, by offset k. All (point,).

    The offsets `k` are 0, 1, ..; where a formula knows them, also points between.
    """

    k: Array
    mean: Array
    low: Array
    high: Array

    def at_offset(self, offset: int) -> tuple[float, float, float]:
        """Return mean, low and high at one whole offset."""
        i = int(np.abs(self.k - offset).argmin())
        return float(self.mean[i]), float(self.low[i]), float(self.high[i])


def _profile(k: Array, pairs: Callable[[float], Array]) -> Profile:
    rows = [pairs(float(offset)) for offset in k]
    return Profile(k, *(np.array([float(f(row)) for row in rows]) for f in (np.mean, np.min, np.max)))


def _offsets(n_offsets: int, per_step: int) -> Array:
    return np.linspace(0, n_offsets - 1, (n_offsets - 1) * per_step + 1)


def distance_profile(
    source: Formula | Array, n_positions: int, n_offsets: int | None = None, per_step: int = 1
) -> Profile:
    """Return

    p(t + k) - p(t)

    by offset k over all t; with the right formula it is the same for every t.

    Equation: sqrt(sum_j 2 - 2 cos(k w_j)) for the paired sinusoid. A formula is also asked `per_step` times
    a position; a learned table (pos, d_model) knows whole offsets only.

    >>> round(distance_profile(Formula(128), 200).at_offset(5)[0], 6)
    5.799136
    """
    n_offsets = min(n_offsets or n_positions, n_positions)
    if not isinstance(source, Formula):
        return _profile(
            _offsets(n_offsets, 1),
            lambda k: np.linalg.norm(source[int(k) : n_positions] - source[: n_positions - int(k)], axis=1),
        )
    table = source.table(n_positions)

    def steps(k: float) -> Array:
        t = np.arange(n_positions - math.ceil(k), dtype=float)
        return np.linalg.norm(source.vectors_at(t + k) - table[: len(t)], axis=1)

    return _profile(_offsets(n_offsets, per_step), steps)


def similarity_profile(table: Array, n_offsets: int) -> Profile:
    """Return the cosine between p(t) and p(t + k) by whole offset k over all t."""
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    n = len(unit)
    return _profile(_offsets(min(n_offsets, n), 1), lambda k: (unit[int(k) :] * unit[: n - int(k)]).sum(1))


def score_by_distance(
    n_offsets: int, d_head: int = 32, base: float = 10000.0, learned: Array | None = None, n_heads: int = 8
) -> dict[str, Profile]:
    """Compare four kinds of positions on the same axes: change of the score against distance 0, before the softmax.

    Query and key have squared length d_head and differ only by their positions, so the score is
    sqrt(d_head) * cosine. ``sinusoid`` and ``learned``: query and key are the position vectors themselves,
    brought to that length. ``rotary``: key = query, turned; the mean over all directions, which is
    trace(R_k) / d_head and therefore the same curve as the sinusoid of width d_head. ``ALiBi``: the bias
    itself, which needs no vectors, for three of its heads.

    >>> list(score_by_distance(3))
    ['rotary, sinusoid', 'ALiBi 1/8', 'ALiBi 1/32', 'ALiBi 1/128']
    """
    root = math.sqrt(d_head)
    k = _offsets(n_offsets, 4)
    axes = torch.eye(d_head, dtype=torch.float64)
    turned = rotary(axes[None, :, None, :].expand(1, -1, len(k), -1), torch.as_tensor(k), base)
    turning = root * (torch.einsum("h k d, h d -> k", turned[0], axes).numpy() / d_head - 1)
    rows = {"rotary, sinusoid": Profile(k, turning, turning, turning)}
    bias = alibi_bias(n_heads, 1, n_offsets)[:, 0].flip(-1).double().numpy()
    for head in range(2, n_heads, 2):
        name = f"ALiBi 1/{1 / float(alibi_slopes(n_heads)[head]):.0f}"
        rows[name] = Profile(_offsets(n_offsets, 1), *[bias[head]] * 3)
    if learned is not None:
        seen = similarity_profile(learned, n_offsets)
        rows["learned"] = Profile(seen.k, *(root * (part - 1) for part in (seen.mean, seen.low, seen.high)))
    return rows


def share_of_variance(table: Array) -> float:
    """Return the share (0 to 1) of the variance over positions that the first half of the dimensions has.

    >>> round(share_of_variance(Formula(60).table(10)), 5)
    0.99964
    """
    variance = table.var(axis=0)
    return float(variance[: table.shape[1] // 2].sum() / variance.sum())


def most_changed(table: Array) -> int:
    """Return the dimension that changes most from one position to the next, on average over the table."""
    return int(np.abs(np.diff(table, axis=0)).mean(0).argmax())


def learned_table(network: torch.nn.Module, path: str = "embed.position.weight") -> Array:
    """Return the learned positions of a model, (pos, d_model), in float64.

    Errors: InputError when the model has none under that name.
    """
    try:
        weight = network.get_parameter(path)
    except AttributeError:
        raise InputError(
            "This model has no learned positions.",
            f"They are the parameter {path}.",
            "Choose gpt-mini, or a model of its family.",
        ) from None
    return weight.detach().double().cpu().numpy()
