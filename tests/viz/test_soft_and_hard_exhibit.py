"""The exhibit on soft and hard attention without a browser: reads, draws, gradients, the questions, the link."""

from __future__ import annotations

import json

import numpy as np
import pytest
from exhibit_pages import drawn, figure, said
from streamlit.testing.v1 import AppTest

from core.lessons import soft_and_hard as both
from viz.exhibits import _soft_and_hard_folds as folds
from viz.exhibits import _soft_and_hard_panels as panels
from viz.exhibits import soft_and_hard as exhibit
from viz.figures.lots import guesses
from viz.figures.patches import VEIL, lit, reads

FOLDS = ("soft_and_hard.equation", "soft_and_hard.looking", "Soft and hard attention.documents", "soft_and_hard.table", "soft_and_hard.take")
SOFTLY = "The soft mix of all patches"


def page(*folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    return drawn("soft_and_hard", {f"soft_and_hard.{name}": value for name, value in link.items()}, {f"fold:{name}": True for name in folded} | (state or {}))




def test_the_page_opens_with_a_question_and_covers_what_is_read():
    test = page()
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.title
    assert [note["text"] for note in figure(test, 1)["layout"]["annotations"]].count("?") == 3
    told = page(state={"predict:soft_and_hard.first": SOFTLY})
    drawn = both.draw(exhibit.compute().weights, 5000, 0)
    data = exhibit.compute()
    far = np.linalg.norm(data.values[drawn].mean(0) - data.weights @ data.values)
    assert "Right." in said(told) and f"{far:.4f} away from the soft mix" in said(told)
    assert "?" not in [note["text"] for note in figure(told, 1)["layout"]["annotations"]]


def test_weights_are_a_softmax_of_colours_and_the_picture_is_veiled_by_them():
    data = exhibit.compute(exhibit.Params(asks=2, beta=4))
    far = ((data.values - data.values[2]) ** 2).sum(1)
    np.testing.assert_allclose(data.weights, np.exp(-4 * far) / np.exp(-4 * far).sum())
    veils = [shape["opacity"] for shape in figure(page(step="2", asks="2", beta="4"), 0)["layout"]["shapes"] if "opacity" in shape]
    np.testing.assert_allclose(veils, VEIL * (1 - data.weights / data.weights.max()))
    even = exhibit.compute(exhibit.Params(beta=0))
    np.testing.assert_allclose(even.weights, 1 / 24)


def test_the_mean_of_hard_draws_approaches_the_soft_read():
    """C020."""
    data = exhibit.compute(exhibit.Params(draws=5000, lot=3))
    error = both.spread(data.weights, data.values) / np.sqrt(5000)
    soft = data.weights @ data.values
    assert (np.abs(data.values[data.drawn].mean(0) - soft) <= 4 * error).all()
    np.testing.assert_allclose(both.soft_read(data.weights, data.patches).mean((0, 1)), soft)
    test = page(step="4", draws="5000", draw="3")
    assert f"The mean of 5,000 draws is {data.near.distance[-1]:.4f} away" in said(test)
    assert data.near.distance[-1] == pytest.approx(np.linalg.norm(data.values[data.drawn].mean(0) - soft))
    shown = page(step="3", draw="3")
    titles = [note["text"] for note in figure(shown, 1)["layout"]["annotations"]]
    assert titles == ["soft", f"hard: {panels.NAMES[data.drawn[0]]}"]
    assert f"Drawn: {panels.thing(int(data.drawn[0]))}, which happens in {data.weights[data.drawn[0]]:.1%}" in said(shown)


def test_another_draw_is_another_lot():
    test = page(step="3")
    test.button(key="soft_and_hard.draw.again").click().run()
    data = exhibit.compute(exhibit.Params(lot=1))
    assert f"Drawn: {panels.thing(int(data.drawn[0]))}" in said(test)


def test_gradients_agree_and_are_shown_with_their_scatter():
    data = exhibit.compute(exhibit.Params(draws=5000, wanted="redder"))
    assert data.argmax is None and data.automatic is not None
    np.testing.assert_allclose(data.learning.exact, data.automatic, atol=1e-12)
    for estimate, deviation in ((data.learning.plain, data.learning.plain_deviation), (data.learning.based, data.learning.based_deviation)):
        assert (np.abs(estimate - data.learning.exact) <= 5 * deviation / np.sqrt(5000) + 1e-12).all()
    test = page(step="5", draws="5000", wanted="redder", state={"predict:soft_and_hard.path": "Zero for every score"})
    best = int(data.learning.exact.argmax())
    assert f"the score of {panels.thing(best)} should grow most: exactly {data.learning.exact[best]:.4f}" in said(test)
    assert "It is “Nothing: there is no path to the scores”" in said(test)
    traces = figure(test, 1)["data"]
    assert [trace["name"] for trace in traces] == ["REINFORCE", "with a baseline", "exact"]


def test_a_touched_patch_asks(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(panels.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(panels.st, "session_state", {"k": {"selection": {"points": [{"customdata": 5}]}}})
    panels._touch("k")
    assert written == {"soft_and_hard.asks": 5}


@pytest.mark.parametrize("link", [{"asks": "24"}, {"beta": "inf"}, {"draws": "7", "step": "4"}, {"draw": "-1", "step": "3"}, {"wanted": "x", "step": "5"}])
def test_nonsense_in_the_link_leaves_a_page(link):
    assert not page(**link).exception


@pytest.mark.parametrize("beta", ["0", "100"])
@pytest.mark.parametrize("step", ["1", "2", "3", "4", "5"])
def test_every_step_at_both_ends_of_sharpness(step, beta):
    test = page(step=step, beta=beta)
    assert not test.exception and len(test.get("plotly_chart")) >= 2 and "nan" not in said(test).lower().split()


def test_each_fold_opens():
    test = page(*FOLDS, step="5")
    assert not test.exception
    data = exhibit.compute()
    place = int(np.abs(data.learning.exact).argmax())
    assert f"exactly {data.learning.exact[place]:.5f}".replace("-", "−") in said(test)
    assert "variance reduction" in said(test) and len(test.dataframe) == 1 and len(test.code) >= 1


def test_the_lines_to_take_away_make_the_same_numbers():
    params = exhibit.Params(asks=9, beta=12, draws=50, lot=4)
    names: dict[str, object] = {}
    exec(folds.code(params), names)
    data = exhibit.compute(params)
    np.testing.assert_allclose(names["weights"], data.weights)
    assert np.array_equal(names["drawn"], data.drawn)


def test_figures_as_data():
    with pytest.raises(ValueError, match="3 weights for 2"):
        lit((), (2, 1), (1, 2), np.ones(3))
    json.loads(lit((), (2, 1), (1, 2), np.array([0.25, 0.75]), framed=0, asked=1, told=0.5).to_json())
    shown = reads([("<b>", np.full((2, 2, 3), 2.0)), ("x", None)])
    assert shown.layout.annotations[0].text == "&lt;b&gt;" and np.asarray(shown.data[0].z).max() == 255
    json.loads(guesses(["a"], np.array([1.0]), [("p", np.array([1.0]), np.array([0.1]))]).to_json())


def test_the_small_picture_of_the_course_is_drawn():
    assert exhibit.thumbnail().count("<rect") >= 4
