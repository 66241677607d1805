"""Masked words: its numbers computed again on small random models."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, lanes, said, token_rows
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.serving.engine import default
from viz.course.bert import hidden_words, masking
from viz.course.bert.masked_words import blanks, draws, exhibit
from viz.course.bert.masked_words.params import Params
from viz.labels import percent

TEXT = "She was hungry, so she ate the apple."
engine = stand_ins({"bert-mini": ("bert", {}), "gpt-mini": ("gpt", {})})
page = StepPages("masked_words", {"text": TEXT})


@pytest.fixture
def text():
    return exhibit.compute(Params(text=TEXT))


def bert():
    return default().open("bert-mini")


@pytest.mark.slow
def test_the_blank_is_covered_until_one_guessed_and_is_the_models_own(text):
    found, other = (blanks.guess(bert(), text, Params(text=TEXT, word=word)) for word in (1, 3))
    test = answered(page(word=1))
    assert page.answer(test, "blank") == found.best[0][0]
    assert f"gets {percent(found.target_chance)}" in said(test)
    bars = [bar["value"] for bar in drawn_rows(test, "value", place=1)]
    np.testing.assert_allclose(bars[:5], [chance for _, chance in found.best], rtol=1e-5)
    assert f"gets {percent(other.target_chance)}" in said(answered(page(word=3)))


@pytest.mark.slow
def test_one_draw_shows_what_is_read_what_is_to_be_said_and_predictions(text):
    """C082."""
    params = Params(text=TEXT, draw=5, share=0.5)
    one = masking.draw(text.ids, text.special, 5, **draws.how(text, params))
    test, token = page(2, draw=5, share=0.5), bert().tokenizer.token
    rows, places = token_rows(test), np.flatnonzero(one.labels >= 0)
    assert rows["text"] == [*text.tokens] and rows["reads"] == [token(int(i)) for i in one.read]
    assert rows["label"] == [text.tokens[at] for at in places] and not text.special[places].any()
    chances = hidden_words.chances_at(bert(), one.read[None], [*places])
    assert rows["bert-mini"] == [token(int(chance.argmax())) for chance in chances]
    assert f"predicted with {percent(chances[0][text.ids[places[0]]])}" in said(test)
    test.button(key="masked_words.draw.again").click().run()
    again = token_rows(test)["reads"]
    assert again == token_rows(page(2, draw=6, share=0.5))["reads"] != rows["reads"]
    fitted = [Params(masked=masked, redrawn=0.6).rates.redrawn for masked in (1, 0.5, 0.2)]
    assert fitted == [0, 0.5, 0.6], "no more than are left by [MASK]"


@pytest.mark.slow
def test_many_draws_are_counted_within_their_range(text):
    """C083."""
    params = Params(text=TEXT)
    found = masking.count(text.ids, text.special, 1000, params.draw, **draws.how(text, params))
    test = answered(page(3))
    np.testing.assert_array_equal(lanes(test)[0], found.chosen_counts)
    np.testing.assert_array_equal(lanes(test, 1)[0], found.fates)
    assert found.chosen_counts[0] == found.chosen_counts[-1] == 0
    expected = f"{found.fates_expected[0]:,.0f} ± {3 * found.fates_deviation[0]:,.0f}"
    assert f"[MASK] {found.fates[0]:,} (expected {expected})" in said(test)
    assert page.answer(test, "count") == 1200 and states(said(test), "150 become", "150 stay")
    assert page.answer(page(3, masked=0.5, share=0.2), "count") == 1000


@pytest.mark.slow
def test_left_right_and_both(text):
    place = blanks.place_of(Params(text=TEXT, word=2), text)
    _, found = hidden_words.contexts(bert(), text, place)
    chances = {name: context.target_chance for name, context in found.items()}
    test = answered(page(4, word=2))
    assert page.answer(test, "sides") == max(chances, key=chances.__getitem__)
    np.testing.assert_allclose(lanes(test)[0], 100 * np.array([*chances.values()]), atol=0.06)
    assert f"both {percent(chances['both'], 2)}" in said(test)


@pytest.mark.slow
def test_both_sides_against_the_left_on_every_word(text):
    places, gpt = blanks.askable(text), default().open("gpt-mini")
    both = np.array([one.target_chance for one in hidden_words.in_turn(bert(), text, places)])
    left = np.array([chance for chance, _ in hidden_words.from_the_left(gpt, text, places)])
    wins = int((both > left).sum()), int((left > both).sum())
    test = answered(page(5))
    winner = 0 if wins[0] > wins[1] else 1 if wins[1] > wins[0] else 2
    assert page.answer(test, "who") == blanks.WINNERS[winner]
    np.testing.assert_allclose(lanes(test), (100 * both, 100 * left), atol=0.06)
    assert states(said(test), f"{wins[0]} of {len(places)} words", wins[1])


def test_the_recipe_and_what_bert_mini_used():
    """C093."""
    test = page(6)
    assert states(said(test), "256 × 512 = 131,072 tokens", "1,000,000 steps", "3.3", "39.7 epochs")
    assert states(
        said(test), "5·10⁻⁵ at step 5,000", "1·10⁻⁴ at 10,000", "5·10⁻⁵ at 505,000", "0 at 1,000,000"
    )
    rates, own = ([dot["y"] for dot in drawn_rows(test, "line", place=place)] for place in range(2))
    assert max(rates) == 1e-4 and rates[-1] == 0
    assert max(own) == pytest.approx(2e-3, rel=0.01) and own[-1] == pytest.approx(0, abs=1e-9)
    less = said(page(6, length=128, steps=500000, warm_up=100000))
    assert states(less, "256 × 128 = 32,768 tokens", "500,000 steps", f"{32768 * 5e5 / 3.3e9:.1f} epochs")
