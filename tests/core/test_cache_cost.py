"""What a cache holds, against a decoding's; the closed form of products, against every product of a real pass."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import core
from core.decoding import decode
from core.models import Batch, families
from tests.core.decoding_helpers import build, recurrent
from viz.workspace.decode.cache_cost import cached_arrays, products, timed

SHAPES = {
    "gpt": {},
    "gpt-post": {"order": "post"},
    "gpt-bare": {"attention_only": True},
    "transformer": {},
    "transformer-pre": {"order": "pre"},
}


def random(name):
    family = families()[name.split("-")[0]]
    config = replace(family.config.tiny(), **SHAPES[name])
    names = build("gpt").tokenizer
    return core.Model(name, family, config, family.network(config), names)


def counted(model, n, source, cached):
    """Multiply-adds of one real forward: (linear maps, products of attention)."""
    ids, words = torch.ones(1, n, dtype=torch.long), torch.ones(1, source, dtype=torch.long)
    more = {"source": words, "source_real": words > 0} if model.spec.has_source else {}
    network = model.network.requires_grad_(
        True
    )  # frozen maps use the processor's own layout, which the counter does not know
    given = {"memory": network.encode(Batch(ids=ids, real=ids > 0, **more))} if more else {}

    def forward(some, cache=None):
        return network.logits(network(Batch(ids=some, real=some > 0, **more), cache=cache, **given)[:, -1:])

    with torch.no_grad():
        cache = network.new_cache() if cached else None
        if cached and n > 1:
            forward(ids[:, :-1], cache)
        with FlopCounterMode(display=False) as counter:
            forward(ids[:, -1:] if cached else ids, cache)
    by = {str(op): flops // 2 for op, flops in counter.get_flop_counts()["Global"].items()}
    attention = sum(flops for op, flops in by.items() if "bmm" in op)
    network.requires_grad_(False)
    return sum(by.values()) - attention, attention


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    ("n", "source", "cached"),
    [(1, 5, True), (7, 5, True), (13, 3, True), (1, 5, False), (7, 5, False), (13, 3, False)],
)
def test_the_closed_form_counts_every_product(name, n, source, cached):
    model = random(name)
    found = products(model, n, cached=cached, source=source)
    maps, attention = counted(model, n, source, cached)
    assert (found.projections + found.feed_forward + found.logits, found.scores + found.mixing) == (
        maps,
        attention,
    )
    assert found.total == maps + attention and (found.feed_forward == 0) == (name == "gpt-bare")


@pytest.mark.parametrize(
    "model", [build("gpt"), build("transformer"), recurrent("bahdanau")], ids=lambda model: model.name
)
def test_what_is_held_is_what_a_decoding_holds(model):
    text = "the old cat"
    n_text = len(model.tokenizer.encode(text).ids)
    first = 1 if model.spec.has_source else n_text
    for step in decode(model, text, max_new_tokens=4):
        found = cached_arrays(model, first + step.index, n_text)
        assert sum(each.nbytes for each in found) == step.cache_bytes
    keys = [each for each in found if each.kind == "causal" and each.part == "keys"]
    shape = (1, model.config.n_heads, first + step.index, model.config.d_head)
    assert [each.shape for each in keys] == [shape] * (
        model.config.n_layers if model.name != "bahdanau" else 0
    )


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_times_come_one_by_one_by_the_clock_given(name):
    ticks = count()
    model = build(name)
    rows = timed(model, [3, 4, 5, 6, 7], [1, 5], source=[3, 4], repeats=2, clock=lambda: float(next(ticks)))
    assert next(ticks) == 0
    assert next(rows) == next(timed(model, [3], [1], source=[3], clock=lambda: float(next(ticks))))
    used = next(ticks)
    row = next(rows)
    assert (row.n, row.cached, row.uncached) == (5, 1.0, 1.0) and next(
        ticks
    ) == used + 1 + 2 * 2 * 3  # a warm one and two, twice
    assert list(rows) == [] and not torch.is_inference_mode_enabled()


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: cached_arrays(m, 0),
        lambda m: cached_arrays(m, 42),
        lambda m: products(m, 42, cached=True),
        lambda m: timed(m, [3, 4], [3]),
        lambda m: timed(m, [3, 4], []),
        lambda m: timed(m, [3, 4], [0]),
        lambda m: timed(m, [3, 4], [1], repeats=0),
    ],
)
def test_what_cannot_be_counted_is_said_at_once(ask):
    with pytest.raises(core.InputError):
        ask(build("gpt"))
    with pytest.raises(core.InputError):
        products(recurrent("bahdanau"), 3, cached=True)
