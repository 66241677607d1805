"""What the tool bars of charts save, on every page: the picture below its name, whose numbers it shows and the text, in a file that is named so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from every_page import READY, SAVE, Met
from PIL import Image

BUTTONS = {"Show data", "Download as PNG", "Copy Vega-Lite spec", "Fullscreen", "Download plot as a PNG"}
"""All that may be pressed beside a chart; a new version of Streamlit or Plotly may have another way to save without a name."""


def slug(words: str) -> str:
    return re.sub(r"[^\w]+", "-", words.lower()).strip("-")


def test_no_chart_is_saved_without_saying_what_it_shows(walked: list[Met]) -> None:
    saved, wrong = 0, []
    for page in walked:
        for one in page.charts:
            chart = one.chart
            others = {
                label
                for label in chart["labels"]
                if label.partition(":")[0].split(" ") != [""]
                and not any(label.startswith(known) for known in BUTTONS)
            }
            if others or not chart["whose"] or "\n" in chart["name"]:
                wrong.append((page.slug, chart))
                continue
            heading = slug(f"{chart['whose'][0]} {chart['name']}")[:80].rstrip("-")
            named = slug(Path(one.file).stem).replace("_", "-").startswith(heading.replace("_", "-")[:60])
            if not named or one.contrast < 100:
                wrong.append((page.slug, one.file, heading))
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
