"""Luong's global and local attention over one sentence: window, Gaussian, product; where the centre is; what it costs.

Positions count from 0 here, as in the models. A row is (key,): one written word's scores over the source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.edits import SetAllowed
from core.errors import InputError
from core.layers.attention import masked_softmax
from core.layers.recurrent.alignment import gaussian
from viz.languages import _

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Local:
    """One row of local attention: align, gaussian and product (key,), `inside` the window (key,), and the centre, window and sigma used."""

    align: Array
    gaussian: Array
    product: Array
    inside: NDArray[np.bool_]
    centre: float
    window: int
    sigma: float

    @property
    def total(self) -> float:
        """Return the sum of the product: 1 only where the Gaussian is 1."""
        return float(self.product.sum())

    @property
    def n_inside(self) -> int:
        """Return the number of source words inside the window."""
        return int(self.inside.sum())


def local(
    scores: Array, centre: float, window: int, sigma: float | None = None, *, windowed: bool = True
) -> Local:
    """Compute a_t(s) = align(s) exp(-(s - p_t)^2 / (2 sigma^2)), align the softmax inside [p_t - D, p_t + D] (Luong et al. 2015, Eq.
    (10)).

    scores (key,); centre p_t; window D; sigma is D / 2 unless given. `windowed=False` leaves the window out, as it is
    printed in Beigy 2021: align is then the softmax over the whole source.
    Errors: InputError for a window below 1 or a sigma that is not above 0.

    >>> row = local(np.zeros(7), centre=3.0, window=2)
    >>> row.n_inside, row.gaussian[[3, 5]].round(4).tolist(), round(row.total, 4)
    (5, [1.0, 0.1353], 0.4967)
    """
    if window < 1:
        raise InputError(
            _("The window D is {n}.", n=window),
            _("It reaches at least one word to each side."),
            _("Choose 1 or more."),
        )
    sigma = window / 2 if sigma is None else sigma
    if not 0 < sigma < math.inf:
        raise InputError(
            _("sigma is {sigma:g}.", sigma=sigma),
            _("The Gaussian is divided by it: it is above 0."),
            _("Choose D / 2, as in the paper."),
        )
    row = torch.as_tensor(np.array(scores, dtype=np.float64))
    positions = torch.arange(len(row), dtype=torch.float64)
    inside = (positions - centre).abs() <= window if windowed else torch.ones(len(row), dtype=torch.bool)
    align = masked_softmax(row, inside)
    factor = gaussian(positions, torch.tensor(centre, dtype=torch.float64), sigma)
    return Local(
        align.numpy(), factor.numpy(), (align * factor).numpy(), inside.numpy(), float(centre), window, sigma
    )


def bell(x: Array, centre: float, sigma: float) -> Array:
    """Evaluate the Gaussian at any points, also between positions: (point,) -> (point,).

    >>> bell(np.array([3.0, 5.0]), 3.0, 1.0).round(4).tolist()
    [1.0, 0.1353]
    """
    return gaussian(torch.as_tensor(x), torch.tensor(centre, dtype=torch.float64), sigma).numpy()


def monotonic(t: int, n_source: int) -> float:
    """Return the monotonic centre p_t = t: target word t looks around source word t, or the last one if the source is shorter.

    >>> monotonic(2, 5), monotonic(9, 5)
    (2.0, 4.0)
    """
    return float(min(t, n_source - 1))


def mean_position(weights: Array) -> float:
    """Return the mean position of a global row, sum_s s a_t(s): the centre that a predictive model would have to find.

    >>> mean_position(np.array([0.0, 0.5, 0.5]))
    1.5
    """
    return float((np.arange(len(weights)) * weights).sum())


def predicted_centre(z: float, n_source: int) -> float:
    """Return the predictive centre p_t = n sigmoid(z), z the number v_p . tanh(W_p h_t) (Luong et al. 2015, Eq. (9)): never 0, never n.

    >>> predicted_centre(0.0, 6)
    3.0
    """
    return n_source / (1 + math.exp(-z))


def required_z(centre: float, n_source: int) -> float:
    """Return the z that gives this centre: the inverse of `predicted_centre`; infinite at both ends, which no z reaches.

    >>> round(required_z(predicted_centre(1.25, 6), 6), 9), required_z(0.0, 6)
    (1.25, -inf)
    """
    share = centre / n_source
    return math.log(share / (1 - share)) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)


def cells(n_target: int, n_source: int, window: int | None = None) -> int:
    """Count the scores to compute: m n for global attention; at most 2 D + 1 per target word for local.

    >>> cells(7, 6), cells(7, 60, window=2)
    (42, 35)
    """
    return n_target * (n_source if window is None else min(n_source, 2 * window + 1))


@dataclass(frozen=True)
class AttentionRecord:
    """Queries and keys of a recurrent decoder's attention, (query d_model) and (key d_model), and its own scores and weights."""

    q: Array
    k: Array
    scores: Array
    weights: Array

    def dotted(self) -> tuple[Array, Array]:
        """Return the plain dot products of the same states and their softmax, (query key) each: the model was not trained with them."""
        scores = self.q.astype(np.float64) @ self.k.astype(np.float64).T
        return scores, masked_softmax(
            torch.as_tensor(scores), torch.ones(scores.shape, dtype=torch.bool)
        ).numpy()


LEAVES = ("q", "k", "scores", "pattern")
KEEP = (*(f"decoder.attn.{leaf}" for leaf in LEAVES), "logits")


def attention_record(run: Any) -> AttentionRecord:
    """Return the queries, keys, scores and weights of the run's only attention head."""
    return AttentionRecord(*(run.trace[f"decoder.attn.{leaf}"][0] for leaf in LEAVES))


def windows(centres: Sequence[float], window: int, n_source: int) -> NDArray[np.bool_]:
    """Return the mask of the windows [p_t - D, p_t + D] of all target words: (query key).

    >>> windows([0.0, 2.0], 1, 4).astype(int).tolist()
    [[1, 1, 0, 0], [0, 1, 1, 1]]
    """
    return np.abs(np.arange(n_source) - np.asarray(centres)[:, None]) <= window


def restrict_to_windows(allowed: NDArray[np.bool_]) -> SetAllowed:
    """Return the edit that restricts a recurrent decoder to these windows (query key), step by step."""
    return SetAllowed("decoder.attn.allowed", tuple(map(tuple, allowed.tolist())))


def inside_share(weights: Array, allowed: NDArray[np.bool_]) -> float:
    """Return the share of all weight that falls inside the windows, over all rows: 1 if they cut off nothing.

    >>> inside_share(np.array([[0.5, 0.5], [0.0, 1.0]]), np.eye(2, dtype=bool))
    0.75
    """
    return float((weights * allowed).sum() / weights.sum())


def crossing(weights: Array) -> int:
    """Return the row with the largest weight off the diagonal: where the word order of the two languages crosses.

    >>> crossing(np.array([[0.9, 0.1, 0.0], [0.2, 0.1, 0.7], [0.4, 0.5, 0.1]]))
    1
    """
    rows = np.arange(len(weights))
    return int(np.where(weights.argmax(-1) != rows, weights.max(-1), 0.0).argmax())
