"""How long a model takes in a published page for 20 tokens: the first sentence that is typed, and the ones after it.

`pytest -m bench -s tests/bench/test_live_speed.py`, on an idle machine.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from chromium import CHROMIUM, CHROMIUM_FLAGS
from playwright.sync_api import sync_playwright

from tests.bench.measuring import judge
from viz.export.live import site
from viz.export.live.pack import MODELS

pytestmark = pytest.mark.bench
MOST = 150
"""Milliseconds for 20 tokens, of which a translator also writes about 20."""
TEXTS = {
    "gpt-mini": "The old man sat by the fire and told the old king about the long way over the {}.",
    "bert-mini": "The old man sat by the fire and told the king of the long way over the {}.",
    "translator-en-es": "My brother, who lives in Boston, is coming to visit us next week with his old {}.",
}
WORDS = ("sea", "house", "river", "dog", "horse", "door", "tree", "boat", "son")
NEXT = "async () => { while (attentionAtlas.run.old) await new Promise((done) => setTimeout(done, 20)); return attentionAtlas.run.ms; }"
"""Waits for the run of another text; returns its milliseconds."""


def test_twenty_tokens(tmp_path: Path) -> None:
    site.write(MODELS, tmp_path / "live")
    with sync_playwright() as play:
        # others turn the compiler off
        flags = [flag for flag in CHROMIUM_FLAGS if not flag.startswith("--js-flags")]
        browser = play.chromium.launch(executable_path=CHROMIUM, args=flags)
        for name, text in TEXTS.items():
            page = browser.new_page()
            page.goto((tmp_path / "live" / "index.html").as_uri() + f"#model={name}")
            page.locator("#pictures .atlas.heads").wait_for()
            took = []
            for word in WORDS:
                page.evaluate("attentionAtlas.run.old = true")
                page.locator("#text").fill(text.format(word))
                page.locator("#say .primary").click()
                took.append(page.evaluate(NEXT))
            tokens = page.evaluate("attentionAtlas.run.ids.length")
            page.close()
            judge(f"{name}: {tokens} tokens", statistics.median(took[1:]), MOST, "ms", f"first {took[0]:.0f}")
        browser.close()
