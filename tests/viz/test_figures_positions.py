"""The figures and the page on positions, looked at as data: what is drawn, on which axes, in which range."""

import json

import numpy as np
import plotly.io as pio
import pytest
from streamlit.testing.v1 import AppTest

from core.errors import InputError
from core.lessons.positions import Formula, curves, distance_profile
from viz import theme
from viz.exhibits import _positions_pictures as pictures
from viz.exhibits import positional_encoding as exhibit
from viz.figures.curves import lanes, number, profiles, spread_labels
from viz.figures.matrix import signed_matrix

table = np.random.default_rng(0).normal(size=(128, 16))


def _dots(figure):
    return [trace for trace in figure.data if trace.mode == "markers" and len(trace.x) > 1]


def test_lanes_draw_the_smooth_wave_and_mark_the_integers():
    drawn = curves(Formula(6), 11, (0, 3, 5))
    figure = lanes(drawn.samples, drawn.names, x=drawn.x, smooth=drawn.smooth, marked=7)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(lines) == len(_dots(figure)) == 3
    for i, line, dots in zip((0, 3, 5), lines, _dots(figure), strict=True):
        wave = (np.cos if i % 2 else np.sin)(np.asarray(line.x) / 10000 ** (2 * (i // 2) / 6))
        assert np.allclose(line.y, wave, atol=1e-6)
        assert len(line.x) == 81  # eight points a step: no zigzag
        assert list(dots.x) == list(range(11))
        assert np.allclose(dots.y, Formula(6).table(11)[:, i], atol=1e-6)
    assert [a.text for a in figure.layout.annotations][:2] == ["sin(pos)", "position 7: 0.6570"]
    assert json.loads(pio.to_json(figure))["layout"]["yaxis3"]["range"] == [-1.18, 1.18]


def test_lanes_without_a_formula_have_nothing_smooth_to_draw():
    drawn = curves(table, 13, (2, 5))
    figure = lanes(drawn.samples, drawn.names, x=drawn.x, smooth=drawn.smooth, limit=2.5)
    assert all(list(trace.x) == list(range(13)) for trace in figure.data)
    assert list(figure.layout.yaxis.ticktext) == ["−2.50", "0.00", "2.50"]


def test_lane_names_are_never_markup():
    figure = lanes(np.zeros((1, 2)), ["<b>x</b> & y"])
    assert figure.layout.annotations[0].text == "&lt;b&gt;x&lt;/b&gt; &amp; y"


def test_matrix_is_centred_on_zero_with_a_fixed_scale():
    values = np.linspace(-0.2, 0.9, 35).reshape(5, 7)
    figure = signed_matrix(values, rows="position", columns="dimension", marked=3)
    heat = figure.data[0]
    assert (heat.zmin, heat.zmax) == (-1, 1)
    assert np.asarray(heat.z).shape == (5, 7)
    assert [colour for _, colour in heat.colorscale] == theme.DIVERGING
    assert list(heat.colorbar.ticktext) == ["−1", "0", "1"]
    assert figure.layout.yaxis.range == (4.5, -0.5)  # position 0 at the top
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (2.5, 3.5)
    with pytest.raises(ValueError, match="1 axes"):
        signed_matrix(values[0], rows="position", columns="dimension")
    with pytest.raises(ValueError, match="limit=0"):
        signed_matrix(values, rows="position", columns="dimension", limit=0)


def test_profiles_show_a_ribbon_only_where_the_place_matters():
    bands = {}
    for name, variant in (("right", "paired"), ("i/d", "unpaired")):
        found = distance_profile(Formula(32, variant=variant), 40, 20, 4)
        bands[name] = (found.k, found.mean, found.low, found.high)
    figure = profiles(bands, {}, titles=("above", "below"))
    assert [trace.name for trace in figure.data if trace.fill == "toself"] == ["i/d"]
    assert all(list(trace.x) == list(range(20)) for trace in _dots(figure))
    labels = {a.text: a.font.color for a in figure.layout.annotations[2:]}
    assert labels == {"right": theme.CATEGORICAL[0], "i/d": theme.CATEGORICAL[1]}


def test_labels_keep_their_distance_and_order():
    assert spread_labels([3.0, 1.0, 1.1, 1.05], 0.5) == [3.0, 0.55, 1.55, 1.05]
    assert number(-0.00001, 4) == "0.0000"


@pytest.mark.parametrize("view", exhibit.VIEWS)
@pytest.mark.parametrize("name", exhibit.PRESETS)
def test_every_preset_in_every_view_makes_a_picture_and_a_sentence(monkeypatch, view, name):
    monkeypatch.setattr(exhibit, "learned", lambda: (table, ""))
    params = exhibit.replace(exhibit.PRESETS[name], view=view)
    data = exhibit.compute(params)
    for figure, words in pictures.figures(params.position, data):
        sizes = [a.font.size for a in figure.layout.annotations] + [figure.layout.template.layout.font.size]
        assert min(sizes) >= 12
        assert words.endswith(".")
        assert json.loads(pio.to_json(theme.in_dark(figure.to_dict())))["data"]
    assert any(letter.isdigit() for letter in pictures.sentence(params.position, data))


def test_fig_10_is_the_survey_s_matrix():
    data = exhibit.compute(exhibit.PRESETS["Fig. 10: n 10, d 60, p 100"])
    ((figure, _),) = pictures.figures(1, data)
    i = np.arange(60)
    angle = np.arange(10)[:, None] / 10000 ** (2 * (i // 2) / 100)
    assert np.allclose(figure.data[0].z, np.where(i % 2, np.cos(angle), np.sin(angle)), atol=1e-6)


def test_d_512_sentence_has_the_numbers_of_the_slides_rounded():
    data = exhibit.compute(exhibit.PRESETS["d = 512"])
    assert "[0.8415, 0.5403, 0.8219, …, 0.0001, 1.0000], 512 numbers" in pictures.sentence(1, data)


def test_without_the_model_learned_positions_say_what_is_missing(monkeypatch):
    monkeypatch.setattr(exhibit, "learned", lambda: (None, "The file gpt-mini/model.safetensors is missing."))
    with pytest.raises(InputError, match=r"gpt-mini/model\.safetensors is missing"):
        exhibit.compute(exhibit.Params(formula="learned"))
    data = exhibit.compute(exhibit.Params(view="Distance"))
    assert data.bias is not None
    assert "learned" not in data.bias


def _open(**choices: object) -> AppTest:
    at = AppTest.from_string("from viz.exhibits import positional_encoding as e\ne.page()", default_timeout=60)
    for name, value in choices.items():
        at.query_params[exhibit.SLUG + name] = str(value)
    return at.run()


def test_the_page_opens_on_the_documents_example():
    at = _open()
    assert not at.exception
    assert at.title[0].value == "Positional encoding"
    assert len(at.get("plotly_chart")) == 1
    assert at.text[0].value.startswith("Position 1 is the vector [0.8415, 0.5403, 0.0100, 1.0000].")


def test_d_length_and_base_come_from_the_link():
    at = _open(d=6, length=9, base=100, dims=8)
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    dots = [trace for trace in spec["data"] if trace["mode"] == "markers" and trace["marker"]["size"] < 9]
    assert len(dots) == 6
    assert "the last every 135" in at.text[0].value  # 2 pi 100 ** (4 / 6)


@pytest.mark.parametrize("choice", [{"d": "many"}, {"d": 99999}, {"view": "nonsense"}, {"base": 7}, {"position": -3}])
def test_nonsense_in_the_link_is_told_and_something_is_shown(choice):
    at = _open(**choice)
    assert not at.exception
    assert "that cannot be shown" in at.text[0].value
    assert at.get("plotly_chart")


def _unfold(name: str) -> AppTest:
    at = _open()
    keys = {"change": "positional_encoding.change", "criteria": "positional_encoding.criteria"}
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
    assert "0.2500 in 5 words and 0.0526 in 20" in " ".join(t.value for t in at.text)


def test_the_equation_fold_has_both_worked_examples():
    at = _unfold("equation")
    assert not at.exception
    assert r"0.8415,\;0.5403" in at.latex[1].value
    assert at.table[1].value["rounded"].tolist() == ["0.8415", "0.5403", "0.8219", "0.0001", "1.0000"]
    assert at.table[1].value["printed"].tolist() == ["0.8414", "0.5403", "0.8218", "0.0001", "0.9999"]


def test_a_prediction_is_answered_only_after_it_is_made():
    at = _open()
    assert not any("everywhere" in t.value for t in at.text)
    at.session_state["predict:positional_encoding.guess"] = "It grows"
    at.run()
    assert any("1.198 everywhere" in t.value and "0.335 to 1.284" in t.value for t in at.text)
