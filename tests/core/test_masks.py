"""Masks against matrices written by hand, closed forms, and laws that hold for every size."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import masks

SIZES = st.integers(1, 23)


def drawn(*rows: str) -> torch.Tensor:
    """A mask as one sees it: x may attend, . may not."""
    return torch.tensor([[cell == "x" for cell in row] for row in rows])


@pytest.mark.parametrize(
    ("mask", "by_hand"),
    [
        (masks.full(2, 3), drawn("xxx", "xxx")),
        (masks.full(2), drawn("xx", "xx")),
        (masks.causal(3), drawn("x..", "xx.", "xxx")),
        (masks.causal(2, past=3), drawn("xxxx.", "xxxxx")),
        (masks.strict(3), drawn("...", "x..", "xx.")),
        (masks.window(5, 1), drawn("xx...", "xxx..", ".xxx.", "..xxx", "...xx")),
        (masks.window(3, 0), drawn("x..", ".x.", "..x")),
        (masks.global_tokens(4, [1]), drawn(".x..", "xxxx", ".x..", ".x..")),
        (masks.global_tokens(3, []), drawn("...", "...", "...")),
        (masks.prefix(4, 2), drawn("xx..", "xx..", "xxx.", "xxxx")),
        (masks.causal(4) & masks.window(4, 1), drawn("x...", "xx..", ".xx.", "..xx")),
        (masks.window(3, 0) | masks.global_tokens(3, [0]), drawn("xxx", "xx.", "x.x")),
    ],
)
def test_against_matrices_written_by_hand(mask, by_hand):
    assert mask.dtype == torch.bool and torch.equal(mask, by_hand)


def test_not_padding_broadcasts_over_heads_and_queries():
    real = torch.tensor([[True, True, False], [True, False, False]])
    mask = masks.not_padding(real)
    assert mask.shape == (2, 1, 1, 3)
    seen = mask.expand(2, 5, 7, 3)
    for batch in range(2):
        assert torch.equal(seen[batch], real[batch].expand(5, 7, 3))


@given(n=SIZES, past=st.integers(0, 7))
def test_causal_allows_exactly_what_was_read(n, past):
    i, j = torch.arange(past, past + n)[:, None], torch.arange(past + n)[None, :]
    assert torch.equal(masks.causal(n, past=past), j <= i)


@given(n=SIZES, radius=st.integers(0, 25))
def test_window_is_a_symmetric_band(n, radius):
    mask = masks.window(n, radius)
    assert torch.equal(mask, mask.T)
    for i in range(n):
        assert mask[i].nonzero().flatten().tolist() == list(range(max(0, i - radius), min(n, i + radius + 1)))
    assert radius < n - 1 or torch.equal(mask, masks.full(n))


@given(n=SIZES, length=st.integers(0, 25))
def test_prefix_is_causal_and_an_open_beginning(n, length):
    mask = masks.prefix(n, length)
    assert torch.equal(mask & ~masks.causal(n), ~masks.causal(n) & (torch.arange(n) < length)[None, :])
    assert torch.equal(masks.prefix(n, min(length, 1)), masks.causal(n)), (
        "one open word is no more than causal"
    )
    assert length < n or torch.equal(mask, masks.full(n))


@given(n=SIZES, data=st.data())
def test_global_words_see_all_and_are_seen_by_all(n, data):
    chosen = data.draw(st.sets(st.integers(0, n - 1)))
    mask = masks.global_tokens(n, sorted(chosen))
    assert torch.equal(mask, mask.T)
    assert mask.sum(1).tolist() == [n if i in chosen else len(chosen) for i in range(n)]


@given(n=st.integers(1, 40), block=st.integers(1, 7), count=st.integers(0, 9), seed=st.integers(0, 10**6))
def test_random_blocks_are_whole_blocks_a_count_a_row_and_a_function_of_the_seed(n, block, count, seed):
    mask = masks.random_blocks(n, block=block, count=count, seed=seed)
    assert mask.shape == (n, n)
    assert torch.equal(mask, masks.random_blocks(n, block=block, count=count, seed=seed))
    n_blocks = -(-n // block)
    corners = mask[::block, ::block]
    assert corners.sum(1).tolist() == [min(count, n_blocks)] * n_blocks
    assert torch.equal(mask, corners.repeat_interleave(block, 0).repeat_interleave(block, 1)[:n, :n])


def test_another_seed_draws_other_blocks():
    first, other = (masks.random_blocks(64, block=4, count=2, seed=seed) for seed in (0, 1))
    assert not torch.equal(first, other)


@given(
    n=st.integers(1, 40),
    block=st.integers(1, 5),
    count=st.integers(0, 5),
    radius=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_random_blocks_besides_others_never_draw_a_block_twice(n, block, count, radius, seed):
    there = masks.window(n, radius) | masks.global_tokens(n, [0])
    added = masks.random_blocks(n, block=block, count=count, seed=seed, occupied=there)
    assert not (added & there).any()
    for row in range(0, n, block):
        free = sum(
            not there[row : row + block, column : column + block].any() for column in range(0, n, block)
        )
        assert added[row, ::block].sum() == min(count, free)


