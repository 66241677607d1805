"""The figures and the page on positions, looked at as data: what is drawn, on which axes, in which range."""

import base64
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pytest
from deep import deep
from drawn_layers import all_rows
from exhibit_pages import chart
from PIL import Image
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.errors import InputError
from viz import theme
from viz.charts.curves import lanes, number, profiles, spread_labels
from viz.course.self_attention.positional_encoding import encoding, exhibit, pictures
from viz.course.self_attention.positional_encoding.charts import signed_matrix
from viz.course.self_attention.positional_encoding.params import PRESETS, VIEWS, Params
from viz.course.shared.positions import Formula, curves, distance_profile

table = np.random.default_rng(0).normal(size=(128, 16))


def _layers(figure: alt.LayerChart) -> list[dict[str, Any]]:
    """The layers of a chart, as Vega-Lite is told."""
    return json.loads(figure.to_json())["layer"]


def _rows(layers: list[dict[str, Any]], *fields: str) -> list[dict[str, Any]]:
    """What the first layer with these fields draws."""
    found = (layer["data"]["values"] for layer in layers)
    return next(rows for rows in found if rows and set(fields) <= set(rows[0]))


def _notes(layers: list[dict[str, Any]], align: str) -> list[dict[str, Any]]:
    """The words at the left or the right edge."""
    return next(layer["data"]["values"] for layer in layers if layer["mark"].get("align") == align)


def _told(layers: list[dict[str, Any]]) -> dict[int, str]:
    """What is written at the heights of the axis at the left."""
    told = next(
        layer["encoding"]["y"]["axis"] for layer in layers if layer["encoding"].get("y", {}).get("axis")
    )
    return {
        int(height): text
        for height, text in json.JSONDecoder().raw_decode(told["labelExpr"].lstrip("("))[0].items()
    }


def _sizes(tree: Any) -> Iterator[float]:
    """All sizes of type in a chart."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from [value] if name.endswith("ontSize") else _sizes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _sizes(value)


def test_lanes_draw_the_smooth_wave_and_mark_the_integers():
    drawn = curves(Formula(6), 11, (0, 3, 5))
    layers = _layers(lanes(drawn.samples, drawn.names, x=drawn.x, smooth=drawn.smooth, marked=7))
    wide, dots = _rows(layers, "x", "0", "1", "2"), _rows(layers, "lane", "value")
    x = np.array([row["x"] for row in wide])
    assert len(x) == 81  # eight points a step: no zigzag
    assert len(dots) == 3 * 11
    slope, edges = 0.0, [row["y"] for row in _notes(layers, "left")]
    for lane, i in enumerate((0, 3, 5)):
        marks = [row for row in dots if row["lane"] == str(lane)]
        assert [row["x"] for row in marks] == list(range(11))
        assert [row["value"] for row in marks] == [number(value, 4) for value in Formula(6).table(11)[:, i]]
        heights, wanted = np.array([row["y"] for row in marks]), Formula(6).table(11)[:, i]
        slope = np.polyfit(wanted, heights, 1)[0] if lane == 0 else slope  # all lanes are of one height
        middle = np.mean(heights - slope * wanted)
        assert np.allclose(heights, slope * wanted + middle, atol=0.2)
        wave = (np.cos if i % 2 else np.sin)(x / 10000 ** (2 * (i // 2) / 6))
        assert np.allclose([row[str(lane)] for row in wide], slope * wave + middle, atol=0.3)
        assert slope < 0 and middle + 1.18 * slope == pytest.approx(
            edges[lane], abs=0.5
        )  # a lane reaches to 1.18, its name stands on it
        assert {
            text: height for height, text in _told(layers).items() if abs(height - middle) < -1.2 * slope
        } == pytest.approx({"−1": middle - slope, "0": middle, "1": middle + slope}, abs=1)
    assert [row["text"] for row in _notes(layers, "left")] == ["sin(pos)", *drawn.names[1:]]
    assert [row["text"] for row in _notes(layers, "right")] == [
        "position 7: 0.6570",
        *(number(value, 4) for value in Formula(6).table(11)[7, [3, 5]]),
    ]


def test_lanes_without_a_formula_have_nothing_smooth_to_draw():
    drawn = curves(table, 13, (2, 5))
    layers = _layers(lanes(drawn.samples, drawn.names, x=drawn.x, smooth=drawn.smooth, limit=2.5))
    assert [row["x"] for row in _rows(layers, "x", "0", "1")] == list(range(13))
    assert [row["x"] for row in _rows(layers, "lane", "value")] == 2 * list(range(13))
    assert [text for _, text in sorted(_told(layers).items(), reverse=True)] == 2 * ["−2.50", "0.00", "2.50"]


def test_lane_names_are_never_markup():
    layers = _layers(lanes(np.zeros((1, 2)), ["<b>x</b> & y"]))
    assert _notes(layers, "left")[0]["text"] == "<b>x</b> & y"  # Vega draws text as it is
    assert not any(isinstance(layer["mark"].get("text"), dict) for layer in layers)


def test_matrix_is_centred_on_zero_with_a_fixed_scale():
    values = np.linspace(-0.2, 0.9, 35).reshape(5, 7)
    image, rows, cells, frame = _layers(signed_matrix(values, rows="position", columns="dimension", marked=3))
    colour = cells["encoding"]["color"]
    assert colour["scale"]["domain"] == [-1, 1]
    assert colour["scale"]["range"] == theme.DIVERGING
    assert colour["legend"]["values"] == [-1, 0, 1] and {"'−1'", "'0'", "'1'"} <= set(
        colour["legend"]["labelExpr"].split()
    )
    assert _numbers(rows).shape == (5, 7)
    assert np.allclose(_numbers(rows), values, atol=5e-5)
    assert [(row["top"], row["bottom"]) for row in rows["data"]["values"]] == [
        (i - 0.5, i + 0.5) for i in range(5)
    ]
    assert image["encoding"]["y"]["scale"]["domain"] == [4.5, -0.5]  # position 0 at the top
    assert [(row["top"], row["bottom"]) for row in frame["data"]["values"]] == [(2.5, 3.5)]
    with pytest.raises(ValueError, match="1 axes"):
        signed_matrix(values[0], rows="position", columns="dimension")
    with pytest.raises(ValueError, match="limit=0"):
        signed_matrix(values, rows="position", columns="dimension", limit=0)


def _numbers(rows: dict[str, Any]) -> np.ndarray:
    """The numbers that a matrix tells, from its layer of rows."""
    return np.array([row["numbers"].split() for row in rows["data"]["values"]], dtype=float)


@pytest.mark.parametrize(("which", "palette"), [("light", theme.LIGHT), ("dark", theme.DARK)])
def test_the_image_of_a_matrix_has_the_colours_of_its_scale(which, palette):
    values = np.array([[-2.0, -1.0, 0.0], [0.2, 1.0, 3.0]])  # what lies beyond gets the end's colour
    figure = signed_matrix(values, rows="position", columns="dimension", limit=1.0)
    image, _, cells = _layers(figure)
    (row,) = image["data"]["values"]
    assert (row["left"], row["right"], row["top"], row["bottom"]) == (-0.5, 2.5, -0.5, 1.5)
    drawn = Image.open(io.BytesIO(base64.b64decode(row[which].partition(",")[2]))).convert("RGB")
    seen = np.asarray(drawn).astype(int)
    assert seen.shape == (2, 3, 3)
    low, middle, sixth, high = (
        np.array([int(palette.diverging[i][k : k + 2], 16) for k in (1, 3, 5)]) for i in (0, 5, 6, -1)
    )
    assert np.array_equal(seen[0], [low, low, middle]) and np.array_equal(seen[1, 1:], [high, high])
    assert np.abs(seen[1, 0] - sixth).max() <= 4  # 0.2 is one of the palette's stops
    assert {"'≤", "'≥"} <= set(cells["encoding"]["color"]["legend"]["labelExpr"].split())
    ground = all_rows(theme.in_dark(json.loads(figure.to_json())), mark="image")[0]["ground"]
    assert (
        ground != theme.BACKGROUND
        and image["transform"][0]["calculate"]
        == f"datum.ground == '{theme.BACKGROUND}' ? datum.light : datum.dark"
    )


def test_profiles_show_a_ribbon_only_where_the_place_matters():
    bands = {}
    for name, variant in (("right", "paired"), ("i/d", "unpaired")):
        found = distance_profile(Formula(32, variant=variant), 40, 20, 4)
        bands[name] = (found.k, found.mean, found.low, found.high)
    layers = _layers(profiles(bands, {}, titles=("above", "below")))
    assert {row["line"] for row in _rows(layers, "y", "y2", "line")} == {"i/d"}
    for name in bands:
        dots = [row for row in _rows(layers, "whole", "mean") if row["line"] == name and row["whole"]]
        assert [row["x"] for row in dots] == list(range(20))
        assert [row["mean"] for row in dots] == [
            number(mean, 3) for k, mean in zip(*bands[name][:2], strict=True) if np.isclose(k, round(k))
        ]
    named = next(
        layer for layer in layers if layer["mark"].get("align") == "left" and "color" in layer["encoding"]
    )
    hues = named["encoding"]["color"]["scale"]
    assert [row["text"] for row in named["data"]["values"]] == ["right", "i/d"]
    assert dict(zip(hues["domain"], hues["range"], strict=True)) == {
        "right": theme.CATEGORICAL[0],
        "i/d": theme.CATEGORICAL[1],
    }


def test_labels_keep_their_distance_and_order():
    assert spread_labels([3.0, 1.0, 1.1, 1.05], 0.5) == [3.0, 0.55, 1.55, 1.05]
    assert number(-0.00001, 4) == "0.0000"


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", deep(PRESETS, list(PRESETS)[:1]))
def test_every_preset_in_every_view_makes_a_picture_and_a_sentence(monkeypatch, view, name):
    monkeypatch.setattr(encoding, "learned", lambda: (table, ""))
    params = replace(PRESETS[name], view=view)
    data = exhibit.compute(params)
    for figure, words in pictures.figures(params.position, data):
        tree = json.loads(figure.to_json())
        assert min(_sizes([tree["layer"], theme.altair_config()])) >= 12
        assert words.endswith(".")
        assert all("data" in layer for layer in theme.in_dark(tree)["layer"])
        assert sum(len(layer["data"]["values"]) for layer in tree["layer"]) > len(tree["layer"])
    assert any(letter.isdigit() for letter in pictures.sentence(params.position, data))


def test_fig_10_is_the_survey_s_matrix():
    data = exhibit.compute(PRESETS["Fig. 10: n 10, d 60, p 100"])
    ((figure, _),) = pictures.figures(1, data)
    i = np.arange(60)
    angle = np.arange(10)[:, None] / 10000 ** (2 * (i // 2) / 100)
    assert np.allclose(
        _numbers(_layers(figure)[1]), np.where(i % 2, np.cos(angle), np.sin(angle)), atol=5.1e-5
    )  # told to 4 decimals


def test_d_512_sentence_has_the_numbers_of_the_slides_rounded():
    data = exhibit.compute(PRESETS["d = 512"])
    assert "[0.8415, 0.5403, 0.8219, …, 0.0001, 1.0000], 512 numbers" in pictures.sentence(1, data)


def test_without_the_model_learned_positions_say_what_is_missing(monkeypatch):
    monkeypatch.setattr(
        encoding, "learned", lambda: (None, "The file gpt-mini/model.safetensors is missing.")
    )
    with pytest.raises(InputError, match=r"gpt-mini/model\.safetensors is missing"):
        exhibit.compute(Params(formula="learned"))
    data = exhibit.compute(Params(view="Distance"))
    assert data.bias is not None
    assert "learned" not in data.bias


def _open(**choices: object) -> AppTest:
    at = AppTest.from_string(
        "from viz.course.self_attention.positional_encoding import exhibit as e\ne.EXHIBIT.page()",
        default_timeout=60,
    )
    for name, value in choices.items():
        at.query_params[f"positional_encoding.{name}"] = str(value)
    return at.run()


def test_the_page_opens_on_the_documents_example():
    at = _open()
    assert not at.exception
    assert at.title[0].value == "Positional encoding"
    assert len(at.get("vega_lite_chart")) == 1
    assert states(at.text[0].value, "Position 1", "[0.8415, 0.5403, 0.0100, 1.0000]")


def test_d_length_and_base_come_from_the_link():
    at = _open(d=6, length=9, base=100, dims=8)
    dots = next(rows for rows in chart(at) if rows and {"lane", "value"} <= set(rows[0]))
    assert len({row["lane"] for row in dots}) == 6 and len(dots) == 6 * 9
    assert "the last every 135" in at.text[0].value  # 2 pi 100 ** (4 / 6)


@pytest.mark.parametrize(
    "choice", [{"d": "many"}, {"d": 99999}, {"view": "nonsense"}, {"base": 7}, {"position": -3}]
)
def test_nonsense_in_the_link_is_told_and_something_is_shown(choice):
    at = _open(**choice)
    assert not at.exception
    assert "cannot be shown" in at.text[0].value
    assert at.get("vega_lite_chart") and not at.get("plotly_chart")


def _unfold(name: str) -> AppTest:
    at = _open()
    keys = {"change": "positional_encoding.change.0", "criteria": "positional_encoding.criteria"}
    at.session_state[f"fold:{keys.get(name, 'positional_encoding.' + name)}"] = True
    return at.run()


def test_the_exponent_switch_offers_every_printed_form_and_the_errata_say_they_differ():
    at = _unfold("change")
    assert not at.exception
    assert len(at.selectbox[0].options) == 5
    at = _open()
    at.session_state["fold:Positional encoding.documents"] = True
    at.run()
    said = " ".join(part.value for part in (*at.markdown, *at.text))
    for phrase in ("differ here", "1.404", "4.787", "62 entries", "0.8414"):
        assert phrase in said


def test_the_criteria_are_ticked_by_computing():
    at = _unfold("criteria")
    assert not at.exception
    ticks = at.table[0].value
    assert ticks.loc["fraction"].tolist() == ["✓", "✗", "✓", "✓", "✓"]
    assert ticks.loc["sinusoid"].tolist() == ["✓"] * 5
    assert states(" ".join(t.value for t in at.text), "0.2500 in 5 words", "0.0526 in 20")


def test_the_equation_fold_has_both_worked_examples():
    at = _unfold("equation")
    assert not at.exception
    assert r"0.8415,\;0.5403" in at.latex[1].value
    assert at.table[1].value["rounded"].tolist() == ["0.8415", "0.5403", "0.8219", "0.0001", "1.0000"]
    assert at.table[1].value["printed"].tolist() == ["0.8414", "0.5403", "0.8218", "0.0001", "0.9999"]


def test_a_prediction_is_answered_only_after_it_is_made():
    at = _open()
    assert not any("everywhere" in t.value for t in at.text)
    at.session_state["predict:positional_encoding.guess"] = "Larger at the end"
    at.run()
    assert any("1.198 everywhere" in t.value and "0.335 to 1.284" in t.value for t in at.text)
