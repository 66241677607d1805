"""Pages drawn without a browser, at no more than the price of the page.

For each test Streamlit's AppTest looks through the metadata of every installed package for components: once a process is enough.
For each run it makes a runtime of mocks, 3 ms: one is enough, too.
Every millisecond it takes the interpreter from the script to ask whether the script has ended: here it waits for its thread.
Altair holds each chart against its schema each time that it is drawn, which takes
longer than the page: here it does so where all steps and all pages are drawn (`HELD`) and in the long tests, not in docstrings.
For a channel whose class it does not know Altair hashes the schemas of all its classes, 5 ms: no chart of ours may cost that
(`viz.charts.parts.vega.Chart`), so here it fails.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator

import pytest
from altair.utils import schemapi
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import app_test, local_script_runner

from viz.memo import remembered

HELD = {"test_every_step", "test_second_draw", "test_ui"}
"""Where every step of the course and every page is drawn: each chart is held against its schema there."""
ASKED = local_script_runner.require_widgets_deltas
"""How Streamlit itself waits for a script, and what it says of one that takes too long."""


def _ended(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    begun = time.monotonic()
    if runner._script_thread is not None:
        runner._script_thread.join(timeout)
    ASKED(runner, max(timeout + begun - time.monotonic(), 0.1))


def _not_for_visitors(classes: object) -> None:
    raise AssertionError(
        "a channel that is no object of Altair's: draw with vega.rows or vega.Chart, or name its class"
    )


@functools.cache
def begin() -> None:
    """Spare all pages of this process what they need not repeat."""
    schemapi.disable_debug_mode()
    schemapi._FromDict = _not_for_visitors
    manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
    local_script_runner.require_widgets_deltas = _ended
    app_test.MagicMock = functools.cache(app_test.MagicMock)


@pytest.fixture(scope="module", autouse=True)
def _drawn_anew(request: pytest.FixtureRequest) -> None:
    """Where charts are held against their schema, none was drawn before."""
    if request.module.__name__.rpartition(".")[2] in HELD:
        remembered.clear()


@pytest.fixture(autouse=True)
def _held_against_the_schema(request: pytest.FixtureRequest, _drawn_anew: None) -> Iterator[None]:
    held = request.module.__name__.rpartition(".")[2] in HELD or request.node.get_closest_marker("slow")
    with schemapi.debug_mode(bool(held)), pytest.MonkeyPatch.context() as patch:
        if not held:  # `to_dict` of a chart that a test looks into asks for it by itself
            patch.setattr(schemapi, "validate_jsonschema", lambda *_, **__: None)
        yield
