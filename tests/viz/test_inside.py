"""Inside: the table is the lens of the run, the bars add up to its logit, what stands left of a change is exactly zero."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from drawn_layers import find_layers
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import served

from core.analysis.attribution.target_token import OutputTarget, default_row
from core.analysis.residual.logit_lens import logit_lens
from core.model import Model
from core.run import Run
from core.serving.engine import Engine
from viz.charts.layers import HUES, parts_of_logit, ripple_map
from viz.theme import LIGHT
from viz.workspace.inside import contributions as who
from viz.workspace.shared import target_picker

TEXT = "The animal was tired."
MODELS = ("tiny-gpt", "tiny-llama", "tiny-translator", "tiny-bert", "tiny-albert", "tiny-bigbird")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), *MODELS) as engine,
    ):
        yield engine


def forced(model: Model, text: str) -> Run:
    """The run of the pages: a translator's own translation given as text."""
    run = model.run(text)
    return run if run.source is None else model.run(text, target=run.target_text)


def page(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.inside import page\npage.page()", default_timeout=60)
    for key, value in link.items():
        test.query_params[key.replace("__", ".")] = value
    test.run()
    assert not test.exception
    return test


def charts(test: AppTest) -> list[dict]:
    """The charts of a page, each with its data under `tables`."""
    found = []
    for element in test.get("vega_lite_chart"):
        tables = {
            table.name: pa.ipc.open_stream(table.data.data).read_all().to_pylist()
            for table in element.proto.datasets
        }
        if element.proto.HasField("data"):
            tables[""] = pa.ipc.open_stream(element.proto.data.data).read_all().to_pylist()
        found.append(json.loads(element.proto.spec) | {"tables": tables})
    return found


def data(chart: dict) -> list[dict]:
    """Return the rows that a chart draws: of a layered one, those of the first layer that has rows."""
    own = (each["data"] for each in chart.get("layer", ()) if "data" in each)
    found = chart.get("data") or next(own, {"name": ""})
    return found["values"] if "values" in found else chart.get("tables", chart.get("datasets"))[found["name"]]


def said(test: AppTest) -> str:
    return "\n".join(str(element.value) for element in (*test.text, *test.markdown, *test.caption))


@pytest.mark.quick(2)
@pytest.mark.parametrize("model", MODELS)
def test_it_opens_with_the_lens_of_the_run(engine, model):
    text = "She has a [MASK] car." if model in ("tiny-bert", "tiny-albert", "tiny-bigbird") else TEXT
    test = page(model=model, text=text)
    run = forced(engine.open(model), text)
    lens = logit_lens(run)
    cells = data(charts(test)[0])
    assert len(cells) == len(run.tokens) * 3
    for cell in cells:
        layer, row = cell["at"], cell["place"]
        assert cell["value"] == pytest.approx(lens.chances[layer, row, 0], abs=1e-4)
        assert cell["note"] == target_picker.choice_name(run, int(lens.ids[layer, row, 0]))
    (framed,) = [cell for cell in cells if cell.get("highlighted")]
    assert framed["place"] == default_row(run)
    assert f"“{target_picker.choice_name(run, int(lens.ids[-1, default_row(run), 0]))}”" in said(test)


def test_a_cell_in_the_link_is_framed_and_shows_its_five_best(engine):
    test = page(model="tiny-gpt", text=TEXT, inside__cell="2.1")
    run = engine.open("tiny-gpt").run(TEXT)
    lens = logit_lens(run)
    table, top = charts(test)
    (framed,) = [cell for cell in data(table) if cell.get("highlighted")]
    assert (framed["place"], framed["at"]) == (2, 1)
    assert [row["value"] for row in data(top)] == pytest.approx(lens.chances[1, 2].tolist())
    assert any("after layer 0" in caption.value for caption in test.caption)


@pytest.mark.parametrize("cell", ["99.0", "x", "1.77", "-1.0", ""])
def test_nonsense_in_the_link_is_told_and_the_page_shows_its_opening(engine, cell):
    test = page(model="tiny-gpt", text=TEXT, inside__cell=cell, inside__by="everything")
    assert sum(
        bool(cell.get("highlighted")) for cell in data(charts(test)[0])
    ) == 1 and "cannot be shown" in said(test)


@pytest.mark.quick(2)
@pytest.mark.parametrize("model", MODELS)
def test_who_wrote_it_adds_up_to_the_logit(engine, model):
    text = "She has a [MASK] car." if model in ("tiny-bert", "tiny-albert", "tiny-bigbird") else TEXT
    test = page(model=model, text=text, inside__by="who")
    run = forced(engine.open(model), text)
    row = default_row(run)
    heads, bars = sorted(charts(test)[:2], key=lambda chart: any(cell["highlighted"] for cell in data(chart)))
    logit = float(run.logits[row].max())
    assert sum(cell["value"] for cell in data(bars)) == pytest.approx(logit, abs=1e-3)
    (chosen,) = [cell for cell in data(bars) if cell["highlighted"]]
    assert sum(cell["value"] for cell in data(heads)) == pytest.approx(chosen["value"], abs=1e-4)
    assert f"is {logit:.2f}".replace("-", "−") in said(test)


def test_who_wrote_it_follows_the_link_down_to_the_heads_and_compares_two_words(engine):
    run = engine.open("tiny-gpt").run(TEXT)
    token, other = 40, run.model.token_id("the")
    test = page(
        model="tiny-gpt",
        text=TEXT,
        inside__by="who",
        inside__row="1",
        inside__word=str(token),
        inside__against="the",
        inside__part="L1 attention",
    )
    found = who.attribute(run, OutputTarget(1, token, other))
    by_size = sorted((data(chart) for chart in charts(test)), key=len)
    assert [cell["value"] for cell in by_size[0]][:3] == pytest.approx(
        found.heads["causal"][1].tolist(), abs=1e-4
    )
    assert sum(cell["value"] for cell in by_size[1]) == pytest.approx(
        float(run.logits[1, token] - run.logits[1, other]), abs=1e-3
    )
    test = page(model="tiny-gpt", text=TEXT, inside__by="who", inside__against="supercalifragilistic")
    assert "not one token" in said(test) and "without a comparison" in said(test)


def test_left_of_a_change_a_causal_model_is_exactly_the_same(engine):
    model = engine.open("tiny-gpt")
    test = page(model="tiny-gpt", text=TEXT, inside__by="ripple")
    other = next(box.value for box in test.text_input if "one word changed" in box.label)
    assert other != TEXT
    one, two = model.run(TEXT), model.run(other)
    first = next(i for i, (a, b) in enumerate(zip(one.ids, two.ids, strict=True)) if a != b)
    cells = data(charts(test)[0])
    assert all(cell["value"] == 0 for cell in cells if cell["at"] < first) and all(
        cell["value"] > 0 for cell in cells if cell["at"] >= first and cell["place"]
    )
    assert states(said(test), f"“{target_picker.word(one.tokens[first])}”") and "cannot look ahead" in said(
        test
    )


def test_an_encoder_is_changed_everywhere_and_says_so(engine):
    test = page(model="tiny-bert", text="She has a white car.", inside__by="ripple")
    assert all(
        cell["value"] > 0 for cell in data(charts(test)[0]) if cell["place"]
    ) and "reads both ways" in said(test)
    for side, words in (("encoder", "reads both ways"), ("decoder", "each attends to the changed text")):
        assert words in said(page(model="tiny-translator", text=TEXT, inside__by="ripple", inside__side=side))


def test_texts_that_cannot_be_compared_are_told_and_nothing_breaks(engine):
    test = page(
        model="tiny-gpt",
        text=TEXT,
        inside__by="ripple",
        inside__other="The animal was tired and went home to sleep.",
    )
    assert "position by position" in said(test) and not charts(test)
    assert "nothing changed" in said(
        page(model="tiny-gpt", text=TEXT, inside__by="ripple", inside__other=TEXT)
    )
    assert "every later word" in said(
        page(model="tiny-gpt", text="a man", inside__by="ripple", inside__other="x man")
    )


@pytest.mark.parametrize("by", ["guesses", "who", "ripple"])
def test_the_folds_open(engine, by):
    test = page(model="tiny-gpt", text=TEXT, inside__by=by)
    for fold in ("equation", "looking", "reach", "table", "take"):
        test.session_state[f"fold:inside.{by}.{fold}"] = True
    test.run()
    assert not test.exception and len(test.dataframe) >= 1


def test_a_recurrent_model_is_not_offered_and_an_empty_box_is_no_error(engine):
    assert "Type a sentence" in said(page(model="tiny-gpt", text=""))


def test_zero_is_no_pale_colour_and_names_never_leave_their_quotes():
    chart = ripple_map(np.array([[0.0, 0.5]]), ["in"], ['"] + alert(1) + ["', "b"]).to_dict()
    (hatched,) = (each for each in find_layers(chart) if each["mark"].get("color") == LIGHT.hatch)
    assert any("filter" in transform for transform in hatched["transform"])
    (expression,) = {each["encoding"]["x"]["axis"]["labelExpr"] for each in find_layers(chart)}
    assert json.loads(expression.partition(" : ")[2].removesuffix("[datum.value]"))[0].startswith('"]')
    assert [mark["kind"] for mark in data(parts_of_logit(["a"], [1.0], [HUES[0]]).to_dict())] == ["embedding"]


def test_a_link_within_a_visit_brings_its_position_and_another_sentence_forgets_the_one_that_was_chosen(
    engine,
):
    test = AppTest.from_string(
        "from viz.shell import pages, state\nwith state.visit('inside'):\n    pages.find('inside').page()",
        default_timeout=60,
    )
    for text, row in ((TEXT, 3), ("The dog was tired.", 2), (TEXT, 2)):
        link = {"model": "tiny-gpt", "text": text, "inside.by": "who", "inside.row": str(row)}
        test.query_params.clear()
        for name, value in link.items():
            test.query_params[name] = value
        if text == TEXT and row == 2:  # the address of a new visit to the page
            del test.session_state["atlas.page"]
        test.run()
        assert not test.exception and test.query_params["inside.row"] == str(row)
    test.query_params["text"] = "The dog was tired."
    test.run()
    assert "inside.row" not in test.query_params
