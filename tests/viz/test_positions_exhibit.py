"""The exhibit on positions: each step's picture and numbers, its questions."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

from core.serving.engine import default
from viz.charts.curves import number
from viz.course.self_attention.positions import exhibit, position_ideas, read, steps, without_positions
from viz.course.self_attention.positions.charts import codes
from viz.course.self_attention.positions.params import MODELS, SENTENCES, TABLES, Params
from viz.course.shared.positions import Formula
from viz.labels import percent
from viz.number_text import percent_of_change

page = StepPages("positions")


def lines(test) -> dict[str, list[float]]:
    """Return the distances after each layer, by the name of the line."""
    found: dict[str, list[float]] = {}
    for row in drawn_rows(test, mark="line"):
        found.setdefault(row["line"], []).append(row["y"])
    return found


@pytest.mark.slow
def test_one_word_in_two_places_looks_the_same_without_positions():
    with_positions, without = "bert-mini with positions", "bert-mini without"
    before, twins = page(), read.twins(Params().text)
    assert (twins.text, twins.word) == (Params().text, "the") and twins.lines[without].max() < 1e-5
    assert list(lines(before)) == [with_positions] and page.answer(before, "first") == steps.SAME
    after = answered(before)
    assert list(lines(after)) == [with_positions, without]
    for name, heights in lines(after).items():
        np.testing.assert_allclose(heights, twins.lines[name], atol=1e-9)
    assert states(said(after), percent_of_change(float(twins.lines[with_positions][-1])))
    again = said(page(text=SENTENCES[1], guess={"first": steps.FAR}))
    assert states(again, "gpt-mini") and states(again, "“Exactly the same”")
    assert read.twins("green apples").text == "green apples green"


@pytest.mark.slow
def test_two_ideas_and_what_is_wrong_with_them():
    test = answered(page(2))
    assert page.answer(test, "step") == round(1 / 19, 6)
    assert states(said(test), "0.2500 in 5 words", "0.0526 in 20") and states(said(test), "19")
    assert page.answer(page(2, long=11), "step") == 0.1


@pytest.mark.slow
def test_the_ticks_of_the_criteria_are_computed():
    test, data = page(3, code="integer"), exhibit.compute(Params())
    marks = [row["label"] for row in drawn_rows(test, "label")]
    assert marks == ["✓" if good else "✗" for good in data.passes.ravel()] and data.passes.shape == (6, 5)
    assert states(said(test), "integer", "1 per step", "at most 999")
    assert "✗ the table ends" in said(page(3, code="learned"))
    longer = said(page(3, short=6, long=50, code="fraction"))
    assert f"{1 / 5:.2f} or {1 / 49:.2f} per step" in longer


def test_the_wave_is_read_off_clocks():
    test, vector = page(4, position=7), Formula(8).table(8)[7]
    assert f"p = [{', '.join(number(float(value), 3) for value in vector)}]" in said(test)
    hands = [(hand["x2"] - hand["x"], hand["y2"] - hand["y"]) for hand in drawn_rows(test, mark="rule")]
    np.testing.assert_allclose(hands, 0.85 * vector.reshape(-1, 2), atol=1e-6)


@pytest.mark.parametrize("model", TABLES)
def test_a_learned_table_is_read_from_the_model(model):
    test = page(5, table=model)
    found = default().open(model).network.embed["position"].weight[: steps.SEEN].double().numpy()
    assert states(said(test), percent(position_ideas.neighbours(found)), "40 positions")
    dots = [row for row in drawn_rows(test, mark="circle") if row["table"] == f"learned by {model}"]
    seen, path = np.array([(row["x"], row["y"]) for row in dots]), position_ideas.thread(found)[0]
    longer = np.ptp(path, 0) / np.ptp(seen, 0)
    np.testing.assert_allclose(longer[0], longer[1], rtol=1e-6)  # as wide as high: only moved and scaled
    np.testing.assert_allclose((seen - seen[0]) * longer, path - path[0], atol=1e-6)


@pytest.mark.slow
def test_a_trained_model_without_its_positions():
    answers = {}
    for model in MODELS:
        found, test = read.measured(model, Params().text, 0), answered(page(6, model=model))
        answers[model] = page.answer(test, "worse")
        assert answers[model] == read.worse(found)
        for way in without_positions.WAYS:
            assert f"{number(found.ways[way].surprise)} nats" in said(test)
            assert model != "translator-en-es" or found.ways[way].says[0][0] in said(test)
    assert len({*answers.values()}) == 2


@pytest.mark.parametrize("covered", [False, True])
def test_the_codes_of_both_ideas_are_drawn(covered):
    dots = [row for row in all_rows(codes.ideas(3, 5, covered=covered), mark="circle") if "gets" in row]
    gets = [row["gets"] for row in dots if row["sentence"] == "5 words"]
    assert gets == ["0", "0.25", "0.5", "0.75", "1"] * (not covered) + ["0", "1", "2", "3", "4"]
