"""Pinned views: their text is the way back to them, nonsense is refused in words, and Look leads on from a head."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest
from tiny_models import served

from core.decoding import decode
from core.errors import InputError
from viz.widgets import pins
from viz.widgets.pins import View

CAR = "She has a white car."
NAMES = some.text("abc-~|\\ ", min_size=1, max_size=5)
TEXTS = some.text(max_size=20)
VIEWS = some.builds(
    View,
    NAMES,
    TEXTS,
    some.sampled_from(["", "self", "causal", "cross"]),
    some.integers(0, 11),
    some.one_of(some.integers(0, 15), some.sampled_from(list(pins.AGGREGATES))),
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
)


@given(VIEWS)
def test_the_text_of_a_view_is_the_way_back(view):
    assert View.from_text(view.to_text()) == view


@given(some.lists(VIEWS, max_size=pins.MAX_PINS))
def test_several_views_are_one_value_of_a_link(views):
    assert pins.from_link(pins.to_link(views)) == tuple(views)


@given(some.text("a~|\\.0mean", max_size=12))
def test_nonsense_is_an_input_error_and_nothing_else(raw):
    with suppress(InputError):
        view = View.from_text(raw)
        assert View.from_text(view.to_text()) == view


def test_a_view_is_compact():
    assert View("gpt-mini", CAR, "causal", 3, 6).to_text() == f"gpt-mini~causal~3.6~{CAR}"
    assert View("gpt-mini", "", "causal", 3, "mean").to_text() == "gpt-mini~causal~3.mean"


@pytest.mark.parametrize(
    ("head", "name"), [(6, "L3.H6"), ("mean", "mean of layer 3"), ("max", "largest of layer 3")]
)
def test_a_view_is_named_by_its_head(head, name):
    assert str(View("m", "t", "causal", 3, head)) == name


def draw() -> None:
    import streamlit as st

    from viz.shell import notices
    from viz.widgets import pins
    from viz.widgets.pins import View

    notices.reserve_notice_area()
    for number in range(6):
        with st.container():
            pins.pin_button(View("m", f"text {number}", "causal", 0, number), key=f"pin{number}")


def button(test: AppTest, key: str):
    return next(one for one in test.button if one.key == key)


def test_pinning_keeps_a_view_in_the_link_and_a_second_touch_takes_it_out():
    test = AppTest.from_function(draw).run()
    assert "Pinned:" not in "\n".join(one.value for one in test.markdown)
    button(test, "pin0").click().run()
    button(test, "pin1").click().run()
    assert pins.from_link(test.query_params["pins"]) == tuple(
        View("m", f"text {n}", "causal", 0, n) for n in (0, 1)
    )
    assert (
        "Pinned: 2, compare them" in "\n".join(one.value for one in test.markdown)
        and button(test, "pin0").label == "Pinned"
    )
    button(test, "pin0").click().run()
    assert len(pins.from_link(test.query_params["pins"])) == 1 and "Pinned: 1, compare it" in "\n".join(
        one.value for one in test.markdown
    )
    button(test, "pin1").click().run()
    assert "pins" not in test.query_params and button(test, "pin1").label == "Pin"


def test_the_oldest_pin_goes_when_there_are_more_than_four():
    test = AppTest.from_function(draw).run()
    for number in range(5):
        button(test, f"pin{number}").click().run()
    assert [view.head for view in pins.from_link(test.query_params["pins"])] == [1, 2, 3, 4]


def test_nonsense_in_a_link_gives_a_notice_and_no_pins():
    test = AppTest.from_function(draw)
    test.query_params["pins"] = "~~nonsense"
    test.run()
    assert not test.exception and "cannot be shown" in "\n".join(
        str(one.value) for one in (*test.text, *test.markdown, *test.warning, *test.info)
    )
    assert button(test, "pin0").label == "Pin"


@pytest.mark.parametrize(("how", "head"), [("one", 1), ("largest", "max")])
def test_the_full_view_of_look_pins_what_it_shows(monkeypatch, tmp_path: Path, how, head):
    with served(monkeypatch, tmp_path, "tiny-gpt"):
        test = AppTest.from_string(
            "from viz.workspace.look import page as look\nlook.page()", default_timeout=60
        )
        for name, value in {
            "model": "tiny-gpt",
            "text": "The cat sat.",
            "view": "full",
            "kind": "causal",
            "layer": "1",
            "head": "1",
            "look.how": how,
        }.items():
            test.query_params[name] = value
        test.run()
        assert not test.exception
        button(test, "look.pin").click().run()
        assert not test.exception
        assert pins.from_link(test.query_params["pins"]) == (
            View("tiny-gpt", "The cat sat.", "causal", 1, head),
        )


@pytest.mark.parametrize(("model", "head"), [("tiny-gpt", 1), ("tiny-translator", "mean")])
def test_decode_pins_what_is_written_so_far(monkeypatch, tmp_path: Path, model, head):
    with served(monkeypatch, tmp_path, model) as engine:
        test = AppTest.from_string(
            "from viz.workspace.decode import page as decode\ndecode.page()", default_timeout=60
        )
        chosen = {"kind": "causal", "layer": "1", "head": "1"} if head == 1 else {}
        for name, value in {"model": model, "text": "The cat sat.", "decode.n": "3", **chosen}.items():
            test.query_params[name] = value
        test.run()
        assert not test.exception
        button(test, "decode.pin").click().run()
        assert not test.exception
        (view,) = pins.from_link(test.query_params["pins"])
        assert (view.model, view.head) == (model, head)
        steps = [step for _, step in zip(range(3), decode(engine.open(model), "The cat sat."), strict=False)]
        assert (view.target if engine.open(model).spec.has_source else view.text) == steps[-1].text
