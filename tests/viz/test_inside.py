"""Inside: the table is the lens of the run, the bars add up to its logit, what stands left of a change is exactly zero."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drawn_layers import find_layers, specification
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import serving
from workspace_pages import again, linked, page, said

from core.analysis.attribution.target_token import OutputTarget, default_row
from core.analysis.residual.logit_lens import logit_lens
from core.model import Model
from core.run import Run
from viz.charts.layers import HUES, parts_of_logit, ripple_map
from viz.theme import LIGHT
from viz.workspace.inside import contributions as who
from viz.workspace.shared import target_picker

TEXT = "The animal was tired."
FILLERS = ("tiny-bert", "tiny-albert", "tiny-bigbird")
MODELS = ("tiny-gpt", "tiny-llama", "tiny-translator", *FILLERS)
EACH = pytest.mark.parametrize(
    ("model", "text"), [(name, "She has a [MASK] car." if name in FILLERS else TEXT) for name in MODELS]
)


engine = serving(*MODELS)


def forced(model: Model, text: str) -> Run:
    """The run of the pages: a translator's own translation given as text."""
    run = model.run(text)
    return run if run.source is None else model.run(text, target=run.target_text)


def inside(**link: str) -> AppTest:
    return page("inside", **{"model": "tiny-gpt", "text": TEXT} | link)


def charts(test: AppTest) -> list[dict]:
    """The charts of a page, each with its data under `tables`."""
    found = (specification(test, place) for place in range(len(test.get("vega_lite_chart"))))
    return [tree | {"tables": tables} for tree, tables in found]


def data(chart: dict) -> list[dict]:
    """Return the rows that a chart draws: of a layered one, those of the first layer that has rows."""
    own = (each["data"] for each in chart.get("layer", ()) if "data" in each)
    found = chart.get("data") or next(own, {"name": ""})
    return found["values"] if "values" in found else chart.get("tables", chart.get("datasets"))[found["name"]]


def rows(test: AppTest) -> list[list[dict]]:
    return [data(chart) for chart in charts(test)]


def framed(cells: list[dict]) -> dict:
    (found,) = (cell for cell in cells if cell.get("highlighted"))
    return found


@pytest.mark.quick(2)
@EACH
def test_it_opens_with_the_lens_of_the_run(engine, model, text):
    test, run = inside(model=model, text=text), forced(engine.open(model), text)
    lens, cells = logit_lens(run), rows(test)[0]
    assert len(cells) == len(run.tokens) * 3
    for cell in cells:
        layer, row = cell["at"], cell["place"]
        assert cell["value"] == pytest.approx(lens.chances[layer, row, 0], abs=1e-4)
        assert cell["note"] == target_picker.choice_name(run, int(lens.ids[layer, row, 0]))
    assert framed(cells)["place"] == default_row(run)
    assert f"“{target_picker.choice_name(run, int(lens.ids[-1, default_row(run), 0]))}”" in said(test)


def test_a_cell_in_the_link_is_framed_and_shows_its_five_best(engine):
    test, lens = inside(inside__cell="2.1"), logit_lens(engine.open("tiny-gpt").run(TEXT))
    table, top = rows(test)
    assert (framed(table)["place"], framed(table)["at"]) == (2, 1)
    assert [row["value"] for row in top] == pytest.approx(lens.chances[1, 2].tolist())
    assert "after layer 0" in said(test)


@pytest.mark.parametrize("cell", ["99.0", "x", "1.77", "-1.0", ""])
def test_nonsense_in_the_link_is_told_and_the_page_shows_its_opening(engine, cell):
    test = inside(inside__cell=cell, inside__by="everything")
    assert framed(rows(test)[0]) and "cannot be shown" in said(test)


@pytest.mark.quick(2)
@EACH
def test_who_wrote_it_adds_up_to_the_logit(engine, model, text):
    test, run = inside(model=model, text=text, inside__by="who"), forced(engine.open(model), text)
    heads, bars = sorted(rows(test)[:2], key=lambda cells: any(cell["highlighted"] for cell in cells))
    logit = float(run.logits[default_row(run)].max())
    assert sum(cell["value"] for cell in bars) == pytest.approx(logit, abs=1e-3)
    assert sum(cell["value"] for cell in heads) == pytest.approx(framed(bars)["value"], abs=1e-4)
    assert f"is {logit:.2f}".replace("-", "−") in said(test)


def test_who_wrote_it_follows_the_link_down_to_the_heads_and_compares_two_words(engine):
    run = engine.open("tiny-gpt").run(TEXT)
    token, other = 40, run.model.token_id("the")
    link = {"inside__row": "1", "inside__word": str(token), "inside__against": "the"}
    test = inside(inside__by="who", inside__part="L1 attention", **link)
    found = who.attribute(run, OutputTarget(1, token, other))
    heads, parts, *_ = ([cell["value"] for cell in cells] for cells in sorted(rows(test), key=len))
    assert heads[:3] == pytest.approx(found.heads["causal"][1].tolist(), abs=1e-4)
    assert sum(parts) == pytest.approx(float(run.logits[1, token] - run.logits[1, other]), abs=1e-3)
    told = said(inside(inside__by="who", inside__against="supercalifragilistic"))
    assert "not one token" in told and "without a comparison" in told


def test_left_of_a_change_a_causal_model_is_exactly_the_same(engine):
    model, test = engine.open("tiny-gpt"), inside(inside__by="ripple")
    other = next(box.value for box in test.text_input if "one word changed" in box.label)
    one, two = model.run(TEXT), model.run(other)
    first = [a == b for a, b in zip(one.ids, two.ids, strict=True)].index(False)
    for cell in rows(test)[0]:
        assert (cell["value"] > 0) == (cell["at"] >= first) or not cell["place"]
        assert cell["at"] >= first or cell["value"] == 0
    assert states(said(test), f"“{target_picker.word(one.tokens[first])}”")
    assert "cannot look ahead" in said(test)


def test_an_encoder_is_changed_everywhere_and_says_so(engine):
    test = inside(model="tiny-bert", text="She has a white car.", inside__by="ripple")
    assert all(cell["value"] > 0 for cell in rows(test)[0] if cell["place"])
    assert "reads both ways" in said(test)
    for side, words in (("encoder", "reads both ways"), ("decoder", "attends to the changed text")):
        assert words in said(inside(model="tiny-translator", inside__by="ripple", inside__side=side))


@pytest.mark.parametrize(
    ("text", "other", "words"),
    [
        (TEXT, "The animal was tired and went home to sleep.", "position by position"),
        (TEXT, TEXT, "nothing changed"),
        ("a man", "x man", "every later word"),
    ],
)
def test_texts_that_cannot_be_compared_are_told_and_nothing_breaks(engine, text, other, words):
    test = inside(text=text, inside__by="ripple", inside__other=other)
    assert words in said(test) and (words != "position by position" or not charts(test))


@pytest.mark.parametrize("by", ["guesses", "who", "ripple"])
def test_the_folds_open(engine, by):
    test = inside(inside__by=by)
    for fold in ("equation", "looking", "reach", "table", "take"):
        test.session_state[f"fold:inside.{by}.{fold}"] = True
    assert len(again(test).dataframe) >= 1


def test_an_empty_box_is_no_error(engine):
    assert "Type a sentence" in said(inside(text=""))


def test_zero_is_no_pale_colour_and_names_never_leave_their_quotes():
    chart = ripple_map(np.array([[0.0, 0.5]]), ["in"], ['"] + alert(1) + ["', "b"]).to_dict()
    (hatched,) = (each for each in find_layers(chart) if each["mark"].get("color") == LIGHT.hatch)
    assert any("filter" in transform for transform in hatched["transform"])
    (expression,) = {each["encoding"]["x"]["axis"]["labelExpr"] for each in find_layers(chart)}
    assert json.loads(expression.partition(" : ")[2].removesuffix("[datum.value]"))[0].startswith('"]')
    assert [mark["kind"] for mark in data(parts_of_logit(["a"], [1.0], [HUES[0]]).to_dict())] == ["embedding"]


def test_a_link_within_a_visit_brings_its_position_and_another_sentence_forgets_it(engine):
    other = "The dog was tired."
    test = inside(inside__by="who", inside__row="3")
    for text, row in ((other, "2"), (TEXT, "2")):
        test.query_params.clear()
        for name, value in {"model": "tiny-gpt", "text": text, "inside.by": "who", "inside.row": row}.items():
            test.query_params[name] = value
        if text == TEXT:  # the address of a new visit to the page
            del test.session_state["atlas.page"]
        assert linked(again(test))["inside.row"] == row
    test.query_params["text"] = other
    assert "inside.row" not in linked(again(test))
