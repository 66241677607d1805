"""Running text as BERT reads it: passages, pairs of neighbouring sentences, masked words. For training and measuring."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from core.data.corpora import NEW_TEXT
from core.text import Tokenizer

Array = np.ndarray
SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"')\]]*(?=\s+[\"'(\[]?[A-Z])|$)")
AT_ONCE = 20_000
SIDE = 64
"""Each side of a pair is cut to this many tokens."""
FAR = 20
"""A sentence that does not follow comes from at least this many paragraphs away, in the same book."""
SHARE, MASKED, REDRAWN = 0.15, 0.8, 0.1
"""Of the tokens this share is to be guessed; of those so many are masked, and so many replaced by a random one."""


class Pair(NamedTuple):
    """Two texts as ids, whether the second follows the first, and `after`, the index of the sentence at which the next pair begins."""

    first: Array
    second: Array
    follows: bool
    after: int


@dataclass(frozen=True, eq=False)
class Books:
    """Books as one stream of ids. Sentence i is `stream[bounds[i] : bounds[i + 1]]`, in paragraph `paragraph[i]` of book `book[i]`."""

    stream: Array
    bounds: Array
    paragraph: Array
    book: Array

    @classmethod
    def read(cls, rows: Iterable[str], tokenizer: Tokenizer) -> Books:
        """Tokenize books from lines: a line is a paragraph, and a line `=== ID` begins a book."""
        parts, bounds, places = [np.zeros(0, dtype=np.uint16)], [0], []
        sentences = _sentences(rows)
        while some := list(islice(sentences, AT_ONCE)):
            ids = tokenizer.encode_many([text for text, _, _ in some])
            parts.append(np.fromiter((i for row in ids for i in row), dtype=np.uint16))
            bounds.extend(map(len, ids))
            places.extend(place for _, *place in some)
        where = np.array(places, dtype=np.int32).reshape(-1, 2)
        return cls(np.concatenate(parts), np.cumsum(bounds), where[:, 0], where[:, 1])

    def window_starts(self, size: int) -> Array:
        """Return the indices in the stream at which consecutive passages of `size` tokens begin; none extends over two books."""
        first = np.flatnonzero(np.diff(self.book, prepend=-1))
        edges = [*self.bounds[first], len(self.stream)]
        return np.concatenate([np.arange(a, b - size + 1, size) for a, b in pairwise(edges)])

    def sentences(self, first: int, n: int) -> Array:
        """Return the ids of sentences first .. first + n - 1, those of the same book only, cut to SIDE tokens."""
        last = first + n
        while last > first + 1 and (last > len(self.book) or self.book[last - 1] != self.book[first]):
            last -= 1
        return self.stream[self.bounds[first] : min(self.bounds[last], self.bounds[first] + SIDE)].astype(
            np.int64
        )

    def pair(
        self, first: int, rng: np.random.Generator, follows: bool, *, anywhere: bool = False
    ) -> Pair | None:
        """Sample two texts of 1 to 3 sentences, the first from sentence `first` on: neighbours, or the second from far
        away in the same book, or from `anywhere` in the stream.

        Returns None where the book ends before, or is too short to have a sentence far away.
        """
        n_first, n_second = (int(n) for n in rng.integers(1, 4, size=2))
        second = first + n_first
        after = second + n_second
        if after > len(self.book) or self.book[after - 1] != self.book[first]:
            return None
        if not follows and anywhere:
            second = int(rng.integers(len(self.book) - n_second + 1))
        elif not follows:
            low, high = np.searchsorted(self.book, [self.book[first], self.book[first] + 1])
            near = (
                np.searchsorted(
                    self.paragraph[low:high], [self.paragraph[first] - FAR + 1, self.paragraph[first] + FAR]
                )
                + low
            )
            before, behind = max(0, near[0] - low - n_second + 1), max(0, high - near[1] - n_second + 1)
            if before + behind < 1:
                return None
            drawn = int(rng.integers(before + behind))
            second = low + drawn if drawn < before else int(near[1]) + drawn - before
        return Pair(self.sentences(first, n_first), self.sentences(second, n_second), follows, after)

    def ordered_pair(self, first: int, rng: np.random.Generator, in_order: bool) -> Pair | None:
        """Sample two neighbouring texts of 1 to 3 sentences, from sentence `first` on, in their order or swapped (Lan et al. 2020, 3.1).

        Both labels use the same texts, so neither topic nor vocabulary shows the order. Returns None where the book ends too soon.
        """
        pair = self.pair(first, rng, follows=True)
        return pair if pair is None or in_order else Pair(pair.second, pair.first, False, pair.after)


def _sentences(rows: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each sentence with the number of its paragraph and of its book."""
    book = 0
    for paragraph, row in enumerate(rows):
        if row.startswith(NEW_TEXT):
            book += 1
            continue
        for match in SENTENCE.finditer(row):
            yield match.group(), paragraph, book


def hide(
    ids: Array,
    special: Array,
    rng: np.random.Generator,
    *,
    mask: int,
    drawable: Array,
    share: float = SHARE,
    masked: float = MASKED,
    redrawn: float = REDRAWN,
) -> tuple[Array, Array]:
    """Mask 15% of the tokens of each row: of these 80% become the mask, 10% a random word, 10% stay (Devlin et al. 2019).

    `ids` and `special` are (row, pos); `special` is True where a token is never chosen. Returns the ids to read, and
    True where a token is to be predicted. Each row has round(share n) of its n other tokens chosen, at least one.
    """
    order = rng.random(ids.shape) + special * 2.0
    n_chosen = np.maximum(1, np.rint(share * (~special).sum(1, keepdims=True)))
    chosen = (order.argsort(1).argsort(1) < n_chosen) & ~special
    fate = rng.random(ids.shape)
    hidden = np.where(chosen & (fate < masked), mask, ids)
    changed = chosen & (fate >= masked) & (fate < masked + redrawn)
    return np.where(changed, rng.choice(drawable, ids.shape), hidden), chosen


def add_special_tokens(
    tokenizer: Tokenizer, first: Array, second: Array | None = None
) -> tuple[Array, Array]:
    """Return the ids and segments of [CLS] first [SEP], or of [CLS] first [SEP] second [SEP] with the second text as segment 1."""
    special_tokens = np.array([tokenizer.start, tokenizer.end], dtype=np.int64)
    a = np.concatenate((special_tokens[:1], first, special_tokens[1:])).astype(np.int64)
    b = (
        np.zeros(0, dtype=np.int64)
        if second is None
        else np.concatenate((second, special_tokens[1:])).astype(np.int64)
    )
    return np.concatenate((a, b)), np.repeat([0, 1], [len(a), len(b)])


def pad_rows(rows: Sequence[tuple[Array, Array]], pad: int) -> tuple[Array, Array, Array]:
    """Pad rows of (ids, segments) to one length and return ids, segments and a mask of real tokens, each (row, pos)."""
    ids = np.full((len(rows), max(len(row) for row, _ in rows)), pad, dtype=np.int64)
    segments, real = np.zeros_like(ids), np.zeros(ids.shape, dtype=bool)
    for place, (row, segment) in enumerate(rows):
        ids[place, : len(row)], segments[place, : len(row)], real[place, : len(row)] = row, segment, True
    return ids, segments, real
