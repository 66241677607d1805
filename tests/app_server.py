"""The whole app as a server, as a visitor would start it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def served_app(folder: Path, *command: str, cwd: Path = ROOT, **variables: str) -> Iterator[str]:
    """The address of the whole app, on a free port, its log in `folder`; started as a visitor would: `streamlit run app.py`, or `command`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "log.txt"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", *(command or ("streamlit", "run", "app.py")), "--server.port", str(port), "--server.headless", "true"],
            cwd=cwd, env=os.environ | variables, stdout=out, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert server.poll() is None, log.read_text("utf-8", "replace")
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(20)
