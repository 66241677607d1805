"""The Transformer as a map: every box opens with the tensors of the run, counts add up, the question follows the sentence."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from exhibit_pages import StepPages, figure, instruments, plain, said
from exhibit_visits import answered
from shown_values import states

from core.analysis.diagram_nodes import tensor_at
from viz.charts.tensors import tensors
from viz.course.exhibit import fill_in
from viz.course.shared import sizes, transformer_map
from viz.course.transformer.walk_through import exhibit, folds, inside, params, steps
from viz.course.transformer.walk_through.charts.shifted_targets import shifted
from viz.course.transformer.walk_through.maths import journey, looked_at
from viz.instruments.diagram.diagram import Node, diagram_packet, levels, picked_box
from viz.labels import percent

page = StepPages("walk_through", shared=("text", "layer"))


def diagram(test) -> dict:
    (header,) = instruments(test, "nodes")
    return header


def words(test) -> list[list[str]]:
    """Return the texts beside the map."""
    return [line["words"] for line in diagram(test)["texts"]]


@pytest.fixture(scope="module")
def data():
    return params.compute(params.Params())


@pytest.mark.slow
@pytest.mark.parametrize("text", [params.SENTENCES[0], "You are welcome."])
def test_the_question_is_answered_by_this_sentence_and_nothing_tells_before(text):
    found = params.compute(params.Params(text))
    run, row = found.run, steps.telling(found)
    chance = percent(tensor_at(run, "probabilities")[row].max())
    answer = run.side.next_tokens().tokens[row].removeprefix(" ")
    before = page(text=text)
    assert page.answer(before, "next") == answer
    assert words(before)[1] == [token.removeprefix(" ") for token in run.tokens[: row + 1]]
    assert words(before)[2][-1] == "?"
    after = answered(before)
    assert f"gives {chance} to “{answer}”" in said(after) and words(after)[2][-1] == "END"
    named = re.search(r"gives [^;]*; the other ([\d,]+) tokens", said(after))
    rest = run.model.config.n_vocab - named[0].count("%")
    assert int(named[1].replace(",", "")) == rest, "those that are named are not among the rest"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "path", "layer"),
    [
        ("encoder.self", "encoder.layer.1.self_attn.out", 1),
        ("decoder.cross", "decoder.layer.2.cross_attn.out", 2),
        ("softmax", "probabilities", 0),
    ],
)
def test_every_box_opens_with_the_tensors_of_this_run(data, role, path, layer):
    """C054."""
    test, whole = page(3, box=role, layer=layer), tensor_at(data.run, path)
    assert diagram(test)["selected"] == role
    columns = np.linspace(0, whole.shape[1] - 1, 32).round().astype(int)  # those that are drawn
    wanted = inside.pooled(whole) if role == "softmax" else whole[:, columns]
    np.testing.assert_allclose(plain(figure(test)["data"][-1]["z"]), wanted.astype("f4"))
    (box,) = (box for box in data.boxes if transformer_map.role(box) == role and box.layer in (None, layer))
    assert inside.owns(data.run, box, data.total) in said(test)
    assert inside.letters(data.run, box) in said(test) and inside.explained(box) is not None


@pytest.mark.slow
def test_the_words_and_the_pictures_of_all_boxes(data):
    way = journey(data.run, 3)
    assert [station.box for station in way] == list(data.boxes)
    for station in way:
        row = looked_at(data.run, 3) if station.box.side == "encoder" else 3
        assert re.search(r"\d", inside.describe(data.run, station, row))
        assert inside.DOES[inside.kind(station.box)]
        json.loads(tensors(inside.panels(data.run, station.box, row)).to_json())
    token, chance = way[-1].guess
    assert token == data.run.side.next_tokens().tokens[3].removeprefix(" ")
    assert chance == pytest.approx(tensor_at(data.run, "probabilities")[3].max())
    last = [station for station in way if station.box.kind == "add"][-1]
    assert last.guess[0] == token, "behind the last sum the output layer says what the model says"
    head, key, weight = next(station for station in way if station.box.name == "decoder.1.cross").looks
    pattern = data.run.trace["decoder.layer.1.cross_attn.pattern"]
    assert weight == pattern[:, 3].max() == pattern[head, 3, key]


@pytest.mark.slow
def test_the_target_is_shifted_right_behind_start(data):
    """C055."""
    target = [token.removeprefix(" ") for token in data.run.tokens[1:]]
    on, off = (page(2, shift=shift) for shift in (1, 0))
    notes, others = (figure(test)["layout"]["annotations"] for test in (on, off))
    assert [note["text"] for note in notes if note["text"]] == [*target, "END", "START", *target]
    arrows = [(round(note["ax"]), round(note["x"])) for note in notes if not note["text"]]
    assert arrows == [(t, t + 1) for t in range(len(target))]
    assert f"{len(target) + 1} positions" in said(on) and "copying" in said(off)
    assert "START" not in [note["text"] for note in others]
    assert shifted(["<b>"]).layout.annotations[1].text == "&lt;b&gt;"


def test_counts_follow_the_sliders_and_the_tensors_do_not(data):
    """C072."""
    network = {"most": "feed-forward"}
    own, base = page(4, guess=network), page(4, "equation", guess=network, N=6, d=512, h=8, f=2048, V=37000)
    assert f"{data.total:,} parameters" in said(own) and "in the network" in said(own)
    labels = {node["name"]: node["label"] for node in diagram(own)["nodes"]}
    assert labels["encoder.self"] == "Self-attention 263 k" and labels["linear"] == "Linear"
    assert f"{44_140_544 + 37_000 * 512:,} parameters" in said(base) and "counts only" in said(base)
    assert states(said(base), "3,152,384", "4,204,032", "44,140,544")
    covered = {node["name"]: node["label"] for node in diagram(page(4))["nodes"]}
    assert "k" not in covered["encoder.ffn"].split()[-1]
    assert page.answer(page(4, N=1, V=50000), "most") == "token embeddings"
    counts = transformer_map.parameter_counts(data.boxes, steps.sizes_of(data))
    totals = [sum(each.values()) for each in (counts, sizes.parameter_counts(steps.sizes_of(data)))]
    assert counts == dict(data.counts) and totals == [data.total] * 2
    frame = folds.table(data)["parameters"]
    assert frame.iloc[-1] == frame.iloc[-2] == frame.iloc[:-2].sum() == data.total


def test_one_word_walks_all_boxes(data):
    way = journey(data.run, steps.telling(data))
    for at in (1, 22, len(way)):
        test, box = page(5, station=at), way[at - 1].box
        assert f"{at} of {len(way)}: {inside.heading(box)}" in said(test)
        assert diagram(test)["selected"] == transformer_map.role(box)
    token, chance = way[-1].guess
    assert f"writes “{token}”, with probability {percent(chance)}" in said(test)


def test_a_touch_leads_to_the_box():
    test = page()
    test.session_state["walk_through.map"] = {"box": {"name": "decoder.ffn", "id": "1"}}
    assert not test.run().exception and picked_box("nobody", ["a"]) is None


def test_the_lines_to_take_away_make_the_same_numbers(data):
    row, names = 2, {}
    box = next(box for box in data.boxes if box.name == "decoder.1.cross")
    told = folds.StepState(2, 1, box, row, journey(data.run, row), steps.sizes_of(data))
    exec(fill_in(exhibit.EXHIBIT.text.steps[2].code, folds.folds(data, told).code, params.Params()), names)
    np.testing.assert_allclose(names["out"], tensor_at(data.run, "decoder.layer.1.cross_attn.out"), atol=1e-5)
    lengths = [station.size for station in names["way"]]
    np.testing.assert_allclose(lengths, [station.size for station in told.way], rtol=1e-4)


def test_the_plan_as_data(data):
    here = transformer_map.plan(data.run, data.boxes, 2)
    nodes = here["nodes"]
    assert len(nodes) == 23 and all(0 < node.center[1] < here["rows"] for node in nodes)
    column = [(node.center[1], node.size[1] / 2) for node in nodes if node.center[0] > 50]
    assert all(above + other < y - half for (y, half), (above, other) in pairwise(column)), "no boxes touch"
    assert all(edge.points[0][1] >= edge.points[1][1] for edge in here["edges"]), "every arrow begins upwards"
    packet = diagram_packet(nodes, rows=here["rows"], selected="linear")
    (cross,) = (i for i, node in enumerate(nodes) if node.name == "decoder.cross")
    thumb = np.frombuffer(packet.parts[packet.header[f"thumb.{cross}"]], np.uint8)
    pattern = data.run.trace["decoder.layer.2.cross_attn.pattern"].mean(0)
    assert packet.header["nodes"][cross]["picture"] == list(pattern.shape)
    np.testing.assert_allclose(thumb.reshape(pattern.shape) / 255, pattern, atol=1 / 255)


def test_a_plan_that_does_not_fit_is_refused():
    two = [Node("a", "A", (50, 1), (10, 1))] * 2
    with pytest.raises(ValueError, match="one name"):
        diagram_packet(two, rows=2)
    with pytest.raises(ValueError, match="box 'x'"):
        diagram_packet(two[:1], rows=2, selected="x")
    assert levels(np.full((100, 200), -3.0), centred=True).shape == (24, 48)
    assert levels([[np.nan]], centred=True).tolist() == [[128]]
