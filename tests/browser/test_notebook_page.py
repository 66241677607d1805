"""The pictures of a notebook, as Jupyter keeps them in a page: drawn and touched with the network switched off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from settling import press

import core
import viz

TOUCHED = {"heatmap": "data-hover", "lines": "data-touched", "heads": "data-hover"}
TEXT = "The <b>old</b> man sat by the fire."


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a saved notebook is: each output's HTML, one under the other."""
    run = core.open_model("gpt-mini").run(TEXT)
    pictures = [
        viz.words(run, 2, 5),
        viz.heatmap(run, 2, 5),
        viz.head_view(run, layer=2),
        viz.grid(run),
        viz.strip(run, 2, 5),
        viz.arithmetic(run, 2, 5),
        viz.source(run, 2),
        viz.picture_view([[0, 255], [255, 0]], [[0.7, 0.1, 0.1, 0.1]], (2, 2), rows=["cat"]),
    ]
    path = tmp_path_factory.mktemp("notebook") / "explore.html"
    path.write_text(
        "<!doctype html><meta charset=utf-8>"
        + "".join(f"<div class=output>{p._repr_html_()}</div>" for p in pictures),
        "utf-8",
    )
    return path


@pytest.fixture
def page(new_page: Callable[..., Any], kept: Path) -> Any:
    own = ("file:", "blob:", "data:", "about:")
    page = new_page(own, viewport={"width": 1000, "height": 900}, offline=True)
    page.goto(kept.as_uri())
    return page


@pytest.mark.slow
def test_each_picture_is_drawn_at_its_own_height_and_can_be_touched(page: Any) -> None:
    for i, name in enumerate(("words", "heatmap", "lines", "heads", "strip", "arith", "source", "picture")):
        frame = page.locator("iframe").nth(i)
        frame.scroll_into_view_if_needed()
        inside = page.frame_locator("iframe").nth(i)
        atlas = inside.locator(f".atlas.{name}[data-mode]")
        atlas.wait_for()
        atlas.evaluate("""async () => {
          const frame = () => new Promise(requestAnimationFrame), apart = () => Math.abs(window.frameElement.getBoundingClientRect().height - document.documentElement.offsetHeight);
          while (apart() > 1) await frame();
        }""")
        if name not in TOUCHED:
            continue
        inside.locator(".frame").first.focus()
        press(page, "ArrowDown", "ArrowRight")
        assert atlas.get_attribute(TOUCHED[name])


def test_the_words_are_those_of_the_text_and_never_markup(page: Any) -> None:
    inside = page.frame_locator("iframe").first
    inside.locator(".word").first.wait_for()
    assert "".join(inside.locator(".word .text").all_inner_texts()) == "The<b>old</b>mansatbythefire."
    assert inside.locator(".stage b").count() == 0
