"""Windows of one browser, used again: a visitor is new, what the browser has loaded and compiled of Streamlit stays.

A context that is closed is emptied (cookies, storage, routes, listeners, permissions, where the pointer was) and is what the next one who
asks for its like is given. A page in a context of its own costs more than two seconds of the processor, one in a window that was used before
half of one; so a window is made anew only for what cannot be changed in one (its pixels, whether it has a finger).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Error
from settling import PATIENCE, WIRE

PLAIN = {"width": 1280, "height": 720}
"""What Playwright gives to who names no size."""
CHANGED = {"color_scheme": "light", "offline": False, "permissions": ()}
"""What a window changes for each visitor, and what it is for who asks for nothing."""


class Window:
    """A context with one page that outlives its visitors."""

    def __init__(self, context: Any) -> None:
        self.context, self.lent, self.heard = context, False, []
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
            return self._as_asked(self._more())
        self.lent = True
        return self.page

    def dressed(self, size: dict[str, int], color_scheme: Any, offline: bool, permissions: Any) -> Any:
        """The context, as this visitor wants it."""
        self._size, self._scheme = size, color_scheme
        self._as_asked(self.page)
        self.context.set_offline(offline)
        if permissions:  # even of nothing a grant would refuse all others, such as a second download
            self.context.grant_permissions(list(permissions))
        return self.context

    def _as_asked(self, page: Any) -> Any:
        page.set_viewport_size(self._size)
        page.emulate_media(color_scheme=self._scheme)
        return page

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
            self.context.clear_permissions()
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
        changed = {name: like.pop(name, usual) for name, usual in CHANGED.items()}
        kind = repr((changed["offline"], *sorted(like.items())))
        window = free[kind].pop() if free[kind] else Window(fresh(viewport=PLAIN, **like))

        def close() -> None:
            if window.emptied():
                free[kind].append(window)
            else:
                window.close()

        window.context.close = close
        return window.dressed(viewport or PLAIN, **changed)

    browser.new_context = new_context
    return browser


def hear(
    page: Any,
    wrong: list[str],
    own: tuple[str, ...] = (),
    levels: tuple[str, ...] = ("error",),
    but: str = "\0",
) -> Any:
    """Note what a page complains of, in its console at these levels `but` for one line, and what it asks of others than `own`; return it."""
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda line: wrong.append(line.text) if line.type in levels and but not in line.text else 0
    )
    page.on("request", lambda asked: 0 if not own or asked.url.startswith(own) else wrong.append(asked.url))
    return page
