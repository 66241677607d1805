"""The mask editor in a real browser: strokes, rectangles, lines, presets, undo and redo, all of it by keyboard too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import sampled
from settling import drag, press
from shown_values import states
from small_app import Visitor, cell_at

APP = """
import numpy as np, streamlit as st
from viz.instruments import mask_editor
n = int(st.query_params.get("n", 6))
words = ("She has a white car . It is <b>old</b> and \\u0633\\u064a\\u0627\\u0631\\u0629 \\U0001f697 " * 9).split()[:n]
window = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
mask = mask_editor(np.tri(n, dtype=bool), words, words, key="m", title="Mask",
                   presets={"causal": np.tri(n), "everything": np.ones((n, n)), "<b>window</b>": window})
st.text(f"mask {''.join(str(int(v)) for v in mask.ravel())}")
"""
CAUSAL = np.tri(6, dtype=int)


def place(seen: Any, row: float, column: float) -> tuple[float, float]:
    return cell_at(seen.page.locator(".atlas").first, row, column)


def is_(seen: Any, mask: np.ndarray) -> None:
    """Python has exactly this mask."""
    seen.says("mask " + "".join(str(int(v)) for v in mask.ravel()))


def tool(seen: Any, name: str) -> Any:
    return seen.page.get_by_role("button", name=name, exact=True)


def changed(rows: Any, columns: Any, value: int, mask: np.ndarray = CAUSAL) -> np.ndarray:
    out = mask.copy()
    out[rows, columns] = value
    return out


def keys(seen: Any, *names: str) -> None:
    press(seen.page, *names, at=".matrix .frame")


@pytest.mark.slow
def test_undo_and_redo_walk_the_whole_way(visit: Visitor) -> None:
    seen = visit("mask")
    one, two = changed(0, 5, 1), changed(0, [4, 5], 1)
    seen.page.mouse.click(*place(seen, 0, 5))
    is_(seen, one)
    seen.page.mouse.click(*place(seen, 0, 4))
    is_(seen, two)
    undo, redo = tool(seen, "Undo"), tool(seen, "Redo")
    for mask in (one, CAUSAL):
        undo.click()
        is_(seen, mask)
    assert undo.is_disabled()
    redo.click()
    redo.click()
    is_(seen, two)
    assert redo.is_disabled()
    for pressed, mask in (("z", one), ("y", two), ("z", one), ("Shift+z", two), ("z", one)):
        keys(seen, f"Control+{pressed}")
        is_(seen, mask)
    seen.page.mouse.click(*place(seen, 3, 0))  # a new stroke: nothing is left to redo
    is_(seen, changed(3, 0, 0, one))
    assert redo.is_disabled()


@pytest.mark.slow
def test_a_label_takes_the_whole_row_or_column_and_a_preset_all(visit: Visitor, tmp_path: Path) -> None:
    seen = visit("mask")
    seen.page.mouse.click(*place(seen, 2, -1))
    is_(seen, changed(2, slice(None), 1))
    assert states(seen.text(".tip"), "a may attend", "all 6", "to none")
    seen.page.mouse.click(*place(seen, 2, -1))
    is_(seen, changed(2, slice(None), 0))
    assert seen.attribute("empty") == "2"
    assert "1 row allows nothing" in seen.text(".legend")
    assert "allows nothing" in seen.saved("svg", tmp_path).read_text("utf-8")
    tool(seen, "Start again").click()
    is_(seen, CAUSAL)
    seen.page.mouse.click(*place(seen, -1, 5))
    is_(seen, changed(slice(None), 5, 1))
    tool(seen, "Undo").click()
    is_(seen, CAUSAL)
    group = seen.page.get_by_role("group", name="Masks by name")
    assert group.get_by_role("button").all_inner_texts() == ["causal", "everything", "<b>window</b>"]
    assert group.get_by_role("button", name="causal").get_attribute("aria-pressed") == "true"
    group.get_by_role("button", name="everything").click()
    is_(seen, np.ones((6, 6)))
    assert group.get_by_role("button", name="everything").get_attribute("aria-pressed") == "true"
    assert seen.attribute("allowed") == "36" and "36 of 36 cells allowed" in seen.text(".legend")
    group.get_by_role("button", name="window").click()
    is_(seen, np.eye(6, dtype=int) + np.eye(6, k=1, dtype=int) + np.eye(6, k=-1, dtype=int))
    tool(seen, "Undo").click()
    is_(seen, np.ones((6, 6)))


def test_a_drag_is_a_stroke_and_with_shift_a_rectangle_from_corner_to_corner(visit: Visitor) -> None:
    seen = visit("mask")
    before, mouse = len(seen.sent), seen.page.mouse
    mouse.move(*place(seen, 0, 1))
    mouse.down()
    mouse.move(*place(seen, 0, 5), steps=2)
    assert seen.attribute("allowed") == str(21 + 5), "a stroke leaves no holes"
    assert len(seen.sent) == before  # Python hears of it when the pointer is lifted
    mouse.up()
    is_(seen, changed(0, slice(None), 1))
    tool(seen, "Undo").click()
    is_(seen, CAUSAL)
    wanted = changed(slice(0, 3), slice(3, 6), 1)
    seen.page.keyboard.down("Shift")
    # further, and back: only the last rectangle counts
    drag(seen.page, place(seen, 0, 5), place(seen, 4, 1), place(seen, 2, 3))
    seen.page.keyboard.up("Shift")
    is_(seen, wanted)
    tool(seen, "Undo").click()
    is_(seen, CAUSAL)
    seen.page.get_by_role("button", name="Rectangle").click()  # the same without a Shift key
    drag(seen.page, place(seen, 0, 5), place(seen, 2, 3), steps=1)
    is_(seen, wanted)


@pytest.mark.slow
def test_everything_works_by_keyboard(visit: Visitor) -> None:
    seen = visit("mask")
    keys(seen, "ArrowDown", "ArrowRight", "Space")  # the first arrow shows where one is
    is_(seen, changed(0, 1, 1))
    keys(seen, "r")
    is_(seen, changed(0, slice(None), 1))
    keys(seen, "r")
    is_(seen, changed(0, slice(None), 0))
    assert seen.attribute("empty") == "0"
    keys(seen, "Control+z", "Control+z", "Control+z", "c")
    is_(seen, changed(slice(None), 1, 1))
    keys(seen, "Control+z", "ArrowRight")
    seen.page.keyboard.down("Shift")
    seen.press("ArrowRight", "ArrowDown")
    seen.page.keyboard.up("Shift")
    is_(seen, changed(slice(0, 2), slice(2, 4), 1))
    assert seen.attribute("past") == "1"
    seen.page.keyboard.press("Shift+Tab")
    focused = "() => { let e = document.activeElement; while (e.shadowRoot) e = e.shadowRoot.activeElement; return e.tagName; }"
    assert seen.page.evaluate(focused) == "BUTTON"


@pytest.mark.parametrize("scheme", sampled(["dark", "light"]))
def test_a_phone_and_a_finger(visit: Visitor, scheme: str) -> None:
    seen = visit("mask&n=12", width=390, height=760, has_touch=True, scheme=scheme)
    assert seen.width() <= 390
    seen.page.touchscreen.tap(*place(seen, 0, 3))
    assert seen.attribute("allowed") == str(78 + 1)
    seen.page.touchscreen.tap(*place(seen, 1, -1))
    assert seen.attribute("allowed") == str(78 + 1 + 10)
    boxes = "(all) => all.map((b) => b.getBoundingClientRect()).map((b) => [b.height, b.right])"
    buttons = seen.page.locator(".editor .tool:visible").evaluate_all(boxes)
    assert min(h for h, _ in buttons) >= 24 and max(right for _, right in buttons) <= 390
