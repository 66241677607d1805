"""The Decode page in a browser: one step, play, many steps, a tree of many nodes, stop. `pytest -m bench -s`; takes a minute."""

from __future__ import annotations

import itertools
import statistics
from urllib.parse import urlencode

import pytest

from tests.bench.measuring import judge, spread
from tests.bench.painting import wait, watched

pytestmark = [pytest.mark.bench, pytest.mark.browser]

PAINTED, RESPONSIVE, MANY, NODES = 120.0, 250.0, 200, 500
"""Milliseconds from a click to its picture, and with so many steps or so many nodes of a tree."""
STATE = """(parts) => {
  const said = parts(".atlas.PART")[0]?.dataset;
  return said && [Number(said.steps) || Number(said.nodes), said.steps, said.at, said.nodes, said.chosen];
}"""


def opened(page, app_url: str, part: str = "timeline", **link: object) -> None:
    address = f"{app_url}/decode?" + urlencode({"text": "Once upon a time", **link})
    watched(page, address, f".atlas.{part} canvas", STATE.replace("PART", part))


def is_painted(page, button: str, n: int, most: float, what: str) -> None:
    """Judge the milliseconds from each of n clicks to the frame in which the picture is a new one."""
    press = page.locator("button", has_text=button).first
    times = [wait(page, press.click) for _ in range(n)][2:]
    judge(f"{what}: {button}", statistics.median(times), most, "ms", spread(times))


def test_a_step_is_painted(page, app_url):
    opened(page, app_url, **{"decode.n": 3})
    is_painted(page, "Next token", 30, PAINTED, "gpt-mini")
    is_painted(page, "Back", 20, PAINTED, "gpt-mini")


def test_play_at_8_steps_a_second(page, app_url):
    opened(page, app_url, **{"decode.n": 3, "decode.speed": 8})
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(9_000)
    page.get_by_role("button", name="Stop").click()
    stopped = page.evaluate("asked")
    page.wait_for_timeout(2_000)
    seen = page.evaluate("painted.map(([at, n]) => [at, n])")
    playing = [(at, n) for at, n in seen if at <= stopped][4:]
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(playing)]
    late = [at - stopped for at, _ in seen if at > stopped]
    rate = 1e3 * (playing[-1][1] - playing[0][1]) / (playing[-1][0] - playing[0][0])
    skipped = sum(b[1] - a[1] > 1 for a, b in itertools.pairwise(playing))
    judge("a step of Play", 1e3 / rate, 1e3 / 7.2, "ms", f"a new picture {spread(gaps)}; {skipped} skipped")
    judge("19 of 20 pictures of it", sorted(gaps)[int(0.95 * len(gaps))], 250)
    judge("the last picture after Stop", max(late, default=0), 400, "ms", f"{len(late)} pictures")


def test_many_steps(page, app_url):
    opened(page, app_url, **{"decode.n": MANY, "decode.temperature": 0.8})
    is_painted(page, "Back", 12, RESPONSIVE, f"{MANY} steps")
    assert page.evaluate("painted.at(-1)[1]") > MANY - 20


def test_a_tall_tree(page, app_url):
    opened(page, app_url, "tree", **{"decode.beam": 16, "decode.n": 34})
    nodes = page.evaluate("painted.at(-1)[1]")
    assert nodes >= NODES
    is_painted(page, "Back", 10, RESPONSIVE, f"a tree of {nodes} nodes")
