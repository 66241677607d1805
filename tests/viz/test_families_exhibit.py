"""Three families over one sentence: masks, one word changed, who moves whom, two chains, the table; compared with reach and the masks."""

from __future__ import annotations

import numpy as np
import pytest

import core
from core.analysis.residual.ripple import reach
from viz.course.exhibit import fill_in
from viz.course.gpt.families import exhibit
from viz.course.gpt.families.data import BERT, BOTH, GPT, Data, read
from viz.course.gpt.families.exhibit import (
    Params,
    chains,
    masks,
    measured_influence,
    ripple,
    table,
    who_moves_whom,
)


@pytest.fixture(scope="module")
def data() -> Data:
    return exhibit.compute(Params())


@pytest.fixture
def word(monkeypatch: pytest.MonkeyPatch):
    """Choose the word that is changed."""
    return lambda number: monkeypatch.setattr(exhibit, "chosen_word", lambda data: number)


def test_masks_and_the_answer_follow_the_sentence(data: Data) -> None:
    for one in (data, read("We ate.")):
        n = len(core.open_model(GPT).run(one.text).tokens)
        view = masks(Params(), one)
        assert view.answer == str(n * (n + 1) // 2) == str(view.rows.to_numpy().sum())
    m = len(data.both.outputs)
    assert data.bert.allowed.all() and np.array_equal(data.gpt.allowed, np.tri(len(data.gpt.inputs)))
    assert data.both.allowed[:, :-m].all() and np.array_equal(data.both.allowed[:, -m:], np.tri(m))


def test_one_word_moves_what_comes_after_it(data: Data, word) -> None:
    for number, answer in ((4, "its own and all after"), (0, "all"), (5, "only its own")):
        word(number)
        view = ripple(Params(), data)
        assert view.answer == answer
    n = len(data.gpt.outputs)
    assert f"GPT 1 of {n}" in view.summary and f"BERT {n + 2} of {n + 2}" in view.summary
    assert (view.rows.iloc[:, :-1] == 0).all(axis=None) and (view.rows.iloc[:, -1] > 0).all()


@pytest.mark.slow
def test_who_moves_whom_is_what_the_masks_allow(data: Data) -> None:
    """C110, E39."""
    view = who_moves_whom(Params(), data)
    assert view.answer == str(len(data.both.outputs)) and "are the same" in view.summary
    for name, model in (("bert", BERT), ("gpt", GPT)):
        np.testing.assert_array_equal(view.arrays[name], reach(core.open_model(model).run(data.text)))
    run = core.open_model(BOTH).run(data.text)
    np.testing.assert_array_equal(view.arrays["both"], np.concatenate([reach(run, "source"), reach(run)], 1))
    names: dict = {}
    exec(fill_in(exhibit.EXHIBIT.text.steps[2].code, view.code, Params(), data), names)
    np.testing.assert_array_equal(names["found"], measured_influence(Params(), data).pattern("both"))


def test_two_chains_hear_one_side_each(data: Data, word) -> None:
    n = len(data.words)
    for number in (1, 4):
        word(number)
        view = chains(Params(), data)
        assert view.answer == str(number + 1)
    assert np.array_equal(view.rows, np.tri(n)) and f"joined {n * n} of {n * n}" in view.summary


def test_the_table_counts_what_moves_each(data: Data, word) -> None:
    """C110."""
    word(2)
    view, source = table(Params(), data), len(data.both.inputs) - len(data.both.outputs)
    assert view.answer == "8 and 3"
    assert view.rows.to_numpy().tolist() == [[8, 8], [3, 6], [6, 6], [source + 1, len(data.both.inputs)]]
