"""The system's Chromium, as tests start it."""

from __future__ import annotations

import os
import shutil

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",
    # pages that live for seconds: a fifth of a renderer's time went into code made fast, and a twentieth into young garbage in one megabyte
    "--js-flags=--max-lazy,--no-opt,--no-maglev,--min-semi-space-size=16",
]
