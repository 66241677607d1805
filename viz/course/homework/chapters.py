"""The questions of the homework page from the third chapter on: self-attention, the Transformer, BERT and GPT.

Every `truth` below runs the thing that is asked about; no answer stands in this file. What is drawn is drawn once, with a
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
from viz.course.homework.form import Question

SELF_ATTENTION, TRANSFORMER, BERT, GPT = "Self-attention", "The Transformer", "BERT", "GPT"
CHAPTERS = (SELF_ATTENTION, TRANSFORMER, BERT, GPT)
YES, NO = "yes", "no"
HEADS = ("an eighth as many", "the same number", "eight times as many")
SIZE, WORDS = 16, 6


def _drawn(make: Callable[[], nn.Module], words: int = WORDS) -> tuple[nn.Module, Tensor]:
    """A layer with random weights, and random words to read."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        return make().double().eval(), torch.randn(words, SIZE, dtype=torch.float64)


def _moved(read: Callable[[Tensor], Tensor], words: Tensor, place: int) -> Tensor:
    """Which outputs are others when the word at `place` is."""
    other = words.clone()
    other[place] += 1
    with torch.no_grad():
        return (read(words) - read(other)).abs().amax(-1) > 1e-9


def _touched(mask: Callable[[int], Tensor], place: int) -> Tensor:
    layer, words = _drawn(lambda: MultiHeadAttention(SIZE, 2))
    return _moved(lambda x: layer(x[None], x[None], mask(len(x)))[0], words, place)


def _even(row: int) -> float:
    """What the first word gets in a row of a causal mask, all scores equal."""
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
    norm, words = _drawn(lambda: LayerNorm(SIZE))
    with torch.no_grad():
        return YES if torch.allclose(norm(words), norm(2 * words), atol=1e-4) else NO


def _apart() -> float:
    layer, words = _drawn(lambda: FeedForward(SIZE, 4 * SIZE))
    return float(_moved(layer, words, 2).sum())


def _cross(m: float, n: float, h: float) -> float:
    queries, keys = torch.zeros(int(h), int(m), 1), torch.zeros(int(h), int(n), 1)
    return float((queries @ keys.mT).numel())


def _grown() -> float:
    short, long = (torch.zeros(n, 1) for n in (10, 30))
    return (long @ long.T).numel() / (short @ short.T).numel()


def _inputs(segments: bool) -> float:
    """How many different vectors BERT's tables make of "[CLS] the dog [SEP] the dog [SEP]", positions left out."""
    tokens, halves = torch.tensor([0, 1, 2, 3, 1, 2, 3]), torch.tensor([0, 0, 0, 0, 1, 1, 1])
    words, _ = _drawn(lambda: nn.Embedding(4, SIZE))
    with torch.no_grad():
        rows = words(tokens) + (halves[:, None] * torch.arange(1.0, SIZE + 1) if segments else 0)
    return float(len(rows.unique(dim=0)))


def _nucleus(p: float) -> float:
    """How many tokens the smallest set of at least p has, the most probable first."""
    sums = torch.tensor([0.4, 0.25, 0.15, 0.12, 0.08], dtype=torch.float64).cumsum(0)
    return float((sums < p).sum() + 1)


def _tempered(temperature: float) -> float:
    return float((torch.tensor([0.5, 0.25, 0.25]).log() / temperature).softmax(0)[0])


def _perplexity() -> float:
    uniform = torch.zeros(5, 8, dtype=torch.float64)
    return float(nn.functional.cross_entropy(uniform, torch.tensor([0, 3, 1, 7, 2])).exp())


def _scores(cached: bool) -> Callable[..., float]:
    """Scores that are computed while n tokens are written: one row a step, or the whole table anew."""
    return lambda n: float(sum(torch.zeros(1 if cached else t, t).numel() for t in range(1, int(n) + 1)))


QUESTIONS: tuple[Question, ...] = (
    Question(
        "all_see",
        SELF_ATTENTION,
        "Six words, no mask. The fourth becomes another word. How many of the six outputs change?",
        lambda: float(_touched(masks.full, 3).sum()),
        "Counted: {}. Every row has a weight for every word.",
        "self_attention",
        near=0.1,
    ),
    Question(
        "causal_see",
        SELF_ATTENTION,
        "Now with a causal mask. The fourth of six words becomes another. How many outputs change?",
        lambda: float(_touched(masks.causal, 3).sum()),
        "Counted: {}: the fourth and those after it.",
        "masks",
        near=0.1,
    ),
    Question(
        "causal_even",
        SELF_ATTENTION,
        "A causal mask, all scores equal. What weight does the fourth word give to the first?",
        lambda: _even(4),
        "It gives {}: the four words it may see share 1.",
        "masks",
        near=0.002,
    ),
    Question(
        "causal_cells",
        SELF_ATTENTION,
        "How many cells does a causal mask of n words allow? Write it with n.",
        lambda: lambda n: float(masks.causal(int(n)).sum()),
        "Counted: {}.",
        "masks",
        letters=("n",),
    ),
    Question(
        "eight_heads",
        SELF_ATTENTION,
        "A layer of width 64 has 8 heads instead of one. How many parameters has it, compared to before?",
        _heads,
        "Counted: {}. The width is shared out among the heads.",
        "many_heads",
        HEADS,
    ),
    Question(
        "offset",
        SELF_ATTENTION,
        "Sinusoidal positions: is the dot product of positions 3 and 7 the same as that of 10 and 14?",
        _same_offset,
        "Computed: {}. It depends on the distance alone.",
        "positional_encoding",
        (YES, NO),
    ),
    Question(
        "doubled",
        TRANSFORMER,
        "All numbers of a vector are doubled. Does layer norm (gain 1, bias 0) give the same as before?",
        _doubled,
        "Computed: {}. Mean and deviation are doubled with it.",
        "residual_norm",
        (YES, NO),
    ),
    Question(
        "apart",
        TRANSFORMER,
        "A feed-forward network reads six words. One becomes another word. How many of its outputs change?",
        _apart,
        "Counted: {}. It sees each position alone.",
        "feed_forward",
        near=0.1,
    ),
    Question(
        "hidden",
        TRANSFORMER,
        "A feed-forward network of width d has 4d hidden units, and biases. How many parameters? Write it with d.",
        lambda: lambda d: float(_parameters(FeedForward(int(d), 4 * int(d)))),
        "Counted: {}.",
        "feed_forward",
        letters=("d",),
    ),
    Question(
        "cross",
        TRANSFORMER,
        "m words are written, n were read, and there are h heads. How many weights has one cross-attention? Write it with m, n and h.",
        lambda: _cross,
        "Counted: {}.",
        "cross_attention",
        letters=("m", "n", "h"),
    ),
    Question(
        "grown",
        TRANSFORMER,
        "A sentence becomes three times as long. How many times as many scores has self-attention?",
        _grown,
        "Counted: {}.",
        "complexity",
        near=0.01,
    ),
    Question(
        "tokens_alone",
        BERT,
        "[CLS] the dog [SEP] the dog [SEP], with the token table alone: how many different input vectors?",
        lambda: _inputs(False),
        "Counted: {}. Equal tokens have equal vectors.",
        "bert_input",
        near=0.1,
    ),
    Question(
        "with_segments",
        BERT,
        "The same seven tokens, now with the segment vectors but still without positions: how many different input vectors?",
        lambda: _inputs(True),
        "Counted: {}. Each token stands at most once in each segment.",
        "bert_input",
        near=0.1,
    ),
    Question(
        "first_sees",
        BERT,
        "The last word becomes another. Does the first output of a layer of BERT change?",
        lambda: YES if _touched(masks.full, WORDS - 1)[0] else NO,
        "Computed: {}. BERT reads in both directions.",
        "masked_words",
        (YES, NO),
    ),
    Question(
        "three_classes",
        BERT,
        "Three classes are told from the vector of [CLS], 128 numbers wide, by one linear layer. How many parameters are new, biases included?",
        lambda: float(_parameters(nn.Linear(128, 3))),
        "Counted: {}.",
        "cls_and_pairs",
        near=0.5,
    ),
    Question(
        "word_table",
        BERT,
        "BERT Base knows 30,522 tokens and is 768 wide. How many million parameters has its token table?",
        lambda: (
            float(_parameters(nn.Embedding(BERTConfig().n_vocab, BERTConfig().d_model, device="meta"))) / 1e6
        ),
        "Counted: {} million.",
        "bert_input",
        near=0.05,
    ),
    Question(
        "past",
        GPT,
        "The last of six words becomes another. Does the first output of a layer of GPT change?",
        lambda: YES if _touched(masks.causal, WORDS - 1)[0] else NO,
        "Computed: {}. A causal mask never looks ahead.",
        "next_token",
        (YES, NO),
    ),
    Question(
        "tempered",
        GPT,
        "Three tokens have the probabilities 1/2, 1/4 and 1/4. The temperature becomes 1/2. What has the first one now?",
        lambda: _tempered(0.5),
        "It has {}: every probability is squared, then they are shared out anew.",
        "next_token",
        near=0.005,
    ),
    Question(
        "nucleus",
        GPT,
        "Top-p 0.75 of 0.4, 0.25, 0.15, 0.12 and 0.08: how many tokens can be drawn?",
        lambda: _nucleus(0.75),
        "Counted: {}: the fewest that hold at least as much as p.",
        "next_token",
        near=0.1,
    ),
    Question(
        "perplexity",
        GPT,
        "A model gives each of 8 tokens the same probability, always. What is its perplexity?",
        _perplexity,
        "Computed over five tokens: {}.",
        "next_token",
        near=0.01,
    ),
    Question(
        "cached",
        GPT,
        "n tokens are written with a KV cache, one query a step. How many scores are computed, in one head of one layer? Write it with n.",
        lambda: _scores(True),
        "Counted: {}.",
        "families",
        letters=("n",),
    ),
    Question(
        "uncached",
        GPT,
        "And without a cache, when each step computes its whole square of scores anew?",
        lambda: _scores(False),
        "Counted: {}.",
        "families",
        letters=("n",),
    ),
)
