"""A drawing finds the head that has its pattern, whatever the length of the texts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from core.analysis.heads.head_similarity import HeadRows, TextPatterns, stack_rows
from core.analysis.heads.sketch import SIZE, mean_grids, named_drawings, resample, sketch_similarity
from core.errors import InputError


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
