"""While learning in a browser: from a step of the slider to the heads of that moment, and the pace of Play. `pytest -m bench -s`, idle machine."""

from __future__ import annotations

import itertools
import statistics

import pytest

from tests.bench.measuring import judge, spread
from tests.bench.painting import wait, watched

pytestmark = [pytest.mark.bench, pytest.mark.browser]

PAINTED = 300.0
"""Milliseconds from the key to the picture, half of all steps."""
STEP = """(parts) => {
  const step = parts(".atlas[data-heads]")[0]?.innerText.match(/at step ([\\d,]+)/)?.[1];
  return step && [step];
}"""


@pytest.fixture(params=["induction-tiny", "gpt-twin"])
def growth(request, page, app_url):
    """The page of a run, its name in `of`."""
    page.of = request.param
    address = f"{app_url}/growth?growth.of={page.of}&growth.step=0"
    watched(page, address, ".atlas[data-heads] canvas", STEP)
    return page


def test_a_step_is_painted(growth):
    growth.get_by_test_id("stSlider").get_by_role("slider").focus()
    times = [wait(growth, lambda: growth.keyboard.press("ArrowRight"), rest=600) for _ in range(9)]
    judge(
        f"{growth.of}: a moment seen for the first time",
        statistics.median(times),
        PAINTED,
        "ms",
        spread(times),
    )


def test_play_keeps_its_pace(growth):
    growth.get_by_role("button", name="Play").click()
    growth.wait_for_timeout(9_000)
    seen = growth.evaluate("painted")
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(seen[1:])]
    judge(f"{growth.of}: every moment", statistics.median(gaps), 900 + PAINTED, "ms", spread(gaps))
