"""Self-attention on small numbers: against torch, against hand numbers, as printed, and the worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.errors import InputError
from viz.course.shared import self_attention


def run(
    d: int = 4, p: int = 3, r: int = 5, n: int = 7, lot: int = 11, **options: bool
) -> self_attention.Attended:
    words = ["the", "old", "dog", "sees", "a", "new", "cat"][:n]
    return self_attention.attend(
        self_attention.word_vectors(words, d, lot), *self_attention.weight_matrices(d, p, r, lot), **options
    )


@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize(("d", "p", "r", "n"), [(4, 3, 5, 7), (5, 2, 3, 4), (6, 5, 1, 2), (1, 1, 6, 3)])
def test_equals_scaled_dot_product_attention_also_where_r_is_not_p(d, p, r, n, itself):
    found = run(d, p, r, n, itself=itself)
    q, k, v = (torch.from_numpy(part.astype(np.float32))[None] for part in (found.q, found.k, found.v))
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.from_numpy(found.allowed)[None])[
        0
    ].numpy()
    np.testing.assert_allclose(found.z.astype(np.float32), theirs, atol=1e-6)
    assert found.z.shape == (n, r) and self_attention.torch_difference(found) <= 1e-6
    exact = F.scaled_dot_product_attention(
        *(torch.from_numpy(part)[None] for part in (found.q, found.k, found.v)),
        attn_mask=torch.from_numpy(found.allowed)[None],
    )[0].numpy()
    np.testing.assert_allclose(found.z, exact, atol=1e-14)


def test_by_hand():
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    found = self_attention.attend(x, np.array([[1.0], [1.0]]), np.array([[1.0], [0.0]]), np.eye(2))
    assert (
        found.q.tolist() == [[1.0], [2.0]]
        and found.k.tolist() == [[1.0], [0.0]]
        and found.dots.tolist() == [[1.0, 0.0], [2.0, 0.0]]
    )
    e = math.e
    np.testing.assert_allclose(
        found.weights, [[e / (e + 1), 1 / (e + 1)], [e * e / (e * e + 1), 1 / (e * e + 1)]]
    )
    np.testing.assert_allclose(found.z[0], [e / (e + 1), 2 / (e + 1)])


def test_without_itself_the_diagonal_is_exactly_zero_and_a_lone_word_gets_zeros():
    found = run(itself=False)
    assert (np.diag(found.weights) == 0).all()
    np.testing.assert_allclose(found.weights.sum(1), 1)
    alone = run(n=1, itself=False)
    assert not alone.weights.any() and not alone.z.any() and self_attention.torch_difference(alone) == 0
    assert run(n=1).weights.tolist() == [[1.0]]


def test_as_printed_is_the_sum_over_columns():
    """E1: in the documents' columns V A, with A the softmax over rows."""
    found = run()
    printed = self_attention.as_printed(found)
    np.testing.assert_allclose(printed.z.T, found.v.T @ found.weights)
    np.testing.assert_allclose(printed.sums, [sum(row[j] for row in found.weights) for j in range(7)])
    assert printed.gap == pytest.approx(
        np.abs(found.v.T @ found.weights - (found.v.T @ found.weights.T)).max()
    )
    assert np.abs(printed.sums - 1).max() > 0.05 and printed.gap > 0.05


def test_a_smaller_size_cuts_and_changes_no_number():
    large, small = run(6, 5, 4), run(3, 2, 1)
    np.testing.assert_array_equal(small.x, large.x[:, :3])
    np.testing.assert_array_equal(small.w_q, large.w_q[:3, :2])
    assert (
        set(np.unique(large.x)) <= {-1.0, 0.0, 1.0}
        and len({large.w_q.tobytes(), large.w_k.tobytes(), large.w_v[:, :4].tobytes()}) == 3
    )


def test_the_same_draw_repeats_and_another_is_another():
    words = ("a", "green", "apple")
    np.testing.assert_array_equal(
        self_attention.word_vectors(words, 6, 5), self_attention.word_vectors(words, 6, 5)
    )
    assert (self_attention.word_vectors(words, 6, 5) != self_attention.word_vectors(words, 6, 6)).any()


def test_a_change_sets_one_weight_and_one_outside_sets_none():
    before = self_attention.weight_matrices(4, 3, 2, 0)
    after = self_attention.weight_matrices(
        4, 3, 2, 0, [self_attention.Change("W_K", 3, 2, 5.0), self_attention.Change("W_V", 5, 5, 9.0)]
    )
    assert after[1][3, 2] == 5 and (after[0] == before[0]).all() and (after[2] == before[2]).all()
    assert (after[1] != before[1]).sum() == 1


@pytest.mark.parametrize(
    ("name", "weights"), [("student", (0.7, 0.2, 0.1)), ("apple", (0.1, 0.1, 0.5, 0.1, 0.2))]
)
def test_the_examples_of_the_documents_come_back_from_their_scores(name, weights):
    """C028, C029: softmax(log a) = a; the word itself is left out."""
    example = self_attention.EXAMPLES[name]
    values = np.random.default_rng(0).normal(size=(len(example.words), 3))
    found = self_attention.mixed(example.scores, values)
    np.testing.assert_allclose(found.weights, (*weights, 0.0), atol=1e-15)
    np.testing.assert_allclose(found.mix, np.array(weights) @ values[:-1])
    with_itself = self_attention.mixed(example.scores, values, itself=True)
    np.testing.assert_allclose(with_itself.weights, np.array((*weights, 0.1)) / 1.1)
    assert example.words[-1] == name and self_attention.EXAMPLES["apple"].scores[2] == pytest.approx(
        math.log(5)
    )


def test_words_are_counted_and_none_is_an_error_that_helps():
    words, total = self_attention.words_of("word " * 5000)
    assert (len(words), total) == (8, 5000)
    for text in ("", "  \n "):
        with pytest.raises(InputError, match="no word"):
            self_attention.words_of(text)
