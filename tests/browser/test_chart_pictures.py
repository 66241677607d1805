"""What the tool bars of charts save, on every page: the picture below its name, whose numbers it shows and the text, in a file that is named so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from test_accessibility import walk

BUTTONS = {"Show data", "Download as PNG", "Copy Vega-Lite spec", "Fullscreen", "Download plot as a PNG"}
"""All that may be pressed beside a chart; a new version of Streamlit or Plotly may have another way to save without a name."""
MOST = 8
"""Charts of a page that are saved: a browser slows down the files of one page."""
CHARTS = """() => [...document.querySelectorAll('[data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"]')].map((chart) => {
  const frame = chart.closest('[data-testid="stElementContainer"]'), labels = [...frame.querySelectorAll("button, [data-title], a[href]")].map((e) => e.dataset.title ?? e.getAttribute("aria-label") ?? e.textContent);
  return { name: chart.getAttribute("aria-label"), whose: JSON.parse(chart.dataset.whose ?? "[]"), wide: chart.clientWidth, labels };
})"""
SAVE = """(at) => {
  const chart = document.querySelectorAll('[data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"]')[at];
  chart.closest('[data-testid="stElementContainer"]').querySelector('button[aria-label^="Download as PNG"], [data-title^="Download plot"]').dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true }));
}"""
READY = """() => [...document.querySelectorAll('[data-testid="stElementContainer"]:has([data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"])')]
  .every((frame) => frame.querySelector('button[aria-label^="Download as PNG"], [data-title^="Download plot"]'))"""


def slug(words: str) -> str:
    return re.sub(r"[^\w]+", "-", words.lower()).strip("-")


def test_no_chart_is_saved_without_saying_what_it_shows(chromium: Any, app_url: str, tmp_path: Path) -> None:
    saved, wrong = 0, []
    for page_name, page in walk(chromium, app_url, "light"):
        page.wait_for_function(READY)
        for at, chart in enumerate(page.evaluate(CHARTS)[:MOST]):
            others = {
                label
                for label in chart["labels"]
                if label.partition(":")[0].split(" ") != [""]
                and not any(label.startswith(known) for known in BUTTONS)
            }
            if others or not chart["whose"] or "\n" in chart["name"]:
                wrong.append((page_name, chart))
                continue
            with page.expect_download() as waiting:
                page.evaluate(SAVE, at)
            path = tmp_path / "chart.png"
            waiting.value.save_as(path)
            with Image.open(path) as image:
                above = np.asarray(image.convert("L"))[: round(40 * image.width / (chart["wide"] + 32))]
            heading = slug(f"{chart['whose'][0]} {chart['name']}")[:80].rstrip("-")
            if (
                not slug(Path(waiting.value.suggested_filename).stem)
                .replace("_", "-")
                .startswith(heading.replace("_", "-")[:60])
                or above.max() - int(above.min()) < 100
            ):
                wrong.append((page_name, waiting.value.suggested_filename, heading))
            saved += 1
    assert wrong == [] and saved > 40


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_heading_is_on_the_paper_of_the_theme(
    chromium: Any, app_url: str, tmp_path: Path, scheme: str
) -> None:
    page = chromium.new_context(color_scheme=scheme).new_page()
    page.goto(f"{app_url}/inside?model=gpt-mini")
    page.wait_for_function(
        f"({READY})() && document.querySelector('[data-testid=\"stVegaLiteChart\"][data-whose]')"
    )
    with page.expect_download() as waiting:
        page.evaluate(SAVE, 0)
    waiting.value.save_as(tmp_path / "chart.png")
    ground = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    with Image.open(tmp_path / "chart.png") as image:
        assert image.mode == "RGB" or image.getchannel("A").getextrema() == (255, 255)
        assert image.convert("RGB").getpixel((1, 1)) == tuple(map(int, re.findall(r"\d+", ground)))
    assert waiting.value.suggested_filename.startswith("gpt-mini-")
    page.context.close()
