"""The canvas before it reaches the browser, what comes back from one, and the box that keeps a doodle in the link."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import streamlit as st
from packets import opened, packets_of
from PIL import Image
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.data import doodles
from core.errors import InputError
from viz.instruments.sketch.sketch import BLANK, SKETCH, Sketch, Strokes, _base, read
from viz.shell import state
from viz.widgets import doodle

FISH = doodles.as_text(doodles.example("fish"))
LINE = [[100, 500, 900, 500]]


@pytest.mark.parametrize(
    ("on", "lines"),
    [
        ("given", None),
        ("given", {"0": [1, 2]}),
        ("given", [[]]),
        ("given", [[1, 2, 3]]),
        ("given", [["1", "2"]]),
        ("given", [[float("nan"), 2]]),
        ("given", [[1, 2] * 8001]),
    ],
)
def test_strokes_from_a_browser_are_checked(on: Any, lines: Any) -> None:
    with pytest.raises(InputError, match=r"did not arrive whole|too many points"):
        read(on, lines)


def test_a_stroke_is_drawn_on_what_was_there_and_an_unknown_start_is_what_was_given() -> None:
    given = Sketch(FISH, {"cat": doodles.as_text(doodles.example("cat"))})
    line = read("given", LINE).lines
    assert (doodles.from_text(given.render(Strokes("given", line))) >= doodles.example("fish")).all()
    assert (doodles.from_text(given.render(Strokes("cat", line))) >= doodles.example("cat")).all()
    assert given.render(Strokes("<script>", line)) == given.render(Strokes("given", line))
    alone = doodles.from_text(given.render(Strokes("empty", line)))
    assert (alone == doodles.from_strokes([[(0.1, 0.5), (0.9, 0.5)]])).all()
    assert given.render(Strokes("empty")) == BLANK and Sketch().render(Strokes()) == BLANK


def test_one_goes_on_drawing_when_the_page_hands_back_what_it_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The base stays, so that undo leads back; a doodle from elsewhere begins anew."""
    session: dict[str, Any] = {"s": {"drawing": {"base": _base(FISH), "on": "given", "strokes": LINE}}}
    monkeypatch.setattr(st, "session_state", session)
    bases: list[str] = []
    monkeypatch.setattr(
        SKETCH, "show", lambda packet, **_: bases.append(packet.header["base"]), raising=False
    )
    told = Sketch(FISH, key="s").show()
    assert told == Sketch(FISH).render(Strokes("given", read("given", LINE).lines)) != FISH
    assert Sketch(told, key="s").show() == told and bases == [_base(FISH)] * 2
    assert Sketch(BLANK, key="s").show() == BLANK and bases[-1] == _base(BLANK)


def page() -> None:
    from viz.shell import state
    from viz.widgets import doodle

    with state.visit("p"):
        now = doodle.draw("p.doodle", doodle.samples()["fish"])
        import streamlit as st

        st.text(now)


def box(link: str = "") -> AppTest:
    at = AppTest.from_function(page)
    if link:
        at.query_params["p.doodle"] = link
    return at.run(timeout=20)


def png(pixels: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_a_doodle_comes_by_link_and_nonsense_is_told() -> None:
    cat = doodle.samples()["cat"]
    assert box(cat).text[-1].value == cat
    wrong = box("doodle:<b>")
    assert wrong.text[-1].value == FISH
    assert any("28 by 28" in text.value for text in wrong.text)
    header, _ = opened(packets_of(wrong)[0])
    assert header["samples"] == list(doodles.NAMES)


def test_an_uploaded_picture_is_read_told_or_refused_and_let_go() -> None:
    at = box()
    cat = doodles.example("cat")
    at.get("file_uploader")[0].upload("cat.png", png(cat), "image/png")
    at.run(timeout=20)
    assert at.text[-1].value == at.query_params["p.doodle"] == doodle.samples()["cat"]
    assert not at.get("file_uploader")[0].value, "the place is empty again"
    at.get("file_uploader")[0].upload("cat.png", b"<svg/>", "image/png")
    at.run(timeout=20)
    assert any(states(text.value, "PNG", "JPEG") for text in at.text)
    assert at.text[-1].value == doodle.samples()["cat"]
    at.run(timeout=20)
    assert not any(states(text.value, "PNG", "JPEG") for text in at.text), "told once"
    assert state.LONGEST > doodles.LONGEST and np.array_equal(doodles.from_text(at.text[-1].value), cat)
