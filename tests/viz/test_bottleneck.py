"""The exhibit on the bottleneck: each number that it says is counted again in the shipped models' own runs."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

import core
from viz.course.why.bottleneck import copies, exhibit, reach, steps
from viz.course.why.bottleneck.params import Params
from viz.labels import percent
from viz.number_text import percent_or_power

WORD = "attention"
page = StepPages("bottleneck", {"word": WORD}, ("present",))


def written(test, row: int) -> list[str]:
    """Return the letters in a row of tiles."""
    return [tile["text"] for tile in drawn_rows(test, "ink") if tile["row"] == row]


def right_of(cell: str, word: str = WORD, attends: bool = False) -> tuple[int, str]:
    text = core.open_model(f"copy-{cell}{'-attention' * attends}").run(word, keep=()).target_text
    return sum(a == b for a, b in zip(text, word, strict=False)), text


@pytest.mark.quick(1)
@pytest.mark.parametrize("cell", copies.CELLS)
def test_the_context_is_what_each_direction_holds_at_its_end(cell):
    """C004."""
    data = exhibit.compute(Params(WORD, cell))
    one, looks = data.one, data.looks
    assert one.read_states.shape == (9, 64)
    np.testing.assert_array_equal(one.context, [*one.read_states[-1, :32], *one.read_states[0, 32:]])
    assert (one.right, "".join(one.written_letters)) == right_of(cell)
    assert (looks.right, "".join(looks.written_letters)) == right_of(cell, attends=True)
    assert len(one.written_states) == len(one.chances) == len(one.written_letters) + 1
    np.testing.assert_allclose(looks.pattern.sum(1), 1, atol=1e-5)


def test_nothing_is_given_away_before_the_guess():
    before, (count, text) = page(cell="lstm"), right_of("lstm")
    assert written(before, 0) == list(WORD) and set(written(before, 1)) == {"?"}
    assert page.answer(before, "right") == steps.share_in_words(count, len(WORD))
    test = answered(before)
    assert f"{count} of {len(WORD)}: it wrote “{text}”" in said(test) and written(test, 1) == list(text)
    wrong = [place for place, letter in enumerate(text) if letter != WORD[place : place + 1]]
    boxes = [each["data"]["values"] for each in find_layers(test, mark="rect", without=["shade"])]
    assert wrong in [[round((frame["left"] + frame["right"]) / 2) for frame in frames] for frames in boxes]
    chances = exhibit.compute(Params(WORD, "lstm")).one.chances[: len(text)]
    assert [tile["shade"] for tile in drawn_rows(test, "shade")] == pytest.approx(chances)
    answers = {page.answer(page(word=word), "right") for word in ("hope", "abcdefghijklmnopqrst")}
    assert len(answers) == 2, "another word, another answer"


def test_reading_goes_letter_by_letter_from_both_ends():
    """C004."""
    test, read = page(2, read=3), exhibit.compute(Params(WORD)).one.read_states
    assert states(said(test), "3 of 9 letters", "“att”", "“noi”")
    tiles = drawn_rows(test, "value")
    places = [(0, 0), (0, 1), (0, 2), (1, 6), (1, 7), (1, 8)]
    assert [(tile["lane"], tile["place"]) for tile in tiles] == places
    wanted = [read[place][32 * lane :][:32] for lane, place in places]
    np.testing.assert_allclose([tile["value"] for tile in tiles], wanted, atol=1e-4)


def test_writing_says_the_letter_and_its_probability():
    run = core.open_model("copy-gru").run(WORD)
    exps = np.exp(run.logits[1].astype(float))
    letter = f"Letter 2: “{run.tokens[2]}” at {percent(exps[run.ids[2]] / exps.sum())}; "
    assert letter in said(page(3, written=2, cell="gru"))


def test_looking_back_counts_both():
    one, looks = (right_of("gru", attends=attends)[0] for attends in (False, True))
    assert states(said(page(4, cell="gru")), f"{one} of 9", looks)


def test_quality_over_length_is_what_ships_with_the_six_models():
    """C005."""
    test, found = page(5, cell="lstm"), copies.tables()
    assert len(found) == 6 and all(set(row) >= {1, 10, 20, 40, 80} for row in found.values())
    one, looks = found["copy-lstm"], found["copy-lstm-attention"]
    assert f"20 letters: {percent(one[20])} and {percent(looks[20])}" in said(test)
    assert looks[20] - one[20] > 0.4
    line = drawn_rows(test, mark="line")
    own = ["LSTM, one vector", "LSTM, with attention"]
    assert len({row["line"] for row in line}) == 6
    assert {row["line"] for row in line if not row.get("pale")} == {*own}
    assert {row["x"]: row["y"] for row in line if row["line"] == own[0]} == one
    shares = [right_of("lstm", attends=attends)[0] / 9 for attends in (False, True)]
    dots = [(row["line"], row["x"], row["y"]) for row in all_rows(test, mark="point")]
    assert dots == [(name, 9, share) for name, share in zip(own, shares, strict=True)]


@pytest.mark.slow
def test_the_slopes_are_those_of_autograd():
    """C005."""
    test, sizes, kept = page(6, cell="rnn"), copies.fading("rnn"), copies.by_place("rnn")
    assert f"RNN {percent_or_power(sizes[9] / sizes[0])}" in said(test)
    begins, ends = (percent(each.mean()) for each in (kept.right[:5], kept.right[-5:]))
    assert states(said(test), f"{begins} of the", "5 letters", f"{ends} of the")
    assert f"rank correlation of {kept.agreement:.2f}" in said(test)
    above, below = [], []
    for row in drawn_rows(test, mark="circle"):
        if row["name"] == "RNN":
            (above if row["at"].split()[-1].startswith("letter") else below).append(row["value"])
    assert above == pytest.approx(sizes[: len(above)].tolist()) and len(above) == (sizes >= 10**-8.3).sum()
    place = reach.reach(core.open_model("copy-rnn"), [WORD]).context_slopes[0]
    assert below == pytest.approx(place.tolist())


def test_a_word_that_cannot_be_read_whole_is_told():
    assert "Read here: catsdogs" in said(page(word="Cats & Dogs!"))


def test_the_equation_says_what_a_cell_costs():
    table = page(2, "equation", cell="lstm").table[0].value
    assert table["d = 4, p = 8"][["LSTM", "GRU"]].tolist() == [448, 336]
    assert table.loc["LSTM", "the same, both directions"] == 896


def test_the_lines_to_take_away_run():
    names: dict[str, object] = {}
    exec(steps.code(Params("abc", "gru")), names)
    slopes = reach.reach(core.open_model("copy-gru"), ["abc"]).context_slopes[0]
    np.testing.assert_allclose(names["slopes"], slopes)
