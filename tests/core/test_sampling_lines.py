"""The way of a candidate through the filters: what is written there is read and calculated again."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import core
from core.decoding import Beam, Greedy, Sample, Step, decode
from core.decoding.choose import Candidate, choose
from core.decoding.filters import MinP, RepetitionPenalty, Temperature, TopK, TopP
from core.models import Batch, families
from tests.core.decoding_helpers import build, recurrent
from viz.workspace.decode.cache_cost import cached_arrays, products, timed
from viz.workspace.decode.sampling_arithmetic import Way, title, way

STRATEGIES = [
    Greedy(),
    Sample(temperature=0.8, seed=1),
    Sample(temperature=0.05, seed=2),
    Sample(temperature=2.0, top_k=40, seed=3),
    Sample(temperature=0.7, top_k=15, top_p=0.8, min_p=0.03, repetition_penalty=1.3, seed=4),
    Sample(temperature=0, repetition_penalty=1.7),
    Sample(top_p=0.0, seed=5),
    Sample(temperature=1.3, min_p=0.2, repetition_penalty=0.6, seed=6),
]


@pytest.fixture(scope="module")
def told() -> list[tuple[object, Step, Candidate, Way]]:
    """Every listed candidate of a few steps of each strategy."""
    model = core.open_model("gpt-mini")
    steps = [
        (strategy, step)
        for strategy in STRATEGIES
        for step in decode(model, "The king said to the king", strategy, max_new_tokens=4)
    ]
    return [(strategy, step, one, way(one, step)) for strategy, step in steps for one in step.candidates]


def read(text: str) -> float:
    number, _, tens = text.strip().replace(",", "").replace("−", "-").partition("·10^{")
    return float(f"{number}e{tens.rstrip('}') or 0}".replace("∞", "inf").replace("infe0", "inf"))


def half(text: str) -> float:
    number, _, tens = text.replace("−", "-").partition("·10^{")
    return 0.5001 * 10.0 ** (int(tens.rstrip("}") or 0) - len(number.partition(".")[2]))


def calculated(put: str) -> float:
    """What a reader with a pocket calculator gets."""
    if power := re.fullmatch(r"e\^\{(.*)\}", put):
        return math.exp(read(power[1]))
    if cooled := re.fullmatch(r"\((\S+) ([−+]) (\S+)\) / (\S+)", put):
        z, sign, top, by = cooled.groups()
        return (read(z) + (read(top) if sign == "+" else -read(top))) / read(by)
    a, sign, b = re.fullmatch(r"(\S+) ([/·]) (\S+)", put).groups()
    return read(a) / read(b) if sign == "/" else read(a) * read(b)


def test_every_line_is_true_as_it_stands(told):
    checked = 0
    for _, _, _, one in told:
        for stage in one.stages:
            if re.search(r" [/·] |\^", stage.put) and stage.result != "cut":
                assert abs(calculated(stage.put) - read(stage.result)) <= half(stage.result), stage
                checked += 1
    assert checked > 2 * len(told)


def test_each_line_goes_on_with_the_result_before_it(told):
    for _, _, _, one in told:
        now = one.stages[0].result
        for stage in one.stages[1:-2]:
            first = re.match(r"\(?([−\d.]+) ", stage.put)
            assert first is None or first[1] == now
            now = stage.result
        *_, power, part = one.stages
        assert power.put == f"e^{{{'−∞' if now == 'cut' else now}}}" and part.put.startswith(
            f"{power.result} / "
        )


def test_it_ends_in_the_probability_that_the_choice_was_made_from(told):
    for _, step, candidate, one in told:
        last = one.stages[-1].result
        assert abs(read(last) - candidate.after) <= half(last)
        assert (candidate.after < 1) == (read(last) < 1) or candidate.after > 1 - 1e-12
        assert one.line.endswith(f"= {last}") == (candidate.cut_by is None)
        assert f"over {step.n_kept:,}" in one.stages[-1].name


def test_all_filters_that_are_on_are_named_until_one_cuts(told):
    for strategy, _, candidate, one in told:
        names = [title(each) for each in strategy.filters]
        found = [stage.name for stage in one.stages[1:-2]]
        assert found == (names if candidate.cut_by is None else names[: len(found)]) and all(
            name in one.line for name in found
        )
        assert bool(one.rule) == (candidate.cut_by is not None)


def test_a_removed_token_says_which_filter_and_by_what_rule(told):
    rules = {
        "top_k": r"top-k (\d+): it is ([\d,]+)(?:st|nd|rd|th)",
        "top_p": r"top-p ([\d.]+): those before it have ([\d.]+) together",
        "min_p": r"min-p ([\d.]+): it has ([\d.]+) of the most probable one's",
    }
    seen = set()
    for _, _, candidate, one in told:
        if candidate.cut_by is None:
            continue
        limit, number = map(read, re.fullmatch(rules[candidate.cut_by], one.rule).groups())
        assert (
            number < limit
            if candidate.cut_by == "min_p"
            else number >= limit
            if candidate.cut_by == "top_p"
            else number > limit
        )
        seen.add(candidate.cut_by)
    assert seen == set(rules)


def test_measures_are_those_that_the_filters_decide_by():
    z = np.random.default_rng(4).normal(size=200).round(1) * 3  # with equals
    at = range(200)
    assert (np.isneginf(TopK(40)(z)) == (TopK(40).measure(z, (), at) > 40)).all()
    assert (np.isneginf(TopP(0.8)(z)) == (TopP(0.8).measure(z, (), at) >= 0.8)).all()
    assert (np.isneginf(MinP(0.1)(z)) == (MinP(0.1).measure(z, (), at) < 0.1)).all()
    assert (
        (RepetitionPenalty(1.5)(z, [3, 9, 3]) != z) == (RepetitionPenalty(1.5).measure(z, [3, 9, 3], at) == 1)
    ).all()
    assert np.allclose((z - Temperature(0.5).measure(z, (), at)) / 0.5, Temperature(0.5)(z))


@pytest.mark.parametrize(
    "z", [[900.0, 880.0, 0.0], [-900.0, -905.0, -2000.0], [0.0, 0.0, 0.0], [3.0, -math.inf, 1.0]]
)
def test_scores_of_any_size_can_be_told(z):
    for filters in ((), (RepetitionPenalty(1.2), Temperature(0.01))):
        choice = choose(np.array(z), "abc".__getitem__, filters=filters, ids=[0])
        for candidate in choice.candidates:
            last = way(candidate, choice).stages[-1].result
            assert abs(read(last) - candidate.after) <= half(last)


def test_a_beam_has_no_filters_and_ends_in_the_probability_by_the_model():
    step = next(decode(core.open_model("gpt-mini"), "Once upon a", Beam(2)))
    for candidate in step.candidates:
        last = way(candidate, step).stages[-1].result
        assert abs(read(last) - candidate.before) <= half(last)


# ---------------- What a cache holds, against a decoding's; the closed form of products, against every product of a real pass.


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
