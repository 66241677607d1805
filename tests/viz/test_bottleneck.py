"""The exhibit on the bottleneck: each number that it says is counted again in the shipped models' own runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from deep import deep
from drawn_layers import all_rows, drawn_rows, find_layers, layer
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from viz.charts.by_length import Curve, quality, slopes
from viz.charts.copy_accuracy import Row, letters
from viz.course.why.bottleneck import copies, exhibit, reach, steps
from viz.course.why.bottleneck.params import Params
from viz.course.why.charts.unrolled import Lane, unrolled
from viz.labels import percent
from viz.number_text import percent_or_power

SCRIPT = "from viz.shell import errors\nfrom viz.course.why.bottleneck import exhibit as e\nwith errors.guard():\n    e.EXHIBIT.page()"
WORD = "attention"


def page(step: int = 1, *folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    test = AppTest.from_string(SCRIPT, default_timeout=120)
    test.query_params["bottleneck.step"] = str(step)
    for name, value in ({"word": WORD} | link).items():
        test.query_params[f"bottleneck.{name}"] = value
    for name in folded:
        test.session_state[f"fold:{name}"] = True
    for name, value in (state or {}).items():
        test.session_state[name] = value
    test.run()
    assert not test.exception
    return test


def said(test: AppTest) -> str:
    return "\n".join(
        str(element.value) for kind in (test.markdown, test.text, test.caption) for element in kind
    )


def written(test: AppTest, row: int) -> list[str]:
    """The letters in a row of tiles."""
    return [tile["text"] for tile in drawn_rows(test, "ink") if tile["row"] == row]


def right_of(cell: str, word: str, attends: bool = False) -> tuple[int, str]:
    text = core.open_model(f"copy-{cell}{'-attention' * attends}").run(word, keep=()).target_text
    return sum(a == b for a, b in zip(text, word, strict=False)), text


# ------------------------------------------------------------------ the run


@pytest.mark.quick(1)
@pytest.mark.parametrize("cell", copies.CELLS)
def test_the_context_is_what_each_direction_holds_at_its_end(cell):
    """C004."""
    data = exhibit.compute(Params(WORD, cell))
    one = data.one
    assert one.read_states.shape == (9, 64) and one.context.shape == (64,)
    np.testing.assert_array_equal(one.context[:32], one.read_states[-1, :32])
    np.testing.assert_array_equal(one.context[32:], one.read_states[0, 32:])
    assert (one.right, "".join(one.written_letters)) == right_of(cell, WORD)
    assert (data.looks.right, "".join(data.looks.written_letters)) == right_of(cell, WORD, attends=True)
    assert len(one.written_states) == len(one.chances) == len(one.written_letters) + 1
    np.testing.assert_allclose(data.looks.pattern.sum(1), 1, atol=1e-5)


# ------------------------------------------------------------------ the page


@pytest.mark.parametrize("step", deep(range(1, len(exhibit.EXHIBIT.steps) + 1), {1}))
def test_every_step_is_drawn_before_a_room(step):
    test = AppTest.from_string(
        "from viz.course.why.bottleneck import exhibit as e\ne.EXHIBIT.page()", default_timeout=120
    )
    test.query_params["bottleneck.step"], test.query_params["present"] = str(step), "1"
    assert not test.run().exception and len(test.get("vega_lite_chart")) == 1


def test_nothing_is_given_away_before_the_guess():
    test = page(1, cell="lstm")
    count, wrote = right_of("lstm", WORD)
    assert written(test, 0) == list(WORD) and set(written(test, 1)) == {"?"} and wrote not in said(test)
    test = page(1, cell="lstm", state={"predict:bottleneck.right": steps.share_in_words(count, len(WORD))})
    assert f"{count} of {len(WORD)}: it wrote “{wrote}”" in said(test) and "Right." in said(test).replace(
        "\\", ""
    )
    assert written(test, 1) == list(wrote)
    wrong = [place for place, letter in enumerate(wrote) if letter != WORD[place : place + 1]]
    boxes = [each["data"]["values"] for each in find_layers(test, mark="rect", without=["shade"])]
    assert wrong in [[round((frame["left"] + frame["right"]) / 2) for frame in frames] for frames in boxes]
    assert [tile["shade"] for tile in drawn_rows(test, "shade")] == pytest.approx(
        exhibit.compute(Params(WORD, "lstm")).one.chances[: len(wrote)]
    )


def test_another_word_has_another_answer():
    answers = {}
    for word in ("hope", "abcdefghijklmnopqrst"):
        count, _ = right_of("rnn", word)
        answers[word] = steps.share_in_words(count, len(word))
        test = page(1, word=word, state={"predict:bottleneck.right": answers[word]})
        assert "Right." in said(test).replace("\\", "")
    assert len(set(answers.values())) == 2


def test_reading_goes_letter_by_letter_from_both_ends():
    """C004."""
    test = page(2, state={}, read="3")
    assert states(said(test), "3 of 9 letters", "“att”", "“noi”")
    tiles = drawn_rows(test, "value")
    assert [(tile["lane"], tile["place"]) for tile in tiles] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 6),
        (1, 7),
        (1, 8),
    ]
    read = exhibit.compute(Params(WORD)).one.read_states
    for tile in tiles:
        np.testing.assert_allclose(tile["value"], read[tile["place"]][32 * tile["lane"] :][:32], atol=1e-4)


def test_writing_says_the_letter_and_its_probability():
    test = page(3, written="2", cell="gru")
    run = core.open_model("copy-gru").run(WORD)
    logits = run.logits[1].astype(float)
    chance = np.exp(logits - logits.max())[run.ids[2]] / np.exp(logits - logits.max()).sum()
    assert f"Letter 2: “{run.tokens[2]}” at {percent(chance)}; " in said(test)


def test_looking_back_counts_both():
    test = page(4, cell="gru")
    assert states(said(test), f"{right_of('gru', WORD)[0]} of 9", right_of("gru", WORD, attends=True)[0])


def test_quality_over_length_is_what_ships_with_the_six_models():
    """C005."""
    test = page(5, cell="lstm")
    found = copies.tables()
    assert exhibit.thumbnail().count("<polyline") == 2
    assert len(found) == 6 and all(set(row) >= {1, 10, 20, 40, 80} for row in found.values())
    one, looks = found["copy-lstm"], found["copy-lstm-attention"]
    assert (
        f"20 letters: {percent(one[20])} and {percent(looks[20])}" in said(test) and looks[20] - one[20] > 0.4
    )
    line, own = drawn_rows(test, mark="line"), all_rows(test, mark="point")
    assert {row["line"] for row in line} == {
        f"{cell}, {how}" for cell in ("RNN", "LSTM", "GRU") for how in ("one vector", "with attention")
    }
    assert {row["x"]: row["y"] for row in line if row["line"] == "LSTM, one vector"} == one and {
        row["line"] for row in line if not row.get("pale")
    } == {"LSTM, one vector", "LSTM, with attention"}
    assert [(row["line"], row["x"], row["y"]) for row in own] == [
        ("LSTM, one vector", 9, right_of("lstm", WORD)[0] / 9),
        ("LSTM, with attention", 9, right_of("lstm", WORD, attends=True)[0] / 9),
    ]


@pytest.mark.slow
def test_the_slopes_are_those_of_autograd():
    """C005."""
    test = page(6, cell="rnn")
    sizes = copies.fading("rnn")
    assert f"RNN {percent_or_power(sizes[9] / sizes[0])}" in said(test)
    place = reach.reach(core.open_model("copy-rnn"), [WORD]).context_slopes[0]
    kept = copies.by_place("rnn")
    begins, ends = percent(kept.right[:5].mean()), percent(kept.right[-5:].mean())
    assert states(said(test), f"{begins} of the", "5 letters", f"{ends} of the")
    assert f"rank correlation of {kept.agreement:.2f}" in said(test)
    drawn = [row for row in drawn_rows(test, mark="circle") if row["name"] == "RNN"]
    above = [row["value"] for row in drawn if row["at"].split()[-1].startswith("letter")]
    assert above == pytest.approx(sizes[: len(above)].tolist()) and len(above) == int(
        (sizes >= 10**-8.3).sum()
    )
    assert [row["value"] for row in drawn if not row["at"].split()[-1].startswith("letter")] == pytest.approx(
        place.tolist()
    )


def test_a_word_that_cannot_be_read_whole_is_told():
    assert "Read here: catsdogs" in said(page(1, word="Cats & Dogs!"))


def test_the_equation_has_the_probabilities_and_what_a_cell_costs():
    test = page(2, "bottleneck.equation", cell="lstm")
    assert "P(“" in said(test)
    table = test.table[0].value
    assert table.loc["LSTM", "d = 4, p = 8"] == 448 and table.loc["GRU", "d = 4, p = 8"] == 336
    assert table.loc["LSTM", "the same, both directions"] == 896


def test_the_lines_to_take_away_run():
    names: dict[str, object] = {}
    exec(steps.code(Params("abc", "gru")), names)
    np.testing.assert_allclose(
        names["slopes"], reach.reach(core.open_model("copy-gru"), ["abc"]).context_slopes[0]
    )


# ------------------------------------------------------------------ figures


@pytest.mark.slow
def test_the_figures_as_data():
    drawn = letters([Row("<b>", "ab"), Row("w", "ax", [0.9, 0.4], [False, True])])
    boxes = [len(each["data"]["values"]) for each in find_layers(drawn, mark="rect")]
    assert "<b>" in [row["text"] for row in all_rows(drawn, "text")] and sorted(boxes) == [1, 2, 2]
    tiles = unrolled([Lane("h", np.arange(24.0).reshape(3, 8), "abc", until=2)])
    found = drawn_rows(tiles, "value")
    assert [tile["value"] for tile in found] == [list(range(8)), list(range(8, 16))] and {
        (tile["rows"], tile["columns"]) for tile in found
    } == {(4, 2)}
    curve = Curve("a", [(1, 0.9), (2, 0.1)], 0)
    assert "letters" in layer(quality([curve], trained=20), "x", mark="line")["encoding"]["x"]["title"]
    below = all_rows(slopes([curve], [curve], "abc", titles=("p", "q")), "text")
    assert {"a", "b", "c"} <= {row["text"] for row in below}
    for each in (drawn, tiles):
        json.loads(each.to_json())
