"""The other ways to look at writing: guessing the next word, training against inference, what is kept."""

from __future__ import annotations

import math

import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_decode import CAR, drawn
from test_decode import engine as engine  # the fixture
from workspace_pages import again, button, linked, said

from core.analysis.forcing import compare_forcing
from viz.course.shared.guessing import Round, played, score
from viz.course.shared.prompts import QUESTIONS, answers
from viz.workspace.decode import cache, controls, forcing, guess
from viz.workspace.decode.cache_cost import cached_arrays, products
from viz.workspace.decode.choices import choices

GUESS, PROMPTS, FORCING, KEPT = controls.VIEWS[1:]
ONCE = {"decode__show": GUESS, "text": "once upon a time"}


def box(test: AppTest, label: str):
    return next(one for one in test.text_input if one.label.startswith(label))


def guessed(test: AppTest, word: str) -> AppTest:
    box(test, "Which word comes next?").set_value(word)
    return again(test)


def test_a_guess_is_weighed_and_the_text_goes_on(engine):
    test, start = guessed(drawn(**ONCE), "there"), Round(engine.models["gpt-mini"], ONCE["text"])
    one = played(start, "there")
    assert linked(test)["decode.guesses"] == "there"
    assert f"{one.guess.bits:.1f} bits" in said(test) and f"{score([one]).chance:.1f}" in said(test)
    assert start.went_on(one.model_guess.text).split()[-1] in said(test)
    assert said(drawn(**ONCE, decode__guesses="there")) == said(test)


def test_a_word_can_be_picked_and_counts_as_if_it_were_typed(engine):
    test, words = drawn(**ONCE), choices(Round(engine.models["gpt-mini"], ONCE["text"]))
    picks = [one for one in test.button if str(one.key).startswith("decode.guess.pick.")]
    assert [one.proto.shortcut for one in picks] == [str(n) for n in range(1, len(words) + 1)]
    picks[1].click()
    assert linked(again(test))["decode.guesses"] == words[1]
    typed = drawn(**ONCE, decode__guesses=words[1])
    assert said(test) == said(typed)
    assert [one.label for one in test.button] == [one.label for one in typed.button]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("wrong", "why"), [(" ", "no guess"), ("two words", "than one word")])
def test_a_guess_that_is_none_is_told_and_comes_back(engine, wrong, why):
    test = guessed(guessed(drawn(**ONCE), "x"), wrong)
    assert why in said(test) and linked(test)["decode.guesses"] == "x"


def test_the_score_is_over_all_rounds(engine):
    model, text, rounds = engine.models["gpt-mini"], "the king", []
    for word in ("said", "to", "the"):
        rounds.append(played(Round(model, text), word))
        text = Round(model, text).went_on(word)
    link = {"text": "the king", "decode__guesses": "said to the", "decode__goes_on": guess.GOES_ON[1]}
    assert states(said(drawn(decode__show=GUESS, **link)), "3 rounds", f"{score(rounds).you:.1f} bits")


@pytest.mark.parametrize(
    ("model", "text", "name", "target"),
    [
        ("translator-en-es", "a white car", "target", "el gato blanco"),
        ("translator-en-es", "a white car", "target", "la casa"),
        ("gpt-mini", "once upon", "decode__goes", " a time there was"),
    ],
)
def test_training_and_inference_stand_side_by_side(engine, model, text, name, target):
    test = drawn(model=model, text=text, decode__show=FORCING, **{name: target})
    found = compare_forcing(engine.models[model], text, target)
    assert states(said(test), f"{found.loss / math.log(2):.3f} bits")
    assert {"decode.forced", "decode.free"} <= {one.key for one in test.get("bidi_component")}
    assert (found.first_difference is None) == ("writes the same" in said(test))


@pytest.mark.parametrize("model", ["gpt-mini", "translator-en-es"])
def test_what_is_kept_is_read_from_a_filled_cache(engine, model):
    text, network = "a white car was here", engine.models[model]
    told, n = said(drawn(model=model, text=text, decode__show=KEPT)), len(network.tokenizer.encode(text).ids)
    written, source = (n, 1) if model == "gpt-mini" else (1, n)
    arrays = cached_arrays(network, written, source)
    assert f"{len(arrays)} arrays, {sum(e.nbytes for e in arrays) / 1024:,.1f} KB" in told
    last = cache._lengths(network.config.n_ctx)[-1]
    assert f"{products(network, last, cached=False, source=source).total:,} without" in told


def test_it_is_measured_on_a_click(engine, monkeypatch):
    monkeypatch.setattr(cache, "_lengths", lambda most: [1, 4])
    test = drawn(decode__show=KEPT, text="once upon")
    assert "On this server" not in said(test)
    button(test, "Measure it here").click()
    assert states(said(again(test)), "token 4")


def test_a_translator_offers_no_guessing_and_a_link_to_it_is_mended(engine):
    assert "cannot be shown" in said(drawn(**CAR, decode__show=GUESS))


@pytest.mark.slow
def test_you_are_welcome_is_trained_place_by_place(engine):
    test = drawn(model="translator-en-es", text="You are welcome.", decode__show=FORCING)
    found = compare_forcing(engine.models["translator-en-es"], "You are welcome.", "De nada.")
    assert "De nada." in [box.value for box in test.text_input]
    assert states(said(test), f"{found.loss / math.log(2):.3f} bits")
    table, n = forcing._table(found), len(found.forced)
    wanted, given = (table[name].tolist()[:n] for name in ("wanted", "given: reads"))
    assert n > 2 and wanted[-1] == "END" and table["-ln p"].notna().sum() == n
    assert given == ["START", *wanted[:-1]]  # shifted by one


def test_answers_are_weighed_behind_a_prompt(engine):
    test, task = drawn(decode__show=PROMPTS), QUESTIONS[0]

    def rank(*candidates: str) -> str:
        found = answers(engine.models["gpt-mini"], task.prompt, candidates)
        return f"rank {found[0].rank:,} among all"

    assert rank(*task.candidates) in said(test) and "right answer" in said(test)
    box(test, "Candidates").set_value(" by the car | on the mat")
    assert rank(" by the car", " on the mat") in said(again(test))
    box(test, "Candidates").set_value("")
    again(test)  # no candidate: told, not thrown


def test_the_prompt_word_alone_chooses_what_the_toy_model_does():
    test = AppTest.from_string(
        "from core import open_model\nfrom viz.workspace.decode import prompts as p\np.show(open_model('prompt-tiny'), 'reverse: hello =')",
        default_timeout=60,
    ).run()
    lines = [str(one.value) for one in test.text if "→" in str(one.value)]
    assert not test.exception and [line.split("→")[1].split() for line in lines] == [
        [word, "(right)"] for word in ("hello", "olleh", "HELLO")
    ]
