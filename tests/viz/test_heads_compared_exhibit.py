"""The exhibit on the heads of a trained model, with the models that ship: every number is calculated again from a run."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drawn_layers import drawn_rows, layer
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

import core
from core.analysis.attention.measures import first_key_weight, offset_weight
from core.analysis.heads.pattern_distance import compare_patterns
from viz.course.self_attention.heads_compared import exhibit, maths, steps, worth
from viz.course.self_attention.heads_compared.maths import option_labels, removal
from viz.course.self_attention.heads_compared.params import SENTENCES, Params
from viz.labels import percent

SHORT = "She has a white car."
page = StepPages("heads_compared")


@pytest.fixture(scope="module")
def data():
    return exhibit.compute(Params())


def row_names(test) -> list[str]:
    """Return the names along the axis of the rows."""
    axis = layer(test, "from")["encoding"]["y"]["axis"]
    return json.JSONDecoder().raw_decode(axis["labelExpr"])[0]


def test_the_page_opens_with_a_question_about_it(data):
    assert data.words[data.row] == "it" and data.model == "translator-en-es"
    w = core.open_model(data.model).run(SENTENCES[0], target="").attention("self", by="word").weights[1]
    np.testing.assert_array_equal(data.weights, w)
    before, head = page(), maths.pointing(w, data.row)
    assert {piece["head"] for piece in drawn_rows(before, "from")} == {f"H{head}"}
    count = len({*w[:, data.row].argmax(-1)})
    assert page.answer(before, "first") == ("1" if count == 1 else "2 or 3" if count < 4 else "4 or more")
    test = answered(before)
    pieces = drawn_rows(test, "from")
    weights = np.array([piece["weight"] for piece in pieces])
    begins, ends = (np.array([piece[end] for piece in pieces]) for end in ("from", "to"))
    np.testing.assert_allclose(weights.reshape(8, -1), w[:, data.row], atol=1e-6)
    np.testing.assert_allclose(ends - begins, weights, atol=2e-6)
    np.testing.assert_allclose(begins.reshape(8, -1)[3], w[:3, data.row].sum(0), atol=1e-6)
    assert row_names(test)[data.row] == "it →" and f"\n{count}: “" in said(test)
    assert states(said(test), f"H{head}", percent(w[head, data.row].max()), "“milk”")


def test_another_sentence_has_another_answer():
    data = exhibit.compute(Params("bert-mini", SHORT, layer=4))
    assert len({*data.weights[:, data.row].argmax(-1)}) == 1, "all rest on the separator"
    test = page(text=SHORT, model="bert-mini", layer=4, guess={"first": "4 or more"})
    assert "It is “1”" in said(test) and "[SEP]" in said(test)


@pytest.mark.slow
def test_all_heads_of_a_layer_are_one_picture_on_one_scale(data):
    """C043."""
    test, n = page(2), len(data.words)
    cells, frames = drawn_rows(test, "w"), drawn_rows(test, "colour")
    assert layer(test, "w")["encoding"]["color"]["scale"]["domain"] == [0, 1]
    weights = np.array([cell["w"] for cell in cells]).reshape(data.weights.shape)
    np.testing.assert_allclose(weights, data.weights, atol=1e-4)
    assert [(cell["h"], cell["q"], cell["k"]) for cell in cells[:2]] == [(0, 0, 0), (0, 0, 1)]
    grounds = drawn_rows(test, mark="rect", without=["w", "colour"])
    for ground, frame in zip(grounds, frames, strict=True):
        row = (ground["y2"] - ground["y"]) / n
        wanted = ground["y"] + data.row * row
        np.testing.assert_allclose((frame["y"], frame["y2"]), (wanted, wanted + row))
    causal = drawn_rows(page(2, model="gpt-mini", text=SHORT), "w")
    assert causal and all(cell["k"] <= cell["q"] for cell in causal), "what is forbidden has no cell"


def test_two_heads_side_by_side_and_their_difference(data):
    """C044."""
    test, w = page(3, a=2, b=7), data.weights
    assert states(said(test), f"{compare_patterns(w[2], w[7], data.allowed[2]).bits:.2f} bits")
    query, key = np.unravel_index(np.abs(w[2] - w[7]).argmax(), w[2].shape)
    names = option_labels(data.words)
    assert states(
        said(test),
        f"“{names[query]}”",
        f"“{names[key]}”",
        percent(w[2, query, key]),
        percent(w[7, query, key]),
    )
    mean = compare_patterns(w[2], w.mean(0), data.allowed[2]).bits
    assert f"{mean:.2f} bits" in said(page(3, a=2, b="mean"))


def test_kinds_are_those_measured_over_many_sentences(data):
    """C045."""
    test, head = page(4, "table"), maths.pointing(data.weights, data.row)
    labels = [data.heads.label(1, each) for each in range(8)]
    assert all(f"H{each} {label}" in said(test) for each, label in enumerate(labels))
    assert states(said(test), percent(data.heads.scores["coreference"][1, head]))
    assert test.dataframe[0].value.loc["named"].tolist() == labels
    own, weights = page(2, "table").dataframe[0].value, data.weights[None].astype(float)
    assert list(own.columns)[:2] == ["entropy, bits", "distance, words"]
    wanted = (first_key_weight(weights), offset_weight(weights, -1), offset_weight(weights, 0))
    np.testing.assert_allclose(own.iloc[:, 2:].T, [each[0] for each in wanted], atol=6e-4)


@pytest.mark.slow
def test_without_a_head_the_output_changes_by_what_was_computed(data):
    """C046."""
    found = removal(core.open_model("translator-en-es"), SENTENCES[0], "self")
    factors, head = found.factors(1), maths.pointing(data.weights, data.row)
    before = page(5, "table")
    assert page.answer(before, "off") == worth.FACTORS[np.searchsorted([0.5, 0.9, 1.1], factors[head])]
    assert {row["label"] for row in drawn_rows(before, mark="bar")} == {"?"}
    test = answered(before)
    assert states(said(test), f"{factors[:8].min():.3f}", f"{factors[head]:.3f}")
    bars = [row["value"] for row in drawn_rows(test, "value")]
    np.testing.assert_allclose(bars, np.log2(factors), atol=1e-6)
    column = test.dataframe[0].value[f"H{head}"]
    np.testing.assert_allclose(column, np.exp(found.without_head[1, head]), atol=6e-5)
    worst = int((found.without_layer[1] - found.before).argmin())
    bare = answered(page(5, off=8))
    assert states(said(bare), "8 heads", f"“{found.tokens[worst].strip()}”")
    gpt = said(page(5, model="gpt-mini", text=SHORT, layer=0, guess={"off": worth.FACTORS[0]}))
    assert "translation" not in gpt.split("Predict, then look")[1].split("Mechanism")[0]


@pytest.mark.slow
def test_before_a_room_the_rows_that_matter_are_shown(data):
    present = StepPages("heads_compared", {"present": 1}, ("present",))
    total = data.weights[:, data.row].sum(0)
    kept = sorted({data.row, *np.argsort(-total, kind="stable")[: steps.ROWS].tolist()})
    names = [name.removesuffix(" →") for name in row_names(present(guess={"first": "1"}))]
    assert names == [data.words[i].strip() for i in kept]
