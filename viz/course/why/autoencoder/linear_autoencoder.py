"""The linear autoencoder: encoder, hidden space of p numbers, decoder; the loss by p; several decoders on one encoder.

Rows are examples. c = (x - m) E with E (d, p), x' = m + c D with D (p, d), m the mean of all examples. The smallest
squared error that any such pair can reach is that of the truncated singular value decomposition (Eckart and Young 1936);
its encoder and decoder are the first p right singular vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from viz.languages import _

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coder:
    """An encoder and its decoder: mean (d), encode (d, p), decode (p, d)."""

    mean: Array
    encode: Array
    decode: Array

    def context(self, x: Array) -> Array:
        """Return c = (x - m) E. Shapes: (.., d) -> (.., p)."""
        return (x - self.mean) @ self.encode

    def back(self, context: Array) -> Array:
        """Return x' = m + c D. Shapes: (.., p) -> (.., d)."""
        return self.mean + context @ self.decode

    def lost_share(self, data: Array) -> float:
        """Return the share of all variation that is lost: |X - X'|^2 / |X - m|^2."""
        return float(((data - self.back(self.context(data))) ** 2).sum() / ((data - self.mean) ** 2).sum())


@dataclass(frozen=True, eq=False)
class Data:
    """Examples (n, d), and their singular value decomposition, computed once."""

    rows: Array

    @cached_property
    def mean(self) -> Array:
        """Return the mean example, (d,)."""
        return self.rows.mean(0)

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        return np.linalg.svd(self.rows - self.mean, full_matrices=False)

    @property
    def rank(self) -> int:
        """Return the number of components that is enough to lose nothing."""
        return int((self._svd[1] > 1e-9 * self._svd[1][0]).sum())

    def floor(self) -> Array:
        """Return the smallest share that can be lost with p = 0 .. rank numbers: sum_{i>p} sigma_i^2 / sum sigma_i^2.

        >>> Data(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])).floor().round(2).tolist()
        [1.0, 0.2, 0.0]
        """
        squares = self._svd[1][: self.rank] ** 2
        return np.maximum(1 - np.concatenate(([0.0], np.cumsum(squares))) / squares.sum(), 0.0)

    def best(self, p: int) -> Coder:
        """Return encoder and decoder of the truncated decomposition; each axis has the sign that makes its largest entry
        positive."""
        _check(p, self.rank)
        axes = self._svd[2][:p]
        axes = axes * np.sign(axes[np.arange(p), np.abs(axes).argmax(1)])[:, None]
        return Coder(self.mean, axes.T, axes)

    def trained(self, p: int, steps: int, lot: int = 0) -> tuple[Coder, Array]:
        """Learn encoder and decoder from a random decoder by alternating least squares; return them and the share lost after
        each step.

        A step: the best encoder for this decoder, E = D^T (D D^T)^-1, then the best decoder for these contexts,
        D = (C^T C)^-1 C^T X. Shapes: losses (steps,).

        >>> data = Data(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]))
        >>> data.trained(1, 30)[1][-1].round(6).tolist()
        0.2
        """
        _check(p, self.rank)
        x = self.rows - self.mean
        total = (x**2).sum()
        decode = np.random.default_rng(lot).normal(size=(p, x.shape[1]))
        encode: np.ndarray = decode.T
        losses = np.empty(steps)
        for step in range(steps):
            encode = np.linalg.pinv(decode)
            context = x @ encode
            decode = np.linalg.lstsq(context, x, rcond=None)[0]
            losses[step] = ((x - context @ decode) ** 2).sum() / total
        return Coder(self.mean, np.asarray(encode, np.float64), np.asarray(decode, np.float64)), losses


def _check(p: int, rank: int) -> None:
    if not 1 <= p <= rank:
        raise InputError(
            _("A context of {p} numbers is not possible here.", p=p),
            _("These examples have rank {rank}, so p goes from 1 to {rank}.", rank=rank),
            _("Choose a size between."),
        )


@dataclass(frozen=True)
class Head:
    """One more decoder on the same encoder, (p, d') and a mean: y = m + c W, fitted by least squares."""

    mean: Array
    weights: Array

    def __call__(self, context: Array) -> Array:
        return self.mean + context @ self.weights


def head(contexts: Array, targets: Array) -> Head:
    """Fit the linear decoder that is nearest to the targets: min_W |Y - m - C W|^2. Shapes: (n, p), (n, d')."""
    mean = targets.mean(0)
    return Head(mean, np.linalg.lstsq(contexts, targets - mean, rcond=None)[0])
