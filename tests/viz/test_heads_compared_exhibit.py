"""The exhibit on the heads of a trained model, with the models that ship: every number is calculated again from a run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from drawn_layers import drawn_rows, find_layers, layer
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from core.analysis.attention.measures import first_key_weight, offset_weight
from core.analysis.heads.pattern_distance import compare_patterns
from viz import theme
from viz.course.self_attention.heads_compared import exhibit, maths, steps, worth
from viz.course.self_attention.heads_compared.charts import COLUMN, looks, maps
from viz.course.self_attention.heads_compared.maths import option_labels, removal
from viz.course.self_attention.heads_compared.params import SENTENCES, Params
from viz.labels import percent, shorten

SHORT = "She has a white car."


def page(*folded: str, state: dict[str, object] | None = None, text: str | None = None, **link: str):
    names = {f"heads_compared.{name}": value for name, value in link.items()} | (
        {} if text is None else {"text": text}
    )
    return drawn(
        "heads_compared", names, {f"fold:{name}": True for name in folded} | (state or {}), guarded=True
    )


def spec(test: AppTest, place: int = 0) -> dict[str, Any]:
    """What an Altair chart of the page was given."""
    return json.loads(test.get("vega_lite_chart")[place].proto.spec)


def labels(axis: dict[str, Any]) -> list[str]:
    """The names along an axis whose places are numbers."""
    return json.JSONDecoder().raw_decode(axis["axis"]["labelExpr"])[0]


def test_the_page_opens_with_a_question_about_it():
    data = exhibit.compute(Params())
    assert data.words[data.row] == "it" and data.model == "translator-en-es"
    test = page()
    pointing = maths.pointing(data.weights, data.row)
    assert (
        not test.exception
        and not test.get("plotly_chart")
        and {piece["head"] for piece in drawn_rows(test, "from")} == {f"H{pointing}"}
    )  # one head before the guess
    assert "?" in [each["mark"].get("text") for each in find_layers(test, mark="text")]
    assert not any(f"H{h}" in str(text.value) for text in test.text for h in range(8) if h != pointing)
    w = core.open_model(data.model).run(SENTENCES[0], target="").attention("self", by="word").weights[1]
    np.testing.assert_array_equal(data.weights, w)
    count = len(set(w[:, data.row].argmax(-1).tolist()))
    answer = "1" if count == 1 else "2 or 3" if count < 4 else "4 or more"
    test = page(state={"predict:heads_compared.first": answer})
    assert "Right." in said(test) and f"\n{count}: “" in said(test)
    pieces = drawn_rows(test, "from")
    np.testing.assert_allclose(
        np.array([piece["weight"] for piece in pieces]).reshape(8, -1), w[:, data.row], atol=1e-6
    )
    np.testing.assert_allclose(
        [piece["to"] - piece["from"] for piece in pieces], [piece["weight"] for piece in pieces], atol=2e-6
    )
    np.testing.assert_allclose(
        [piece["from"] for piece in pieces if piece["head"] == "H3"], w[:3, data.row].sum(0), atol=1e-6
    )
    bars = layer(test, "from")["encoding"]
    assert (
        bars["color"]["scale"] == {"domain": [f"H{h}" for h in range(8)], "range": list(theme.HEADS[:8])}
        and labels(bars["y"])[data.row] == "it →"
    )
    head = maths.pointing(w, data.row)
    assert states(said(test), f"H{head}", percent(w[head, data.row].max()), "“milk”")


def test_another_sentence_has_another_answer():
    data = exhibit.compute(Params("bert-mini", SHORT, layer=4))
    count = len(set(data.weights[:, data.row].argmax(-1).tolist()))
    assert count == 1  # all rest on the separator
    test = page(text=SHORT, model="bert-mini", layer="4", state={"predict:heads_compared.first": "4 or more"})
    assert "It is “1”" in said(test) and "[SEP]" in said(test)


@pytest.mark.slow
def test_all_heads_of_a_layer_are_one_picture_on_one_scale():
    """C043."""
    data = exhibit.compute(Params())
    test = page(step="2")
    cells, frames = drawn_rows(test, "w"), drawn_rows(test, "colour")
    grounds = drawn_rows(test, mark="rect", without=["w", "colour"])
    words = [each["data"]["values"] for each in find_layers(test, mark="text")]
    names, on_two_lines = (rows for rows in words if "title" in rows[0])
    (columns,) = (rows for rows in words if "title" not in rows[0])
    assert not test.get("plotly_chart") and layer(test, "w")["encoding"]["color"]["scale"]["domain"] == [
        0,
        1,
    ]
    np.testing.assert_allclose(
        np.array([cell["w"] for cell in cells]).reshape(data.weights.shape), data.weights, atol=1e-4
    )
    assert [(cell["h"], cell["q"], cell["k"]) for cell in cells[:2]] == [(0, 0, 0), (0, 0, 1)] and [
        name["text"] for name in names
    ] == [f"H{h}" for h in range(8)]
    assert names == on_two_lines, "the same headings, for a narrow map with a new line before the word"
    assert all(name["title"].startswith(f"{name['text']} →\n") for name in names)
    n = len(data.words)
    assert [column["text"] for column in columns] == 4 * [shorten(word, COLUMN) for word in data.names], (
        "the words of the columns stand below the lowest map of each"
    )
    for ground, frame in zip(grounds, frames, strict=True):
        row = (ground["y2"] - ground["y"]) / n
        np.testing.assert_allclose(
            (frame["y"], frame["y2"]), (ground["y"] + data.row * row, ground["y"] + (data.row + 1) * row)
        )
    causal = drawn_rows(page(step="2", model="gpt-mini", text=SHORT), "w")
    assert causal and all(cell["k"] <= cell["q"] for cell in causal)  # what is forbidden has no cell


def test_two_heads_side_by_side_and_their_difference():
    """C044."""
    data = exhibit.compute(Params())
    test = page(step="3", a="2", b="7")
    assert not test.exception
    alike = compare_patterns(data.weights[2], data.weights[7], data.allowed[2])
    assert states(said(test), f"{alike.bits:.2f} bits")
    gap = data.weights[2] - data.weights[7]
    at = np.unravel_index(np.abs(gap).argmax(), gap.shape)
    names = option_labels(data.words)
    assert (
        f"from “{names[at[0]]}” to “{names[at[1]]}”: H2 gives {percent(data.weights[2][at])}, H7 {percent(data.weights[7][at])}"
        in said(test)
    )
    mean = page(step="3", a="2", b="mean")
    assert (
        f"{compare_patterns(data.weights[2], data.weights.mean(0), data.allowed[2]).bits:.2f} bits"
        in said(mean)
        and "the mean" in said(mean)
    )


def test_kinds_are_those_measured_over_many_sentences():
    """C045."""
    data, test = exhibit.compute(Params()), page("heads_compared.table", step="4")
    assert data.heads is not None
    for head in range(8):
        assert f"H{head} {data.heads.label(1, head)}" in said(test)
    head = maths.pointing(data.weights, data.row)
    assert states(said(test), percent(data.heads.scores["coreference"][1, head]))
    assert test.dataframe[0].value.loc["named"].tolist() == [data.heads.label(1, head) for head in range(8)]
    own = page("heads_compared.table", step="2").dataframe[0].value
    assert list(own.columns)[:2] == ["entropy, bits", "distance, words"] and own.shape == (8, 5)
    weights = data.weights[None].astype(float)
    for column, wanted in enumerate(
        (first_key_weight(weights), offset_weight(weights, -1), offset_weight(weights, 0)), start=2
    ):
        np.testing.assert_allclose(own.iloc[:, column], wanted[0], atol=6e-4)


@pytest.mark.slow
def test_without_a_head_the_output_changes_by_what_was_computed():
    """C046."""
    covered = page(step="5")
    assert {(row["value"], row["label"]) for row in drawn_rows(covered, mark="bar")} == {
        (0.0, "?")
    } and "multiplied" not in said(covered)
    found = removal(core.open_model("translator-en-es"), SENTENCES[0], "self")
    factors = found.factors(1)
    data = exhibit.compute(Params())
    head = maths.pointing(data.weights, data.row)
    answer = worth.FACTORS[
        0 if factors[head] < 0.5 else 1 if factors[head] <= 0.9 else 2 if factors[head] < 1.1 else 3
    ]
    test = page("heads_compared.table", step="5", state={"predict:heads_compared.off": answer})
    assert (
        "Right." in said(test)
        and states(said(test), f"{factors[:8].min():.3f}")
        and f"multiplied by {factors[head]:.3f}" in said(test)
    )
    np.testing.assert_allclose(
        [row["value"] for row in drawn_rows(test, "value")], np.log2(factors), atol=1e-6
    )
    assert (
        test.dataframe[0].value[f"H{head}"].tolist()
        == np.round(np.exp(found.without_head[1, head]), 4).tolist()
    )
    bare = page(step="5", off="8", state={"predict:heads_compared.off": answer})
    worst = int((found.without_layer[1] - found.before).argmin())
    assert states(said(bare), "8 heads", f"“{found.tokens[worst].strip()}”")
    gpt = page(
        step="5",
        model="gpt-mini",
        text=SHORT,
        layer="0",
        state={"predict:heads_compared.off": worth.FACTORS[0]},
    )
    assert (
        not gpt.exception
        and "translation" not in said(gpt).split("Predict, then look")[1].split("Mechanism")[0]
    )


@pytest.mark.quick(1)
@pytest.mark.parametrize("step", [1, 3, 5])
def test_the_pages_that_go_on_from_here_are_linked(step):
    test = page("heads_compared.looking", step=str(step))
    assert not test.exception and "Go deeper" in said(test)
    assert any("what_if" in str(link.value) for link in test.markdown)


def test_figures_as_data():
    shown = looks(np.ones((1, 1)), ["<b>"], 0).to_dict()
    assert labels(layer(shown, "from")["encoding"]["y"]) == ["<b> →"] and [
        piece["text"] for piece in shown["data"]["values"]
    ] == ["H0 100%"]
    one = maps(np.ones((1, 1, 1)), ["a"], 0, allowed=np.zeros((1, 1, 1), dtype=bool)).to_dict()
    assert drawn_rows(one, "w") == [] and len(drawn_rows(one, mark="rect", without=["w", "colour"])) == 1
    two = maps(np.full((5, 2, 2), 0.5), ["a", "b"], 1, all_names=True).to_dict()
    grounds = layer(two, mark="rect", without=["w", "colour"])
    places = [(row["y"], row["y2"]) for row in grounds["data"]["values"]]
    assert labels(grounds["encoding"]["y"]) == ["a", "b"] * 2 and places[4][0] > places[3][1]
    assert exhibit.thumbnail().count("<rect") == 8 * len(exhibit.compute(Params()).words)


@pytest.mark.slow
def test_before_a_room_the_rows_that_matter_are_shown():
    data = exhibit.compute(Params())
    known = drawn("heads_compared", {"present": "1"}, {"predict:heads_compared.first": "1"})
    total = data.weights[:, data.row].sum(0)
    kept = sorted({data.row, *np.argsort(-total, kind="stable")[: steps.ROWS].tolist()})
    assert [name.removesuffix(" →") for name in labels(layer(known, "from")["encoding"]["y"])] == [
        data.words[i].strip() for i in kept
    ]
    off = drawn(
        "heads_compared",
        {"present": "1", "heads_compared.step": "5"},
        {"predict:heads_compared.off": worth.FACTORS[0]},
    )
    factors = removal(core.open_model(data.model), SENTENCES[0], "self").factors(1)
    np.testing.assert_allclose(
        [row["value"] for row in drawn_rows(off, "value")], np.log2(factors), atol=1e-6
    )
