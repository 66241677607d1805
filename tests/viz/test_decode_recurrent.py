"""Decode with recurrent translators: the alignment in place of heads, or one line where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from test_decode import drawn, press
from tiny_models import ATTENTIONS, serving
from workspace_pages import again, header, linked, matrix, page, said, sent

from core.decoding import decode
from viz.workspace.decode import controls
from viz.workspace.decode.pictures import pieces

TEXT = "She has a white car."


engine = serving(*ATTENTIONS, "tiny-gpt", "tiny-bert", autouse=True)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_the_picture_is_the_alignment_of_the_steps_or_a_line_that_there_is_none(engine, name):
    steps = list(decode(engine.open(name), TEXT, max_new_tokens=8))
    test = drawn(model=name, decode__n=str(len(steps)))
    assert f"{name} gives" in said(test) and len(test.get("bidi_component")) >= 2
    heads = [group for group in test.button_group if group.key == "decode.heads"]
    assert not heads, "one alignment is nothing to choose from"
    if name == "none":
        assert "look back" in said(test) and not sent(test, "scale")
        return
    assert header(test, "scale")["keys"] == pieces(steps[0].keys["alignment"])
    rows = np.array([step.attention["alignment"][0, 0] for step in steps])
    allowed = np.array([step.allowed["alignment"][0, 0] for step in steps])
    np.testing.assert_allclose(np.where(allowed, matrix(test, "scale"), 0), rows, atol=1e-6)
    assert allowed.all() == (name != "luong-local-m")


def test_drawing_by_lot_and_stepping_back_work():
    test = drawn(model="bahdanau", decode__temperature="1.3", decode__seed="4", decode__n="3")
    third = said(test)
    assert "The random number" in third
    assert linked(press(test, "decode.back"))["decode.n"] == "2"
    assert said(press(test, "decode.next")) == third


def test_the_folds_speak_of_states_and_of_the_alignment():
    told = said(page("decode", {"fold:decode.looking": True}, model="luong-local-m"))
    assert all(words in told for words in ("The states of", "its alignment", "hatched"))


def test_models_of_one_task_are_behind_one_chip_and_a_menu():
    test = drawn(model="luong-global")
    chips = test.button_group(key="tasks:decode")
    assert (list(chips.options), chips.value) == (["Translate", "Continue"], "Translate")
    chips.set_value("Continue")
    assert linked(again(test))["model"] == "tiny-gpt"
    assert test.text_input[0].value == controls.OPENING[False]


def test_a_link_with_a_model_that_cannot_write_is_told_why():
    test = drawn(model="tiny-bert", text="Money is in the [MASK].")
    assert "cannot show tiny-bert" in said(test) and "fills blanks" in said(test)
    assert linked(test)["model"] == "tiny-bert" and not sent(test), "no other one in its place"
    test.pills[0].select("Continue")
    assert "cannot show" not in said(again(test))
    assert "[MASK]" not in test.text_input[0].value, (
        "a ready-made sentence for blanks is not left to a writer"
    )
