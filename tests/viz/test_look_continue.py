"""Look with a model that goes on with a text: what could follow stands there, and is what Decode writes."""

from __future__ import annotations

from urllib.parse import parse_qsl

import numpy as np
import pytest
from bytewise import byte_of, tiny_llama
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import again, header, page, said, served_alone

import core
from core.analysis.predictions import top_predictions
from core.decoding import Greedy, Sample, decode
from viz.labels import percent
from viz.workspace.look import go_on
from viz.workspace.shared import reading_hints

MODEL, TEXT = "gpt-mini", "Once upon a time there was a little"


def look(**link: str) -> AppTest:
    return page("look", **{"model": MODEL, "text": TEXT} | link)


def after(test: AppTest) -> list[list[str]]:
    return header(test, "layout")["after"]


def offered(test: AppTest) -> list:
    return [group for group in test.pills if "Next token" in group.label]


def steps(strategy) -> list:
    return list(decode(core.open_model(MODEL), TEXT, strategy, max_new_tokens=go_on.AHEAD))


def test_the_next_tokens_stand_behind_the_text_with_their_probabilities():
    assert after(look()) == [[step.token.strip(), percent(np.exp(step.logprob))] for step in steps(Greedy())]


def test_one_is_chosen_and_written_and_others_follow():
    test = look()
    best = [word for word, _ in top_predictions(core.open_model(MODEL).run(TEXT), -1, go_on.OFFERED)]
    assert [option.split(" ")[0] for option in offered(test)[0].options] == [*map(str.strip, best)]
    before = after(test)
    offered(test)[0].select(core.open_model(MODEL).tokenizer.encode(best[1]).ids[0])
    assert again(test).text_input[0].value == TEXT + best[1] and [] != after(test) != before


def test_a_word_behind_the_text_is_written_with_those_before_it(monkeypatch):
    written = steps(Greedy())
    monkeypatch.setattr("viz.workspace.look.go_on.touched_continuation", lambda key: 1)
    script = AppTest.from_string(
        "from viz.shell.selection import Selection\nfrom viz.workspace.look import go_on as c\nimport streamlit as st\n"
        f"import core\nc.write(Selection({MODEL!r}, {TEXT!r}), core.open_model({MODEL!r}).run({TEXT!r}), st.session_state['steps'])",
        default_timeout=60,
    )
    script.session_state["steps"] = tuple(written)
    script.run()
    assert script.session_state["atlas.chosen"]["text"] == TEXT + written[0].token + written[1].token


def test_the_temperature_samples_and_goes_along_to_decode():
    test = look(look__temperature="1.5", look__seed="3")
    drawn = steps(Sample(1.5, seed=3))
    assert after(test) == [[step.token.strip(), percent(step.chosen_candidate.after)] for step in drawn]
    assert [step.id for step in drawn] != [step.id for step in steps(Greedy())]
    (link,) = [one.value for one in test.markdown if "in Decode" in one.value]
    query = dict(parse_qsl(link.partition("?")[2].rstrip(")")))
    there = page("decode", **query)
    assert (there.text_input[0].value, query["model"]) == (TEXT, MODEL)
    assert f"gives “{drawn[-1].token.strip()}”" in said(there)
    assert "".join(step.token for step in drawn[:-1]) in said(there)


@pytest.mark.parametrize("model", ["translator-en-es", "bert-mini"])
def test_other_models_do_not_go_on(model):
    test = look(model=model, text="She has a car.")
    assert after(test) == offered(test) == []


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
    test = look(model=model, text="She has a car.")
    (link,) = [one.value for one in test.markdown if "Open the course" in one.value]
    assert f": {chapter}](" in link and "text=She+has+a+car." in link


@pytest.fixture
def of_bytes(monkeypatch):
    """A model whose tokens are bytes, served alone."""
    with served_alone(monkeypatch, tiny_llama()) as made:
        yield made


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_character_is_written_with_its_last_byte(of_bytes, at):
    run = of_bytes.run("an a", keep=[])
    force = [(0, byte_of(0xD5)), (1, byte_of(0x8D)), (2, byte_of(0x66))]
    steps = tuple(decode(of_bytes, "an a", force=force, max_new_tokens=3))
    assert go_on.text_of(run, steps, at) == ("\u054d", "\u054d", "\u054df")[at]


@pytest.mark.slow
def test_names_of_bytes_and_marks_are_not_offered_as_text(of_bytes):
    (group,) = offered(look(model=of_bytes.name, text="an a"))
    assert not any("<0x" in option or "<pad>" in option for option in group.options)


@pytest.mark.parametrize(
    ("model", "text", "names"),
    [
        ("gpt-mini", "Once <|endoftext|> upon", ["<|endoftext|>"]),
        ("bert-mini", "How old are you? [SEP] I am six.", ["[SEP]"]),
        ("bert-mini", "[CLS] How old? [SEP]", ["[CLS]", "[SEP]"]),
        ("bert-mini", "The [UNK] cat", ["[UNK]"]),
        ("translator-en-es", "The <end> of it", ["<end>"]),
        ("bert-mini", "The [MASK] cat", []),
        ("gpt-mini", "This is THE END", []),
    ],
)
def test_a_typed_name_of_a_mark_is_said_to_be_read_as_letters(model, text, names):
    assert [*reading_hints.special_names_read_as_text(core.open_model(model), text)] == names
    if model == "gpt-mini" and names:
        assert states(said(look(model=model, text=text)), names[0], "as letters")
