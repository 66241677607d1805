"""One sequence of a run: its tokens, read or written, with their ids and their spans in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.text import Word, words_of
from core.text.tokenizer import Span

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped


@dataclass(frozen=True)
class TokenSequence:
    """A sequence of a run, read or written: its text, its tokens (padding included) and their spans in the text.

    With `one_word_each` every token is a word of its own, as the sentences of a text are.
    `values` (token, number) are the numbers of its real tokens, where they are no words: `Encoded.values`.
    """

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    segments: tuple[int, ...] = ()
    n_real: int = 0
    pair: str | None = None
    one_word_each: bool = False
    values: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def without_padding(self) -> TokenSequence:
        """Return the same sequence without its padding."""
        n = self.n_real
        if n == len(self.ids):
            return self
        return replace(
            self, tokens=self.tokens[:n], ids=self.ids[:n], spans=self.spans[:n], segments=self.segments[:n]
        )

    def real_rows(self, rows: Shaped[np.ndarray, "pos ..."]) -> Shaped[np.ndarray, "row ..."]:
        """Return the rows of the text, of an array that has a row for each token of the batch; another array is returned as it is."""
        return rows[: self.n_real] if len(rows) == len(self.ids) else rows

    @cached_property
    def words(self) -> list[Word]:
        """Return the tokens joined to words. The spans of segment 1 are positions in `pair`."""
        if self.one_word_each:
            return [Word(token, (place,)) for place, token in enumerate(self.tokens)]
        if self.pair is None:
            return words_of(self.text, self.tokens, self.spans)
        cut = self.segments.index(1)
        second = words_of(self.pair, self.tokens[cut:], self.spans[cut:])
        return [
            *words_of(self.text, self.tokens[:cut], self.spans[:cut]),
            *(Word(word.text, tuple(cut + piece for piece in word.pieces)) for word in second),
        ]

    @cached_property
    def special_positions(self) -> tuple[int, ...]:
        """Return the positions of tokens that are no part of the text: those that the model added, and padding. A token
        of spaces alone belongs to a word; patches and frames are no text.
        """
        if self.values is not None:
            return ()
        named = enumerate(zip(self.tokens, self.spans, strict=True))
        return tuple(place for place, (token, span) in named if span is None and not token.isspace())

    def as_sentences(self) -> TokenSequence:
        """Return a sequence with one token for each sentence of a text that is read sentence by sentence; with one for the whole of any other text."""
        segments = np.array(self.segments or (0,) * len(self.ids))[: self.n_real]
        spans = [
            [span for span, where in zip(self.spans, segments, strict=False) if where == number and span]
            for number in range(int(segments.max(initial=0)) + 1)
        ]
        places = [(min(some)[0], max(end for _, end in some)) if some else None for some in spans]
        tokens = tuple("" if place is None else self.text[slice(*place)] for place in places)
        return TokenSequence(
            self.text,
            tokens,
            tuple(range(len(tokens))),
            tuple(places),
            n_real=len(tokens),
            one_word_each=True,
        )

    def as_document(self) -> TokenSequence:
        """Return a sequence with the whole text as one token, "document"."""
        return TokenSequence(
            self.text, ("document",), (0,), ((0, len(self.text)),), n_real=1, one_word_each=True
        )

    def next_tokens(self) -> TokenSequence:
        """Return the same sequence with each row labelled by the token that it predicts: the next one, END after the last."""
        last = self.n_real - 1
        tokens = (*self.tokens[1 : last + 1], "END", *self.tokens[last + 1 :])
        return replace(
            self, tokens=tokens, spans=(*self.spans[1 : last + 1], None, *self.spans[last + 1 :]), ids=()
        )


def tensors(sides: Sequence[TokenSequence]) -> tuple[Int[Tensor, "batch pos"], Bool[Tensor, "batch pos"]]:
    """Return the ids of sequences of one length, and a mask that is True where they are not padding."""
    ids = torch.tensor([side.ids for side in sides])
    return ids, torch.tensor([[i < side.n_real for i in range(len(side.ids))] for side in sides])


def values(sides: Sequence[TokenSequence]) -> Float[Tensor, "batch pos number"] | None:
    """Return the numbers of the tokens, zero at padding; None where tokens are words."""
    if sides[0].values is None:
        return None
    own = [torch.from_numpy(side.values) for side in sides]
    return nn.utils.rnn.pad_sequence(own, batch_first=True).float()
