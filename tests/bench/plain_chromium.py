"""A Chromium as a visitor has it: no developer tools are attached to its pages.

Under Playwright V8 keeps the place of every promise for the tools, and to tell the places in Plotly's 4.7 MB it reads the
script several times over: a second more than anybody waits who only looks. Here a page is opened and asked, and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect


class PlainChromium:
    """A browser that answers over its own port (the Chrome DevTools Protocol)."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._asked = socket, 0

    @classmethod
    @contextmanager
    def started(cls, program: str, flags: list[str], folder: Path) -> Iterator[Self]:
        """A browser that ends with the block; its profile lies in `folder`."""
        told = folder / "DevToolsActivePort"
        with subprocess.Popen(
            [
                program,
                "--headless",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "--no-first-run",
                *flags,
                "about:blank",
            ],
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                for _ in range(300):
                    if told.exists() and len(told.read_text().split()) == 2:
                        break
                    time.sleep(0.1)
                port, path = told.read_text().split()
                with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as socket:
                    yield cls(socket)
            finally:
                process.terminate()

    def seconds(
        self, address: str, painted: str, *, width: int = 1280, height: int = 900, longest: float = 60.0
    ) -> float:
        """From the address to the moment when `painted` (a JavaScript function) is true, in a profile that knows nothing yet."""
        context = self._call("Target.createBrowserContext")["browserContextId"]
        target = self._call(
            "Target.createTarget", url="about:blank", browserContextId=context, width=width, height=height
        )["targetId"]
        page = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        begun = time.perf_counter()
        self._call("Page.navigate", page, url=address)
        while (
            not self._call("Runtime.evaluate", page, expression=f"({painted})()", returnByValue=True)
            .get("result", {})
            .get("value")
        ):
            if time.perf_counter() - begun > longest:
                raise TimeoutError(f"{address} was not painted within {longest} s")
            time.sleep(0.02)
        found = time.perf_counter() - begun
        self._call("Target.disposeBrowserContext", browserContextId=context)
        return found

    def _call(self, method: str, session: str | None = None, /, **params: Any) -> dict[str, Any]:
        self._asked += 1
        self._socket.send(
            json.dumps(
                {"id": self._asked, "method": method, "params": params}
                | ({"sessionId": session} if session else {})
            )
        )
        while True:
            said = json.loads(self._socket.recv(timeout=60))
            if said.get("id") == self._asked:
                return said.get("result", {})
