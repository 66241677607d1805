"""The exhibit on convolution and attention: each number that it says is computed again in runs of the shipped networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, instruments, said
from exhibit_visits import answered
from shown_values import states

import core
from core.data.episodes import TASKS
from core.edits import Scale
from core.models import Batch
from core.scoring.episodes import correct_answers, range_name
from viz.course.self_attention.convolution_and_attention import maths
from viz.course.self_attention.convolution_and_attention.params import LAYERS, Params
from viz.labels import percent

PAIRS = "k3F m7Q k7B m3R k7?"
page = StepPages("convolution_and_attention", shared=())


def chance(text: str, sign: str, **parts: bool) -> float:
    model = core.open_model(maths.MODEL)
    logits = model.run(text, edits=maths.edits(**parts) if parts else ()).logits[-1]
    e = np.exp(logits - logits.max())
    return float(e[model.tokenizer.encode(sign).ids[0]] / e.sum())


def test_the_text_itself_says_what_is_right():
    for task in TASKS:
        for draw in range(12):
            signs = maths.signs_of(maths.example(task, draw))
            found = maths.truth(signs)
            assert found is not None and signs[found.place] == found.answer
    assert maths.signs_of("ab" * 30 + " k7?").endswith("bk7?")
    assert maths.truth("hello") is None and maths.truth("a1?") is None and maths.truth("?") is None


@pytest.mark.quick(1)
@pytest.mark.parametrize("text", [PAIRS, maths.example("recall", 2), maths.example("classes", 2)])
def test_the_bars_are_the_probabilities_of_three_runs(text):
    right = maths.truth(maths.signs_of(text)).answer
    wanted = [
        chance(text, right),
        chance(text, right, convolves=True, attends=False),
        chance(text, right, convolves=False, attends=True),
    ]
    before = page(own=text)
    assert bar_labels(before)[1:] == ["?", "?"]
    rows = drawn_rows(answered(before), "value")
    assert [row["value"] for row in rows] == pytest.approx(wanted, abs=1e-5)


def test_off_means_that_a_kind_of_block_puts_zeros_beside_its_input():
    model = core.open_model(maths.MODEL)
    for part, pattern in (("attention", "layer.*.self_attn.out"), ("convolutions", "layer.*.dense.*.gated")):
        assert maths.OFF[part] == Scale(pattern, 0.0)
        trace = model.run(PAIRS, edits=[maths.OFF[part]]).trace
        named = [path for path in trace if core.trace.matches(path, pattern)]
        assert named and all((trace[path] == 0).all() for path in named)


def test_the_tree_is_the_field_that_gradients_find():
    """C062."""
    model, steps = core.open_model(maths.MODEL + "-convolutions"), maths.dilations()
    fields = {model.config.field, core.open_model(maths.MODEL).config.field}
    assert {maths.reach(steps)} == {1 + sum(steps)} == fields
    n, at = 48, 44
    reached = model.run("a" * n, keep=("embed.token",), grad=lambda logits: logits[at].square().sum())
    slope = np.abs(reached.trace.grad("embed.token")).sum(-1)
    levels = maths.tree(steps, at)
    assert levels[0] == tuple(range(at - sum(steps), at + 1)) and levels[-1] == (at,)
    for below, above, step in zip(levels, levels[1:], steps, strict=False):
        assert set(below) == {place for top in above for place in (top, top - step) if place >= 0}
    assert np.flatnonzero(slope).tolist() == list(levels[0])


@pytest.mark.quick(1)
@pytest.mark.parametrize("at", [3, 20, 38])
def test_another_sign_moves_the_top_inside_the_field_and_nowhere_else(at):
    """C062: the shade of the signs, against runs of one sentence each."""
    signs, steps = maths.signs_of(maths.example("recall", 2)), maths.dilations()
    found = maths.sensitivity(signs, at, attends=False)
    inside = maths.tree(steps, at)[0]
    assert np.flatnonzero(found).tolist() == list(inside) and found.max() == 1

    def top(text: str) -> np.ndarray:
        run = core.open_model(maths.MODEL).run(text, edits=maths.edits(True, False))
        return run.trace["layer.1.dense.3.gated"][at]

    sizes = np.array(
        [
            np.linalg.norm(top(signs[:place] + maths.other(signs[place]) + signs[place + 1 :]) - top(signs))
            for place in inside
        ]
    )
    np.testing.assert_allclose(found[list(inside)], sizes / sizes.max(), atol=1e-3)
    with_attention = maths.sensitivity(signs, at)
    assert (with_attention[: at + 1] > 0).all() and (with_attention[at + 1 :] == 0).all()


@pytest.mark.slow
def test_the_field_stands_beside_the_attention_map_and_both_can_be_switched_off():
    """C062."""
    signs = Params().signs
    truth, last = maths.truth(signs), len(signs) - 1

    def lit(test) -> set[int]:
        return {dot["x"] for dot in drawn_rows(test, mark="circle") if dot["lit"] and dot["y"] == 0}

    both = answered(page(3))
    assert lit(both) == set(maths.tree(maths.dilations(), last)[0])
    assert [word["text"] for word in drawn_rows(both, mark="text")] == list(signs)
    (heatmap,) = instruments(both)
    pattern = core.open_model(maths.MODEL).run(signs).attention("causal").weights[LAYERS - 1, 0]
    assert int(pattern[-1].argmax()) == truth.place and ": the answer." in said(both)
    assert heatmap["title"] == "attention, layer 1" and tuple(heatmap["shape"]) == pattern.shape
    for off in ("convolves", "attends"):
        test = answered(page(3, **{off: "0"}))
        alone = chance(signs, truth.answer, **{"convolves": True, "attends": True, off: False})
        assert states(said(test), f"“{truth.answer}”", percent(alone))
        assert (lit(test) == {last}) == (off == "convolves")
        assert instruments(test)[0]["title"].endswith("switched off") == (off == "attends")
    assert "With neither" in said(answered(page(3, attends=0, convolves=0)))


@pytest.mark.slow
def test_the_three_networks_are_measured_on_the_same_fresh_texts():
    found, items = maths.compared(5, each=40), maths.held_out(40, 5)
    for parts, name in maths.TRAINED.items():
        model = core.open_model(name)
        assert model.config.parts == parts
        for task, texts in items.items():
            assert found.by_task[parts][task] == np.mean(correct_answers(model, texts))
    assert found.mean("both") > 0.9 and max(map(found.mean, ("convolutions", "attention"))) < 0.6
    assert maths.compared(6, each=10).by_task != maths.compared(5, each=10).by_task


@pytest.mark.slow
def test_the_last_step_covers_two_networks_until_one_guessed():
    before, found = page(4), maths.compared(Params().draw)
    assert {bar["group"] for bar in drawn_rows(before, "value")} == {"both"}
    test = answered(before)
    bars = {(bar["group"], bar["name"]): bar["value"] for bar in drawn_rows(test, "value")}
    far = range_name(range(31, 1000)).removesuffix(" back")
    assert bars["convolutions alone", far] == found.by_place["convolutions"]["31 and more back"]
    assert states(said(test), found.n, percent(found.mean("both")))


def test_a_network_without_positions_still_tells_orders_apart():
    """The same signs in another order: attention alone cannot tell (one layer: not at all), with convolutions it can."""
    model = core.open_model(maths.MODEL)
    ids = [torch.tensor([model.tokenizer.encode(text).ids]) for text in ("k3Fm7Qk3?", "m7Qk3Fk3?")]
    with torch.inference_mode():
        found = [model.network.logits(model.network(Batch(ids=each, real=each >= 0)))[0, -1] for each in ids]
    assert all(model.tokenizer.token(int(each.argmax())) == "F" for each in found)
