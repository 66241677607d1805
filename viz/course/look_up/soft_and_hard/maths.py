"""Soft and hard attention: mix all values by their weights, or sample one; and how each learns its scores.

Values V (patch, r), scores s (patch,), weights a = softmax(s). Beigy 2021, "soft vs hard attention"; Xu et
al. 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from viz.course.shared.weighting import softmax

Array = NDArray[np.float64]


def scores_by_colour(values: Array, query: int, beta: float) -> Array:
    """Return s_i = -beta |v_i - v_q|^2: the likeness of each patch to patch q. Shapes: (patch, r) -> (patch,).

    >>> scores_by_colour(np.array([[0.0], [1.0], [2.0]]), 0, 3.0).tolist()
    [-0.0, -3.0, -12.0]
    """
    return -beta * ((values - values[query]) ** 2).sum(1)


def soft_read(weights: Array, values: Array) -> Array:
    """Return z = sum_i a_i v_i. Shapes: (patch,), (patch, ..) -> (..).

    >>> soft_read(np.array([0.25, 0.75]), np.array([[0.0], [4.0]])).tolist()
    [3.0]
    """
    return np.tensordot(weights, values, axes=1)


def draw(weights: Array, count: int, lot: int) -> NDArray[np.int64]:
    """Sample `count` patches from the weights; a longer sample of the same seed `lot` begins with a shorter.

    >>> bool((draw(np.array([0.5, 0.5]), 9, 1)[:4] == draw(np.array([0.5, 0.5]), 4, 1)).all())
    True
    """
    lots = np.random.default_rng(lot).random(count)
    edges = np.cumsum(weights)
    return np.minimum(np.searchsorted(edges / edges[-1], lots, side="right"), len(weights) - 1)


def spread(weights: Array, values: Array) -> Array:
    """Return the standard deviation of one hard read: sqrt(sum_i a_i (v_i - z)^2). Shapes: -> (r,)."""
    return np.sqrt(weights @ (values - soft_read(weights, values)) ** 2)


@dataclass(frozen=True)
class Running:
    """After n samples the `distance` |mean - z| from the soft read, and the expected one, `expect`.

    expect = sqrt(sum_r spread_r^2 / n), the root of the mean squared distance. All (point,).
    """

    n: NDArray[np.int64]
    distance: Array
    expect: Array


def running(weights: Array, values: Array, samples: NDArray[np.int64], points: int = 60) -> Running:
    """Return the distance of the mean of the first n samples from the soft read, at up to `points` values of n."""
    n = np.unique(np.geomspace(1, len(samples), points).round().astype(np.int64))
    means = np.cumsum(values[samples], axis=0)[n - 1] / n[:, None]
    total = float(np.sqrt((spread(weights, values) ** 2).sum()))
    return Running(n, np.linalg.norm(means - soft_read(weights, values), axis=1), total / np.sqrt(n))


# ------------------------------------------------------------------ gradients


def gradient(weights: Array, reward: Array) -> Array:
    """Return d/ds_j of the expected reward J = sum_i a_i f_i, exactly: a_j (f_j - J).

    The reward is linear in what is read, f(v) = w . v, so the soft read w . z and the mean of hard reads
    have the
    same gradient. Shapes: (patch,), (patch,) -> (patch,).

    >>> gradient(np.array([0.5, 0.5]), np.array([0.0, 1.0])).tolist()
    [-0.25, 0.25]
    """
    return weights * (reward - weights @ reward)


def autograd(scores: Array, values: Array, w: Array, hard: bool = False) -> Array | None:
    """Return the gradient of w . read by the scores, by automatic differentiation; None where there is no path.

    Soft: the read is a sum over all patches. Hard: the read is the patch with the largest score, and an
    index has no
    derivative.
    """
    with torch.inference_mode(False), torch.enable_grad():
        s = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
        v, direction = torch.tensor(values, dtype=torch.float64), torch.tensor(w, dtype=torch.float64)
        read = v[s.argmax()] if hard else torch.softmax(s, 0) @ v
        loss = read @ direction
        if not loss.requires_grad:
            return None
        loss.backward()
    assert s.grad is not None
    return s.grad.numpy()


def estimates(weights: Array, reward: Array, samples: NDArray[np.int64], baseline: float = 0.0) -> Array:
    """Return one score-function estimate (REINFORCE) per sample: (f_i - b) (onehot(i) - a). Shapes: -> (draw, patch).

    >>> estimates(np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.array([1, 0])).tolist()
    [[-0.5, 0.5], [0.0, -0.0]]
    """
    return (reward[samples] - baseline)[:, None] * (np.eye(len(weights))[samples] - weights)


def estimate_deviation(weights: Array, reward: Array, baseline: float = 0.0) -> Array:
    """Return the standard deviation of one estimate in closed form: sqrt(E[g^2] - E[g]^2). Shapes: -> (patch,)."""
    every = estimates(weights, reward, np.arange(len(weights)), baseline)
    mean = weights @ every
    return np.sqrt(np.maximum(weights @ every**2 - mean**2, 0.0))


@dataclass(frozen=True)
class Learning:
    """The gradient (patch,) exactly, by estimates without and with a baseline; their standard deviations."""

    exact: Array
    plain: Array
    based: Array
    plain_deviation: Array
    based_deviation: Array
    baseline: float

    @property
    def saved(self) -> float:
        """Return the factor by which the baseline divides the total variance of one estimate."""
        return float((self.plain_deviation**2).sum() / max((self.based_deviation**2).sum(), 1e-300))


def learning(weights: Array, reward: Array, samples: NDArray[np.int64]) -> Learning:
    """Return the exact gradient and both estimates of it; the baseline is the expected reward J."""
    baseline = float(weights @ reward)
    plain, based = (estimates(weights, reward, samples, b).mean(0) for b in (0.0, baseline))
    return Learning(
        gradient(weights, reward),
        plain,
        based,
        estimate_deviation(weights, reward),
        estimate_deviation(weights, reward, baseline),
        baseline,
    )


@dataclass(frozen=True, eq=False)
class Data:
    """Patches (24, side, side, 3), their mean colours V (24, 3), weights (24,), samples, and both gradients.

    The reward is w . v; `automatic` and `argmax` are the automatic gradients of the soft read and of the patch with the largest
    score.
    """

    patches: Array
    values: Array
    scores: Array
    weights: Array
    samples: NDArray[np.int64]
    near: Running
    w: Array
    learning: Learning
    automatic: Array | None
    argmax: Array | None


def both(patches: Array, query: int, beta: float, draws: int, lot: int, w: Array) -> Data:
    """Return the soft read and `draws` hard ones of the patches (patch, side, side, 3); patch `query` is the query."""
    values = patches.mean((1, 2))
    scores = scores_by_colour(values, query, beta)
    weights = softmax(scores)
    drawn = draw(weights, draws, lot)
    return Data(
        patches,
        values,
        scores,
        weights,
        drawn,
        running(weights, values, drawn),
        w,
        learning(weights, values @ w, drawn),
        autograd(scores, values, w),
        autograd(scores, values, w, hard=True),
    )
