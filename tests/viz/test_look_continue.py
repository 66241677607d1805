"""Look with a model that goes on with a text: what could follow stands there, and is what Decode writes."""

from __future__ import annotations

from urllib.parse import parse_qsl

import numpy as np
import pytest
from bytewise import byte_of, tiny_llama
from packets import opened
from streamlit.testing.v1 import AppTest

import core
import core.serving.engine
from core.analysis.predictions import top_predictions
from core.decoding import Greedy, Sample, decode
from core.serving.engine import Engine, Listing
from viz.labels import percent
from viz.workspace.look import go_on
from viz.workspace.shared import reading_hints

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
    best = top_predictions(core.open_model(MODEL).run(TEXT), -1, go_on.OFFERED)
    assert [option.split(" ")[0] for option in offered(test).options] == [word.strip() for word, _ in best]
    before = after(test)
    offered(test).select(core.open_model(MODEL).tokenizer.encode(best[1][0]).ids[0]).run()
    assert not test.exception and test.text_input[0].value == TEXT + best[1][0]
    assert after(test) and after(test) != before


def test_a_word_behind_the_text_is_written_with_those_before_it(monkeypatch):
    test, written = look(), steps(Greedy())
    test.session_state["look.words.False"] = {"write": {"at": [1], "id": "1"}}
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
    test = look(**{"look.temperature": "1.5", "look.seed": "3"})
    drawn = steps(Sample(1.5, seed=3))
    assert (
        [word for word, _ in after(test)]
        == [step.token.strip() for step in drawn]
        != [step.token.strip() for step in steps(Greedy())]
    )
    for (_, said), step in zip(after(test), drawn, strict=True):
        assert said == percent(step.chosen_candidate.after)
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


@pytest.fixture
def of_bytes(monkeypatch):
    """A model whose tokens are bytes, served alone."""
    made = tiny_llama()
    with Engine(
        opener={made.name: made}.__getitem__, listing=lambda: (Listing(made.name, True, "", "llama"),)
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield made


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_character_is_written_with_its_last_byte(of_bytes, at):
    run = of_bytes.run("an a", keep=[])
    force = [(0, byte_of(0xD5)), (1, byte_of(0x8D)), (2, byte_of(0x66))]
    steps = tuple(decode(of_bytes, "an a", force=force, max_new_tokens=3))
    assert go_on.text_of(run, steps, at) == ("\u054d", "\u054d", "\u054df")[at]


@pytest.mark.slow
def test_names_of_bytes_and_marks_are_not_offered_as_text(of_bytes):
    test = look(model=of_bytes.name, text="an a")
    group = offered(test)
    assert not any("<0x" in option or "<pad>" in option for option in group.options)


@pytest.mark.parametrize(
    ("model", "text", "says"),
    [
        ("gpt-mini", "Once <|endoftext|> upon", "<|endoftext|> is read as letters"),
        ("bert-mini", "How old are you? [SEP] I am six.", "[SEP] is read as letters"),
        ("bert-mini", "[CLS] How old? [SEP]", "[CLS], [SEP] are read as letters"),
        ("bert-mini", "The [UNK] cat", "[UNK] is read as letters"),
        ("translator-en-es", "The <end> of it", "<end> is read as letters"),
        ("bert-mini", "The [MASK] cat", ""),
        ("gpt-mini", "This is THE END", ""),
    ],
)
def test_a_typed_name_of_a_mark_is_said_to_be_read_as_letters(model, text, says):
    names = reading_hints.special_names_read_as_text(core.open_model(model), text)
    assert ", ".join(names) == says.partition(" is ")[0].partition(" are ")[0]
    if model == "gpt-mini" and says:
        assert any(says in element.value for element in look(model=model, text=text).text)
