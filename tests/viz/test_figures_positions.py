"""The figures and the page on positions, looked at as data: what is drawn, on which axes, in which range."""

import base64
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from deep import deep
from drawn_layers import all_rows, drawn_rows, find_layers, layer
from exhibit_pages import StepPages, said
from PIL import Image
from shown_values import states

from core.errors import InputError
from viz import theme
from viz.charts.curves import lanes, number, profiles, spread_labels
from viz.course.self_attention.positional_encoding import encoding, exhibit, pictures
from viz.course.self_attention.positional_encoding.charts import signed_matrix
from viz.course.self_attention.positional_encoding.params import PRESETS, VIEWS, Params
from viz.course.shared.positions import Formula, curves, distance_profile

table = np.random.default_rng(0).normal(size=(128, 16))
page = StepPages("positional_encoding")


def _rows(figure: Any, *fields: str) -> list[dict[str, Any]]:
    """Return what the first layer with these fields draws."""
    found = (each["data"]["values"] for each in find_layers(figure))
    return next(rows for rows in found if rows and {*fields} <= {*rows[0]})


def _notes(figure: Any, align: str) -> list[dict[str, Any]]:
    """Return the words at the left or the right edge."""
    layers = find_layers(figure)
    return next(each["data"]["values"] for each in layers if each["mark"].get("align") == align)


def _ticks(figure: Any) -> dict[int, str]:
    """Return what is written at the heights of the axis at the left."""
    axes = (each["encoding"].get("y", {}).get("axis") for each in find_layers(figure))
    labels = next(axis["labelExpr"] for axis in axes if axis)
    return {int(at): text for at, text in json.JSONDecoder().raw_decode(labels.lstrip("("))[0].items()}


def _sizes(tree: Any) -> Iterator[float]:
    """Yield all sizes of type in a chart."""
    for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if str(name).endswith("ontSize"):
            yield value
        elif isinstance(value, dict | list):
            yield from _sizes(value)


def _numbers(figure: Any) -> np.ndarray:
    """Return the numbers that a matrix tells, from its layer of rows."""
    return np.array([row["numbers"].split() for row in _rows(figure, "numbers")], dtype=float)


def test_lanes_draw_the_smooth_wave_and_mark_the_integers():
    drawn = curves(Formula(6), 11, (0, 3, 5))
    figure = lanes(drawn.samples, drawn.names, x=drawn.x, smooth=drawn.smooth, marked=7)
    wide, dots = _rows(figure, "x", "0", "1", "2"), _rows(figure, "lane", "value")
    x = np.array([row["x"] for row in wide])
    assert len(x) == 81 and len(dots) == 3 * 11, "eight points a step: no zigzag"
    slope, edges = 0.0, [row["y"] for row in _notes(figure, "left")]
    for lane, i in enumerate((0, 3, 5)):
        marks = [row for row in dots if row["lane"] == str(lane)]
        wanted = Formula(6).table(11)[:, i]
        assert [(row["x"], row["value"]) for row in marks] == [
            (at, number(value, 4)) for at, value in enumerate(wanted)
        ]
        heights = np.array([row["y"] for row in marks])
        slope = np.polyfit(wanted, heights, 1)[0] if lane == 0 else slope  # all lanes are of one height
        middle = np.mean(heights - slope * wanted)
        assert np.allclose(heights, slope * wanted + middle, atol=0.2)
        wave = (np.cos if i % 2 else np.sin)(x / 10000 ** (2 * (i // 2) / 6))
        assert np.allclose([row[str(lane)] for row in wide], slope * wave + middle, atol=0.3)
        top = middle + 1.18 * slope  # a lane reaches to 1.18, its name stands on it
        assert slope < 0 and top == pytest.approx(edges[lane], abs=0.5)
        near = {text: y for y, text in _ticks(figure).items() if abs(y - middle) < -1.2 * slope}
        assert near == pytest.approx({"−1": middle - slope, "0": middle, "1": middle + slope}, abs=1)
    assert [row["text"] for row in _notes(figure, "left")] == ["sin(pos)", *drawn.names[1:]]
    values = [number(value, 4) for value in Formula(6).table(11)[7, [3, 5]]]
    assert [row["text"] for row in _notes(figure, "right")] == ["position 7: 0.6570", *values]


def test_lanes_without_a_formula_have_nothing_smooth_to_draw():
    drawn = curves(table, 13, (2, 5))
    figure = lanes(drawn.samples, drawn.names, x=drawn.x, smooth=drawn.smooth, limit=2.5)
    assert [row["x"] for row in _rows(figure, "x", "0", "1")] == list(range(13))
    assert [row["x"] for row in _rows(figure, "lane", "value")] == 2 * list(range(13))
    ticks = [text for _, text in sorted(_ticks(figure).items(), reverse=True)]
    assert ticks == 2 * ["−2.50", "0.00", "2.50"]
    markup = lanes(np.zeros((1, 2)), ["<b>x</b> & y"])
    assert _notes(markup, "left")[0]["text"] == "<b>x</b> & y", "Vega draws text as it is"


def test_matrix_is_centred_on_zero_with_a_fixed_scale():
    values = np.linspace(-0.2, 0.9, 35).reshape(5, 7)
    figure = signed_matrix(values, rows="position", columns="dimension", marked=3)
    (colour,) = (
        each["encoding"]["color"]
        for each in find_layers(figure)
        if "scale" in each["encoding"].get("color", {})
    )
    assert colour["scale"]["domain"] == [-1, 1] and colour["scale"]["range"] == theme.DIVERGING
    assert np.allclose(_numbers(figure), values, atol=5e-5)
    rows = [(row["top"], row["bottom"]) for row in _rows(figure, "numbers")]
    assert rows == [(i - 0.5, i + 0.5) for i in range(5)]
    y = layer(figure, mark="image")["encoding"]["y"]
    assert y["scale"]["domain"] == [4.5, -0.5], "position 0 at the top"
    assert {"top": 2.5, "bottom": 3.5}.items() <= all_rows(figure)[-1].items()
    for wrong, given in (("1 axes", (values[0], 1)), ("limit=0", (values, 0))):
        with pytest.raises(ValueError, match=wrong):
            signed_matrix(given[0], rows="position", columns="dimension", limit=given[1])


@pytest.mark.parametrize(("which", "palette"), [("light", theme.LIGHT), ("dark", theme.DARK)])
def test_the_image_of_a_matrix_has_the_colours_of_its_scale(which, palette):
    values = np.array([[-2.0, -1.0, 0.0], [0.2, 1.0, 3.0]])  # what lies beyond gets the end's colour
    figure = signed_matrix(values, rows="position", columns="dimension", limit=1.0)
    (row,) = drawn_rows(figure, mark="image")
    assert (row["left"], row["right"], row["top"], row["bottom"]) == (-0.5, 2.5, -0.5, 1.5)
    png = io.BytesIO(base64.b64decode(row[which].partition(",")[2]))
    seen = np.asarray(Image.open(png).convert("RGB")).astype(int)
    low, middle, sixth, high = (
        np.array([int(palette.diverging[i][k : k + 2], 16) for k in (1, 3, 5)]) for i in (0, 5, 6, -1)
    )
    assert np.array_equal(seen[0], [low, low, middle]) and np.array_equal(seen[1, 1:], [high, high])
    assert np.abs(seen[1, 0] - sixth).max() <= 4, "0.2 is one of the palette's stops"
    ground = all_rows(theme.in_dark(json.loads(figure.to_json())), mark="image")[0]["ground"]
    assert ground != theme.BACKGROUND
    chosen = layer(figure, mark="image")["transform"][0]["calculate"]
    assert chosen == f"datum.ground == '{theme.BACKGROUND}' ? datum.light : datum.dark"


def test_profiles_show_a_ribbon_only_where_the_place_matters():
    bands = {}
    for name, variant in (("right", "paired"), ("i/d", "unpaired")):
        found = distance_profile(Formula(32, variant=variant), 40, 20, 4)
        bands[name] = (found.k, found.mean, found.low, found.high)
    figure = profiles(bands, {}, titles=("above", "below"))
    assert {row["line"] for row in _rows(figure, "y", "y2", "line")} == {"i/d"}
    for name, (ks, means, *_) in bands.items():
        dots = [row for row in _rows(figure, "whole", "mean") if row["line"] == name and row["whole"]]
        whole = [number(mean, 3) for k, mean in zip(ks, means, strict=True) if np.isclose(k, round(k))]
        assert [row["x"] for row in dots] == list(range(20)) and [row["mean"] for row in dots] == whole


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
        assert min(_sizes([tree["layer"], theme.altair_config()])) >= 12 and words.endswith(".")
        assert all("data" in each for each in theme.in_dark(tree)["layer"])
        assert len(all_rows(figure)) > len(tree["layer"])
    assert any(letter.isdigit() for letter in pictures.sentence(params.position, data))


def test_fig_10_is_the_survey_s_matrix():
    ((figure, _),) = pictures.figures(1, exhibit.compute(PRESETS["Fig. 10: n 10, d 60, p 100"]))
    i = np.arange(60)
    angle = np.arange(10)[:, None] / 10000 ** (2 * (i // 2) / 100)
    wanted = np.where(i % 2, np.cos(angle), np.sin(angle))
    assert np.allclose(_numbers(figure), wanted, atol=5.1e-5), "told to 4 decimals"


def test_d_512_sentence_has_the_numbers_of_the_slides_rounded():
    data = exhibit.compute(PRESETS["d = 512"])
    assert "[0.8415, 0.5403, 0.8219, …, 0.0001, 1.0000], 512 numbers" in pictures.sentence(1, data)


def test_without_the_model_learned_positions_say_what_is_missing(monkeypatch):
    missing = "The file gpt-mini/model.safetensors is missing."
    monkeypatch.setattr(encoding, "learned", lambda: (None, missing))
    with pytest.raises(InputError, match=r"gpt-mini/model\.safetensors is missing"):
        exhibit.compute(Params(formula="learned"))
    bias = exhibit.compute(Params(view="Distance")).bias
    assert bias is not None and "learned" not in bias


def test_d_length_and_base_come_from_the_link():
    assert states(page().text[0].value, "Position 1", "[0.8415, 0.5403, 0.0100, 1.0000]")
    test = page(d=6, length=9, base=100, dims=8)
    dots = _rows(test, "lane", "value")
    assert len({row["lane"] for row in dots}) == 6 and len(dots) == 6 * 9
    assert states(test.text[0].value, 135), "2 pi 100 ** (4 / 6)"


def test_the_exponent_switch_offers_every_printed_form_and_the_errata_say_they_differ():
    test = page(1, "change.0")
    assert len(test.selectbox[0].options) == 5
    test.session_state["fold:Positional encoding.documents"] = True
    documents = said(test.run())
    for phrase in ("differ here", "1.404", "4.787", "62 entries", "0.8414"):
        assert phrase in documents


def test_the_criteria_are_ticked_by_computing():
    test = page(1, "criteria")
    ticks = test.table[0].value
    assert ticks.loc["fraction"].tolist() == ["✓", "✗", "✓", "✓", "✓"]
    assert ticks.loc["sinusoid"].tolist() == ["✓"] * 5
    assert states(" ".join(each.value for each in test.text), "0.2500 in 5 words", "0.0526 in 20")


def test_the_equation_fold_has_both_worked_examples():
    test = page(1, "equation")
    worked = test.table[1].value
    assert r"0.8415,\;0.5403" in test.latex[1].value
    assert worked["rounded"].tolist() == ["0.8415", "0.5403", "0.8219", "0.0001", "1.0000"]
    assert worked["printed"].tolist() == ["0.8414", "0.5403", "0.8218", "0.0001", "0.9999"]


def test_a_prediction_is_answered_only_after_it_is_made():
    before, after = (
        " ".join(each.value for each in test.text)
        for test in (page(), page(guess={"guess": "Larger at the end"}))
    )
    assert "everywhere" not in before and states(after, "1.198 everywhere", "0.335 to 1.284")
