"""Masked language models: how often a masked word is the first guess or among five, and whether sentence pairs are classified rightly.

Hidden words: a book's tokens are cut into passages that fill the context ([CLS] passage [SEP]), each once; of each
passage 15% are hidden, 80% of them masked, 10% replaced by a random word, 10% left. Next sentence: walking through
each book, A and B of 1 to 3 sentences (at most 64 tokens each); in half of the pairs B comes from the same book, at least
20 paragraphs away. Sentence order: the same walk, B always follows; in half of the pairs the two are swapped. All drawn
with seed 0, all in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.data.corpora import read_lines
from core.data.passages import Books, Pair, add_special_tokens, hide, pad_rows
from core.errors import InputError
from core.models import Batch
from core.scoring import Metrics, Scoring
from core.scoring.files import reading_errors
from core.scoring.language import take_scored
from core.scoring.progress import progress

BATCH_TOKENS = 8192
TOP = 5


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure a masked language model on a text file (its first `limit` paragraphs).

    `items` are the words to be guessed, `pairs` the pairs of texts. Raises InputError for a text that fills no context.
    """
    _check_special_tokens(model)
    with reading_errors(path):
        books = Books.read(take_scored(read_lines(path), limit), model.tokenizer)
    metrics = measure_hidden_words(model, books)
    for output, measured in (
        ("next_sentence", measure_next_sentence),
        ("sentence_order", measure_sentence_order),
    ):
        metrics |= measured(model, books) if output in model.outputs else {}
    return metrics


def measure_hidden_words(model: Any, books: Books) -> Metrics:
    """Measure masked_top1 and masked_top5: the share of chosen tokens whose true id has the highest score, or is among the five highest."""
    tokenizer, size = model.tokenizer, model.config.n_ctx - 2
    starts = books.window_starts(size)
    if not len(starts):
        raise InputError(
            "The text fills no context.",
            f"A passage of {model.name} has {size} tokens of one book.",
            "Give a longer text.",
        )
    special = np.array(sorted(tokenizer.special_tokens.values()))
    drawable = np.setdiff1d(np.arange(len(tokenizer)), special)
    rng = np.random.default_rng(0)
    first = best = n = 0
    per_batch = max(1, BATCH_TOKENS // model.config.n_ctx)
    with torch.inference_mode(), progress(len(starts), "passage") as bar:
        for part in (starts[i : i + per_batch] for i in range(0, len(starts), per_batch)):
            ids, segments, real = pad_rows(
                [add_special_tokens(tokenizer, books.stream[a : a + size]) for a in part], tokenizer.pad
            )
            read, chosen = hide(ids, np.isin(ids, special), rng, mask=tokenizer.mask, drawable=drawable)
            hidden = _forward(model, read, segments, real)
            chosen_here = torch.from_numpy(chosen)
            guesses = model.network.logits(hidden[chosen_here]).topk(TOP).indices.cpu()
            right = guesses == torch.from_numpy(ids[chosen])[:, None]
            first, best, n = first + int(right[:, 0].sum()), best + int(right.any(1).sum()), n + len(right)
            bar.update(len(part))
    return {"items": n, "passages": len(starts), "masked_top1": first / n, "masked_top5": best / n}


def measure_next_sentence(model: Any, books: Books) -> Metrics:
    """Measure next_sentence_accuracy, with the share of pairs that do follow, the accuracy of always guessing so."""
    pairs = sample_pairs(books, np.random.default_rng(0))
    return _pair_accuracy(model, pairs, "next_sentence", "next_sentence_accuracy", "pairs_that_follow")


def measure_sentence_order(model: Any, books: Books) -> Metrics:
    """Measure sentence_order_accuracy, with the share of pairs in their order, the accuracy of always guessing so."""
    pairs = sample_pairs(books, np.random.default_rng(0), Books.ordered_pair)
    return _pair_accuracy(model, pairs, "sentence_order", "sentence_order_accuracy", "pairs_in_order")


def _pair_accuracy(model: Any, pairs: Sequence[Pair], output: str, accuracy: str, share: str) -> Metrics:
    """Return the share of pairs that an output classifies rightly, under the name `accuracy`; index 0 of the output means "follows" or "in order"."""
    if not pairs:
        return {"pairs": 0}
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].first) + len(pairs[i].second))
    right = 0
    with torch.inference_mode(), progress(len(pairs), "pair") as bar:
        for part in (order[i : i + 64] for i in range(0, len(order), 64)):
            rows = [add_special_tokens(model.tokenizer, pairs[i].first, pairs[i].second) for i in part]
            hidden = _forward(model, *pad_rows(rows, model.tokenizer.pad))
            scores = getattr(model.network, output)(model.network.pooled(hidden))
            follows = scores.argmax(-1).cpu().numpy() == 0
            right += int((follows == np.array([pairs[i].follows for i in part])).sum())
            bar.update(len(part))
    follow = sum(pair.follows for pair in pairs) / len(pairs)
    return {"pairs": len(pairs), accuracy: right / len(pairs), share: follow}


def sample_pairs(
    books: Books,
    rng: np.random.Generator,
    sample_pair: Callable[[Books, int, np.random.Generator, bool], Pair | None] = Books.pair,
) -> Sequence[Pair]:
    """Sample pairs one after another through every book with `sample_pair`; about half of them follow, or are in order.

    A book too short for both kinds gives none.
    """
    pairs, place = [], 0
    while place < len(books.book):
        pair = sample_pair(books, place, rng, bool(rng.integers(2)))
        if pair is not None:
            pairs.append(pair)
        place = place + 1 if pair is None else pair.after
    return pairs


def _forward(model: Any, ids: np.ndarray, segments: np.ndarray, real: np.ndarray) -> Tensor:
    device = next(model.network.parameters()).device
    to = [torch.from_numpy(array).to(device) for array in (ids, real, segments)]
    return model.network(Batch(ids=to[0], real=to[1], segments=to[2]))


def _check_special_tokens(model: Any) -> None:
    missing = [name for name in ("start", "end", "mask", "pad") if getattr(model.tokenizer, name) is None]
    if missing or "logits" not in model.outputs:
        lacks = f"the tokens {', '.join(missing)}" if missing else "a head for hidden words"
        raise InputError(
            f"{model.name} lacks {lacks}.",
            "Hidden words are predicted by it.",
            "Give a model that was saved with it.",
        )


SCORING = Scoring(
    kind="masked language model",
    families=frozenset({"albert", "bert", "bigbird"}),
    suffix=".txt",
    content="running text, a line '=== ID' before each",
    measure=measure,
)
