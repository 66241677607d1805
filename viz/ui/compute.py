"""Computing on behalf of one browser session: everything goes through the one engine (its gate and its cache)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from streamlit.runtime.scriptrunner import get_script_run_ctx

import core.engine
from core.engine import RunRequest

T = TypeVar("T")


def session() -> str:
    """This browser session's id; empty outside a server (tests, notebooks)."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def run(model: str, text: str, **options: Any):
    """A run of a shipped model: `pair`, `target`, `keep`, `edits`, `special` as in `core.Model.run`.

    Raises InputError for input that cannot be used, Superseded when a newer request of this session took its place,
    Busy when the queue is full. Pages let all three rise: `errors.guard` tells the visitor.
    """
    return core.engine.default().run(RunRequest(model=model, text=text, **options), session=session())


def submit(key: Hashable, fn: Callable[[], T], cost: float) -> T:
    """Any pure computation through the same gate and cache; `key` says all that the answer depends on."""
    return core.engine.default().submit(key, fn, cost, session=session())
