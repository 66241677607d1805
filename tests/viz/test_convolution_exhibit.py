"""The exhibit on convolution and attention: each number that it says is computed again in runs of the shipped networks."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels, drawn, said
from packets import opened, packets_of
from shown_values import states

import core
from core.data.episodes import TASKS
from core.edits import Scale
from core.models import Batch
from core.scoring.episodes import correct_answers, range_name
from viz.course.self_attention.convolution_and_attention import charts, maths
from viz.course.self_attention.convolution_and_attention.params import LAYERS, SLUG, Params
from viz.labels import percent

PAIRS = "k3F m7Q k7B m3R k7?"


def page(step, known=True, **link):
    query = {f"{SLUG}.step": str(step), **{f"{SLUG}.{name}": value for name, value in link.items()}}
    test = drawn(SLUG, query, {})
    assert not test.exception
    if known:
        for pills in [each for each in test.button_group if str(each.key).startswith("predict:")]:
            test = drawn(SLUG, query, {pills.key: pills.options[1]})
        for button in [each for each in test.button if str(each.key).endswith(":commit")]:
            test = button.click().run()
        assert not test.exception
    return test


def chances(text, name=maths.MODEL, **edits):
    model = core.open_model(name)
    logits = model.run(text, edits=maths.edits(**edits) if edits else ()).logits[-1]
    e = np.exp(logits - logits.max())
    return {model.tokenizer.token(i): float(p) for i, p in enumerate(e / e.sum())}


def test_the_text_itself_says_what_is_right():
    for task in TASKS:
        for draw in range(12):
            signs = maths.signs_of(maths.example(task, draw))
            found = maths.truth(signs)
            assert found is not None and signs[found.place] == found.answer
    assert maths.truth("hello") is None and maths.truth("a1?") is None and maths.truth("?") is None


@pytest.mark.quick(1)
@pytest.mark.parametrize("text", [PAIRS, maths.example("recall", 2), maths.example("classes", 2)])
def test_the_bars_are_the_probabilities_of_three_runs(text):
    right = maths.truth(maths.signs_of(text)).answer
    hidden = page(1, known=False, own=text)
    assert bar_labels(hidden)[1:] == ["?", "?"]
    whole = chances(text)[right]
    alone = chances(text, convolves=True, attends=False)[right]
    attention = chances(text, convolves=False, attends=True)[right]
    assert percent(alone) not in said(hidden).replace(percent(whole), "")
    rows = drawn_rows(page(1, own=text), "value")
    assert [row["value"] for row in rows] == pytest.approx([whole, alone, attention], abs=1e-5)


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
    assert (
        maths.reach(steps)
        == 1 + sum(steps)
        == model.config.field
        == core.open_model(maths.MODEL).config.field
    )
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
    model, path = core.open_model(maths.MODEL), "layer.1.dense.3.gated"
    before = model.run(signs, edits=maths.edits(True, False)).trace[path][at]
    sizes = []
    for place in inside:
        other = signs[:place] + maths.other(signs[place]) + signs[place + 1 :]
        sizes.append(
            np.linalg.norm(model.run(other, edits=maths.edits(True, False)).trace[path][at] - before)
        )
    np.testing.assert_allclose(found[list(inside)], np.array(sizes) / max(sizes), atol=1e-3)
    with_attention = maths.sensitivity(signs, at)
    assert (with_attention[: at + 1] > 0).all() and (with_attention[at + 1 :] == 0).all()


@pytest.mark.slow
def test_the_field_stands_beside_the_attention_map_and_both_can_be_switched_off():
    """C062."""
    signs = Params().signs
    both = page(3)
    lines, dots, words = (drawn_rows(both, mark=mark) for mark in ("rule", "circle", "text"))
    assert {dot["x"] for dot in dots if dot["lit"] and dot["y"] == 0} == set(
        maths.tree(maths.dilations(), len(signs) - 1)[0]
    )
    assert [word["text"] for word in words] == list(signs) and lines
    (head,) = [opened(data)[0] for data in packets_of(both)]
    pattern = core.open_model(maths.MODEL).run(signs).attention("causal").weights[LAYERS - 1, 0]
    truth = maths.truth(signs)
    assert int(pattern[-1].argmax()) == truth.place and ": the answer." in said(both)
    assert head["title"] == "attention, layer 1" and tuple(head["shape"]) == pattern.shape
    no_convolutions = page(3, convolves="0")
    assert {dot["x"] for dot in drawn_rows(no_convolutions, mark="circle") if dot["lit"]} == {len(signs) - 1}
    alone = chances(signs, convolves=False, attends=True)[truth.answer]
    assert states(said(no_convolutions), f"“{truth.answer}”", percent(alone))
    no_attention = page(3, attends="0")
    alone = chances(signs, convolves=True, attends=False)[truth.answer]
    assert states(said(no_attention), f"“{truth.answer}”", percent(alone))
    assert opened(packets_of(no_attention)[0])[0]["title"].endswith("switched off")
    assert "With neither" in said(page(3, attends="0", convolves="0"))


@pytest.mark.slow
def test_the_three_networks_are_measured_on_the_same_fresh_texts():
    found = maths.compared(5, each=40)
    items = maths.held_out(40, 5)
    for parts, name in maths.TRAINED.items():
        model = core.open_model(name)
        assert model.config.parts == parts
        for task, texts in items.items():
            assert found.by_task[parts][task] == np.mean(correct_answers(model, texts))
    assert found.mean("both") > 0.9 and max(map(found.mean, ("convolutions", "attention"))) < 0.6
    assert maths.compared(6, each=10).by_task != maths.compared(5, each=10).by_task


@pytest.mark.slow
def test_the_last_step_covers_two_networks_until_one_guessed():
    names = {bar["group"] for bar in drawn_rows(page(4, known=False), "value")}
    assert names == {"both"}
    test = page(4)
    found = maths.compared(Params().draw)
    bars = {(bar["group"], bar["name"]): bar["value"] for bar in drawn_rows(test, "value")}
    assert (
        bars["convolutions alone", range_name(range(31, 1000)).removesuffix(" back")]
        == found.by_place["convolutions"]["31 and more back"]
    )
    assert states(said(test), found.n, percent(found.mean("both")))


@pytest.mark.quick(1)
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(
    "text", ["", "?", "k", "  ", "word " * 900, "Привет, мир?", "<b>x</b> [a](b)", "k3F k3? k3?"]
)
def test_odd_texts_are_answered_calmly(step, text):
    test = page(step, own=text)
    assert "went wrong" not in said(test)
    if len(text) > 1000:
        assert states(said(test), f"{maths.LONGEST} symbols")


@pytest.mark.slow
def test_a_sign_with_no_convolution_is_alone_and_a_chart_draws_only_lines_between_lit_dots():
    lines = drawn_rows(charts.field(list("abcdef"), [(5,)] * 3, (1, 2)), mark="rule")
    assert [(line["x"], line["x2"]) for line in lines] == [(5, 5), (5, 5)]
    assert not drawn_rows(charts.field(list("abcdef"), [], (1, 2)), mark="rule")


def test_a_network_without_positions_still_tells_orders_apart():
    """The same signs in another order: attention alone cannot tell (one layer: not at all), with convolutions it can."""
    model = core.open_model(maths.MODEL)
    ids = [torch.tensor([model.tokenizer.encode(text).ids]) for text in ("k3Fm7Qk3?", "m7Qk3Fk3?")]
    with torch.inference_mode():
        found = [model.network.logits(model.network(Batch(ids=each, real=each >= 0)))[0, -1] for each in ids]
    assert all(model.tokenizer.token(int(each.argmax())) == "F" for each in found)
    assert re.fullmatch(r"[a-z0-9A-Z? ]+", maths.example("classes", 1))
