"""A site of its own origin, served in a thread, whose one page shows in a frame the address that follows `#`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

PAGE = b"""<!doctype html><meta charset="utf-8"><title>A course</title><link rel="icon" href="data:,">
<iframe title="Attention" style="width:100%;height:300px;border:0"></iframe>
<script>
const frame = document.querySelector("iframe");
window.heard = [];
addEventListener("message", ({ source, origin, data }) => {
  if (source !== frame.contentWindow || data?.source !== "attention-atlas") return;
  heard.push({ origin, ...data });
  frame.style.height = `${data.height}px`;
});
frame.src = decodeURIComponent(location.hash.slice(1));
</script>"""


class Handler(BaseHTTPRequestHandler):
    """Answers every request with the page, and says nothing of it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def other_site() -> Iterator[str]:
    """Serve the page; yield its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
