"""Points recover their distances, the tree is scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import pdist, squareform

from core.analysis.heads import head_embedding
from core.analysis.heads.head_similarity import HeadRows, pairwise_divergences


@given(st.integers(2, 23), st.integers(0, 10_000))
def test_points_of_the_plane_keep_their_distances(n, seed):
    wanted = squareform(pdist(np.random.default_rng(seed).normal(size=(n, 2))))
    plane = head_embedding.classical_mds(wanted)
    np.testing.assert_allclose(squareform(pdist(plane.points)), wanted, atol=1e-9)
    assert plane.explained_share == pytest.approx(1)


def test_of_points_in_space_the_plane_holds_a_part_and_is_centred():
    points = np.random.default_rng(1).normal(size=(31, 5)) * [5, 3, 1, 1, 1]
    plane = head_embedding.classical_mds(squareform(pdist(points)))
    values = np.linalg.svd(points - points.mean(0), compute_uv=False) ** 2
    assert plane.explained_share == pytest.approx(values[:2].sum() / values.sum())
    np.testing.assert_allclose(plane.points.mean(0), 0, atol=1e-9)
    assert (plane.points[np.abs(plane.points).argmax(0), [0, 1]] > 0).all()


def test_one_point_and_equal_points_have_a_place():
    assert head_embedding.classical_mds(np.zeros((1, 1))).points.tolist() == [[0.0, 0.0]]
    assert head_embedding.classical_mds(np.zeros((3, 3))).explained_share == 1.0


@given(st.integers(2, 19), st.integers(0, 10_000))
def test_the_tree_and_its_order_are_scipys(n, seed):
    wanted = pdist(np.random.default_rng(seed).normal(size=(n, 3)))
    found = head_embedding.average_linkage(squareform(wanted))
    np.testing.assert_allclose(found, linkage(wanted, "average"), atol=1e-9)
    assert head_embedding.leaf_order(found) == dendrogram(found, no_plot=True)["leaves"]


def test_the_root_of_mean_divergences_is_a_metric():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.full(7, 0.2), size=(11, 5)).astype(np.float32)
    far = head_embedding.js_distances(pairwise_divergences(HeadRows(rows, (0,), (6,))))
    assert (far[:, None, :] <= far[:, :, None] + far[None, :, :] + 1e-6).all()
