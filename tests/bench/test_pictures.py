"""The budgets of the instruments: bytes on the way to the page, and milliseconds from a key to the drawn head.

`pytest -m bench -s tests/bench/test_pictures.py`, on an idle machine; what was measured stands beside what is allowed.
"""

from __future__ import annotations

import statistics
from urllib.parse import quote

import numpy as np
import pytest

from viz.instruments.grid import grid_packet
from viz.instruments.head_view import head_view_packet
from viz.instruments.heatmap import heatmap_packet
from viz.instruments.mount import HERE

pytestmark = pytest.mark.bench

KB = 1024
BERTVIZ = 25.7e6
"""Bytes of BertViz's page for 12 x 12 heads of 64 tokens."""
LOADER = len((HERE / "loader.js").read_bytes()) + 300
"""What Streamlit adds to each message: the loader, ids, names."""
WATCH = """() => {
  globalThis.painted = {};
  const pen = CanvasRenderingContext2D.prototype;
  for (const name of ["fill", "stroke", "fillRect", "strokeRect", "fillText", "drawImage", "putImageData", "clearRect"]) {
    const draw = pen[name];
    pen[name] = function (...given) {
      const root = this.canvas.isConnected && this.canvas.closest(".atlas");
      if (root) painted[root.classList.contains("matrix") ? "heatmap" : root.className] = performance.now();
      return draw.apply(this, given);
    };
  }
}"""
TEXT = (
    "Once upon a time there was an old man who lived with his wife in a small house near the sea. Every morning he went down to the "
    "water with his net, and every evening he came home with a few fish and told her what he had seen. One day a great storm came "
    "from the north, and the waves were so high that nobody dared to go out. The old man sat by the fire and waited."
)


def head(rng: np.random.Generator, n: int) -> np.ndarray:
    """A causal pattern as sharp as trained ones are."""
    scores = np.where(np.tri(n, dtype=bool), rng.normal(size=(n, n)) * 3, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


@pytest.mark.parametrize(("n", "most"), [(64, 8), (128, 25), (512, 350)])
def test_one_head_in_bytes(n, most):
    words, may = [f"word{i % 97}" for i in range(n)], np.tri(n, dtype=bool)
    packet = heatmap_packet(head(np.random.default_rng(0), n), words, words, allowed=may, title="L2.H5, previous word", group="look")
    size = len(packet.to_bytes()) + LOADER
    print(f"\none head of {n} tokens: {size / KB:.1f} KB of {most}")
    assert size <= most * KB


def test_all_heads_in_bytes():
    stack = np.random.default_rng(0).random((12, 12, 64, 64)).astype(np.float32)
    size = len(grid_packet(stack, kinds=[["previous word"] * 12] * 12, allowed=np.tri(64, dtype=bool)).to_bytes()) + LOADER
    print(f"\ngrid of 144 heads: {size / KB:.1f} KB of 210")
    assert size <= 210 * KB


@pytest.mark.xfail(reason="not met yet: numbers of 64 tokens go as float16, and labels and loader with each head")
def test_a_visit_to_144_heads_of_64_tokens():
    """Each head as a heatmap and as lines, which share its numbers; the code of the instruments once."""
    from viz.instruments.head_view import HEAD_VIEW
    from viz.instruments.heatmap import HEATMAP

    rng, words, may = np.random.default_rng(0), [f"word{i}" for i in range(64)], np.tri(64, dtype=bool)
    known: set[str] = set()
    total = len(HEATMAP.kit) + len(HEATMAP.source) + len(HEAD_VIEW.source)
    for place in range(144):
        weights = head(rng, 64)
        for packet in (
            heatmap_packet(weights, words, words, allowed=may, title=f"L{place // 12}.H{place % 12}", group="look"),
            head_view_packet(weights[None], words, words, heads=[place % 12], allowed=may, group="look"),
        ):
            total += len(packet.to_bytes(known=known)) + LOADER
            known |= set(packet.parts)
    print(f"\n144 heads of 64 tokens, heatmap and lines: {total / 1e6:.2f} MB; a fortieth of BertViz's page is {BERTVIZ / 40 / 1e6:.2f} MB")
    assert total <= BERTVIZ / 40


@pytest.mark.browser
@pytest.mark.parametrize(("n", "half", "most"), [(100, 60, 120), (512, 150, None)])
def test_another_head_is_painted(chromium, app_url, n, half, most):
    """From the key on the grid to the last stroke in the heatmap, in the whole application, in the full view."""
    text = TEXT if n == 100 else " ".join([TEXT] * 5)
    page = chromium.new_page(viewport={"width": 1440, "height": 1200})
    page.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&text={quote(text[:1990])}")
    page.wait_for_selector(".matrix canvas", timeout=90_000)
    page.wait_for_timeout(4_000)
    page.evaluate(WATCH)
    grid = page.locator(".heads [tabindex='0']").first
    grid.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    times = []
    for _ in range(24):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(150)
        before = page.evaluate("() => { painted.heatmap = 0; return performance.now(); }")
        page.keyboard.press("Enter")
        page.wait_for_function("() => painted.heatmap > 0", timeout=20_000)
        page.wait_for_timeout(700)
        times.append(page.evaluate("() => painted.heatmap") - before)
    page.close()
    median, worst = statistics.median(times[4:]), sorted(times[4:])[-1]
    print(f"\nanother head of a text of {len(text[:1990])} letters: painted after {median:.0f} ms in the median of {half}, at most {worst:.0f} ms")
    assert median <= half and (most is None or worst <= most)
