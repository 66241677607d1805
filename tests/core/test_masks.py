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


def test_padding_and_causal_combine_to_what_a_decoder_uses():
    both = masks.causal(3) & masks.not_padding(torch.tensor([[True, True, False]]))
    assert both.shape == (1, 1, 3, 3) and torch.equal(both[0, 0], drawn("x..", "xx.", "xx."))


@given(n=SIZES, past=st.integers(0, 7))
def test_causal_allows_exactly_what_was_read(n, past):
    i, j = torch.arange(past, past + n)[:, None], torch.arange(past + n)[None, :]
    assert torch.equal(masks.causal(n, past=past), j <= i)


@given(n=SIZES)
def test_strict_is_causal_without_the_word_itself(n):
    diagonal = torch.eye(n, dtype=torch.bool)
    assert torch.equal(masks.strict(n) | diagonal, masks.causal(n))
    assert not (masks.strict(n) & diagonal).any()
    assert not masks.strict(n)[0].any()


@given(n=SIZES, radius=st.integers(0, 25))
def test_window_is_a_symmetric_band(n, radius):
    mask = masks.window(n, radius)
    assert torch.equal(mask, mask.T)
    for i in range(n):
        assert mask[i].nonzero().flatten().tolist() == list(range(max(0, i - radius), min(n, i + radius + 1)))
    assert radius < n - 1 or torch.equal(mask, masks.full(n))


@given(n=SIZES, radius=st.integers(0, 25))
def test_a_causal_window_sees_at_most_radius_words_back(n, radius):
    mask = masks.causal(n) & masks.window(n, radius)
    assert mask.sum(1).tolist() == [min(i, radius) + 1 for i in range(n)]
    assert torch.equal(mask & mask.T, masks.window(n, 0))


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


@given(n=SIZES, radius=st.integers(0, 9), length=st.integers(0, 9))
def test_combining_obeys_the_laws_of_sets(n, radius, length):
    a, b, c = masks.causal(n), masks.window(n, radius), masks.prefix(n, length)
    assert torch.equal(a & b, b & a) and torch.equal(a | b, b | a)
    assert torch.equal(a & (b | c), (a & b) | (a & c))
    assert torch.equal(~(a & b), ~a | ~b)
    assert torch.equal(a & masks.full(n), a) and torch.equal(a | masks.full(n), masks.full(n))
    assert torch.equal(a & (a | b), a)


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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bigbird_keeps_622_of_4096_blocks(seed):
    """n = 4096 in blocks of 64: window of 3 blocks, 2 global, 3 random ones: 622 of 4096 = 15.2%."""
    n, block = 4096, 64
    n_blocks = n // block
    there = masks.window(n_blocks, 1) | masks.global_tokens(n_blocks, [0, 1])
    union = there | masks.random_blocks(n_blocks, block=1, count=3, seed=seed, occupied=there)
    assert union.numel() == 4096 and union.sum() == 622
    assert round(622 / 4096, 3) == 0.152
    if seed:
        return
    words = union.repeat_interleave(block, 0).repeat_interleave(block, 1)
    at_once = masks.random_blocks(
        n,
        block=block,
        count=3,
        seed=seed,
        occupied=there.repeat_interleave(block, 0).repeat_interleave(block, 1),
    )
    assert torch.equal(words, there.repeat_interleave(block, 0).repeat_interleave(block, 1) | at_once)
    assert words.sum() == 622 * block**2
