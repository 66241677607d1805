"""An equation in a real browser: a tap and a key tell what a symbol is, the switch turns it round, numbers stand below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

APP = """
import streamlit as st
from viz.course.kit import equation_view as equations
equations.show("attention.context", "demo.", values={"a_ij": "0.41", "h_j": ["0.2", "-0.1", "0.7"]}, marks={"a_ij": "row 2 of the matrix"})
equations.show("self.matrix", "demo.")
st.text(f"now {equations.convention()}")
"""


@pytest.fixture
def page(new_page: Callable[..., Any], address: str) -> Any:
    """The small page on a phone; an error of the page fails the test."""
    page = new_page(levels=(), viewport={"width": 390, "height": 800})
    page.goto(address)
    page.get_by_text("now columns", exact=True).wait_for()
    page.locator(".equation .sign").first.wait_for()
    return page


def test_a_symbol_tells_what_it_is_and_the_switch_holds_for_all(page: Any) -> None:
    page.evaluate("document.addEventListener('atlas-mark', (event) => { globalThis.marked = event.detail; })")
    first, second = page.locator(".equation").nth(0), page.locator(".equation").nth(1)
    first.locator('[data-sign="a_ij"].sign').click()
    told = first.locator(".told").inner_text()
    assert all(
        words in told for words in ("attention weight", "one number", "Eq. (5)", "row 2 of the matrix")
    )
    marked = {"sign": "a_ij", "leaf": "attn.pattern", "words": "row 2 of the matrix"}
    assert page.evaluate("globalThis.marked") == marked
    first.locator('[data-sign="h_j"].sign').focus()
    page.keyboard.press("Enter")
    assert "p × 1" in first.locator(".told").inner_text()
    assert first.locator("mn.put").all_text_contents() == ["0.41", "0.2", "−0.1", "0.7"]
    assert first.locator(".numbers mtr").count() == 3  # a column
    assert second.locator(".line msup").count() == 2  # Q and the whole softmax are turned round
    first.get_by_role("button", name="Rows, as in PyTorch").click()
    page.get_by_text("now rows", exact=True).wait_for()
    assert "1 × p" in first.locator(".told").inner_text() and first.locator(".numbers mtr").count() == 1
    second.locator('.switch [aria-pressed="true"]', has_text="Rows, as in PyTorch").wait_for()
    assert second.locator(".line msup").count() == 1  # only K is
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
