"""Measures of heads on constructed patterns, divergences against scipy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial import distance
from scipy.spatial.distance import jensenshannon, pdist, squareform
from scipy.stats import entropy as scipy_entropy
from scipy.stats import pearsonr

from core.analysis.attention import measures
from core.analysis.heads import habits, head_embedding, patch_habits
from core.analysis.heads.head_similarity import HeadRows, TextPatterns, pairwise_divergences, stack_rows
from core.analysis.heads.pattern_distance import compare_patterns
from core.analysis.heads.sketch import SIZE, mean_grids, named_drawings, resample, sketch_similarity
from core.errors import InputError
from core.maths import cosine
from core.run import Attention

WORDS = ("The", "cat", "sat", "down", ".")
ROWS = hnp.arrays(np.float64, (3, 7), elements=st.floats(0.01, 1)).map(lambda a: a / a.sum(-1, keepdims=True))


def attention(kind, pattern, queries=WORDS, keys=WORDS):
    pattern = np.asarray(pattern, dtype=np.float32)[None, None]
    allowed = (
        np.ones(pattern.shape, dtype=bool)
        if kind != "causal"
        else np.broadcast_to(np.tril(np.ones(pattern.shape[2:], dtype=bool)), pattern.shape)
    )
    return Attention(kind, pattern, queries, keys, allowed, ("p",))


def surveyed(examples):
    found = [habits.measures(attention, links) for attention, links in examples]
    return habits.HeadHabits(habits.mean_scores(found), len(found))


LINKS = ((0, 0), (2, 1), (1, 2), (3, 3))
PREVIOUS = np.eye(5, k=-1) + np.diag([1, 0, 0, 0, 0])
FIRST = np.outer(np.ones(5), np.eye(5)[0])
EVEN = np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]


@pytest.mark.parametrize(
    ("kind", "pattern", "name"),
    [
        ("causal", PREVIOUS, "previous"),
        ("causal", FIRST, "first"),
        ("causal", np.eye(5), "itself"),
        ("causal", EVEN, "spread"),
        ("self", np.eye(5, k=1) + np.diag([0, 0, 0, 0, 1]), "next"),
        ("self", np.outer(np.ones(5), np.eye(5)[4]), "punctuation"),
        ("cross", np.eye(5)[[0, 2, 1, 3, 4]], "aligner"),
    ],
)
def test_a_constructed_head_gets_its_name(kind, pattern, name):
    measured = surveyed([(attention(kind, pattern), LINKS if kind == "cross" else ())])
    assert measured.habit(0, 0) == name and measured.label(0, 0) == habits.HABIT_NAMES[name]
    assert measured.best_head_by_habit() == {name: (0, 0)} and 0 <= measured.score(0, 0) <= 1 + 1e-6


def test_alignment_is_the_weight_on_the_linked_words():
    fixed = np.outer(np.ones(5), np.eye(5)[1])
    assert measures.alignment(attention("cross", fixed).weights, LINKS)[0, 0] == pytest.approx(0.25)
    assert measures.alignment(attention("cross", np.eye(5)).weights, LINKS)[0, 0] == pytest.approx(0.5)
    two_for_one = np.full((1, 5), 0.2)
    assert measures.alignment(attention("cross", two_for_one, queries=("x",)).weights, ((0, 0), (1, 0)))[
        0, 0
    ] == pytest.approx(0.4)


TWICE = ("the", "red", "fox", "met", "the", "red", "hen")


def test_induction_and_duplicates_by_hand():
    after = np.zeros((7, 7))
    after[4, 1], after[5, 2] = 0.9, 0.5  # the second 'the' looks at what followed the first, 'red' at 'fox'
    assert measures.induction(after, TWICE) == pytest.approx(0.7)
    assert measures.duplicate(after, TWICE) == pytest.approx(0)
    same = np.zeros((7, 7))
    same[4, 0], same[5, 1] = 1.0, 0.2
    assert measures.duplicate(same, TWICE) == pytest.approx(0.6) and measures.induction(
        same, TWICE
    ) == pytest.approx(0)
    assert np.isnan(measures.induction(np.eye(3), "abc")) and np.isnan(measures.duplicate(np.eye(3), "abc"))
    thrice = np.full((5, 5), 0.2)
    assert measures.duplicate(thrice, "aabca") == pytest.approx((0.2 + 0.4) / 2)
    assert measures.induction(np.eye(2, k=-1), "aa").shape == ()  # a key is never the query itself or later
    assert np.isnan(measures.induction(np.eye(2, k=-1), "aa"))


def test_an_induction_head_gets_its_name():
    pattern = np.tril(np.full((7, 7), 0.01))
    pattern[4, 1], pattern[5, 2] = 1, 1
    found = surveyed([(attention("causal", pattern, TWICE, TWICE), ()), (attention("causal", EVEN), ())])
    assert found.scores["induction"][0, 0] == pytest.approx(1.0) and found.habit(0, 0) == "induction"


def test_a_head_on_the_separator_gets_its_name():
    """By its place, whatever it is called: a word that is spelled like a mark is none."""
    on_last = np.outer(np.ones(5), np.eye(5)[4])
    for words in (
        ("[CLS]", "a", "dog", ".", "[SEP]"),
        ("<s>", "a", "dog", ".", "</s>"),
        ("?", "a", "dog", ".", "?"),
    ):
        made = replace(attention("self", on_last, words, words), special_positions=((0, 4), (0, 4)))
        found = surveyed([(made, ())])
        assert found.habit(0, 0) == "separator" and found.scores["punctuation"][0, 0] == 0
        assert not found.scores["duplicate"].any()
        bare = surveyed([(attention("self", on_last, words, words), ())])
        assert "separator" not in bare.scores


def test_contributions_by_hand_and_as_the_sum_of_the_layer():
    rng = np.random.default_rng(0)
    weights, values, out = (
        rng.dirichlet(np.ones(5), (3, 4)),
        rng.normal(size=(3, 5, 7)),
        rng.normal(size=(3, 7, 11)),
    )
    found = measures.contributions(weights, values, out)
    assert found[2, 1, 3] == pytest.approx(weights[2, 1, 3] * np.linalg.norm(values[2, 3] @ out[2]))
    turned = measures.contributions(weights, 2 * values, out)
    np.testing.assert_allclose(turned, 2 * found)
    values[:, 2] = 0
    assert (measures.contributions(weights, values, out)[..., 2] == 0).all()


def test_best_puts_the_aligner_first_and_the_vague_last():
    scores = {
        "aligner": np.array([[0.9, 0.1, 0.5]]),
        "punctuation": np.zeros((1, 3)),
        "spread": np.array([[0.1, 0.9, 0.2]]),
    }
    assert habits.HeadHabits(scores, 1).best_head_by_habit() == {
        "aligner": (0, 0),
        "spread": (0, 1),
        "mixed": (0, 2),
    }


@given(ROWS)
def test_entropy_is_scipys(rows):
    np.testing.assert_allclose(measures.entropy(rows), scipy_entropy(rows, axis=-1), atol=1e-9)


def test_mean_distance_by_hand():
    assert measures.mean_distance(PREVIOUS) == pytest.approx(4 / 5)
    assert measures.mean_distance(np.eye(5)) == 0


# ---------------- Divergence, correlation and cosine of two patterns, against scipy; what is forbidden is left out.


def patterns(seed: int, n: int = 6, *, causal: bool = False) -> list[np.ndarray]:
    luck = np.random.default_rng(seed)
    raw = luck.gamma(0.4, size=(2, n, n)) + 1e-9
    raw *= np.tri(n) if causal else 1.0
    return list(raw / raw.sum(-1, keepdims=True))


@given(some.integers(0, 999), some.integers(2, 9))
def test_all_numbers_are_those_of_scipy(seed, n):
    a, b = patterns(seed, n)
    found = compare_patterns(a, b)
    rows = [distance.jensenshannon(p, q, base=2) ** 2 for p, q in zip(a, b, strict=True)]
    np.testing.assert_allclose(found.rows, rows, atol=1e-9)
    assert found.bits == pytest.approx(np.mean(rows), abs=1e-9)
    assert found.correlation == pytest.approx(pearsonr(a.ravel(), b.ravel()).statistic, abs=1e-9)
    assert found.cosine == pytest.approx(1 - distance.cosine(a.ravel(), b.ravel()), abs=1e-9)
    assert found.largest == abs(a - b).max()


@given(some.integers(0, 999))
def test_forbidden_cells_are_left_out(seed):
    a, b = patterns(seed, causal=True)
    may = np.tri(6, dtype=bool)
    found = compare_patterns(a, b, may)
    assert found.correlation == pytest.approx(pearsonr(a[may], b[may]).statistic, abs=1e-9)
    assert found.cosine == pytest.approx(1 - distance.cosine(a[may], b[may]), abs=1e-9)
    assert found.rows[0] == 0.0, "the first row has one place to look at"


def test_rows_that_one_of_them_lacks_are_no_rows():
    a, b = patterns(3)
    may = np.ones((6, 6), dtype=bool)
    b[2] = 0.0
    may[4] = False
    found, whole = (
        compare_patterns(a, b, may),
        compare_patterns(np.delete(a, [2, 4], 0), np.delete(b, [2, 4], 0)),
    )
    assert np.isnan(found.rows[[2, 4]]).all() and np.isfinite(np.delete(found.rows, [2, 4])).all()
    assert (found.bits, found.cosine) == (whole.bits, whole.cosine)
    nothing, half = np.array([[0.0, 0.0], [0.25, 0.25]]), np.array([[0.5, 0.0], [0.5, 0.5]])
    for one, other in (
        (nothing, half),
        (half, nothing),
    ):  # a row that sums to less than 1 is one all the same
        assert np.isnan(compare_patterns(one, other).rows).tolist() == [True, False]


def test_a_row_that_is_no_distribution_is_made_one_for_the_divergence():
    a, b = patterns(4)
    np.testing.assert_allclose(compare_patterns(a * 3, b).rows, compare_patterns(a, b).rows, atol=1e-12)


def test_nothing_to_compare_is_not_a_number():
    none = compare_patterns(np.zeros((2, 2)), np.zeros((2, 2)))
    assert (
        np.isnan([none.bits, none.correlation, none.cosine, none.largest]).all() and np.isnan(none.rows).all()
    )
    even = compare_patterns(np.full((3, 3), 1 / 3), patterns(1, 3)[0])
    assert np.isnan(even.correlation) and np.isfinite(even.cosine), (
        "an even pattern goes up and down with nothing"
    )
    assert np.isnan(cosine(np.zeros(2), np.ones(2)))


def test_patterns_of_two_shapes_are_refused_with_both():
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(3, 3\)"):
        compare_patterns(np.eye(2), np.eye(3))


# ---------------- Points recover their distances, the tree is scipy's.


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


# ---------------- Cells of patches that a measure of a head counts, on a small grid by hand.


NAMES = ("class", *(f"{row},{column}" for row in range(3) for column in range(3)))
MIDDLE, CORNER = NAMES.index("1,1"), NAMES.index("0,0")


def test_neighbours_are_the_eight_around_a_patch_and_the_three_at_a_corner():
    cells = patch_habits.measured_cells(NAMES, np.zeros(len(NAMES), dtype=bool))
    near = {
        name: {NAMES[key] for key in np.flatnonzero(cells[patch_habits.NEAR][NAMES.index(name)])}
        for name in NAMES
    }
    assert near["1,1"] == {*NAMES} - {"class", "1,1"} and near["0,0"] == {"0,1", "1,0", "1,1"}
    assert near["class"] == set() and near["0,1"] == {"0,0", "0,2", "1,0", "1,1", "1,2"}
    row, column = (cells[name][CORNER] for name in (patch_habits.ROW, patch_habits.COLUMN))
    assert [NAMES[key] for key in np.flatnonzero(row)] == ["0,1", "0,2"]
    assert [NAMES[key] for key in np.flatnonzero(column)] == ["1,0", "2,0"]


def test_a_mean_distance_is_over_the_rows_of_patches_and_without_the_class_token():
    weights = np.zeros((1, 2, 10, 10))
    weights[0, :, :, 0] = 0.5  # half of each row on the class token, which has no place
    weights[0, 0, :, MIDDLE] = weights[0, 1, :, CORNER] = 0.5
    rows = [(row, column) for row in range(3) for column in range(3)]
    wanted = [np.mean([np.hypot(row - at, column - at) for row, column in rows]) for at in (1, 0)]
    np.testing.assert_allclose(patch_habits.mean_patch_distance(weights), [wanted])


# ---------------- A drawing finds the head that has its pattern, whatever the length of the texts.


def heads_on(n: int) -> np.ndarray:
    """Four clear heads on n words: the word before, the word itself, the first word, a half of the text."""
    before = np.eye(n, k=-1)
    before[0, 0] = 1
    first = np.zeros((n, n))
    first[:, 0] = 1
    half = np.arange(n) * 2 // n
    blocks = (half[:, None] == half).astype(float)
    return np.stack([before, np.eye(n), first, blocks / blocks.sum(-1, keepdims=True)]).astype(np.float32)


def rows_of(*sizes: int) -> HeadRows:
    return stack_rows(
        [
            [
                TextPatterns(
                    tuple(range(n)),
                    tuple(range(n)),
                    np.concatenate([np.zeros((4, n, 1)), heads_on(n)], axis=-1),
                )
            ]
            for n in sizes
        ]
    )


@pytest.mark.parametrize("shape", [(8, 8), (12, 12), (16, 16), (7, 11)])
def test_a_grid_keeps_the_weight_of_each_row(shape):
    w = np.random.default_rng(0).dirichlet(np.ones(shape[1]), size=(3, shape[0]))
    np.testing.assert_allclose(resample(w, SIZE).sum(-1), 1, atol=1e-12)
    if shape == (12, 12):
        np.testing.assert_allclose(resample(w, SIZE), w, atol=1e-12)


def test_a_grid_by_hand():
    w = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(resample(w, 2), [[5 / 6, 1 / 6], [1 / 6, 5 / 6]], atol=1e-9)


@pytest.mark.parametrize("number", range(4))
def test_each_drawing_finds_its_head(number):
    drawn = list(named_drawings().values())[number]
    scores = sketch_similarity(drawn, mean_grids(rows_of(8, 11, 16)))
    assert int(scores.argmax()) == number and scores[number] > 0.4


def test_a_drawing_of_the_pattern_itself_scores_one_and_rows_without_a_stroke_ask_for_nothing():
    drawn = list(named_drawings().values())
    same = mean_grids(rows_of(12))
    np.testing.assert_allclose(
        [sketch_similarity(drawn[number], same)[number] for number in range(4)], 1, atol=1e-6
    )
    some = drawn[0].copy()
    some[5:] = False
    assert sketch_similarity(some, same)[0] == pytest.approx(1)


def test_a_score_is_scipys_and_weight_on_marks_counts_against_a_head():
    drawn = np.zeros((3, 3), dtype=bool)
    drawn[0, 1] = drawn[2, 0] = drawn[2, 1] = True
    pattern = np.array([[0.2, 0.5, 0.1], [1, 0, 0], [0.3, 0.3, 0.4]])
    wanted = 1 - np.mean(
        [
            jensenshannon([0, 1, 0, 0], [0.2, 0.5, 0.1, 0.2], base=2) ** 2,
            jensenshannon([0.5, 0.5, 0, 0], [0.3, 0.3, 0.4, 0], base=2) ** 2,
        ]
    )
    assert sketch_similarity(drawn, pattern[None])[0] == pytest.approx(wanted)


def test_an_empty_drawing_is_refused():
    with pytest.raises(InputError, match="Nothing is drawn"):
        sketch_similarity(np.zeros((SIZE, SIZE), dtype=bool), np.zeros((2, SIZE, SIZE)))
