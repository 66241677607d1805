"""What the tool bars of charts save, on every page: the picture below its name, whose numbers it shows and the text, in a file that is named so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from every_page import READY, SAVE, Chart, Met, saved_charts, walk
from PIL import Image

BUTTONS = {"Show data", "Download as PNG", "Copy Vega-Lite spec", "Fullscreen", "Download plot as a PNG"}
"""All that may be pressed beside a chart; a new version of Streamlit or Plotly may have another way to save without a name."""


def slug(words: str) -> str:
    return re.sub(r"[^\w]+", "-", words.lower()).strip("-")


def mistakes(page: str, charts: list[Chart]) -> list[tuple[str, Any]]:
    """Charts that may be saved in another way, do not say what they show, or whose file does not."""
    wrong: list[tuple[str, Any]] = []
    for chart in charts:
        told = chart.told
        others = {
            label
            for label in told["labels"]
            if label.partition(":")[0].split(" ") != [""]
            and not any(label.startswith(known) for known in BUTTONS)
        }
        if others or not told["whose"] or "\n" in told["name"]:
            wrong.append((page, told))
        elif chart.file is not None:
            heading = slug(f"{told['whose'][0]} {told['name']}")[:80].rstrip("-").replace("_", "-")
            named = slug(Path(chart.file).stem).replace("_", "-").startswith(heading[:60])
            if not named or chart.contrast < 100:
                wrong.append((page, (chart.file, heading)))
    return wrong


def test_no_chart_is_saved_without_saying_what_it_shows(walked: list[Met]) -> None:
    assert [wrong for page in walked for wrong in mistakes(page.slug, page.charts)] == []
    drawn = [(page.slug, chart) for page in walked for chart in page.charts]
    assert drawn and {slug for slug, _ in drawn} == {slug for slug, chart in drawn if chart.file}


@pytest.mark.slow
def test_every_chart_of_a_page_is_saved_so(chromium: Any, app_url: str, tmp_path: Path) -> None:
    found = {
        slug: saved_charts(page, tmp_path, every=True)
        for slug, page in walk(chromium, app_url, "light", anew=True)
    }
    assert [wrong for slug, charts in found.items() for wrong in mistakes(slug, charts)] == []
    assert sum(chart.file is not None for charts in found.values() for chart in charts) > 40


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_heading_is_on_the_paper_of_the_theme(
    new_page: Any, app_url: str, tmp_path: Path, scheme: str
) -> None:
    page = new_page(levels=(), color_scheme=scheme)
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
