"""Windows of one browser, used again: a visitor is new, what the browser has loaded and compiled of Streamlit stays.

A context that is closed is emptied (cookies, storage, routes, listeners, where the pointer was) and is what the next one who asks for
its like is given. A page in a context of its own costs two seconds of the processor, one in a window that was used before half of one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Error
from settling import PATIENCE, WIRE

PLAIN = {"width": 1280, "height": 720}
"""What Playwright gives to who names no size."""


class Window:
    """A context with one page that outlives its visitors."""

    def __init__(self, context: Any, like: dict[str, Any]) -> None:
        self.context, self.like, self.lent, self.heard = context, like, False, []
        context.add_init_script(WIRE)
        context.set_default_timeout(PATIENCE)
        self.page, self.close, self._more = context.new_page(), context.close, context.new_page
        self._hear: Callable[..., None] = self.page.on
        self.page.on, context.new_page = self._listen, self._first

    def _listen(self, event: str, f: Callable[..., Any]) -> None:
        self.heard.append((event, f))
        self._hear(event, f)

    def _first(self) -> Any:
        """The page that is there; whoever wants a second one gets another."""
        if self.lent:
            return self._more()
        self.lent = True
        return self.page

    def emptied(self) -> bool:
        """Whether nothing is left of the last visitor."""
        try:
            for page in self.context.pages:
                if page is not self.page:
                    page.close()
            for event, f in self.heard:
                self.page.remove_listener(event, f)
            self.page.unroute_all()
            if self.page.url.startswith("http"):
                self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
            self.page.goto("about:blank")
            self.page.mouse.move(0, 0)
            self.context.clear_cookies()
        except Error:
            return False
        self.heard.clear()
        self.lent = False
        return True


def reused(browser: Any) -> Any:
    """The browser; `new_context` of it gives a window that is free again, or a new one."""
    free: dict[str, list[Window]] = defaultdict(list)
    fresh = browser.new_context

    def new_context(viewport: dict[str, int] | None = None, **like: Any) -> Any:
        kind = repr(sorted(like.items()))
        window = free[kind].pop() if free[kind] else Window(fresh(viewport=viewport or PLAIN, **like), like)
        window.page.set_viewport_size(viewport or PLAIN)
        window.page.emulate_media(color_scheme=like.get("color_scheme", "light"))

        def close() -> None:
            if window.emptied():
                free[kind].append(window)
            else:
                window.close()

        window.context.close = close
        return window.context

    browser.new_context = new_context
    return browser
