"""Answers to the homework questions from the third chapter on: self-attention, the Transformer, BERT and GPT.

Every truth below runs the thing that is asked about; this file contains no answer. Random numbers come from a
fixed seed: what is asked holds for any weights.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from core import masks
from core.layers.attention import MultiHeadAttention, masked_softmax
from core.layers.feedforward import FeedForward
from core.layers.norm import LayerNorm
from core.layers.positions import sinusoidal
from core.models.bert import BERTConfig
from viz.course.homework.form import answered
from viz.languages import mark

YES, NO = mark("yes"), mark("no")
HEADS = (mark("an eighth as many"), mark("the same number"), mark("eight times as many"))
SIZE, WORDS = 16, 6


def _random_layer(make: Callable[[], nn.Module], words: int = WORDS) -> tuple[nn.Module, Tensor]:
    """Create a layer with random weights, and random words as its input."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        return make().double().eval(), torch.randn(words, SIZE, dtype=torch.float64)


def _changed_outputs(read: Callable[[Tensor], Tensor], words: Tensor, place: int) -> Tensor:
    """Return a mask of the outputs that change with the word at `place`."""
    other = words.clone()
    other[place] += 1
    with torch.no_grad():
        return (read(words) - read(other)).abs().amax(-1) > 1e-9


def _changed_by_attention(mask: Callable[[int], Tensor], place: int) -> Tensor:
    layer, words = _random_layer(lambda: MultiHeadAttention(SIZE, 2))
    return _changed_outputs(lambda x: layer(x[None], x[None], mask(len(x)))[0], words, place)


def _even(row: int) -> float:
    """Return the first word's weight in a row of a causal mask, all scores equal."""
    return float(masked_softmax(torch.zeros(WORDS, WORDS), masks.causal(WORDS))[row - 1, 0])


def _parameters(layer: nn.Module) -> int:
    return sum(one.numel() for one in layer.parameters())


def _heads() -> str:
    one, eight = (_parameters(MultiHeadAttention(64, heads)) for heads in (1, 8))
    return HEADS[(eight >= one) + (eight > one)]


def _same_offset() -> str:
    rows = sinusoidal(20, SIZE).double()
    return YES if torch.allclose(rows[3] @ rows[7], rows[10] @ rows[14], atol=1e-5) else NO


def _doubled() -> str:
    norm, words = _random_layer(lambda: LayerNorm(SIZE))
    with torch.no_grad():
        return YES if torch.allclose(norm(words), norm(2 * words), atol=1e-4) else NO


def _changed_by_feed_forward() -> float:
    layer, words = _random_layer(lambda: FeedForward(SIZE, 4 * SIZE))
    return float(_changed_outputs(layer, words, 2).sum())


def _cross(m: float, n: float, h: float) -> float:
    queries, keys = torch.zeros(int(h), int(m), 1), torch.zeros(int(h), int(n), 1)
    return float((queries @ keys.mT).numel())


def _score_growth() -> float:
    short, long = (torch.zeros(n, 1) for n in (10, 30))
    return (long @ long.T).numel() / (short @ short.T).numel()


def _inputs(segments: bool) -> float:
    """Count the different vectors that BERT's embeddings give "[CLS] the dog [SEP] the dog [SEP]", without positions."""
    tokens, halves = torch.tensor([0, 1, 2, 3, 1, 2, 3]), torch.tensor([0, 0, 0, 0, 1, 1, 1])
    words, _ = _random_layer(lambda: nn.Embedding(4, SIZE))
    with torch.no_grad():
        rows = words(tokens) + (halves[:, None] * torch.arange(1.0, SIZE + 1) if segments else 0)
    return float(len(rows.unique(dim=0)))


def _nucleus(p: float) -> float:
    """Count the tokens in the smallest set with a probability of at least p, the most probable first."""
    sums = torch.tensor([0.4, 0.25, 0.15, 0.12, 0.08], dtype=torch.float64).cumsum(0)
    return float((sums < p).sum() + 1)


def _tempered(temperature: float) -> float:
    return float((torch.tensor([0.5, 0.25, 0.25]).log() / temperature).softmax(0)[0])


def _perplexity() -> float:
    uniform = torch.zeros(5, 8, dtype=torch.float64)
    return float(nn.functional.cross_entropy(uniform, torch.tensor([0, 3, 1, 7, 2])).exp())


def _scores(cached: bool) -> Callable[..., float]:
    """Return a function of n: the number of scores computed while n tokens are written, one row per step or the whole table at each."""
    return lambda n: float(sum(torch.zeros(1 if cached else t, t).numel() for t in range(1, int(n) + 1)))


ANSWERS = {
    "all_see": answered(lambda: float(_changed_by_attention(masks.full, 3).sum()), near=0.1),
    "causal_see": answered(lambda: float(_changed_by_attention(masks.causal, 3).sum()), near=0.1),
    "causal_even": answered(lambda: _even(4), near=0.002),
    "causal_cells": answered(lambda: lambda n: float(masks.causal(int(n)).sum()), letters=("n",)),
    "eight_heads": answered(_heads, HEADS),
    "offset": answered(_same_offset, (YES, NO)),
    "doubled": answered(_doubled, (YES, NO)),
    "apart": answered(_changed_by_feed_forward, near=0.1),
    "hidden": answered(lambda: lambda d: float(_parameters(FeedForward(int(d), 4 * int(d)))), letters=("d",)),
    "cross": answered(lambda: _cross, letters=("m", "n", "h")),
    "grown": answered(_score_growth, near=0.01),
    "tokens_alone": answered(lambda: _inputs(False), near=0.1),
    "with_segments": answered(lambda: _inputs(True), near=0.1),
    "first_sees": answered(lambda: YES if _changed_by_attention(masks.full, WORDS - 1)[0] else NO, (YES, NO)),
    "three_classes": answered(lambda: float(_parameters(nn.Linear(128, 3))), near=0.5),
    "word_table": answered(
        lambda: (
            float(_parameters(nn.Embedding(BERTConfig().n_vocab, BERTConfig().d_model, device="meta"))) / 1e6
        ),
        near=0.05,
    ),
    "past": answered(lambda: YES if _changed_by_attention(masks.causal, WORDS - 1)[0] else NO, (YES, NO)),
    "tempered": answered(lambda: _tempered(0.5), near=0.005),
    "nucleus": answered(lambda: _nucleus(0.75), near=0.1),
    "perplexity": answered(_perplexity, near=0.01),
    "cached": answered(lambda: _scores(True), letters=("n",)),
    "uncached": answered(lambda: _scores(False), letters=("n",)),
}
