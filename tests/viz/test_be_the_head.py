"""Be the head on tiny models: the visitor's row is the one in the run, nothing is revealed before it is put in."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from drawn_layers import drawn_rows
from model_shapes import write as write_shape
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import served

from core import edits, open_model
from core.analysis.heads.pattern_distance import jensen_shannon
from core.maths import softmax
from viz.classroom import store
from viz.labels import percent
from viz.workspace.be_the_head import data
from viz.workspace.be_the_head import page as be_the_head
from viz.workspace.be_the_head.data import evenly, last_word, read_row
from viz.workspace.shared.head_ref import HeadRef

TEXT = "She has a white car."


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), "tiny-gpt", "tiny-translator") as found,
    ):
        yield found


def page(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.be_the_head import page\npage.page()", default_timeout=120)
    for name, value in ({"model": "tiny-gpt", "text": TEXT} | link).items():
        test.query_params[name] = value
    test.run()
    assert not test.exception
    return test


def bars(test: AppTest) -> list[str]:
    return [bar["label"] for bar in drawn_rows(test, "value")]


def said(test: AppTest) -> str:
    return "\n".join(str(element.value) for kind in (test.text, test.markdown) for element in kind)


def test_the_last_word_is_hidden_and_the_head_is_the_one_whose_row_matters_most(engine):
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    model = engine.open("tiny-gpt")
    assert TEXT.startswith(found.run.side.text) and found.word_id == model.tokenizer.encode(" car").ids[0]
    assert found.row == len(found.run.ids) - 1 and found.keys == list(range(found.row + 1))
    n, scores = found.row + 1, {}
    for layer in range(2):
        for head in range(3):
            even = edits.SetPattern(f"layer.{layer}.self_attn.pattern", found.row, (1 / n,) * n, head=head)
            scores[layer, head] = softmax(model.run("She has a white", edits=[even]).logits[-1])[
                found.word_id
            ]
    assert min(scores, key=scores.__getitem__) == (found.place.layer, found.place.head)
    assert found.even == pytest.approx(min(scores.values()), abs=1e-5)


def test_nothing_is_revealed_before_the_row_is_put_in(engine):
    test = page()
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    assert bars(test) == [percent(found.even), "?", "?"]
    test.button("be_the_head.commit").click().run()
    assert not test.exception and bars(test)[2] == percent(found.true) and "?" not in bars(test)
    assert "With your row" in said(test) and "uniform row" in said(test) and "does better" not in said(test)


def test_the_row_of_the_link_is_the_row_of_the_run(engine):
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    shares = (70, *(0,) * (len(found.keys) - 2), 30)
    test = page(**{"be_the_head.row": ".".join(map(str, shares)), "be_the_head.in": "1"})
    row = edits.SetPattern(found.path, found.row, tuple(np.array(shares) / 100), head=found.place.head)
    wanted = softmax(engine.open("tiny-gpt").run("She has a white", edits=[row]).logits[-1])[found.word_id]
    assert bars(test)[1] == percent(float(wanted)) and [box.value for box in test.number_input] == list(
        shares
    )


def test_at_most_the_whole_can_be_spent_and_less_cannot_be_put_in(engine):
    test = page()
    test.button("be_the_head.none").click().run()
    assert test.button("be_the_head.commit").disabled and "100% left" in said(test)
    test.number_input[0].set_value(60).run()
    test.number_input[1].set_value(70).run()
    assert [box.value for box in test.number_input][:2] == [60, 40] and not test.button(
        "be_the_head.commit"
    ).disabled
    test.button("be_the_head.even").click().run()
    assert tuple(box.value for box in test.number_input) == evenly(len(test.number_input))


def test_the_same_piece_twice_is_two_places(engine):
    test = page(text="the car the car the car the end")
    labels = [box.label for box in test.number_input]
    assert "Something went wrong" not in said(test) and len({*labels}) == len(labels) > 6


@pytest.mark.slow
def test_a_translator_is_asked_for_a_spanish_word(engine):
    test = page(model="tiny-translator", **{"be_the_head.at": "1"})
    found = be_the_head.compute(be_the_head.Params("tiny-translator", TEXT, row=1))
    assert (
        found.place.kind == "cross" and found.row == 1 and len(test.number_input) == len(found.run.source.ids)
    )
    assert found.word_id == found.run.ids[2] and "about to write" in said(test)


@pytest.mark.parametrize(
    "link",
    [
        {"be_the_head.row": "<b>"},
        {"be_the_head.row": "1.2"},
        {"kind": "causal", "layer": "9", "head": "9"},
        {"be_the_head.at": "x"},
        {"text": "Word"},
    ],
)
def test_nonsense_in_a_link_is_no_error(engine, link):
    test = page(**link)
    assert "Something went wrong" not in said(test)


def test_a_model_from_elsewhere_opens_with_the_text_whose_last_word_it_expects_most(engine, monkeypatch):
    model = engine.open("tiny-gpt")
    assert data.opening(model, TEXT) == TEXT or not data.input_hints.is_shipped("tiny-gpt")
    monkeypatch.setattr(data.input_hints, "is_shipped", lambda _: False)
    chances = {}
    for text in (TEXT, *data.BEGINNINGS):
        start, _ = last_word(model, text)
        run = model.run(text[: start - 1])
        chances[text] = softmax(run.logits[-1])[model.tokenizer.encode(text[start - 1 :]).ids[0]]
    assert data.opening(model, TEXT) == max(chances, key=chances.__getitem__)
    assert data.opening(engine.open("tiny-translator"), TEXT) == TEXT, "what it writes is the word to guess"


def test_a_word_that_the_model_does_not_expect_is_said_to_be_one(engine):
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    captions = " ".join(caption.value for caption in page().caption)
    assert ("does not expect" in captions) == (found.true < data.EXPECTED) and percent(
        found.true
    ) not in captions


def test_a_space_as_the_word_is_seen(engine):
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    assert "**·**" in be_the_head._task(replace(found, word=" ")) and "**car**" in be_the_head._task(
        replace(found, word=" car")
    )


def test_the_parts():
    assert sum(evenly(7)) == 100 and max(evenly(7)) - min(evenly(7)) == 1 and read_row("50.50", 2) == (50, 50)
    for wrong in ("", "1", "1.x", "60.50", "-1.3", "1.2.3"):
        with pytest.raises(ValueError, match="."):
            read_row(wrong, 2)
    assert last_word(None, 'He said: "Run!"') == (9, 13) and last_word(None, "a b ...") == (2, 3)


def test_the_folds_hold_what_they_say(engine):
    test = page()
    for name in (
        "be_the_head.equation",
        "be_the_head.looking",
        "Be the head.documents",
        "be_the_head.table",
        "be_the_head.take",
    ):
        test.session_state[f"fold:{name}"] = True
    test.run()
    assert not test.exception and "× v(" in said(test) and "the head" not in test.dataframe[0].value.columns
    assert "SetPattern" in "".join(code.value for code in test.code)


ROOM = """
from viz.shell import pages, state
from viz.shell.room_bar import lecture
from viz.workspace.be_the_head import page
import streamlit as st
with state.visit("be_the_head"), lecture.publish_page(pages.find("be_the_head")):
    page.page()
st.button("Reveal", key="reveal", on_click=lambda: lecture.reveal(lecture.led_room()[0]))
"""


def test_the_mean_row_of_a_class_is_the_row_of_the_run(engine, monkeypatch):
    monkeypatch.setattr(store, "ROOMS", rooms := store.InMemory())
    room, secret = rooms.open()
    test = AppTest.from_string(ROOM, default_timeout=120)
    test.session_state["atlas.room"] = room.code, secret
    test.query_params["model"], test.query_params["text"] = "tiny-gpt", TEXT
    test.run()
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    asked = room.question
    assert (
        not test.exception
        and len(asked.form.options) == len(found.keys)
        and "truth" not in asked.public_state()
    )
    for given in (0, 0, 1):
        room.answer(room.take_seat(""), asked.id, given)
    assert bars(test)[-1] == "?"
    test.button("reveal").click().run()
    assert not test.exception and room.question.revealed
    assert room.question.truth == [int(found.true_row.argmax())]
    weights = np.zeros(len(found.keys))
    weights[:2] = 2 / 3, 1 / 3
    edit = edits.SetPattern(found.path, found.row, tuple(weights), head=found.place.head)
    logits = engine.open("tiny-gpt").run("She has a white", edits=[edit]).logits[-1]
    wanted = float(softmax(logits)[found.word_id])
    drawn = [bar["value"] for bar in drawn_rows(test, "value")]
    assert drawn == pytest.approx([found.even, wanted, found.true], rel=1e-4) and len(set(drawn)) == 3
    bits = float(jensen_shannon(weights, found.true_row))
    assert states(
        said(test), "(3 answers)", f"“{found.word.strip()}”", percent(wanted)
    ) and f"{bits:.2f} bits" in said(test)


def test_a_head_with_a_sink_is_said_to_give_less_than_all_to_the_tokens(tmp_path):
    run = open_model(write_shape(tmp_path / "sink", "sink")).run(TEXT)
    own = run.attention().weights[1, 2, -1]
    sentence = be_the_head._looking(SimpleNamespace(run=run, place=HeadRef("causal", 1, 2), true_row=own))
    assert own.sum() < 0.99 and states(sentence, percent(own.sum()))
    assert "1, or to less" in sentence


def test_a_head_without_one_gives_all(engine):
    found = be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))
    assert "add up to 1:" in be_the_head._looking(found) and found.true_row.sum() == pytest.approx(1)
