"""The Transformer as a map: every box opens with the tensors of the run, counts add up, the question follows the sentence."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise

import numpy as np
import pytest
from exhibit_pages import drawn, figure, said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from core.analysis.diagram_nodes import tensor_at
from viz.charts.tensors import tensors
from viz.course.exhibit import fill_in
from viz.course.shared import sizes, transformer_map
from viz.course.transformer.walk_through import exhibit, folds, inside, params, steps
from viz.course.transformer.walk_through.charts.shifted_targets import shifted
from viz.course.transformer.walk_through.maths import journey, looked_at
from viz.instruments.diagram.diagram import Node, diagram_packet, levels, picked_box
from viz.labels import percent
from viz.shell import pages

OTHER = "You are welcome."


def page(
    step: int = 1,
    *folded: str,
    state: dict[str, object] | None = None,
    text: str | None = None,
    layer: str | None = None,
    **link: str,
) -> AppTest:
    names = {f"walk_through.{name}": value for name, value in ({"step": str(step)} | link).items()}
    names |= {name: value for name, value in (("text", text), ("layer", layer)) if value is not None}
    return drawn(
        "walk_through", names, {f"fold:{name}": True for name in folded} | (state or {}), guarded=True
    )


def the_map(test: AppTest) -> dict:
    sent = [opened(element.proto.bytes)[0] for element in test.get("bidi_component") if element.proto.bytes]
    return next(header for header in sent if "nodes" in header)


@pytest.fixture(scope="module")
def data():
    return params.compute(params.Params())


def test_it_is_the_first_page_of_its_chapter():
    assert pages.exhibits(pages.Chapter.TRANSFORMER)[0].slug == "walk_through"


@pytest.mark.slow
def test_the_question_is_answered_by_this_sentence_and_nothing_tells_before(data):
    answers = set()
    for text in (params.SENTENCES[0], OTHER):
        run = params.compute(params.Params(text)).run
        row = steps.telling(params.compute(params.Params(text)))
        chances = tensor_at(run, "probabilities")[row]
        answer = run.side.next_tokens().tokens[row].removeprefix(" ")
        answers.add(answer)
        before = page(1, text=text)
        assert not before.exception and f"{percent(chances.max())}" not in said(before)
        words = [line["words"] for line in the_map(before)["texts"]]
        assert (
            words[1] == [token.removeprefix(" ") for token in run.tokens[: row + 1]] and words[2][-1] == "?"
        )
        after = page(1, text=text, state={"predict:walk_through.next": answer})
        assert "Right." in said(after) and f"gives {percent(chances.max())} to “{answer}”" in said(after)
        named, others = (
            re.search(r"gives [^;]*; the other ([\d,]+) tokens", said(after)),
            core.open_model("translator-en-es").config.n_vocab,
        )
        assert named and int(named[1].replace(",", "")) == others - named[0].count("%"), (
            "those that are named are not among the rest"
        )
        assert [line["words"] for line in the_map(after)["texts"]][2][-1] == "END"
    assert len(answers) == 2


@pytest.mark.slow
def test_every_box_opens_with_the_tensors_of_this_run(data):
    """C054."""
    for role, path, layer in (
        ("encoder.self", "encoder.layer.1.self_attn.out", "1"),
        ("decoder.cross", "decoder.layer.2.cross_attn.out", "2"),
        ("softmax", "probabilities", "0"),
    ):
        test = page(3, box=role, layer=layer)
        assert not test.exception and the_map(test)["selected"] == role
        trace = figure(test)["data"][-1]
        whole = tensor_at(data.run, path)
        columns = (
            np.linspace(0, whole.shape[1] - 1, 32).round().astype(int)
        )  # those of its numbers that are drawn
        expected = inside.pooled(whole) if role == "softmax" else whole[:, columns]
        assert trace["z"]["shape"].replace(" ", "") == ",".join(map(str, expected.shape))
        sent = np.frombuffer(base64.b64decode(trace["z"]["bdata"]), dtype="f4")
        np.testing.assert_allclose(sent, expected.astype("f4").ravel())
        box = next(
            box for box in data.boxes if transformer_map.role(box) == role and box.layer in (None, int(layer))
        )
        assert inside.owns(data.run, box, data.total) in said(test) and inside.letters(data.run, box) in said(
            test
        )
        assert inside.explained(box) is not None


@pytest.mark.slow
def test_the_words_and_the_pictures_of_all_boxes(data):
    way = journey(data.run, 3)
    assert [station.box for station in way] == list(data.boxes)
    for station in way:
        row = looked_at(data.run, 3) if station.box.side == "encoder" else 3
        assert (
            any(letter.isdigit() for letter in inside.describe(data.run, station, row))
            and inside.DOES[inside.kind(station.box)]
        )
        json.loads(tensors(inside.panels(data.run, station.box, row)).to_json())
    assert way[-1].guess == (
        data.run.side.next_tokens().tokens[3].removeprefix(" "),
        pytest.approx(tensor_at(data.run, "probabilities")[3].max()),
    )
    last = [station for station in way if station.box.kind == "add"][-1]
    assert last.guess[0] == way[-1].guess[0], "behind the last sum the output layer says what the model says"
    head, key, weight = next(station for station in way if station.box.name == "decoder.1.cross").looks
    pattern = data.run.trace["decoder.layer.1.cross_attn.pattern"]
    assert weight == pattern[:, 3].max() == pattern[head, 3, key]


@pytest.mark.slow
def test_the_target_is_shifted_right_behind_start(data):
    """C055."""
    target = [token.removeprefix(" ") for token in data.run.tokens[1:]]
    test = page(2)
    notes = [note["text"] for note in figure(test)["layout"]["annotations"] if note["text"]]
    assert notes == [*target, "END", "START", *target]
    arrows = [(note["ax"], note["x"]) for note in figure(test)["layout"]["annotations"] if not note["text"]]
    assert [(round(a), round(b)) for a, b in arrows] == [(t, t + 1) for t in range(len(target))]
    assert f"{len(target) + 1} positions" in said(test)
    off = page(2, shift="0")
    assert "copying" in said(off) and "START" not in [
        note["text"] for note in figure(off)["layout"]["annotations"]
    ]
    assert shifted(["<b>"]).layout.annotations[1].text == "&lt;b&gt;"


def test_counts_follow_the_sliders_and_the_tensors_do_not(data):
    """C072."""
    network = {"predict:walk_through.most": "feed-forward"}
    own = page(4, state=network)
    assert not own.exception and f"{data.total:,} parameters" in said(own) and "in the network" in said(own)
    labels = {node["name"]: node["label"] for node in the_map(own)["nodes"]}
    assert labels["encoder.self"] == "Self-attention 263 k" and labels["linear"] == "Linear"
    base = page(4, "walk_through.equation", state=network, N="6", d="512", h="8", f="2048", V="37000")
    assert f"{44_140_544 + 37_000 * 512:,} parameters" in said(base) and "counts only" in said(base)
    assert states(said(base), "3,152,384", "4,204,032", "44,140,544")
    covered = page(4)
    assert "parameters:" not in said(covered) and all(
        "k" not in node["label"].split()[-1] or node["label"].endswith("mask")
        for node in the_map(covered)["nodes"]
        if node["name"] == "encoder.ffn"
    )
    table = page(4, state={"predict:walk_through.most": "token embeddings"}, N="1", V="50000")
    assert "Right." in said(table) and "It is" not in said(table)


def test_counts_of_the_map_equal_those_of_the_network(data):
    counts = transformer_map.parameter_counts(data.boxes, steps.sizes_of(data))
    assert counts == dict(data.counts) and sum(counts.values()) == data.total == sum(
        sizes.parameter_counts(steps.sizes_of(data)).values()
    )


def test_one_word_walks_all_boxes(data):
    row = steps.telling(data)
    way = journey(data.run, row)
    for at in (1, 22, len(way)):
        test = page(5, station=str(at))
        assert not test.exception and f"{at} of {len(way)}: {inside.heading(way[at - 1].box)}" in said(test)
        assert the_map(test)["selected"] == transformer_map.role(way[at - 1].box)
    assert f"writes “{way[-1].guess[0]}”, with probability {percent(way[-1].guess[1])}" in said(test)


def test_a_touch_leads_to_the_box():
    test = page(1, state={"walk_through.map": {"box": {"name": "decoder.ffn", "id": "1"}}})
    assert not test.exception and picked_box("nobody", ["a"]) is None


def test_each_fold_opens(data):
    every = (
        "walk_through.equation",
        "walk_through.looking",
        f"{exhibit.EXHIBIT.text.info.title}.documents",
        "walk_through.table",
        "walk_through.take",
    )
    test = page(3, *every, box="decoder.self")
    assert not test.exception
    for phrase in ("E16", "E10", "44,140,544", "One layer of each stack"):
        assert phrase in said(test), phrase
    frame = folds.table(data)
    assert (
        frame["parameters"].iloc[-1]
        == frame["parameters"].iloc[-2]
        == frame["parameters"].iloc[:-2].sum()
        == data.total
    )
    assert len(test.dataframe) == 1 and len(test.code) >= 1


def test_the_lines_to_take_away_make_the_same_numbers(data):
    row = 2
    told = folds.StepState(
        2,
        1,
        next(box for box in data.boxes if box.name == "decoder.1.cross"),
        row,
        journey(data.run, row),
        steps.sizes_of(data),
    )
    names: dict[str, object] = {}
    lines = exhibit.EXHIBIT.text.steps[2].code
    exec(fill_in(lines, folds.folds(data, told).code, params.Params()), names)
    np.testing.assert_allclose(names["out"], tensor_at(data.run, "decoder.layer.1.cross_attn.out"), atol=1e-5)
    np.testing.assert_allclose(
        [station.size for station in names["way"]], [station.size for station in told.way], rtol=1e-4
    )


def test_the_plan_as_data(data):
    here = transformer_map.plan(data.run, data.boxes, 2)
    assert len(here["nodes"]) == 23 and all(0 < node.center[1] < here["rows"] for node in here["nodes"])
    tops = [
        (node.center[1] - node.size[1] / 2, node.center[1] + node.size[1] / 2)
        for node in here["nodes"]
        if node.center[0] > 50
    ]
    assert all(upper[1] < lower[0] for lower, upper in pairwise(tops)), "boxes of a column do not touch"
    assert all(edge.points[0][1] >= edge.points[1][1] for edge in here["edges"]), "every arrow begins upwards"
    packet = diagram_packet(here["nodes"], rows=here["rows"], selected="linear")
    cross = next(i for i, node in enumerate(here["nodes"]) if node.name == "decoder.cross")
    shown = np.frombuffer(packet.parts[packet.header[f"thumb.{cross}"]], np.uint8).reshape(
        packet.header["nodes"][cross]["picture"]
    )
    np.testing.assert_allclose(
        shown / 255, data.run.trace["decoder.layer.2.cross_attn.pattern"].mean(0), atol=1 / 255
    )


def test_a_plan_that_does_not_fit_is_refused():
    two = [Node("a", "A", (50, 1), (10, 1))] * 2
    with pytest.raises(ValueError, match="one name"):
        diagram_packet(two, rows=2)
    with pytest.raises(ValueError, match="box 'x'"):
        diagram_packet(two[:1], rows=2, selected="x")
    assert levels(np.full((100, 200), -3.0), centred=True).shape == (24, 48) and levels(
        [[np.nan]], centred=True
    ).tolist() == [[128]]
