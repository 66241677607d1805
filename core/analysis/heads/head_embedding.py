"""All heads as one picture: points in the plane that keep their distances, and a tree of the nearest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Real


Array = np.ndarray


@dataclass(frozen=True)
class Plane:
    """Points (item, 2); `explained_share` is the share of the squared distances that two dimensions reproduce, from 0 to 1."""

    points: Float[Array, "item 2"]
    explained_share: float


def js_distances(divergences: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the square root of mean Jensen-Shannon divergences: a metric (Endres and Schindelin 2003), also after the mean."""
    return np.sqrt(divergences)


def classical_mds(distance: Real[Array, "item item"]) -> Plane:
    """Compute classical multidimensional scaling (Torgerson 1952): from distances to points in the plane.

    B = -1/2 J D^2 J with J = I - 1/n; the points are its two leading eigenvectors times the roots of their eigenvalues.
    Each axis is turned so that its farthest point is positive.

    >>> plane = classical_mds(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]))
    >>> round(float(np.linalg.norm(plane.points[1] - plane.points[2])), 6), round(plane.explained_share, 6)
    (5.0, 1.0)
    """
    squares = np.asarray(distance, dtype=np.float64) ** 2
    centred = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    leading = np.maximum(values[::-1][:2], 0)
    points = np.zeros((len(squares), 2))
    points[:, : len(leading)] = vectors[:, ::-1][:, :2] * np.sqrt(leading)
    far = points[np.abs(points).argmax(0), range(2)]
    total = values[values > 0].sum()
    return Plane(points * np.where(far < 0, -1.0, 1.0), float(leading.sum() / total) if total > 0 else 1.0)


def average_linkage(distance: Real[Array, "item item"]) -> Float[Array, "item-1 4"]:
    """Cluster by average linkage (Sokal and Michener 1958): the two nearest groups are joined until one is left.

    Each row of the result is (group, group, their distance, items in both), as in scipy: items are 0 .. n - 1,
    the group made in row r is n + r, and the distance of two groups is the mean over all pairs of their items.

    >>> average_linkage(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]])).tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 3.0, 3.0]]
    """
    n = len(distance)
    apart = np.array(distance, dtype=np.float64)
    np.fill_diagonal(apart, np.inf)
    names, sizes, rows = list(range(n)), np.ones(n), np.zeros((n - 1, 4))
    for step in range(n - 1):
        one, other = sorted(int(place) for place in np.unravel_index(int(apart.argmin()), apart.shape))
        size = sizes[one] + sizes[other]
        rows[step] = (*sorted((names[one], names[other])), apart[one, other], size)
        joined = (sizes[one] * apart[one] + sizes[other] * apart[other]) / size
        apart[one], apart[:, one] = joined, joined
        apart[one, one] = apart[other] = apart[:, other] = np.inf
        names[one], sizes[one] = n + step, size
    return rows


def leaf_order(links: Float[Array, "link 4"]) -> list[int]:
    """Return the items in an order in which the tree of `average_linkage` has no crossing lines.

    >>> leaf_order(np.array([[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 3.0, 3.0]]))
    [2, 0, 1]
    """
    n, found, stack = len(links) + 1, list[int](), [2 * len(links)]
    while stack:
        group = stack.pop()
        if group < n:
            found.append(group)
        else:
            stack.extend(int(part) for part in links[group - n, 1::-1])
    return found
