"""Runs of visitors take turns among each other and with short forwards: whoever waits for a model gives his up."""

from __future__ import annotations

import functools
from typing import Any

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from core.serving.turn import turn


def take() -> None:
    """From now on. Parts of a page that are drawn anew do not pass through the frame, so each run is met where Streamlit begins it."""
    begin = ScriptRunner._run_script

    @functools.wraps(begin)
    def run(self: ScriptRunner, *given: Any) -> None:
        with turn.taken():
            begin(self, *given)

    ScriptRunner._run_script = run  # type: ignore[method-assign]
