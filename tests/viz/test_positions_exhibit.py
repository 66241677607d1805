"""The exhibit on positions without a browser: each step's picture and numbers, its questions, links, folds."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.serving.engine import default
from viz.charts.curves import number
from viz.course.self_attention.positions import exhibit, position_ideas, read, steps, without_positions
from viz.course.self_attention.positions.params import MODELS, SENTENCES, TABLES, Params
from viz.course.shared.positions import Formula
from viz.labels import percent
from viz.number_text import percent_of_change


def page(*folded: str, state: dict[str, object] | None = None, text: str = "", **link: str) -> AppTest:
    values = {f"positions.{name}": value for name, value in link.items()} | ({"text": text} if text else {})
    return drawn("positions", values, {f"fold:{name}": True for name in folded} | (state or {}), guarded=True)


def lines(test: AppTest) -> dict[str, list[float]]:
    """The drawn distances after each layer, by the name of the line."""
    drawn: dict[str, list[float]] = {}
    for row in drawn_rows(test, mark="line"):
        drawn.setdefault(row["line"], []).append(row["y"])
    return drawn


@pytest.mark.slow
def test_one_word_in_two_places_looks_the_same_without_positions():
    test = page()
    assert (
        not test.exception
        and test.title[0].value == "Positions"
        and list(lines(test)) == ["bert-mini with positions"]
    )
    twins = read.twins(Params().text)
    text, word, found = twins.text, twins.word, twins.lines
    assert (text, word) == (Params().text, "the") and found["bert-mini without"].max() < 1e-5
    told = page(state={"predict:positions.first": steps.SAME})
    assert "Right." in said(told) and list(lines(told)) == ["bert-mini with positions", "bert-mini without"]
    for name, heights in lines(told).items():
        np.testing.assert_allclose(heights, found[name], atol=1e-9)
    assert states(said(told), percent_of_change(float(found["bert-mini with positions"][-1])))
    again = page(text=SENTENCES[1], state={"predict:positions.first": steps.FAR})
    assert states(said(again), "gpt-mini") and states(said(again), "“Exactly the same”")
    assert read.twins("green apples").text == "green apples green"


@pytest.mark.slow
def test_two_ideas_and_what_is_wrong_with_them():
    assert "0.0526" not in said(page(step="2"))
    told = page(
        step="2",
        state={
            "predict:positions.step": 0.05,
            "predict:positions.step:asked": {"of": ask_of(5, 20), "guess": 0.05},
        },
    )
    assert (
        "A step is" not in said(told)
        and states(said(told), "0.2500 in 5 words", "0.0526 in 20")
        and states(said(told), "19")
    )
    other = page(
        step="2", long="11", state={"predict:positions.step:asked": {"of": ask_of(5, 11), "guess": 0.1}}
    )
    assert "Exactly: it is 0.1." in said(other)


def ask_of(short: int, long: int) -> tuple[object, ...]:
    first = 1 / (short - 1)
    return (
        f"In {short} words one step of the fraction is 1/{short - 1} = {first:.3g}. And in {long} words?",
        0.0,
        0.5,
        round(1 / (long - 1), 6),
        "",
    )


@pytest.mark.slow
def test_the_ticks_of_the_criteria_are_computed():
    test = page(step="3", code="integer")
    data = exhibit.compute(Params())
    marks = [row["label"] for row in drawn_rows(test, "label")]
    assert marks == ["✓" if good else "✗" for good in data.passes.ravel()] and data.passes.shape == (6, 5)
    assert states(said(test), "integer", "1 per step", "at most 999")
    table = default().open("gpt-mini").network.embed["position"].weight
    assert "✗ the table ends" in said(page(step="3", code="learned")) and len(table) < 1000
    longer = page(step="3", short="6", long="50", code="fraction")
    assert f"{1 / 5:.2f} or {1 / 49:.2f} per step" in said(longer)


def test_the_wave_is_read_off_clocks():
    test = page(step="4", position="7")
    vector = Formula(8).table(8)[7]
    assert f"p = [{', '.join(number(float(value), 3) for value in vector)}]" in said(test)
    for clock, hand in enumerate(drawn_rows(test, mark="rule")):
        np.testing.assert_allclose(
            [hand["x2"] - hand["x"], hand["y2"] - hand["y"]],
            0.85 * vector[2 * clock : 2 * clock + 2],
            atol=1e-6,
        )


def test_a_learned_table_is_read_from_the_model():
    for model in TABLES:
        test = page(step="5", table=model)
        found = default().open(model).network.embed["position"].weight[: steps.SEEN].double().numpy()
        assert states(said(test), percent(position_ideas.neighbours(found)), "40 positions")
        seen = [
            (row["x"], row["y"])
            for row in drawn_rows(test, mark="circle")
            if row["table"] == f"learned by {model}"
        ]
        path = position_ideas.thread(found)[0]
        longer = np.ptp(path, 0) / np.ptp(np.array(seen), 0)
        np.testing.assert_allclose(longer[0], longer[1], rtol=1e-6)  # as wide as high: only moved and scaled
        np.testing.assert_allclose((np.array(seen) - seen[0]) * longer, path - path[0], atol=1e-6)


@pytest.mark.slow
def test_a_trained_model_without_its_positions():
    covered = page(step="6")
    found = read.measured("translator-en-es", Params().text, 0)
    assert (
        not covered.exception
        and found.ways[without_positions.REMOVED].says[0][0] not in said(covered)
        and "guess first" in said(covered)
    )
    told = page(step="6", state={"predict:positions.worse": read.worse(found)})
    assert "Right." in said(told)
    for way in without_positions.WAYS:
        assert f"{number(found.ways[way].surprise)} nats" in said(told) and found.ways[way].says[0][
            0
        ] in said(told)
    answers = {read.worse(read.measured(model, Params().text, 0)) for model in MODELS}
    for model in ("gpt-mini", "bert-mini"):
        assert "Right." in said(
            page(
                step="6",
                model=model,
                state={"predict:positions.worse": read.worse(read.measured(model, Params().text, 0))},
            )
        )
    assert len(answers) == 2
    told.button(key="positions.draw.again").click().run()
    assert not told.exception


@pytest.mark.quick(1)
@pytest.mark.parametrize("step", ["1", "6"])
def test_any_sentence_can_be_typed(step):
    for text in (" ", "dog", "word " * 300, "<b>$x$ ![a](b)"):
        test = page(text=text, step=step)
        assert not test.exception and test.text_input


@pytest.mark.quick(2)
@pytest.mark.parametrize("step", [1, 2, 4, 6])
def test_the_lines_to_take_away_make_the_same_numbers(step):
    test = page("positions.take", "positions.looking", step=str(step))
    names: dict[str, object] = {}
    exec(test.code[-1].value, names)
    if step == 1:
        assert np.max(names["far"]) < 1e-5
    elif step == 2:
        np.testing.assert_allclose(np.ravel(names["steps"]), [1 / 19, 1])
    elif step == 4:
        np.testing.assert_allclose(names["vector"], Formula(8).table(4)[3])
    elif step == 6:
        found = read.measured("translator-en-es", Params().text, 0)
        assert names["surprise"] == pytest.approx({way: told.surprise for way, told in found.ways.items()})
        assert states(said(test), "5 other sentences")


def test_the_small_picture_and_the_figures():
    assert exhibit.thumbnail().count("<circle") == 40
    from viz.course.self_attention.positions.charts import codes

    for covered in (False, True):
        dots = [row for row in all_rows(codes.ideas(3, 5, covered=covered), mark="circle") if "gets" in row]
        long = [row["gets"] for row in dots if row["sentence"] == "5 words"]
        assert long == ["0", "0.25", "0.5", "0.75", "1"] * (not covered) + ["0", "1", "2", "3", "4"]
