"""How a bench measures, prints and judges: what was measured stands beside what is allowed, and is asserted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from streamlit.testing.v1 import AppTest

TEXT = (
    "Once upon a time there was an old man who lived with his wife in a small house near the sea. Every morning he went down to the "
    "water with his net, and every evening he came home with a few fish and told her what he had seen. One day a great storm came "
    "from the north, and the waves were so high that nobody dared to go out. The old man sat by the fire and waited for the sea."
)
"""91 tokens of gpt-mini."""
HEADS = {"layer": [str(n // 8) for n in range(48)], "head": [str(n % 8) for n in range(48)]}
"""One head of gpt-mini after another."""


def judge(what: str, found: float, most: float, unit: str = "ms", beside: str = "") -> None:
    """Print what was measured, what is allowed and what is worth a look `beside` it; assert that it is no more."""
    print(f"\n{what}: {found:.4g} {unit} (at most {most:.4g}){beside and '; '}{beside}")
    assert found <= most, what


def spread(times: Sequence[float]) -> str:
    """Half, nineteen of twenty, and the most.

    >>> spread([3.0, 1.0, 2.0])
    '2 p50, 3 p95, at most 3'
    """
    ranked = sorted(times)
    return f"{statistics.median(times):.3g} p50, {ranked[int(0.95 * len(times))]:.3g} p95, at most {ranked[-1]:.3g}"


def seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def least(
    *calls: Callable[[], object], rounds: int, before: Callable[[], object] = lambda: None
) -> list[float]:
    """The shortest time of each call in seconds, the calls taking turns in alternating order."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds):
        for at in range(len(calls)) if turn % 2 else reversed(range(len(calls))):
            before()
            times[at].append(seconds(calls[at]))
    return [min(each) for each in times]


def reruns(
    page: str, fields: Mapping[str, str], choose: Mapping[str, Sequence[str]], turns: int, warm: int = 6
) -> list[float]:
    """Milliseconds of reruns of a page of the workspace, each with the next value of what is chosen."""
    test = AppTest.from_string(f"from viz.workspace.{page} import page\npage.page()", default_timeout=120)
    for field, value in fields.items():
        test.query_params[field] = value
    found = []
    for turn in range(turns + warm):
        for field, values in choose.items():
            test.query_params[field] = values[turn % len(values)]
        found.append(1e3 * seconds(test.run))
        assert not test.exception
    return found[warm:]
