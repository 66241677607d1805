"""README's picture: the first screen of the app as it is, and the words for those who cannot see it.

    python tests/picture.py

starts the app, opens its first page, and writes assets/images/look.png and the picture's line in README.md.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from app_server import ROOT, served_app
from chromium import CHROMIUM, CHROMIUM_FLAGS

PICTURE, README = "assets/images/look.png", ROOT / "README.md"
LINE = re.compile(rf"!\[.*\]\({re.escape(PICTURE)}\)")
SIZE = {"width": 1280, "height": 720}


def alt(text: str, written: str, touched: str, looked_at: str) -> str:
    """What the picture shows, in words; a test asks the model whether it is so."""
    return (
        f"The first screen: a small Transformer reads “{text}” and writes “{written}”; "
        f"the word {touched} is touched, and the strongest line goes to {looked_at}"
    )


def take(folder: Path) -> tuple[bytes, str]:
    """The picture (PNG, twice as fine as a screen), and its words as the page says them."""
    from playwright.sync_api import sync_playwright

    with served_app(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport=SIZE, device_scale_factor=2, color_scheme="light", locale="en")
        page.goto(address)
        words = page.locator(".atlas[data-words]").first
        words.locator(".sentence em").nth(1).wait_for()
        page.evaluate("document.fonts.ready.then(() => true)")
        page.wait_for_function("!document.querySelector('[data-stale=true]')")
        page.wait_for_timeout(1500)  # lines are drawn, menus have come
        touched, looked_at = (words.locator(".sentence em").nth(i).inner_text() for i in (0, 1))
        _, targets = json.loads(words.get_attribute("data-words") or "[[], []]")
        text = page.get_by_role("textbox").first.input_value()
        picture = page.screenshot(animations="disabled")
        browser.close()
    written = re.sub(r" ([.,!?])", r"\1", " ".join(word for word in targets if word not in ("START", "END")))
    return picture, alt(text, written, touched, looked_at)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        picture, words = take(Path(folder))
    (ROOT / PICTURE).write_bytes(picture)
    README.write_text(LINE.sub(lambda _: f"![{words}]({PICTURE})", README.read_text("utf-8")), "utf-8")
    print(words)


if __name__ == "__main__":
    main()
