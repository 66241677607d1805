"""Look with a model that goes on with a text: what could follow stands there, and is what Decode writes."""

from __future__ import annotations

from urllib.parse import parse_qsl

import numpy as np
import pytest
from packets import opened
from streamlit.testing.v1 import AppTest

import core
from core.analysis.guesses import guesses
from core.decoding import Greedy, Sample, decode
from viz.labels import percent
from viz.workspace.look import go_on

MODEL, TEXT = "gpt-mini", "Once upon a time there was a little"


def look(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.look import page\npage.page()", default_timeout=60)
    for key, value in ({"model": MODEL, "text": TEXT} | link).items():
        test.query_params[key] = value
    test.run()
    assert not test.exception
    return test


def after(test: AppTest) -> list[list[str]]:
    (head,) = [
        head
        for p in test.get("bidi_component")
        if p.proto.bytes and "layout" in (head := opened(p.proto.bytes)[0])
    ]
    return head["after"]


def offered(test: AppTest):
    return next(group for group in test.pills if "Next token" in group.label)


def steps(strategy) -> list:
    return list(decode(core.open_model(MODEL), TEXT, strategy, max_new_tokens=go_on.AHEAD))


def test_the_next_tokens_stand_behind_the_text_with_their_probabilities():
    written = steps(Greedy())
    assert [word for word, _ in after(look())] == [step.token.strip() for step in written]
    for (_, said), step in zip(after(look()), written, strict=True):
        chance = np.exp(step.logprob)
        assert said == percent(chance)


def test_one_is_chosen_and_written_and_others_follow():
    test = look()
    best = guesses(core.open_model(MODEL).run(TEXT), -1, go_on.OFFERED)
    assert [option.split(" ")[0] for option in offered(test).options] == [word.strip() for word, _ in best]
    before = after(test)
    offered(test).select(best[1][0]).run()
    assert not test.exception and test.text_input[0].value == TEXT + best[1][0]
    assert after(test) and after(test) != before


def test_a_word_behind_the_text_is_written_with_those_before_it(monkeypatch):
    test, written = look(), steps(Greedy())
    test.session_state["look.words.False"] = {"write": {"at": [1], "id": "1"}}
    monkeypatch.setattr("viz.workspace.look.go_on.written", lambda key: 1)
    script = AppTest.from_string(
        "from viz.shell import subject\nfrom viz.workspace.look import go_on as c\nimport streamlit as st\n"
        f"subject.shows(text={TEXT!r})\nc.write(st.session_state['steps'])",
        default_timeout=60,
    )
    script.session_state["steps"] = tuple(written)
    script.run()
    assert script.session_state["atlas.chosen"]["text"] == TEXT + written[0].token + written[1].token


def test_the_temperature_samples_and_goes_along_to_decode():
    test = look(**{"look.temperature": "1.5", "look.seed": "3"})
    drawn = steps(Sample(1.5, seed=3))
    assert (
        [word for word, _ in after(test)]
        == [step.token.strip() for step in drawn]
        != [step.token.strip() for step in steps(Greedy())]
    )
    for (_, said), step in zip(after(test), drawn, strict=True):
        assert said == percent(step.chosen.after)
    (link,) = [one.value for one in test.markdown if "in Decode" in one.value]
    query = dict(parse_qsl(link.partition("?")[2].rstrip(")")))
    there = AppTest.from_string("from viz.workspace.decode import page\npage.page()", default_timeout=60)
    for name, value in query.items():
        there.query_params[name] = value
    there.run()
    assert not there.exception and there.text_input[0].value == TEXT and query["model"] == MODEL
    told = "\n".join(str(one.value) for one in there.text)
    assert f"gives “{drawn[-1].token.strip()}”" in told and "".join(step.token for step in drawn[:-1]) in told


@pytest.mark.parametrize("model", ["translator-en-es", "bert-mini"])
def test_other_models_do_not_go_on(model):
    test = look(model=model, text="She has a car.")
    assert after(test) == [] and not [group for group in test.pills if "Next token" in group.label]


@pytest.mark.parametrize(
    ("model", "chapter"),
    [
        ("translator-en-es", "The Transformer"),
        ("bert-mini", "BERT"),
        ("gpt-mini", "GPT"),
        ("bahdanau-en-es", "Why attention"),
    ],
)
def test_the_course_opens_at_the_chapter_of_what_is_on_screen_with_its_sentence(model, chapter):
    (link,) = [
        one.value
        for one in look(model=model, text="She has a car.").markdown
        if "Open the course" in one.value
    ]
    assert f"Open the course: {chapter}](" in link and "text=She+has+a+car." in link
