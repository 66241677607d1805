"""Masked words: each step by AppTest on small random models, its numbers computed again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels, covers, drawn, lanes, said, token_rows
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz.course.bert import hidden_words, masking
from viz.course.bert.masked_words import blanks, draws, exhibit, recipe
from viz.course.bert.masked_words.params import Params
from viz.labels import percent

SLUG = "masked_words."
TEXT = "She was hungry, so she ate the apple."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        patch.setitem(tiny_models.MODELS, "gpt-mini", ("gpt", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "bert-mini", "gpt-mini") as served:
            yield served


def page(
    step: int = 1, *, guess: tuple[str, object] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {
        name if name == "text" else SLUG + name: value for name, value in ({"text": TEXT} | link).items()
    }
    return drawn("masked_words", {SLUG + "step": str(step)} | names, answered, guarded=guarded)


def asked(test: AppTest, name: str) -> tuple:
    return test.session_state[f"predict:{SLUG}{name}:asked"]["of"]


def bert():
    return core.serving.engine.default().open("bert-mini")


@pytest.mark.slow
def test_the_blank_is_covered_until_one_guessed_and_is_the_models_own():
    params = Params(text=TEXT, word=1)
    text = exhibit.compute(params)
    found = blanks.guess(bert(), text, params)
    before = page(word="1")
    assert not before.exception and before.title[0].value == "Masked words"
    assert asked(before, "blank")[2] == found.best[0][0] and set(bar_labels(before, 1)) == {"?"}
    told = page(word="1", guess=("blank", found.best[0][0]))
    assert "Right." in said(told) and f"gets {percent(found.target_chance)}" in said(told)
    np.testing.assert_allclose(
        [bar["value"] for bar in drawn_rows(told, "value", place=1)][:5],
        [chance for _, chance in found.best],
        rtol=1e-5,
    )
    other = Params(text=TEXT, word=3)
    assert f"gets {percent(blanks.guess(bert(), text, other).target_chance)}" in said(
        page(word="3", guess=("blank", found.best[0][0]))
    )


@pytest.mark.slow
def test_one_draw_shows_what_is_read_what_is_to_be_said_and_predictions():
    """C082."""
    params = Params(text=TEXT, draw=5, share=0.5)
    text = exhibit.compute(params)
    one = masking.draw(text.ids, text.special, 5, **draws.how(text, params))
    test = page(2, draw="5", share="0.5")
    token = bert().tokenizer.token
    rows = token_rows(test)
    assert rows["text"] == [*text.tokens] and rows["reads"] == [token(int(i)) for i in one.read]
    places = np.flatnonzero(one.labels >= 0)
    assert rows["label"] == [text.tokens[at] for at in places] and len(rows["bert-mini"]) == len(places)
    at = int(places[0])
    chance = hidden_words.chances_at(bert(), one.read[None], [at])[0]
    assert rows["bert-mini"][0] == token(
        int(chance.argmax())
    ) and f"predicted with {percent(chance[text.ids[at]])}" in said(test)
    assert not (text.special & (one.labels >= 0)).any()
    same, other = page(2, draw="5", share="0.5"), page(2, draw="6", share="0.5")
    assert token_rows(same)["reads"] == rows["reads"] != token_rows(other)["reads"]
    test.button(key=SLUG + "draw.again").click().run()
    assert token_rows(test)["reads"] == token_rows(other)["reads"]
    gone = page(2, masked="1", redrawn="0.6", share="0.5")
    reads = token_rows(gone)["reads"]
    assert reads.count("[MASK]") == Params(share=0.5).rates.n_chosen(int((~text.special).sum()))


@pytest.mark.slow
def test_many_draws_are_counted_within_their_range():
    """C083."""
    params = Params(text=TEXT)
    text = exhibit.compute(params)
    found = masking.count(text.ids, text.special, 1000, params.draw, **draws.how(text, params))
    before, told = page(3), page(3).button(key=f"predict:{SLUG}count:commit").click().run()
    counts = lanes(told)[0]
    np.testing.assert_array_equal(counts, found.chosen_counts)
    assert counts[0] == counts[-1] == 0 and covers(before, 1) == 1 and not lanes(before, 1)
    np.testing.assert_array_equal(lanes(told, 1)[0], found.fates)
    assert (
        f"[MASK] {found.fates[0]:,} (expected {found.fates_expected[0]:,.0f} ± {3 * found.fates_deviation[0]:,.0f})"
        in said(told)
        and "expected" not in said(before)
    )
    assert asked(before, "count")[3] == 1200 and asked(page(3, masked="0.5", share="0.2"), "count")[3] == 1000
    assert states(said(told), "150 become", "150 stay")


@pytest.mark.slow
def test_left_right_and_both():
    params = Params(text=TEXT, word=2)
    text = exhibit.compute(params)
    _, found = hidden_words.contexts(bert(), text, blanks.place_of(params, text))
    best = max(found, key=lambda name: found[name].target_chance)
    before, told = page(4, word="2"), page(4, word="2", guess=("sides", best))
    assert (
        asked(before, "sides")[2] == best
        and "Right." in said(told)
        and covers(before) == 1
        and not lanes(before)
    )
    np.testing.assert_allclose(
        lanes(told)[0], [100 * said.target_chance for said in found.values()], atol=0.06
    )
    assert f"both {percent(found['both'].target_chance, 2)}" in said(
        told
    ) and f"both {percent(found['both'].target_chance, 2)}" not in said(before)


@pytest.mark.slow
def test_both_sides_against_the_left_on_every_word():
    text = exhibit.compute(Params(text=TEXT))
    places = blanks.askable(text)
    both = np.array([one.target_chance for one in hidden_words.in_turn(bert(), text, places)])
    left = np.array(
        [
            chance
            for chance, _ in hidden_words.from_the_left(
                core.serving.engine.default().open("gpt-mini"), text, places
            )
        ]
    )
    wins = int((both > left).sum()), int((left > both).sum())
    before = page(5)
    answer = asked(before, "who")[2]
    told = page(5, guess=("who", answer))
    assert answer == blanks.WINNERS[0 if wins[0] > wins[1] else 1 if wins[1] > wins[0] else 2]
    np.testing.assert_allclose(lanes(told)[0], 100 * both, atol=0.06)
    np.testing.assert_allclose(lanes(told)[1], 100 * left, atol=0.06)
    assert states(said(told), f"{wins[0]} of {len(places)} words", wins[1]) and "sides win" not in said(
        before
    )


def test_the_recipe_and_what_bert_mini_used(monkeypatch):
    """C093."""
    test = page(6)
    assert states(said(test), "256 × 512 = 131,072 tokens", "1,000,000 steps", "3.3", "39.7 epochs")
    assert states(
        said(test), "5·10⁻⁵ at step 5,000", "1·10⁻⁴ at 10,000", "5·10⁻⁵ at 505,000", "0 at 1,000,000"
    )
    rates, own = ([dot["y"] for dot in drawn_rows(test, "line", place=place)] for place in range(2))
    assert max(rates) == 1e-4 and rates[-1] == 0
    assert max(own) == pytest.approx(2e-3, rel=0.01) and own[-1] == pytest.approx(0, abs=1e-9)
    less = page(6, length="128", steps="500000", warm_up="100000")
    assert states(
        said(less),
        "256 × 128 = 32,768 tokens",
        "500,000 steps",
        "3.3",
        f"{32768 * 500000.0 / 3300000000.0:.1f} epochs",
    )
    recipe.record.cache_clear()
