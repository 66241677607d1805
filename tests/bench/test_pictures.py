"""The budgets of the instruments: bytes on the way to the page, and milliseconds from a key to the drawn head.

`pytest -m bench -s tests/bench/test_pictures.py`, on an idle machine; what was measured stands beside what is allowed.
"""

from __future__ import annotations

import math
import statistics
import zlib
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest

from tests.bench import measuring
from tests.bench.measuring import judge, spread
from viz.instruments.grid.grid import GRID, grid_packet
from viz.instruments.head_view.head_view import HEAD_VIEW, head_view_packet
from viz.instruments.heatmap.heatmap import HEATMAP, heatmap_packet
from viz.instruments.kit.component import loader
from viz.instruments.kit.head_stack import HeadContext, make_stack

pytestmark = pytest.mark.bench

KB = 1024
BERTVIZ = 25.7e6
"""Bytes of BertViz's page for 12 x 12 heads of 64 tokens."""
OTHER = 300
"""What Streamlit adds to each message: ids, names."""
LOADER = len(loader()) + OTHER
CODE = """import core, viz

model = core.open_model("gpt-mini")
run = model.run("Once upon a time")
viz.heatmap(run, layer=\x01, head=\x02, kind="causal")
"""
WATCH = """() => {
  globalThis.strokes = [];
  const pen = CanvasRenderingContext2D.prototype;
  for (const name of ["fill", "stroke", "fillRect", "strokeRect", "fillText", "drawImage", "putImageData", "clearRect"]) {
    const draw = pen[name];
    pen[name] = function (...given) {
      const root = this.canvas.isConnected && this.canvas.closest(".atlas.heatmap");
      if (root) strokes.push([performance.now(), root.dataset.at ?? root.querySelector(".title").textContent]);
      return draw.apply(this, given);
    };
  }
}"""
PAINTED = """([before, was]) => {
  const now = strokes.filter(([, at]) => at !== was).map(([time]) => time);
  const end = now.findIndex((time, i) => i && time - now[i - 1] > 25);
  return now.length ? [now[(end < 0 ? now.length : end) - 1] - before, now.at(-1) - before] : null;
}"""
TEXT = measuring.TEXT.removesuffix(" for the sea.") + "."


def head(rng: np.random.Generator, n: int) -> np.ndarray:
    """A causal pattern as sharp as trained ones are."""
    scores = np.where(np.tri(n, dtype=bool), rng.normal(size=(n, n)) * 3, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


@pytest.mark.parametrize(("n", "most"), [(64, 8), (128, 25), (512, 350)])
def test_one_head_in_bytes(n, most):
    words, may = [f"word{i % 97}" for i in range(n)], np.tri(n, dtype=bool)
    weights = head(np.random.default_rng(0), n)
    packet = heatmap_packet(weights, words, words, allowed=may, title="L2.H5, previous word", group="look")
    judge(f"one head of {n} tokens", (len(packet.to_bytes()) + LOADER) / KB, most, "KB")


def test_all_heads_in_bytes():
    stack = np.random.default_rng(0).random((12, 12, 64, 64)).astype(np.float32)
    packet = grid_packet(stack, kinds=[["previous word"] * 12] * 12, allowed=np.tri(64, dtype=bool))
    judge("a grid of 144 heads", (len(packet.to_bytes()) + LOADER) / KB, 210, "KB")


def test_a_visit_to_144_heads_of_64_tokens():
    """Grid, heatmap and lines with each head; the code once. Deflated as the connection does it (config.toml), message by message."""
    rng, words, may = np.random.default_rng(0), [f"word{i}" for i in range(64)], np.tri(64, dtype=bool)
    weights = np.stack([[head(rng, 64) for _ in range(12)] for _ in range(12)])
    stack, known, plain, wire = make_stack(weights, may), set(), 0, 0
    deflate = zlib.compressobj(wbits=-15)
    assert stack

    def send(instrument, packet):
        nonlocal plain, wire
        instrument.equip(packet)
        message = loader().encode() + packet.to_bytes(cached=known)
        plain += len(message) + OTHER
        wire += len(deflate.compress(message) + deflate.flush(zlib.Z_SYNC_FLUSH)) + OTHER
        known.update(packet.all_parts())

    tiles = grid_packet(weights, kinds=[["previous word"] * 12] * 12, allowed=may, group="look")
    for place in np.ndindex(12, 12):
        among = HeadContext(stack, place, f"1763760000000.{place[0]}")
        more = {"allowed": may, "group": "look", "python": CODE, "among": among}
        title = f"L{place[0]}.H{place[1]}, previous word: choose a cell"
        send(GRID, replace(tiles, header=tiles.header | {"selected": place, "echo": among.turn}))
        send(HEATMAP, heatmap_packet(weights[place], words, words, title=title, **more))
        send(HEAD_VIEW, head_view_packet(weights[place][None], words, words, heads=[place[1]], **more))
    what, beside = "144 heads of 64 tokens, grid, heatmap and lines", f"{plain / 1e6:.2f} MB unpacked"
    judge(what, wire / 1e6, BERTVIZ / 40 / 1e6, "MB on the wire", beside)


@pytest.mark.browser
@pytest.mark.parametrize(("n", "half", "most"), [(100, 60, 120), (512, 150, math.inf)])
def test_another_head_is_painted(page, app_url, n, half, most):
    """From the key on the grid to the last stroke in the heatmap, in the whole application, in the full view."""
    text = TEXT if n == 100 else " ".join([TEXT] * 5)
    page.set_viewport_size({"width": 1440, "height": 1200})
    page.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&text={quote(text[:1990])}")
    page.wait_for_selector(".matrix canvas", timeout=90_000)
    page.wait_for_timeout(4_000)
    page.evaluate(WATCH)
    grid, heatmap = page.locator(".heads [tabindex='0']").first, page.locator(".atlas.heatmap")
    grid.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    first, last = [], []
    for _ in range(24):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(150)
        was = heatmap.get_attribute("data-at") or heatmap.locator(".title").first.text_content()
        before = page.evaluate("() => { strokes.length = 0; return performance.now(); }")
        page.keyboard.press("Enter")
        page.wait_for_timeout(1200)
        drawn = page.evaluate(PAINTED, [before, was])
        assert drawn, "the other head was not painted within 1.2 s"
        first.append(drawn[0])
        last.append(drawn[1])
    beside = f"{spread(first[4:])}; with what Python adds {spread(last[4:])}"
    judge(f"another head of {len(text[:1990])} letters", statistics.median(first[4:]), half, "ms", beside)
    judge("the slowest of them", max(first[4:]), most)
