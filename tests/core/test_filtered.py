"""The way of a candidate through the filters: what is written there is read and calculated again."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import core
from core.decoding import Beam, Greedy, Sample, Step, decode
from core.decoding.choose import Candidate, choose
from core.decoding.filters import MinP, RepetitionPenalty, Temperature, TopK, TopP
from viz.number_text import ordinal
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


def test_places_are_said_as_people_say_them():
    assert [ordinal(n) for n in (1, 22, 13, 103, 1011)] == ["1st", "22nd", "13th", "103rd", "1,011th"]
