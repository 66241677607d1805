"""1,024 tokens in a model of GPT-2 small's shape, 144 heads, used in a browser. `pytest -m bench -s`; takes half a minute."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator

import pytest
from app_server import served_app
from test_long_texts import TEXT, model_of

from core.tools.export import export_model
from tests.bench.measuring import judge, spread

pytestmark = [pytest.mark.bench, pytest.mark.browser]

N, BUDGET = 1024, 2.0
NAME = "gpt2-small-random"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    shelf = tmp_path_factory.mktemp("models")
    export_model(model_of("gpt2-small"), shelf / NAME, "float16")
    with served_app(tmp_path_factory.mktemp("server"), ATLAS_MODELS=str(shelf)) as url:
        yield url


def seconds(happened: Callable[[], bool], page: object) -> float:
    """How long it takes until something has happened."""
    begun = time.perf_counter()
    while not happened():
        assert time.perf_counter() - begun < 60
        page.wait_for_timeout(20)
    return time.perf_counter() - begun


def opened(chromium, address, text):
    """The full view of the model with a text that no link can hold, typed; and how long until its heads were drawn."""
    page = chromium.new_page(viewport={"width": 1440, "height": 1200})
    page.goto(f"{address}/?model={NAME}&view=full&look.by=token&text=Hello there.")
    page.wait_for_selector(".matrix canvas", timeout=90_000)
    page.wait_for_timeout(2_000)
    assert page.locator(".overview:visible").count() == 0
    box = page.get_by_test_id("stTextInput").get_by_role("textbox").first
    box.fill(text)
    box.press("Enter")
    return page, seconds(lambda: page.locator(".overview:visible").count() > 0, page)


def test_all_is_usable_with_1024_tokens(chromium, address, tmp_path):
    text = TEXT[: model_of("gpt-mini").tokenizer.encode(TEXT).spans[N - 1][1]]
    page, computed = opened(chromium, address, text)
    page.close()
    page, drawn = opened(chromium, address, text)  # the run is known now: what is left is the drawing
    page.wait_for_timeout(5_000)
    grid, heatmap, lines = (
        page.locator(".heads [tabindex='0']").first,
        page.locator(".atlas.heatmap"),
        page.locator(".atlas.lines"),
    )
    grid.focus()
    page.keyboard.press("Home")
    others = []
    for head in range(1, 7):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        others.append(
            seconds(
                lambda name=f"L0.H{head}": heatmap.locator(".title").first.inner_text().startswith(name), page
            )
        )
        page.wait_for_timeout(1_500)

    brush, was = heatmap.locator(".brush"), heatmap.get_attribute("data-window")
    brush.scroll_into_view_if_needed()
    box = brush.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 64, box["y"] + 84, steps=10)
    page.mouse.up()
    moved = seconds(lambda: heatmap.get_attribute("data-window") != was, page)

    was = heatmap.get_attribute("data-cell")
    heatmap.locator(".frame").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    chosen = seconds(lambda: heatmap.get_attribute("data-cell") != was, page)

    heatmap.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as waiting:
        heatmap.locator('.save-item[data-kind="csv"]').click()
    waiting.value.save_as(tmp_path / "head.csv")
    with (tmp_path / "head.csv").open(newline="", encoding="utf-8") as rows:
        read = list(csv.reader(row for row in rows if not row.startswith("#")))
    page.mouse.move(20, 600)
    page.mouse.wheel(0, 3_000)
    figures = seconds(lambda: page.locator(".atlas.arith[data-near='true'] [data-name]").count() > 0, page)
    beside = (
        f"with the forward {computed:.1f} s; another head {spread(others)} s; a window moved {moved:.2f} s, "
        f"a cell {chosen:.2f} s, its figures {figures:.2f} s; {len(read):,} lines of CSV"
    )
    judge(f"{N} tokens, 144 heads of a known run", drawn, BUDGET, "s", beside)
    assert lines.locator("canvas").count() and len(read) >= N
    page.close()
