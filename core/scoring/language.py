"""Language models: nats per token, bits per byte and perplexity on running text.

A text is read as it was for training: each line's tokens, then those of the newline; it begins with the start token,
which is not scored. A line `=== ID` is not scored and begins a new text. Windows of n_ctx tokens move by half their
length, so each token is scored once, with at least half a window before it where the text has that much. All in
float32: bfloat16 would take half the time but give another machine other digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.corpora import NEW_TEXT, read_lines
from core.errors import InputError
from core.models import Batch
from core.scoring import Metrics, Scoring
from core.scoring.files import reading_errors
from core.scoring.progress import progress
from core.text import Tokenizer

BATCH_TOKENS = 8192
LOGITS_AT_ONCE = 2**24  # numbers: 64 MB in float32


@dataclass(frozen=True)
class Span:
    """Inputs `first .. last - 1` of a text in one window; of its predictions those from `scored` on count."""

    first: int
    last: int
    scored: int


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure a language model on a text file (its first `limit` scored lines).

        nats_per_token = -mean log p(token | the tokens before it in its window)
        bits_per_byte  = sum of -log2 p / (UTF-8 bytes of the scored lines + 1 for each line)
        perplexity     = exp(nats_per_token)

    `items` are the scored lines. Raises InputError for a file without any.
    """
    texts, n_lines, n_bytes = scored_texts(path, limit, model.tokenizer)
    lost = token_losses(model.network, texts, model.config.n_ctx)
    nats, n_tokens = sum(float(row.sum()) for row in lost), sum(map(len, lost))
    mean = nats / n_tokens
    return {
        "items": n_lines,
        "tokens": n_tokens,
        "bytes": n_bytes,
        "nats_per_token": mean,
        "bits_per_byte": nats / math.log(2) / n_bytes,
        "perplexity": math.exp(mean),
    }


def scored_texts(path: Path, limit: int | None, tokenizer: Tokenizer) -> tuple[list[np.ndarray], int, int]:
    """Return the `token_streams` of a file's first `limit` scored lines. Raises InputError for a file without any."""
    with reading_errors(path):
        texts, n_lines, n_bytes = token_streams(take_scored(read_lines(path), limit), tokenizer)
    if not n_lines:
        raise InputError(
            f"{path.name} has no line to score.",
            f"Lines that begin with {NEW_TEXT!r} only begin a text.",
            "Give a file with text.",
        )
    return texts, n_lines, n_bytes


def take_scored(rows: Iterable[str], limit: int | None) -> Iterator[str]:
    """Yield the rows up to and including the `limit`-th that is scored; all where `limit` is None."""
    left = limit
    for row in rows:
        if left is not None and not row.startswith(NEW_TEXT):
            if left == 0:
                return
            left -= 1
        yield row


def token_streams(rows: Iterable[str], tokenizer: Tokenizer) -> tuple[list[np.ndarray], int, int]:
    """Return the texts as ids, each after a start token that is not scored, then the number of scored lines and of scored bytes.

    A model without a start token begins with the line end instead.
    """
    newline = tokenizer.encode("\n").ids
    start = tokenizer.start if tokenizer.start is not None else (newline or (0,))[-1]
    texts: list[list[int]] = [[start]]
    n_lines = n_bytes = 0
    for row in rows:
        if row.startswith(NEW_TEXT):
            texts.append([start])
            continue
        texts[-1].extend((*tokenizer.encode(row).ids, *newline))
        n_lines += 1
        n_bytes += len(row.encode()) + 1
    return [np.array(text, dtype=np.int64) for text in texts if len(text) > 1], n_lines, n_bytes


def spans(n: int, n_ctx: int) -> list[Span]:
    """Return the windows over a text of n tokens, the start token included; n - 1 of them are predicted, each in one window.

    >>> spans(8, 4)
    [Span(first=0, last=4, scored=0), Span(first=2, last=6, scored=4), Span(first=3, last=7, scored=6)]
    """
    found, done = [], 0
    while done < n - 1:
        last = min(n - 1, max(n_ctx, done + max(1, n_ctx // 2)))
        found.append(Span(max(0, last - n_ctx), last, done))
        done = last
    return found


def token_losses(
    network: Any, texts: list[np.ndarray], n_ctx: int, batch_tokens: int | None = None
) -> list[np.ndarray]:
    """Return -log p of every token of each text but its first, in nats: (pos - 1) float64 for each text.

    Windows of all texts are batched by length, `batch_tokens` (or BATCH_TOKENS) at once; padding comes after them, where a causal model does not see it.
    """
    device = next(network.parameters()).device
    work = [(number, span) for number, text in enumerate(texts) for span in spans(len(text), n_ctx)]
    work.sort(
        key=lambda item: item[1].last - item[1].first, reverse=True
    )  # stable: the same batches each time
    lost = [np.zeros(len(text) - 1) for text in texts]
    with torch.inference_mode(), progress(sum(map(len, lost)), "token") as bar:
        for part in _batches(work, batch_tokens or BATCH_TOKENS):
            batch, wanted, counts = _collated(texts, part, device)
            found = _losses(network, network(batch)[counts], wanted).cpu().double().numpy()
            place = 0
            for number, span in part:
                n = span.last - span.scored
                lost[number][span.scored : span.last] = found[place : place + n]
                place += n
            bar.update(place)
    return lost


def _batches(work: list[tuple[int, Span]], tokens: int) -> Iterator[list[tuple[int, Span]]]:
    """Yield the windows in batches of about so many tokens; the longest come first."""
    first = 0
    while first < len(work):
        longest = work[first][1].last - work[first][1].first
        n = max(1, tokens // longest)
        yield work[first : first + n]
        first += n


def _collated(
    texts: list[np.ndarray], part: list[tuple[int, Span]], device: torch.device
) -> tuple[Batch, Tensor, Tensor]:
    """Return the batch, the tokens to predict, in order, and a mask (batch, pos), True where a prediction counts."""
    longest = max(span.last - span.first for _, span in part)
    ids = np.zeros((len(part), longest), dtype=np.int64)
    real, counts = np.zeros((2, len(part), longest), dtype=bool)
    for row, (number, span) in enumerate(part):
        n = span.last - span.first
        ids[row, :n] = texts[number][span.first : span.last]
        real[row, :n] = True
        counts[row, span.scored - span.first : n] = True
    wanted = np.concatenate([texts[number][span.scored + 1 : span.last + 1] for number, span in part])
    to = [torch.from_numpy(array).to(device) for array in (ids, real, wanted, counts)]
    return Batch(ids=to[0], real=to[1]), to[2], to[3]


def _losses(network: Any, hidden: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each row, computed a few thousand rows at a time: a large vocabulary times a large batch is gigabytes."""
    rows = max(1, LOGITS_AT_ONCE // network.cfg.n_vocab)
    parts = zip(hidden.split(rows), targets.split(rows), strict=True)
    return torch.cat([F.cross_entropy(network.logits(h).float(), w, reduction="none") for h, w in parts])


SCORING = Scoring(
    kind="language model",
    families=frozenset({"gpt"}),
    suffix=".txt",
    content="running text, a line '=== ID' before each",
    measure=measure,
)
