"""The other ways to look at writing: guessing the next word, training against inference, what is kept."""

from __future__ import annotations

import math

import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_decode import drawn, said
from test_decode import engine as engine  # the fixture

from core.analysis.forcing import compare_forcing
from viz.course.shared.guessing import Round, played, score
from viz.course.shared.prompts import QUESTIONS, answers
from viz.workspace.decode import cache, controls, forcing, guess
from viz.workspace.decode.cache_cost import cached_arrays, products
from viz.workspace.decode.choices import choices

GUESS, PROMPTS, FORCING, KEPT = controls.VIEWS[1:]


def whole(test: AppTest) -> str:
    return said(test) + "\n".join(
        str(element.value) for kind in (test.caption, test.header) for element in kind
    )


def test_a_guess_is_weighed_and_the_text_goes_on(engine):
    test = drawn(decode__show=GUESS, text="once upon a time")
    assert not test.exception
    box = next(one for one in test.text_input if one.label == "Which word comes next?")
    test = box.set_value("there").run()
    model = engine.models["gpt-mini"]
    one = played(Round(model, "once upon a time"), "there")
    assert test.query_params["decode.guesses"] == "there" and not test.exception
    assert f"{one.guess.bits:.1f} bits" in whole(test) and f"{score([one]).chance:.1f}" in whole(test)
    assert Round(model, "once upon a time").went_on(one.model_guess.text).split()[-1] in whole(test)
    again = drawn(decode__show=GUESS, text="once upon a time", decode__guesses="there")
    assert whole(again) == whole(test)


def test_a_word_can_be_picked_and_counts_as_if_it_were_typed(engine):
    test = drawn(decode__show=GUESS, text="once upon a time")
    words = choices(Round(engine.models["gpt-mini"], "once upon a time"))
    picks = [one for one in test.button if str(one.key).startswith("decode.guess.pick.")]
    assert len(picks) == len(words) and [one.proto.shortcut for one in picks] == [
        str(n) for n in range(1, len(words) + 1)
    ]
    test = picks[1].click().run()
    assert not test.exception and test.query_params["decode.guesses"] == words[1]
    typed = drawn(decode__show=GUESS, text="once upon a time", decode__guesses=words[1])
    assert whole(test) == whole(typed)
    assert [one.label for one in test.button] == [one.label for one in typed.button]


@pytest.mark.quick(1)
@pytest.mark.parametrize("wrong", ["", "two words"])
def test_a_guess_that_is_none_is_told_and_comes_back(engine, wrong):
    test = drawn(decode__show=GUESS, text="once upon a time")
    box = next(one for one in test.text_input if one.label == "Which word comes next?")
    test = box.set_value("x").run()
    test = (
        next(one for one in test.text_input if one.label == "Which word comes next?")
        .set_value(wrong or " ")
        .run()
    )
    assert not test.exception and (("than one word" if wrong else "no guess") in whole(test))
    assert test.query_params["decode.guesses"] == "x"


def test_the_score_is_over_all_rounds(engine):
    model, text, rounds = engine.models["gpt-mini"], "the king", []
    for word in ("said", "to", "the"):
        rounds.append(played(Round(model, text), word))
        text = Round(model, text).went_on(word)
    test = drawn(
        decode__show=GUESS, text="the king", decode__guesses="said to the", decode__goes_on=guess.GOES_ON[1]
    )
    assert states(whole(test), "3 rounds", f"{score(rounds).you:.1f} bits")


@pytest.mark.parametrize(
    ("model", "text", "name", "target"),
    [
        ("translator-en-es", "a white car", "target", "el gato blanco"),
        ("gpt-mini", "once upon", "decode__goes", " a time there was"),
    ],
)
def test_training_and_inference_stand_side_by_side(engine, model, text, name, target):
    test = drawn(model=model, text=text, decode__show=FORCING, **{name: target})
    found = compare_forcing(engine.models[model], text, target)
    assert not test.exception and states(whole(test), f"{found.loss / math.log(2):.3f} bits")
    assert {"decode.forced", "decode.free"} <= {one.key for one in test.get("bidi_component")}
    assert (found.first_difference is None) == ("writes the same" in whole(test))


def test_another_target_gives_another_loss(engine):
    texts = [
        whole(drawn(model="translator-en-es", text="a white car", decode__show=FORCING, target=target))
        for target in ("el gato", "la casa")
    ]
    assert texts[0] != texts[1]


@pytest.mark.parametrize("model", ["gpt-mini", "translator-en-es"])
def test_what_is_kept_is_read_from_a_filled_cache(engine, model):
    text = "a white car was here"
    test = drawn(model=model, text=text, decode__show=KEPT)
    network = engine.models[model]
    n = len(network.tokenizer.encode(text).ids)
    arrays = cached_arrays(network, n if model == "gpt-mini" else 1, 1 if model == "gpt-mini" else n)
    assert (
        not test.exception
        and f"{len(arrays)} arrays, {sum(e.nbytes for e in arrays) / 1024:,.1f} KB" in whole(test)
    )
    last = cache._lengths(network.config.n_ctx)[-1]
    assert (
        f"{products(network, last, cached=False, source=1 if model == 'gpt-mini' else n).total:,} without"
        in whole(test)
    )


def test_it_is_measured_on_a_click(engine, monkeypatch):
    monkeypatch.setattr(cache, "_lengths", lambda most: [1, 4])
    test = drawn(decode__show=KEPT, text="once upon")
    assert "On this server" not in whole(test)
    test = next(one for one in test.button if one.label == "Measure it here").click().run()
    assert not test.exception and states(whole(test), "token 4")


def test_a_translator_offers_no_guessing_and_a_link_to_it_is_mended(engine):
    test = drawn(model="translator-en-es", text="a car", decode__show=GUESS)
    assert not test.exception and "cannot be shown" in said(test)


@pytest.mark.slow
def test_you_are_welcome_is_trained_place_by_place(engine):
    test = drawn(model="translator-en-es", text="You are welcome.", decode__show=FORCING)
    found = compare_forcing(engine.models["translator-en-es"], "You are welcome.", "De nada.")
    assert "De nada." in [box.value for box in test.text_input]
    assert states(whole(test), f"{found.loss / math.log(2):.3f} bits") and len(found.forced) > 2
    table = forcing._table(found)
    wanted, given = (table[name].tolist()[: len(found.forced)] for name in ("wanted", "given: reads"))
    assert wanted[-1] == "END" and table["-ln p"].notna().sum() == len(found.forced)
    assert given[0] == "START" and given[1:] == wanted[:-1]  # shifted by one


def test_answers_are_weighed_behind_a_prompt(engine):
    test = drawn(decode__show=PROMPTS)
    task = QUESTIONS[0]
    found = answers(engine.models["gpt-mini"], task.prompt, task.candidates)
    assert (
        not test.exception
        and f"rank {found[0].rank:,} among all" in whole(test)
        and "right answer" in whole(test)
    )
    box = next(one for one in test.text_input if one.label.startswith("Candidates"))
    test = box.set_value(" by the car | on the mat").run()
    again = answers(engine.models["gpt-mini"], task.prompt, (" by the car", " on the mat"))
    assert not test.exception and f"rank {again[0].rank:,} among all" in whole(test)
    assert not box.set_value("").run().exception  # no candidate: told, not thrown


def test_the_prompt_word_alone_chooses_what_the_toy_model_does():
    test = AppTest.from_string(
        "from core import open_model\nfrom viz.workspace.decode import prompts as p\np.show(open_model('prompt-tiny'), 'reverse: hello =')",
        default_timeout=60,
    ).run()
    assert not test.exception
    lines = [str(one.value) for one in test.text if "→" in str(one.value)]
    assert [line.split("→")[1].split() for line in lines] == [
        [word, "(right)"] for word in ("hello", "olleh", "HELLO")
    ]
