"""The head view where its texts are long, narrow or from right to left: columns or rows, labels that thin out, every token by keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import sampled
from test_head_view import APP as APP
from test_head_view import Seen as Seen


@pytest.mark.parametrize(
    ("query", "width", "layout"),
    sampled(
        [
            ("lines&n=48&h=8", 1280, "columns"),
            ("lines&n=12", 390, "columns"),
            ("chinese", 1280, "rows"),
            ("lines", 1280, "rows"),
            ("lines&n=30", 1280, "columns"),
            ("chinese&times=4", 1280, "columns"),
            ("lines&layout=columns", 1280, "columns"),
        ],
    ),
)
def test_the_layout_is_what_fits(visit: Any, query: str, width: int, layout: str) -> None:
    seen = visit(query, width=width)
    assert seen.get("layout") == layout
    assert float(seen.get("gap")) >= 0
    assert seen.width() <= width
    if "n=48" in query:
        rows = [float(at) for at in seen.get("places").split("|")[0].split(":")[1].split()]
        assert seen.get("regular") == "48,48" and min(np.diff(rows)) >= 17, "all are labelled"


@pytest.mark.slow
def test_the_visitor_turns_the_picture(visit: Any) -> None:
    seen = visit("lines")
    assert seen.page.locator(".chip").count() == 0  # no filter without what it filters
    for text in ("A→A", "Hide special tokens"):
        assert not seen.page.get_by_text(text, exact=True).is_visible(), text
    seen.pill("Columns").click()
    assert seen.get("layout") == "columns"
    top, bottom = seen.place("query", 0), seen.place("query", 7)
    assert top[0] == bottom[0] and bottom[1] > top[1]
    seen.hover("query", 5)
    assert seen.get("touched") == "query:5"
    seen.pill("Rows").click()
    left, right = seen.place("key", 0), seen.place("key", 7)
    assert left[1] == right[1] and right[0] > left[0]


@pytest.mark.slow
def test_texts_from_the_right(visit: Any) -> None:
    seen = visit("arabic")
    assert (seen.get("dir"), seen.get("layout")) == ("rtl,rtl", "rows")
    assert seen.place("query", 0)[0] > seen.place("query", 7)[0]
    seen.hover("query", 2)
    seen.page.keyboard.press("Tab")
    em = seen.page.locator(".sentence em").first
    assert (em.inner_text(), em.get_attribute("dir")) == ("في", "auto")
    dressed = (
        "(s) => { const d = getComputedStyle(s.querySelector('em')); return [d.unicodeBidi, d.direction]; }"
    )
    assert seen.page.locator(".sentence").evaluate(dressed) == ["isolate", "rtl"]
    seen.page.locator(".lines .frame").focus()
    seen.page.keyboard.press("ArrowLeft")  # onwards in the text
    assert seen.get("touched") == "query:3"
    seen.pill("Columns").click()
    assert seen.place("query", 0)[0] > seen.place("key", 0)[0]  # reading begins at the right
    mixed = visit("toarabic")
    assert mixed.get("dir") == "rtl,ltr"
    assert mixed.place("query", 0)[0] > mixed.place("query", 3)[0]
    assert mixed.place("key", 0)[0] < mixed.place("key", 5)[0]
    mixed.hover("query", 0)
    assert mixed.sentence().startswith("Writing ")


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["columns", "rows"])
@pytest.mark.parametrize(("n", "heads"), [(120, 8), (512, 1)])
def test_long_texts_scroll_thin_their_labels_and_answer_within_a_frame(
    visit: Any, n: int, heads: int, layout: str
) -> None:
    seen = visit(f"lines&n={n}&h={heads}&layout={layout}&causal")
    assert seen.get("scrolls") == "yes"
    assert float(seen.get("gap")) >= 0
    times, drawn = [], float(seen.get("drawn"))
    for index in range(12):
        seen.hover("query", index)
        assert seen.get("touched") == f"query:{index}"
        assert float(seen.get("gap")) >= 0
        times.append(float(seen.get("touching")))
    print(
        f"{n} tokens, {heads} heads, {layout}: all lines {drawn} ms, hover {sorted(times)[6]} ms (largest {max(times)})"
    )
    assert min(times) <= 16, "what it costs where nobody else needs the processor"
    seen.page.locator(".lines .frame").focus()
    seen.page.keyboard.press("End")
    assert seen.get("touched") == f"query:{n - 1}"
    x, y = seen.place("query", n - 1)
    box = seen.page.locator(".lines .pane").bounding_box()
    assert box["x"] <= x <= box["x"] + box["width"]
    assert box["y"] <= y <= box["y"] + box["height"]
    before, after = seen.share("beyond")
    assert before > 0.3  # said at the edge: what it looks at above the window
    assert after == 0
    while seen.page.get_by_label("Closer together").is_enabled():
        seen.page.get_by_label("Closer together").click()
    assert seen.get("scrolls") == "no"
    assert float(seen.get("gap")) >= 0
    assert int(seen.get("regular").split(",")[0]) < n


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    ["lines&n=30&h=12", "pair", "arabic", "chinese", "lines&n=120&h=8&layout=rows"],
)
def test_a_phone_needs_no_sideways_scroll(visit: Any, query: str) -> None:
    seen = visit(query, width=390, height=700, has_touch=True)
    assert seen.width() <= 390
    assert not seen.page.locator(".lines .tools").is_visible()
    seen.pill("Options").tap()
    assert seen.page.locator(".lines .tools").is_visible()
    parts = seen.page.locator(".lines :is(.pill, .field, .sentence, .note, .pane):visible")
    assert parts.evaluate_all("(all) => Math.max(...all.map((e) => e.getBoundingClientRect().right))") <= 391


@pytest.mark.slow
def test_what_the_visitor_chose_survives_another_text(visit: Any) -> None:
    seen = visit("other")
    seen.chip(1).click()
    seen.page.locator(".field input").fill("4")
    seen.pill("Columns").click()
    seen.click("query", 2)
    seen.page.get_by_text("second", exact=True).click()
    seen.page.locator('.atlas[data-pinned=""]').wait_for()
    assert (seen.get("heads"), seen.get("layout")) == ("0,2,3", "columns")
    assert "Lines from 10%" in seen.page.locator(".field").first.inner_text()
