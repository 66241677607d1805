"""The result of one pass through a model: tokens, predictions, every recorded tensor, attention as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from core.errors import InputError
from core.run.lazy_logits import Outputs
from core.run.token_sequence import TokenSequence
from core.text import Word
from core.text.tokenizer import Span
from core.trace import Trace, contents, matches, unknown_path
from core.wording import mark

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


Array = np.ndarray
SpecialPositions = tuple[tuple[int, ...], tuple[int, ...]]
NONE = np.empty(0, dtype=np.float32)


@dataclass(frozen=True)
class Attention:
    """The attention patterns of one kind: weights (layer, head, query, key), the labels of both axes, and the mask of allowed cells.

    `paths[layer]` names the tensor each layer's weights come from. `special_positions` are those of the queries and of the keys that the
    model added to the text ([CLS], START), whatever the words of the text are called. `n_rows` counts the rows of a text: END, where rows
    are named by what they write, and padding come after them.
    """

    kind: str
    weights: Array
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: Bool[Array, "layer head query key"]
    paths: tuple[str, ...]
    special_positions: SpecialPositions = ((), ())
    n_rows: int | None = None

    def __repr__(self) -> str:
        layers, heads, *_ = self.weights.shape
        sizes = f"{layers} layers, {heads} heads, {len(self.queries)} queries, {len(self.keys)} keys"
        return f"Attention: {self.kind}, {sizes}"

    @property
    def rows(self) -> range:
        """Return the rows of the text and of the special tokens around it, without END and padding."""
        return range(len(self.queries) if self.n_rows is None else self.n_rows)

    def join_words(self, query_words: list[Word], key_words: list[Word]) -> Attention:
        """Return the patterns by word: the sum over a word's key tokens, the mean over its query tokens; rows still sum to 1."""
        return by_word(self, self.weights, query_words, key_words)


def by_word(
    tokens: Attention, weights: Sequence[Array] | Array, query_words: list[Word], key_words: list[Word]
) -> Attention:
    """Return the patterns of `tokens` by word, see `Attention.join_words`, from the weights (head, query, key) of each
    layer; one head at a time, to need little memory.

    The labels and the mask come from `tokens`, by token; its weights are not read.
    """
    allowed = tokens.allowed
    queries, keys = _picked(query_words), _picked(key_words)
    several = [place for place, word in enumerate(query_words) if len(word.pieces) > 1]
    sizes = np.array([[len(query_words[place].pieces)] for place in several], dtype=np.float32).reshape(-1, 1)
    first = weights[0][0]
    joined = np.empty((len(weights), len(weights[0]), len(query_words), len(key_words)), dtype=first.dtype)
    # memory that was never touched is slow: these are used again for each head
    rows = np.empty((len(query_words), first.shape[-1]), dtype=first.dtype)
    for layer, head in np.ndindex(joined.shape[:2]):
        _over(weights[layer][head], queries, 0, out=rows)
        rows[several] /= sizes
        _over(rows, keys, 1, out=joined[layer, head])
    # one mask for all heads is joined once
    alike = tuple(slice(1 if stride == 0 else None) for stride in allowed.strides[:2])
    may = np.stack([_over(_over(layer, queries, 1), keys, 2) for layer in allowed[alike]])
    query_names, key_names = (tuple(word.text for word in words) for words in (query_words, key_words))
    n_rows = tokens.n_rows
    return replace(
        tokens,
        weights=joined.astype(np.float32, copy=False),
        queries=query_names,
        keys=key_names,
        allowed=np.broadcast_to(may, joined.shape),
        special_positions=(
            _special_words(query_words, tokens.special_positions[0]),
            _special_words(key_words, tokens.special_positions[1]),
        ),
        n_rows=n_rows and sum(word.pieces[0] < n_rows for word in query_words),
    )


def _special_words(words: list[Word], positions: Sequence[int]) -> tuple[int, ...]:
    """Return the indices of words that have special tokens only, given the positions of these."""
    known = set(positions)
    return tuple(place for place, word in enumerate(words) if known.issuperset(word.pieces))


def _picked(words: list[Word]) -> list[tuple[list[int], list[int]]]:
    """Return the first tokens of all words, then the second tokens with the indices of the words that have one, and so on."""
    steps = []
    for nth in range(max((len(word.pieces) for word in words), default=1)):
        places = [place for place, word in enumerate(words) if len(word.pieces) > nth]
        steps.append((places, [words[place].pieces[nth] for place in places]))
    return steps


def _over(
    values: Array, picked: list[tuple[list[int], list[int]]], axis: int, out: Array | None = None
) -> Array:
    """Add the values of each word's tokens along an axis, into `out` of the same type; of booleans, whether any is true.

    Most words are one piece: picking these and adding the further ones is several times faster than a product with the
    table of which piece belongs to which word.
    """
    # mode "raise" would fill a copy of `out` first
    sums = values.take(picked[0][1], axis=axis, out=out, mode="clip")
    for places, pieces in picked[1:]:
        sums[(slice(None),) * axis + (places,)] += values.take(pieces, axis=axis)
    return sums


def _one_or_all(layers: list[Array]) -> Array:
    """Stack the layers along a new first axis; without a copy where all are the same array, as masks are."""
    first = layers[0]
    same = all((layer.ctypes.data, layer.strides) == (first.ctypes.data, first.strides) for layer in layers)
    return np.broadcast_to(first, (len(layers), *first.shape)) if same else np.stack(layers)


class RunTrace:
    """The recorded tensors of one text by path: float32 (allowed: bool) numpy without the batch axis, with the padding of a batch."""

    def __init__(
        self, trace: Trace, row: int, gradients: dict[str, Tensor], outputs: Outputs, keep: tuple[str, ...]
    ) -> None:
        self._trace, self._row, self._gradients = trace, row, gradients
        self._outputs, self._keep = outputs, keep

    def __getitem__(self, path: str) -> Array:
        if path not in self._trace and path in self._later(path):
            return _sealed(self._outputs.trace(path).numpy(path)[0])
        return self._unbatched(path, self._trace.numpy(path))

    def __contains__(self, path: object) -> bool:
        return path in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __repr__(self) -> str:
        return f"Trace: {contents(self.names())}"

    def _ipython_key_completions_(self) -> list[str]:
        return self.names()

    def names(self, pattern: str = "*") -> list[str]:
        """Return the recorded paths that match, in the order of the computation; outputs are computed on first access."""
        return [*self._trace.names(pattern), *self._later(pattern)]

    def has_visited(self, path: str) -> bool:
        """Return whether this run computed a value at that path, recorded or not."""
        return path in self._trace.visited or path in self._outputs.paths()

    def axes(self, path: str) -> tuple[str, ...]:
        """Return the axis words of a value, e.g. ('head', 'query', 'key')."""
        trace = (
            self._outputs.trace(path)
            if path not in self._trace and path in self._later(path)
            else self._trace
        )
        return tuple(word for word in trace.axes(path) if word != "batch")

    def _later(self, pattern: str) -> list[str]:
        return [
            path for path in self._outputs.paths(pattern) if any(matches(path, kept) for kept in self._keep)
        ]

    def grad(self, path: str) -> Float[Array, "..."]:
        """Return the gradient of the chosen number for a recorded tensor, in the shape of the tensor (runs with
        grad=...). Raises KeyError for a path without one.
        """
        if path not in self._gradients:
            raise KeyError(
                unknown_path(path, self._gradients) + " Gradients exist in runs with grad='logit:TOKEN'."
            )
        return self._unbatched(path, self._gradients[path].numpy())

    @property
    def nbytes(self) -> int:
        seen = {
            self._trace[path].untyped_storage().data_ptr(): self._trace[path].untyped_storage().nbytes()
            for path in self._trace
        }
        return sum(seen.values()) + sum(grad.nbytes for grad in self._gradients.values())

    def _unbatched(self, path: str, array: Array) -> Array:
        return _sealed(array[self._row] if self._trace.axes(path)[0] == "batch" else array)


def _sealed(array: Array) -> Array:
    """Return a read-only view: a run may be shared by many."""
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True)
class Run:
    """One text run through one model, made by `Model.run`; arrays have no batch axis. `model` is the `core.Model` that ran.

    Of a text that was read beside longer ones, tokens, outputs, states and attention are its own, without padding; `side`, `source` and `trace`
    are those of the batch: its first `side.n_real` positions are the text.
    """

    model: Any  # core.model makes runs, so it stands above this file
    side: TokenSequence
    source: TokenSequence | None
    trace: RunTrace
    target_text: str | None
    outputs: Outputs = field(repr=False)
    _read: list[Any] = field(default_factory=list, repr=False)

    def take_cache(self) -> Any | None:
        """Return the cache (keys and values, or states) of a run made with `reads_on`, and remove it from the run: a second call returns None.

        The caller owns it alone, because it grows with the tokens that the caller writes.
        """
        return self._read.pop() if self._read else None

    def __repr__(self) -> str:
        read = f"{len(self.source.without_padding.ids)} tokens read, " if self.source else ""
        sizes = f"{read}{len(self.ids)} tokens{' written' * bool(read)}, {len(self.trace.names())} values"
        return ", ".join([f"Run: {self.model.name}", sizes, *self.kinds])

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.side.without_padding.tokens

    @property
    def ids(self) -> tuple[int, ...]:
        return self.side.without_padding.ids

    @property
    def spans(self) -> tuple[Span, ...]:
        return self.side.without_padding.spans

    @property
    def segments(self) -> tuple[int, ...]:
        return self.side.without_padding.segments

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of attention of this model, in the order of the computation."""
        return tuple(kind.name for kind in self.model.spec.kinds_of(self.model.config))

    @cached_property
    def logits(self) -> Float[Array, "pos vocab"]:
        """Return the logits, computed on first access.

        Row i is the prediction after input i of a decoder; of a masked language model, for the word at i.
        """
        return self._output("logits")

    @property
    def next_sentence(self) -> Float[Array, " class"]:
        """Return two scores: the second text follows the first (index 0), or comes from elsewhere."""
        return self._output("next_sentence")

    @property
    def sentence_order(self) -> Float[Array, " class"]:
        """Return two scores: the two texts are in their order (index 0), or swapped."""
        return self._output("sentence_order")

    @property
    def pooled(self) -> Float[Array, " d_model"]:
        """Return tanh of a linear map of the first token's last hidden state."""
        return self._output("pooled")

    @property
    def classes(self) -> Float[Array, "*pos class"]:
        """Return the scores of a classifier: of the whole input; of a tuned GPT at each position, where the last counts."""
        return self._output("classes")

    @property
    def scores(self) -> Float[Array, "row choice"]:
        """Return the model's scores before its last softmax, a row for each prediction.

        The logits, or tags; of a model that tells classes of a whole text or picture their scores, in one row, of one that scores a text its
        score; of one that finds answers two rows, where an answer begins and where it ends, over the positions. `choice` names the columns.
        """
        if not self.model.has_scores:
            raise InputError(
                "{name} has no scores.",
                "Scores are of words, classes, tags or answers; {lack}",
                "Read one of its outputs by name.",
                name=self.model.name,
                lack=self.model.lacks("answer"),
            )
        scores = self._output(self.model.main_output)
        if self.model.main_output == "answer":
            return scores.T
        return scores if scores.ndim > 1 else scores[None]

    def choice(self, index: int) -> str:
        """Return the name of a column of `scores`: a token, a class, a tag, "score", or the token at a position, with the position where there are several."""
        if self.model.main_output != "answer":
            return self.model.choice(index)
        token = self.tokens[index]
        return token if self.tokens.count(token) == 1 else f"{token} ({index})"

    @property
    def tags(self) -> Float[Array, "pos tag"]:
        """Return the scores of a model that was tuned to tag words; a word's are those of its first token."""
        return self._output("tags")

    @property
    def answer(self) -> Float[Array, "pos edge"]:
        """Return two scores for each token, of a model tuned to find answers: that the answer starts there, and that it ends there."""
        return self._output("answer")

    @property
    def embedding(self) -> Float[Array, " d_model"]:
        """Return the vector that a sentence embedder gives its text."""
        return self._output("embedding")

    @property
    def score(self) -> Float[Array, " one"]:
        """Return the one number that a reranker or a regression gives its text."""
        return self._output("score")

    def _output(self, name: str) -> Array:
        if name not in self.model.outputs and not hasattr(self.model.network, name):
            raise InputError(
                "{model} has no output '{name}'.",
                "It has {names}.",
                "Use one of them." if self.model.outputs else "Read its trace, or choose another model.",
                model=self.model.name,
                name=name,
                names=", ".join(self.model.outputs) or mark("none"),
            )
        output = self.outputs.value(name).float().numpy()
        return _sealed(self.side.real_rows(output) if output.ndim > 1 else output)

    def hidden(self, side: str | None = None) -> Float[Array, "stage pos d_model"]:
        """Return the residual stream: the input of each layer, and the output of the last.

        In a recurrent network, which has none, the inputs of each layer and the states of the last; where layers put
        features beside those that they read, those that are not there yet are 0. No final norm is in it. `side` is 'encoder' or 'decoder' where the family has both.
        """
        stacks = self.model.spec.stacks
        if not stacks:
            raise InputError(
                "{name} has no layers.",
                "A word's vector is a row of its table.",
                "Read trace['embed.token'].",
                name=self.model.name,
            )
        if side is None:
            if len(stacks) > 1:
                raise InputError(
                    "This model has two stacks.",
                    "hidden(side) needs one of {names}.",
                    "Say which.",
                    names=", ".join(stacks),
                )
            side = next(iter(stacks))
        if side not in stacks:
            raise InputError(
                "There is no side '{side}'.",
                "This model has {names}.",
                "Choose one of them.",
                side=side,
                names=", ".join(stacks),
            )
        stack, (entering, leaving) = stacks[side], self.model.spec.stream
        n = self.model.spec.depth(self.model.config, stack)
        paths = [f"{stack}.{i}.{entering}" for i in range(n)] + [f"{stack}.{n - 1}.{leaving}"]
        read = self.source if side == "encoder" and self.source else self.side
        states = [read.real_rows(self.trace[path]) for path in paths]
        widest = max(values.shape[-1] for values in states)
        return np.stack([np.pad(values, ((0, 0), (0, widest - values.shape[-1]))) for values in states])

    def attention(self, kind: str | None = None, by: str = "token", *, writing: bool = False) -> Attention:
        """Return the attention patterns of one kind, by token or by word. The default is the family's last kind.

        A row belongs to the token that was read there. With `writing` the rows of a decoder are named by the token
        they write instead: the next one, END after the last. By word, the rows of a word's pieces are averaged.
        """
        if not self.kinds:
            raise InputError(
                "{name} has no attention.",
                "In it no word attends to another.",
                "Choose another model.",
                name=self.model.name,
            )
        kind = self.kinds[-1] if kind is None else kind
        if kind not in self.kinds:
            raise InputError(
                "There is no attention '{kind}' in {name}.",
                "It has {names}.",
                "Choose one of them.",
                kind=kind,
                name=self.model.name,
                names=", ".join(self.kinds),
            )
        if by not in ("token", "word"):
            raise InputError(
                "by='{by}' is unknown.",
                "Attention is given by 'token' or by 'word'.",
                "Choose one of them.",
                by=by,
            )
        kind_spec = self.model.spec.kind(kind)
        paths = tuple(
            kind_spec.path(layer, "pattern") for layer in range(kind_spec.n_layers(self.model.config))
        )
        queries, keys = self.axis(kind_spec.queries), self.axis(kind_spec.keys)
        # of several texts in one batch another may be longer, or have more sentences
        own = (slice(None), slice(len(queries.ids)), slice(len(keys.ids)))
        layers = [self.trace[path][own] for path in paths]
        allowed = _one_or_all(
            [self.trace[kind_spec.path(layer, "allowed")][own] for layer in range(len(layers))]
        )
        writes = writing and queries is self.side.without_padding and not self.model.spec.framed
        n_rows = queries.n_real - writes
        queries = queries.next_tokens() if writes else queries
        special = queries.special_positions, keys.special_positions
        named = Attention(kind, NONE, queries.tokens, keys.tokens, allowed, paths, special, n_rows)
        if by == "word":
            return by_word(named, layers, queries.words, keys.words)
        return replace(named, weights=np.stack(layers))

    def axis(self, name: str) -> TokenSequence:
        """Return the labels along an axis of a kind of attention, as a `Side` without padding; for the names see `core.models.Kind`."""
        if name not in self._axes:
            made = {"sentence": self.side.as_sentences, "document": self.side.as_document}
            self._axes[name] = made[name]() if name in made else self.side.without_padding
        return self._axes[name]

    @cached_property
    def _axes(self) -> dict[str, TokenSequence]:
        return {} if self.source is None else {"source": self.source.without_padding}

    @property
    def nbytes(self) -> int:
        """Return the bytes of memory in use, for the engine's budget."""
        as_asked = len(self.ids) * self.model.config.n_vocab * 4  # as large as they will be once someone asks
        logits = as_asked if "logits" in self.model.outputs else 0
        return self.trace.nbytes + self.outputs.nbytes + logits
