"""What Decode shows is what the core wrote: steps, sentences, bars, tables and lines of Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shown_values import states
from test_decode import CAR, FAMILY, N_CTX
from test_decode import engine as engine  # the fixture
from test_decode_beam import printed

from core.decoding import Greedy, Sample, decode
from core.errors import InputError
from viz.workspace.decode import controls, folds, pictures, player
from viz.workspace.decode.page import Params, compute

GPT = Params(model="gpt-mini")


def test_the_sentence_says_what_happened(engine):
    data = compute(replace(GPT, temperature=1.3, top_k=9, seed=4, n=3))
    said, step = pictures.sentence(data), data.last
    assert f"{step.draw.u:.3f}" in said and f"{step.entropy / np.log(2):.2f} bits" in said
    assert states(pictures.sentence(compute(Params(**CAR))), "translator-en-es", "start")


def test_a_text_that_goes_round_in_circles_is_told(engine):
    data = compute(replace(GPT, n=5))

    def said(tokens: str) -> str:
        steps = tuple(replace(data.last, token=token) for token in tokens)
        return pictures.sentence(replace(data, steps=steps))

    assert not states(said("cbcbc"), "times") and states(said("cbcbcbc"), "“cb” 3 times")


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize("temperature", [0.0, 1.2])
def test_the_page_shows_the_steps_of_the_core(engine, model, temperature):
    text = CAR["text"]
    got = compute(Params(model=model, text=text, temperature=temperature, top_k=12, top_p=0.9, seed=6, n=5))
    strategy = Sample(1.2, 12, 0.9, 6) if temperature else Greedy()
    want = list(decode(engine.models[model], text, strategy, max_new_tokens=5))
    assert [(step.id, step.text) for step in got.steps] == [(step.id, step.text) for step in want]
    for a, b in zip(got.steps, want, strict=True):
        for kind in a.attention:
            np.testing.assert_allclose(a.attention[kind], b.attention[kind], atol=1e-6)


def test_a_step_forward_is_computed_once_and_a_step_back_not_at_all(engine):
    costs = []
    for n in (1, 2, 3, 4, 3, 2, 3, 4, 5, 5):
        before = engine.forwards
        assert len(compute(replace(GPT, n=n)).steps) == n
        costs.append(engine.forwards - before)
    assert costs[1:] == [1, 1, 1, 0, 0, 0, 0, 1, 0]


@pytest.mark.slow
def test_steps_beyond_the_end_are_not_shown(engine):
    data = compute(replace(GPT, n=10**6))
    assert data.last.done and len(data.steps) <= player.MOST


def test_a_long_prompt_is_read_from_its_end(engine):
    text = "the king said to the old man " * 60
    window = compute(replace(GPT, text=text)).window
    assert window.tokens <= N_CTX - min(player.MOST, N_CTX // 2) < window.total
    assert text.endswith(window.text)
    with pytest.raises(InputError):
        compute(Params(model="translator-en-es", text=text))


def test_rows_are_one_heads_or_the_mean(engine):
    steps = compute(replace(GPT, n=3)).steps
    mean, allowed = pictures.rows(steps, "causal", controls.ALL)
    one, _ = pictures.rows(steps, "causal", (1, 2))
    np.testing.assert_allclose(mean.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(mean[1][allowed[1]], steps[1].attention["causal"].mean((0, 1)), atol=1e-6)
    np.testing.assert_allclose(one[2], steps[2].attention["causal"][1, 2], atol=1e-6)
    assert allowed.sum(1).tolist() == [len(step.keys["causal"]) for step in steps]
    assert not mean[~allowed].any()


@pytest.mark.parametrize(("temperature", "top_k"), [(0.0, 0), (1.0, 5), (1.5, 0)])
def test_bars_of_a_step_add_up_to_one(engine, temperature, top_k):
    shown = pictures.bars(compute(replace(GPT, temperature=temperature, top_k=top_k, n=2)).last)
    bars, (n_others, _, after) = shown["bars"], shown["others"]
    assert sum(bar.after for bar in bars) + after == pytest.approx(1)
    assert n_others + len(bars) == 320 and shown["taken_id"] in {bar.id for bar in bars}
    for bar in bars:
        assert bar.way.line.startswith("logit ") and bool(bar.way.rule) == bool(bar.cut_by)


def test_the_table_and_the_arrays_hold_what_each_filter_made_of_the_scores(engine):
    data = compute(replace(GPT, temperature=1.2, top_k=5, n=1))
    table, scores = folds.candidate_table(data.last), folds.arrays(data, controls.ALL)["candidate_scores"]
    assert table.columns.tolist()[2:5] == ["logit", "temperature 1.2", "top-k 5"]
    np.testing.assert_allclose((table["logit"] - table["logit"].max()) / 1.2, table["temperature 1.2"])
    assert scores.shape == (len(table), 2) and (scores[:, 1] == table["top-k 5"]).all()
    cut = ["", "top-k 5: it is 6th", "top-k 5: it is 7th"]
    assert np.isneginf(scores[5:, 1]).all() and table["cut by"].tolist()[4:7] == cut


def test_tables_arrays_and_code_agree_with_the_steps(engine):
    p = Params(model="translator-en-es", text="a car", temperature=1.1, n=4)
    data = compute(p)
    assert folds.step_table(data.steps)["id"].tolist() == [step.id for step in data.steps]
    assert folds.candidate_table(data.last)["taken"].sum() == 1
    found = folds.arrays(data, controls.ALL)
    assert found["attention_cross"].shape == (len(data.steps), len(data.last.keys["cross"]))
    assert found["candidate_before"][0] == data.last.candidates[0].before
    assert [text for _, _, text in printed(p, data, engine)] == [step.text for step in data.steps]
