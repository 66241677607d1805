"""Greedy and beam decoding of many sentences at once, without records, for evaluation and for a missing target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from core.models import Batch
from core.run.bad_words import TokenSequences, banned_next_tokens
from core.trace import Edit, Recorder, matches

Step = Callable[[Tensor], Tensor]
Limit = int | Sequence[int]


def greedy(
    network: Any,
    batch: Batch,
    *,
    start: int,
    end: int,
    limit: Limit,
    edits: Sequence[Edit] = (),
    bad_words: TokenSequences = (),
    ends: Sequence[int] = (),
    first: int | None = None,
) -> list[list[int]]:
    """Return the tokens of greedy decoding, the most probable one at each step, for each row of `batch.source`.

    A row ends with `end`, one of `ends` or `limit` tokens; a token that would complete a word in `bad_words` is not taken.

    `network` is an encoder-decoder; `batch.ids` is not used. `first` is written first, whatever the scores. Neither START nor END is in the result.
    With edits the whole prefix is read again at each step, so that an edit of query 3 meets the same cell each time.
    """
    assert batch.source is not None
    n_rows = batch.source.shape[0]
    limits = _limits(limit, n_rows)
    step = _cached(network, batch) if not edits else _edited(network, batch, edits)
    last = torch.full((n_rows, 1), start, device=batch.source.device)
    written: list[list[int]] = [[] for _ in range(n_rows)]
    going = [limit > 0 for limit in limits]
    while any(going):
        scores = step(last)
        for row, text in enumerate(written if bad_words else ()):
            scores[row, banned_next_tokens(bad_words, [start, *text])] = -torch.inf
        chosen = scores.argmax(-1)
        if first is not None and not any(written):
            chosen = torch.full_like(chosen, first)
        for row, token in enumerate(chosen.tolist()):
            if going[row]:
                if token == end or token in ends:
                    going[row] = False
                    continue
                written[row].append(token)
                going[row] = len(written[row]) < limits[row]
        last = chosen[:, None]
    return written


def beam(
    network: Any, batch: Batch, *, width: int, start: int, end: int, limit: Limit, alpha: float = 1.0
) -> list[list[int]]:
    """Translate each row of `batch.source` by beam search with `width` open translations: a list of ids each.

    At each step the 2 * width best continuations of a sentence are ranked by the sum of their log-probabilities.
    One among the first `width` that ends is finished and scored

        sum of log p / length ** alpha        (length counts END; alpha = 0 prefers short, 1 is the mean a token)

    and the first `width` that do not end stay open. A sentence is done when `width` translations are finished or
    `limit` tokens are written; the result is the finished one of the best score, at the limit without any finished
    one the best open one. Neither START nor END is in it. Width 1 is `greedy`.
    Keys and values are cached and follow their rows; sentences that are done leave the batch.
    Raises ValueError for a width below 1 or not below the size of the vocabulary.
    """
    assert batch.source is not None
    n_vocab = network.cfg.n_vocab
    if not 1 <= width < n_vocab:
        raise ValueError(f"width={width} must lie between 1 and n_vocab - 1 = {n_vocab - 1}")
    n_rows, device = batch.source.shape[0], batch.source.device
    sentences = [_Sentence(limit) for limit in _limits(limit, n_rows)]
    cache, memory = network.new_cache(), network.encode(batch)
    going = [sentence for sentence in sentences if not sentence.done(width)]
    rows = [
        row for row, sentence in enumerate(sentences) if not sentence.done(width)
    ]  # who of the last step goes on
    tokens = [start] * len(rows)
    while going:
        kept = torch.tensor(rows, device=device)
        cache.reorder(kept)
        batch, memory = _only(batch, kept), memory[kept]
        last = torch.tensor(tokens, device=device)[:, None]
        new = replace(batch, ids=last, real=torch.ones_like(last, dtype=torch.bool))
        log_p = network.logits(network(new, cache=cache, memory=memory)[:, -1]).float().log_softmax(-1)
        n_open = len(rows) // len(going)  # 1 at the first step, then width
        scores = torch.tensor([score for sentence in going for score, _ in sentence.open], device=device)
        ranked = (scores[:, None] + log_p).view(len(going), -1)
        best, cells = ranked.topk(min(2 * width, ranked.shape[1]))
        rows, tokens = [], []
        for number, (sentence, candidates, places) in enumerate(
            zip(going, best.tolist(), cells.tolist(), strict=True)
        ):
            parents = sentence.extend(
                candidates, [divmod(place, n_vocab) for place in places], width, end, alpha
            )
            if not sentence.done(width):
                rows += [number * n_open + parent for parent in parents]
                tokens += [written[-1] for _, written in sentence.open]
        going = [sentence for sentence in going if not sentence.done(width)]
    return [sentence.result() for sentence in sentences]


@dataclass
class _Sentence:
    """The translations of one source sentence during a search: (score, tokens), open and finished."""

    limit: int
    open: list[tuple[float, list[int]]] = field(default_factory=lambda: [(0.0, [])])
    finished: list[tuple[float, list[int]]] = field(default_factory=list)

    def extend(
        self, scores: list[float], cells: list[tuple[int, int]], width: int, end: int, alpha: float
    ) -> list[int]:
        """Take one step from ranked (parent, token) cells and return the parent of each translation that stays open."""
        parents, still = [], []
        for rank, (score, (parent, token)) in enumerate(zip(scores, cells, strict=True)):
            written = self.open[parent][1]
            if token != end and len(still) < width:
                parents.append(parent)
                still.append((score, [*written, token]))
            elif token == end and rank < width:
                self.finished.append((score / (len(written) + 1) ** alpha, written))
        self.open = still
        return parents

    def done(self, width: int) -> bool:
        return len(self.finished) >= width or len(self.open[0][1]) >= self.limit

    def result(self) -> list[int]:
        return max(self.finished or self.open, key=lambda scored: scored[0])[1]


def _limits(limit: Limit, n_rows: int) -> list[int]:
    return [limit] * n_rows if isinstance(limit, int) else list(limit)


def _only(batch: Batch, rows: Tensor) -> Batch:
    """Return the source side of these rows."""
    assert batch.source is not None
    real = None if batch.source_real is None else batch.source_real[rows]
    return replace(batch, source=batch.source[rows], source_real=real)


def _cached(network: Any, batch: Batch) -> Step:
    cache, memory = network.new_cache(), network.encode(batch)

    def step(last: Tensor) -> Tensor:
        new = replace(batch, ids=last, real=torch.ones_like(last, dtype=torch.bool))
        return network.logits(network(new, cache=cache, memory=memory)[:, -1])

    return step


def _edited(network: Any, batch: Batch, edits: Sequence[Edit]) -> Step:
    written: list[Tensor] = []
    rows = slice(None) if any(matches("logits", edit.where) for edit in edits) else slice(-1, None)

    def step(last: Tensor) -> Tensor:
        written.append(last)
        ids = torch.cat(written, dim=1)
        tap = Recorder((), edits, partial=True)
        hidden = network(replace(batch, ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), tap=tap)
        return network.logits(hidden[:, rows], tap)[:, -1]

    return step
