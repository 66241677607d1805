"""The cost and the savings of a cache of keys and values: its arrays, the products of a token, seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import astuple, dataclass, replace
from statistics import median
from typing import Any

import torch
from torch import Tensor

from core.errors import InputError
from core.layers.cache import Cache, Store
from core.model import Model
from core.models import Batch
from viz.languages import _


@dataclass(frozen=True)
class CachedArray:
    """One array of a cache: its `part` ("keys", "values", or a state's name), of which `layer` and `kind` of
    attention ("causal", "cross"; "" of a recurrent state), its `shape` (batch head key d_head), its bytes."""

    layer: int | None
    kind: str
    part: str
    shape: tuple[int, ...]
    nbytes: int


def cached_arrays(model: Model, n: int, source: int = 1) -> tuple[CachedArray, ...]:
    """Return the arrays of `network.new_cache()` when `n` tokens were read (after `source` tokens of a sentence, of a translator).

    Read from a cache that was really filled. Keys and values grow by 2 * n_layers * d_model numbers a token; states of
    a recurrent network do not grow. Raises InputError for a model that writes nothing or an n it cannot read.

    >>> import core
    >>> found = cached_arrays(core.open_model("prompt-tiny"), 5)
    >>> found[0], sum(each.nbytes for each in found)
    (CachedArray(layer=0, kind='causal', part='keys', shape=(1, 4, 5, 16), nbytes=1280), 7680)
    """
    _check(model, [n], source)
    cache = _Reading(model, [0] * n, [0] * source).filled(n)
    if not isinstance(cache, Cache):
        return tuple(_state(name, value) for name, value in cache.values.items())
    stores: tuple[tuple[str, Sequence[Store]], ...] = (
        ("causal", cache.self_attn),
        ("cross", cache.cross_attn),
    )
    return tuple(
        CachedArray(layer, kind, part, tuple(value.shape), value.nbytes)
        for layer in range(len(cache.self_attn))
        for kind, each in stores
        for part, value in zip(("keys", "values"), each[layer].tensors() or (), strict=False)
    )


def _state(name: str, value: Tensor) -> CachedArray:
    layer = int(name.split(".")[1]) if name.startswith("layer.") else None
    return CachedArray(layer, "", name.rpartition(".")[2], tuple(value.shape), value.nbytes)


@dataclass(frozen=True)
class Products:
    """Multiply-adds of one token, by what they are for. Bias, norms, softmax, activations and tables are no products."""

    projections: int
    scores: int
    mixing: int
    feed_forward: int
    logits: int

    @property
    def total(self) -> int:
        return sum(astuple(self))


def products(model: Model, n: int, *, cached: bool, source: int = 1) -> Products:
    """Return the multiply-adds of reading token `n` (counted from 1) and scoring the next one.

    With d = d_model, f = d_ff, L = n_layers, V = n_vocab, and r the rows that go through the layers (1 with a cache,
    else all n of them):

        projections  L * 4 r d^2        W_Q, W_K, W_V, W_O                  scores, mixing  L * r n d each: q k^T, and a v
        feed-forward L * 2 r d f        (0 in a model without)              logits          d V: only the last row is asked

    A decoder that looks across at a source of s tokens adds, in each layer, r 2 d^2 for its queries and outputs, r s d
    for scores and for mixing, and 2 s d^2 for keys and values of the source: each time, or with a cache at n = 1 only.
    Its encoder is not in it: it reads once either way. Forbidden cells are counted: they are computed, then masked.
    Cf. Vaswani et al. 2017, table 1: n^2 d against n d^2 a layer.
    Raises InputError for a model without keys and values, or an n it cannot read.

    >>> import core
    >>> tiny = core.open_model("prompt-tiny")
    >>> [products(tiny, n, cached=True).total for n in (1, 2)], products(tiny, 2, cached=False).total
    ([151616, 152000], 300224)
    """
    _check(model, [n], source)
    _check_keys(model)
    cfg = model.config
    d, rows = cfg.d_model, 1 if cached else n
    across = rows * source * d if model.spec.has_source else 0
    projections = rows * 4 * d * d
    if model.spec.has_source:
        projections += rows * 2 * d * d + (0 if cached and n > 1 else 2 * source * d * d)
    hidden = 0 if getattr(cfg, "attention_only", False) else 2 * rows * d * cfg.d_ff
    attention = rows * n * d + across
    times = getattr(cfg, "decoder_layers", cfg.n_layers)
    return Products(
        times * projections, times * attention, times * attention, times * hidden, d * cfg.n_vocab
    )


@dataclass(frozen=True)
class Timing:
    """Seconds (the median) of token `n`: with keys and values kept, and with everything read again."""

    n: int
    cached: float
    uncached: float


def timed(
    model: Model,
    ids: Sequence[int],
    lengths: Sequence[int],
    *,
    source: Sequence[int] = (0,),
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Timing]:
    """Measure the token at each of `lengths`, one row whenever it is asked for; closing the iterator stops the work.

    Reading token n and scoring what follows, behind ids[:n - 1] that were read before (the copying of the held arrays
    is in it: real caches grow by copying) or together with them. The encoder of a translator reads `source` once and is
    not measured. Each length runs once before it is measured. `clock` is the wall; on a machine that does other work,
    too, `time.thread_time` counts this work alone (with one thread of torch).
    Raises InputError at once: lengths beyond the ids or the model, no repeats, a model that writes nothing.
    """
    _check(model, lengths, len(source))
    if max(lengths) > len(ids):
        raise InputError(
            _("Length {n:,} is asked for.", n=max(lengths)),
            _("There are {n:,} tokens.", n=len(ids)),
            _("Give more tokens, or shorter lengths."),
        )
    if repeats < 1:
        raise InputError(
            _("repeats is {n}.", n=repeats), _("A time is measured once or more."), _("Choose 3.")
        )
    return _timings(_Reading(model, ids, source), lengths, repeats, clock)


def _timings(
    reading: _Reading, lengths: Sequence[int], repeats: int, clock: Callable[[], float]
) -> Iterator[Timing]:
    for n in lengths:
        before = reading.filled(n - 1)
        kept, uncached = (
            [reading.seconds(n, cache, clock) for _ in range(1 + repeats)][1:] for cache in (before, None)
        )
        yield Timing(n, median(kept), median(uncached))


class _Reading:
    """One network and the tokens that it is given; of a translator the source is encoded once."""

    def __init__(self, model: Model, ids: Sequence[int], source: Sequence[int]) -> None:
        self._network, self._ids = model.network, torch.tensor([list(ids)])
        self._batch, self._more = Batch(ids=self._ids, real=self._ids >= 0), {}
        if model.spec.has_source:
            words = torch.tensor([list(source)])
            self._batch = replace(self._batch, source=words, source_real=words >= 0)
            with torch.inference_mode():
                self._more = {"memory": self._network.encode(self._batch)}

    @torch.inference_mode()
    def filled(self, n: int) -> Any:
        """Return a cache that has read the first n tokens."""
        cache = self._network.new_cache()
        if n:
            self._forward(0, n, cache)
        return cache

    @torch.inference_mode()
    def seconds(self, n: int, before: Any, clock: Callable[[], float]) -> float:
        """Measure how long token n takes after a cache of n - 1 tokens (which stays as it is), or without one."""
        cache = None if before is None else deepcopy(before)
        begun = clock()
        self._network.logits(self._forward(0 if before is None else n - 1, n, cache)[:, -1:])
        return clock() - begun

    def _forward(self, first: int, last: int, cache: Any) -> Tensor:
        ids = self._ids[:, first:last]
        return self._network(
            replace(self._batch, ids=ids, real=torch.ones_like(ids, dtype=torch.bool)),
            cache=cache,
            **self._more,
        )


def _check(model: Model, lengths: Sequence[int], source: int) -> None:
    if not model.spec.writes:
        raise InputError(
            _("{model} does not generate text.", model=model.name),
            _("A KV cache is for models that generate text token by token."),
            _("Choose another model."),
        )
    if not lengths:
        raise InputError(
            _("No length is given."), _("A token has a place in a text."), _("Give one or more.")
        )
    for what, length in (
        (_("The shortest text"), min(lengths)),
        (_("The longest text"), max(lengths)),
        (_("The source"), source),
    ):
        if not 1 <= length <= model.config.n_ctx:
            raise InputError(
                _("{subject} has {n:,} tokens.", subject=what, n=length),
                _("{model} reads 1 to {n:,}.", model=model.name, n=model.config.n_ctx),
                _("Choose a length in between."),
            )


def _check_keys(model: Model) -> None:
    if not any(kind.name == "causal" for kind in model.spec.kinds):
        rule = _("Its decoder keeps states, which do not grow, and no keys of its own words.")
        raise InputError(
            _("{model} has no cache of keys and values.", model=model.name),
            rule,
            _("Choose a Transformer or a GPT."),
        )
