"""Decode with recurrent translators: the alignment in place of heads, or one line where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from packets import opened, packets_of, unpacked
from streamlit.testing.v1 import AppTest
from tiny_models import ATTENTIONS, served

from core.decoding import decode
from viz.workspace.decode import controls
from viz.workspace.decode.pictures import pieces

TEXT = "She has a white car."
SCRIPT = "from viz.shell import errors\nfrom viz.workspace.decode import page as decode\nwith errors.guard():\n    decode.page()"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), *ATTENTIONS, "tiny-gpt", "tiny-bert") as engine,
    ):
        yield engine


def drawn(**query: str) -> AppTest:
    test = AppTest.from_string(SCRIPT, default_timeout=120)
    for name, value in query.items():
        test.query_params[name.replace("__", ".")] = value
    test.run()
    assert not test.exception
    return test


def said(test: AppTest) -> str:
    return "\n".join(str(element.value) for kind in (test.text, test.markdown) for element in kind)


def matrices(test: AppTest) -> list[bytes]:
    return [packet for packet in packets_of(test) if "scale" in opened(packet)[0]]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_the_picture_is_the_alignment_of_the_steps_or_a_line_that_there_is_none(engine, name):
    steps = list(decode(engine.open(name), TEXT, max_new_tokens=8))
    test = drawn(model=name, decode__n=str(len(steps)))
    assert f"{name} gives" in said(test) and len(test.get("bidi_component")) >= 2
    assert not [group for group in test.button_group if group.key == "decode.heads"], (
        "one alignment is nothing to choose from"
    )
    if name == "none":
        assert "look back" in said(test) and not matrices(test)
        return
    (packet,) = matrices(test)
    header = opened(packet)[0]
    assert header["keys"] == pieces(steps[0].keys["alignment"])
    rows = np.array([step.attention["alignment"][0, 0] for step in steps])
    allowed = np.array([step.allowed["alignment"][0, 0] for step in steps])
    np.testing.assert_allclose(np.where(allowed, unpacked(packet), 0), rows, atol=1e-6)
    assert allowed.all() == (name != "luong-local-m")


def test_drawing_by_lot_and_stepping_back_work(engine):
    link = {"model": "bahdanau", "decode__temperature": "1.3", "decode__seed": "4", "decode__n": "3"}
    test = drawn(**link)
    third = said(test)
    assert "The random number" in third
    test = test.button(key="decode.back").click().run()
    assert test.query_params["decode.n"] == "2"
    assert said(test.button(key="decode.next").click().run()) == third


def test_the_folds_speak_of_states_and_of_the_alignment(engine):
    test = AppTest.from_string(SCRIPT, default_timeout=120)
    test.query_params["model"] = "luong-local-m"
    test.session_state["fold:decode.looking"] = True
    test.run()
    assert "The states of" in said(test) and "its alignment" in said(test) and "hatched" in said(test)


def test_models_of_one_task_are_behind_one_chip_and_a_menu(engine):
    test = drawn(model="luong-global")
    chips = next(group for group in test.button_group if group.key == "tasks:")
    assert list(chips.options) == ["Translate", "Continue"] and chips.value == "Translate"
    test = chips.set_value("Continue").run()
    assert test.query_params["model"] == "tiny-gpt"
    assert test.text_input[0].value == controls.OPENING[False]


def test_a_link_with_a_model_that_cannot_write_is_told_why(engine):
    test = drawn(model="tiny-bert", text="Money is in the [MASK].")
    assert "cannot show tiny-bert" in said(test) and "fills blanks" in said(test)
    assert test.query_params["model"] in ("tiny-bert", ["tiny-bert"]) and not any(
        one.proto.bytes for one in test.get("bidi_component")
    ), "no other one in its place"
    test.pills[0].select("Continue").run()
    assert not test.exception and "cannot show" not in said(test)
    assert "[MASK]" not in test.text_input[0].value, (
        "a ready-made sentence for blanks is not left to a writer"
    )
