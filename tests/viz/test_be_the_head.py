"""Be the head on tiny models: the visitor's row is the one in the run, nothing is revealed before it is put in."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels
from model_shapes import write as write_shape
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import serving
from workspace_pages import again, page, said

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
BEFORE = "She has a white"
GPT = {"model": "tiny-gpt", "text": TEXT}


engine = serving("tiny-gpt", "tiny-translator")


@pytest.fixture
def found(engine) -> data.Game:
    """What the page opens with."""
    return be_the_head.compute(be_the_head.Params("tiny-gpt", TEXT))


def head(**link: str) -> AppTest:
    return page("be_the_head", **GPT | link)


def click(test: AppTest, name: str) -> AppTest:
    test.button(f"be_the_head.{name}").click()
    return again(test)


def chance_with(engine, found, row: np.ndarray, path: str = "", at: int | None = None) -> float:
    """The probability of the hidden word with this row in the place of a head's own."""
    at = found.place.head if at is None else at
    edit = edits.SetPattern(path or found.path, found.row, tuple(row), head=at)
    logits = engine.open("tiny-gpt").run(BEFORE, edits=[edit]).logits[-1]
    return float(softmax(logits)[found.word_id])


def test_the_last_word_is_hidden_and_the_head_is_the_one_whose_row_matters_most(engine, found):
    assert TEXT.startswith(found.run.side.text)
    assert found.word_id == engine.open("tiny-gpt").tokenizer.encode(" car").ids[0]
    assert found.row == len(found.run.ids) - 1 and found.keys == list(range(found.row + 1))
    even = np.full(found.row + 1, 1 / (found.row + 1))
    scores = {
        (layer, at): chance_with(engine, found, even, f"layer.{layer}.self_attn.pattern", at)
        for layer in range(2)
        for at in range(3)
    }
    assert min(scores, key=scores.__getitem__) == (found.place.layer, found.place.head)
    assert found.even == pytest.approx(min(scores.values()), abs=1e-5)


def test_nothing_is_revealed_before_the_row_is_put_in(found):
    test = head()
    assert bar_labels(test) == [percent(found.even), "?", "?"]
    bars = bar_labels(click(test, "commit"))
    assert bars[2] == percent(found.true) and "?" not in bars
    assert "With your row" in said(test) and "uniform row" in said(test) and "does better" not in said(test)


def test_the_row_of_the_link_is_the_row_of_the_run(engine, found):
    shares = [70, *(0,) * (len(found.keys) - 2), 30]
    test = head(be_the_head__row=".".join(map(str, shares)), be_the_head__in="1")
    assert bar_labels(test)[1] == percent(chance_with(engine, found, np.array(shares) / 100))
    assert [box.value for box in test.number_input] == shares


def test_at_most_the_whole_can_be_spent_and_less_cannot_be_put_in(engine):
    test = click(head(), "none")
    assert test.button("be_the_head.commit").disabled and "100% left" in said(test)
    for at, share in enumerate((60, 70)):
        test.number_input[at].set_value(share)
        again(test)
    assert [box.value for box in test.number_input][:2] == [60, 40]
    assert not test.button("be_the_head.commit").disabled
    click(test, "even")
    assert tuple(box.value for box in test.number_input) == evenly(len(test.number_input))


def test_the_same_piece_twice_is_two_places(engine):
    labels = [box.label for box in head(text="the car the car the car the end").number_input]
    assert len({*labels}) == len(labels) > 6


@pytest.mark.slow
def test_a_translator_is_asked_for_a_spanish_word(engine):
    test = head(model="tiny-translator", be_the_head__at="1")
    found = be_the_head.compute(be_the_head.Params("tiny-translator", TEXT, row=1))
    assert (found.place.kind, found.row, found.word_id) == ("cross", 1, found.run.ids[2])
    assert len(test.number_input) == len(found.run.source.ids) and "about to write" in said(test)


@pytest.mark.parametrize(
    "link",
    [
        {"be_the_head__row": "<b>"},
        {"be_the_head__row": "1.2"},
        {"kind": "causal", "layer": "9", "head": "9"},
        {"be_the_head__at": "x"},
        {"text": "Word"},
    ],
)
def test_nonsense_in_a_link_is_no_error(engine, link):
    head(**link)


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


def test_a_word_that_the_model_does_not_expect_is_said_to_be_one(found):
    captions = " ".join(caption.value for caption in head().caption)
    assert ("does not expect" in captions) == (found.true < data.EXPECTED)
    assert percent(found.true) not in captions


def test_a_space_as_the_word_is_seen(found):
    for word, seen in ((" ", "**·**"), (" car", "**car**")):
        assert seen in be_the_head._task(replace(found, word=word))


def test_the_parts():
    assert sum(evenly(7)) == 100 and max(evenly(7)) - min(evenly(7)) == 1 and read_row("50.50", 2) == (50, 50)
    for wrong in ("", "1", "1.x", "60.50", "-1.3", "1.2.3"):
        with pytest.raises(ValueError, match="."):
            read_row(wrong, 2)
    assert last_word(None, 'He said: "Run!"') == (9, 13) and last_word(None, "a b ...") == (2, 3)


def test_the_folds_hold_what_they_say(engine):
    names = (
        *(f"be_the_head.{name}" for name in ("equation", "looking", "table", "take")),
        "Be the head.documents",
    )
    test = head()
    for name in names:
        test.session_state[f"fold:{name}"] = True
    assert "× v(" in said(again(test)) and "the head" not in test.dataframe[0].value.columns
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


def test_the_mean_row_of_a_class_is_the_row_of_the_run(engine, found, monkeypatch):
    monkeypatch.setattr(store, "ROOMS", rooms := store.InMemory())
    room, secret = rooms.open()
    test = AppTest.from_string(ROOM, default_timeout=120)
    test.session_state["atlas.room"] = room.code, secret
    test.query_params["model"], test.query_params["text"] = "tiny-gpt", TEXT
    again(test)
    asked = room.question
    assert len(asked.form.options) == len(found.keys) and "truth" not in asked.public_state()
    for given in (0, 0, 1):
        room.answer(room.take_seat(""), asked.id, given)
    assert bar_labels(test)[-1] == "?"
    test.button("reveal").click()
    again(test)
    assert room.question.revealed and room.question.truth == [int(found.true_row.argmax())]
    weights = np.zeros(len(found.keys))
    weights[:2] = 2 / 3, 1 / 3
    wanted = chance_with(engine, found, weights)
    drawn = [bar["value"] for bar in drawn_rows(test, "value")]
    assert drawn == pytest.approx([found.even, wanted, found.true], rel=1e-4) and len(set(drawn)) == 3
    assert states(said(test), "(3 answers)", f"“{found.word.strip()}”", percent(wanted))
    assert f"{float(jensen_shannon(weights, found.true_row)):.2f} bits" in said(test)


def test_a_head_with_a_sink_is_said_to_give_less_than_all_to_the_tokens(found, tmp_path):
    run = open_model(write_shape(tmp_path / "sink", "sink")).run(TEXT)
    own = run.attention().weights[1, 2, -1]
    sentence = be_the_head._looking(SimpleNamespace(run=run, place=HeadRef("causal", 1, 2), true_row=own))
    assert own.sum() < 0.99 and states(sentence, percent(own.sum())) and "1, or to less" in sentence
    assert "add up to 1:" in be_the_head._looking(found) and found.true_row.sum() == pytest.approx(1)
