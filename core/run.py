"""What one pass through a model left: tokens, predictions, every recorded tensor, attention as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from core.errors import InputError
from core.models import Kind
from core.text import Word, words_of
from core.text.tokenizer import Span
from core.trace import Trace, matches, unknown_path

if TYPE_CHECKING:
    from core.model import Model

Array = np.ndarray


@dataclass(frozen=True)
class Side:
    """One sequence of a run: its text, its tokens (padding included) and where they stand in the text."""

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    segments: tuple[int, ...] = ()
    n_real: int = 0

    @cached_property
    def words(self) -> list[Word]:
        return words_of(self.text, self.tokens, self.spans)

    def written(self) -> Side:
        """The same rows named by what they write: the next token, END after the last."""
        last = self.n_real - 1
        tokens = (*self.tokens[1 : last + 1], "END", *self.tokens[last + 1 :])
        return replace(self, tokens=tokens, spans=(*self.spans[1 : last + 1], None, *self.spans[last + 1 :]), ids=())


@dataclass(frozen=True)
class Attention:
    """The patterns of one kind: weights (layer, head, query, key), the labels of both axes, what was allowed.

    `paths[layer]` names the tensor each layer's weights come from.
    """

    kind: str
    weights: Array
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: Array
    paths: tuple[str, ...]

    def joined(self, query_words: list[Word], key_words: list[Word]) -> Attention:
        """By words: the sum over a word's key pieces, the mean over its query pieces; rows still sum to 1."""
        to_key = _membership(key_words, len(self.keys))
        to_query = _membership(query_words, len(self.queries))
        mean = to_query / to_query.sum(1, keepdims=True)
        weights = np.einsum("wq,lhqk,vk->lhwv", mean, self.weights, to_key, optimize=True)
        allowed = np.einsum("wq,lhqk,vk->lhwv", to_query, self.allowed.astype(np.float32), to_key, optimize=True) > 0
        queries, keys = (tuple(word.text for word in words) for words in (query_words, key_words))
        return Attention(self.kind, weights.astype(np.float32), queries, keys, allowed, self.paths)


def _membership(words: list[Word], n: int) -> Array:
    member = np.zeros((len(words), n), dtype=np.float32)
    for row, word in enumerate(words):
        member[row, list(word.pieces)] = 1
    return member


class RunTrace:
    """The recorded tensors of one text by path: float32 (allowed: bool) numpy without the batch axis."""

    def __init__(self, trace: Trace, row: int, gradients: dict[str, Tensor], logits: Callable[[], Array | None]) -> None:
        self._trace, self._row, self._gradients, self._logits = trace, row, gradients, logits

    def __getitem__(self, path: str) -> Array:
        if path == "logits" and path not in self._trace and (late := self._logits()) is not None:
            return late
        return self._unbatched(path, self._trace.numpy(path))

    def __contains__(self, path: object) -> bool:
        return path in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def names(self, pattern: str = "*") -> list[str]:
        """Recorded paths that match, in the order of the computation; `logits` are computed when asked for."""
        names = self._trace.names(pattern)
        late = "logits" not in self._trace and matches("logits", pattern) and self._logits() is not None
        return [*names, "logits"] if late else names

    def axes(self, path: str) -> tuple[str, ...]:
        """The axis words of a value, e.g. ('head', 'query', 'key')."""
        if path == "logits" and path not in self._trace:
            return ("pos", "vocab")
        return tuple(word for word in self._trace.axes(path) if word != "batch")

    def grad(self, path: str) -> Array:
        """The gradient of the chosen logit for a recorded tensor, in the shape of the tensor (runs with grad=...)."""
        if path not in self._gradients:
            raise KeyError(unknown_path(path, self._gradients) + " Gradients exist in runs with grad='logit:TOKEN'.")
        return self._unbatched(path, self._gradients[path].numpy())

    @property
    def nbytes(self) -> int:
        seen = {self._trace[path].untyped_storage().data_ptr(): self._trace[path].untyped_storage().nbytes() for path in self._trace}
        return sum(seen.values()) + sum(grad.nbytes for grad in self._gradients.values())

    def _unbatched(self, path: str, array: Array) -> Array:
        return _sealed(array[self._row] if self._trace.axes(path)[0] == "batch" else array)


def _sealed(array: Array) -> Array:
    """A view that cannot be written to: a run may be shared by many."""
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True)
class Run:
    """One text through one model. Made by `Model.run`; arrays carry no batch axis."""

    model: Model
    side: Side
    source: Side | None
    trace: RunTrace
    target_text: str | None
    _hidden: Tensor = field(repr=False)
    _logits: Tensor | None = field(repr=False, default=None)

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.side.tokens

    @property
    def ids(self) -> tuple[int, ...]:
        return self.side.ids

    @property
    def spans(self) -> tuple[Span, ...]:
        return self.side.spans

    @property
    def segments(self) -> tuple[int, ...]:
        return self.side.segments

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention this model has, in the order of the computation."""
        return tuple(kind.name for kind in self.model.spec.kinds_of(self.model.config))

    @cached_property
    def logits(self) -> Array:
        """(position, vocabulary), computed on first access. Row i is the prediction after decoder input i."""
        torch.get_num_threads()  # a new thread takes over the process's number only when asked; a matrix product does not ask
        with torch.inference_mode():
            logits = self.model.network.logits(self._hidden) if self._logits is None else self._logits
            return _sealed(logits.float().numpy())

    @property
    def next_sentence(self) -> Array:
        raise self._absent("a next-sentence head")

    @property
    def pooled(self) -> Array:
        raise self._absent("a pooled output")

    @property
    def classes(self) -> Array:
        raise self._absent("a classifier")

    def _absent(self, what: str) -> InputError:
        return InputError(f"{self.model.name} has not {what}.", f"The family {self.model.family} ends in logits.", "Use run.logits.")

    def hidden(self, side: str | None = None) -> Array:
        """The residual stream (layer + 1, position, d_model): what enters each layer, and what leaves the last.

        In a recurrent network, which has none, the inputs of each layer and the states of the last. No final norm is in it. `side` is 'encoder' or 'decoder' where the family has both.
        """
        stacks = self.model.spec.stacks
        if side is None:
            if len(stacks) > 1:
                raise InputError("This model has two stacks.", f"hidden(side) needs one of {', '.join(stacks)}.", "Say which.")
            side = next(iter(stacks))
        if side not in stacks:
            raise InputError(f"There is no side '{side}'.", f"This model has {', '.join(stacks)}.", "Choose one of them.")
        stack, n, (entering, leaving) = stacks[side], self.model.config.n_layers, self.model.spec.stream
        paths = [f"{stack}.{i}.{entering}" for i in range(n)] + [f"{stack}.{n - 1}.{leaving}"]
        return np.stack([self.trace[path] for path in paths])

    def attention(self, kind: str | None = None, by: str = "token", *, writing: bool = False) -> Attention:
        """The patterns of one kind, by token or by word. The default kind is the family's last (its most telling).

        A row belongs to the token that was read there. With `writing` the rows of a decoder are named by the token
        they write instead: the next one, END after the last. By word, the rows of a word's pieces are averaged.
        """
        if not self.kinds:
            raise InputError(f"{self.model.name} has no attention.", "One context vector carries the sentence.", "Choose another model.")
        kind = self.kinds[-1] if kind is None else kind
        if kind not in self.kinds:
            raise InputError(f"There is no attention '{kind}' in {self.model.name}.", f"It has {', '.join(self.kinds)}.", "Choose one of them.")
        if by not in ("token", "word"):
            raise InputError(f"by='{by}' is unknown.", "Attention is given by 'token' or by 'word'.", "Choose one of them.")
        found = self.model.spec.kind(kind)
        paths = tuple(found.path(layer, "pattern") for layer in range(found.n_layers(self.model.config)))
        weights = np.stack([self.trace[path] for path in paths])
        allowed = np.stack([self.trace[found.path(layer, "allowed")] for layer in range(len(weights))])
        queries, keys = self._axis(found, "queries"), self._axis(found, "keys")
        queries = queries.written() if writing and queries is self.side else queries
        attention = Attention(kind, weights, queries.tokens, keys.tokens, allowed, paths)
        return attention if by == "token" else attention.joined(queries.words, keys.words)

    def _axis(self, kind: Kind, axis: str) -> Side:
        return self.side if getattr(kind, axis) == "target" or self.source is None else self.source

    @property
    def nbytes(self) -> int:
        """Memory held, for the engine's budget."""
        logits = len(self.ids) * self.model.config.n_vocab * 4  # as large as they will be once someone asks
        return self.trace.nbytes + self._hidden.numel() * self._hidden.element_size() + logits
