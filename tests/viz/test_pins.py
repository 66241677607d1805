"""Pinned views: their text is the way back to them, nonsense is refused in words, and Look leads on from a head."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest
from tiny_models import served
from workspace_pages import again, linked, page, said

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


def touch(test: AppTest, *keys: str) -> tuple[View, ...]:
    """The pins of the link after these buttons."""
    for key in keys:
        test.button(key=key).click()
        again(test)
    return pins.from_link(linked(test).get("pins", ""))


def test_pinning_keeps_a_view_in_the_link_and_a_second_touch_takes_it_out():
    test = AppTest.from_function(draw).run()
    assert "Pinned:" not in said(test)
    views = [View("m", f"text {n}", "causal", 0, n) for n in (0, 1)]
    assert touch(test, "pin0", "pin1") == (*views,)
    assert "Pinned: 2, " in said(test) and test.button(key="pin0").label == "Pinned"
    assert touch(test, "pin0") == (views[1],) and "Pinned: 1, " in said(test)
    assert touch(test, "pin1") == () and "pins" not in linked(test)
    assert test.button(key="pin1").label == "Pin"


def test_the_oldest_pin_goes_when_there_are_more_than_four():
    views = touch(AppTest.from_function(draw).run(), *(f"pin{number}" for number in range(5)))
    assert [view.head for view in views] == [1, 2, 3, 4]


def test_nonsense_in_a_link_gives_a_notice_and_no_pins():
    test = AppTest.from_function(draw)
    test.query_params["pins"] = "~~nonsense"
    assert "cannot be shown" in said(again(test)) and test.button(key="pin0").label == "Pin"


@pytest.mark.parametrize(("how", "head"), [("one", 1), ("largest", "max")])
def test_the_full_view_of_look_pins_what_it_shows(monkeypatch, tmp_path, how, head):
    place = {"kind": "causal", "layer": "1", "head": "1"}
    with served(monkeypatch, tmp_path, "tiny-gpt"):
        test = page("look", model="tiny-gpt", text="The cat sat.", view="full", look__how=how, **place)
        assert touch(test, "look.pin") == (View("tiny-gpt", "The cat sat.", "causal", 1, head),)


@pytest.mark.parametrize(("model", "head"), [("tiny-gpt", 1), ("tiny-translator", "mean")])
def test_decode_pins_what_is_written_so_far(monkeypatch, tmp_path, model, head):
    with served(monkeypatch, tmp_path, model) as engine:
        chosen = {"kind": "causal", "layer": "1", "head": "1"} if head == 1 else {}
        test = page("decode", model=model, text="The cat sat.", decode__n="3", **chosen)
        (view,) = touch(test, "decode.pin")
        assert (view.model, view.head) == (model, head)
        *_, last = (
            step for _, step in zip(range(3), decode(engine.open(model), "The cat sat."), strict=False)
        )
        assert (view.target if engine.open(model).spec.has_source else view.text) == last.text
