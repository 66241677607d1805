"""What Look sends over the websocket with its page: all heads of a sentence, then one head after another; and how long the first other head takes.

`pytest -m bench -s tests/bench/test_wire_bytes.py`, the times on an idle machine. Bytes are those of the messages before the
connection deflates them, to a visitor who stores none of them (a browser stores those of 10 kB and more).
"""

from __future__ import annotations

import asyncio
import random
from statistics import median

import pytest

from tests.app_server import started_app
from tests.bench.visitors import KNOWN, all_loaded
from tests.bench.wire import Visit

pytestmark = pytest.mark.bench

KB = 1000
BERTVIZ = 8560 * KB
"""BertViz's page for the 48 heads of gpt-mini at 56 words."""
ALL_HEADS, ANOTHER = BERTVIZ / 40, 40 * KB
FIRST = 60.0
"""Milliseconds of the first other head of a new sentence, in the median."""
SENTENCES = 15


def link_to_look(rng: random.Random, words: int = 56) -> dict[str, str]:
    """Return the values of a link to Look with a sentence of this many words."""
    return {"model": "gpt-mini", "text": " ".join(rng.choices(KNOWN.split(), k=words))}


def test_all_heads_and_another_in_bytes(tmp_path):
    with started_app(tmp_path) as server:
        asyncio.run(all_loaded(server.url))
        sizes = asyncio.run(_sizes(server.url))
    for (view, words), (first, another) in sizes.items():
        print(
            f"\n{words:3} words, {view or 'one head':8}: {first / KB:6.1f} kB with the page, another head {another / KB:.1f} kB of {ANOTHER / KB:.0f}"
        )
    first = sizes["heads", 56][0]
    print(
        f"\n48 heads of 56 words: {first / KB:.0f} kB of {ALL_HEADS / KB:.0f}, a {BERTVIZ / first:.0f}th of BertViz's page"
    )
    assert first <= ALL_HEADS
    assert max(another for _, another in sizes.values()) <= ANOTHER


async def _sizes(url: str) -> dict[tuple[str, int], tuple[int, int]]:
    """Count bytes of the first answer, and the most of three more heads, by view and words."""
    rng, found = random.Random(0), {}
    for words in (6, 24, 56):
        for view in ("", "heads", "full"):
            visit, link = await Visit.opened(url), link_to_look(rng, words) | ({"view": view} if view else {})
            first = await visit.ask("", link | {"layer": "2", "head": "0"})
            others = [await visit.ask("", link | {"layer": "2", "head": str(head)}) for head in (1, 2, 3)]
            assert not any(one.wrong for one in (first, *others))
            found[view, words] = first.size, max(one.size for one in others)
            await visit.close()
    return found


def test_the_first_other_head_of_a_new_sentence(tmp_path):
    with started_app(tmp_path) as server:
        asyncio.run(all_loaded(server.url))
        first, following = asyncio.run(_waits(server.url))
    print(
        f"\nthe first other head of a new sentence: {median(first):.0f} ms of {FIRST:.0f}, at most {max(first):.0f}; the next {median(following):.0f}"
    )
    assert median(first) <= FIRST


async def _waits(url: str) -> tuple[list[float], list[float]]:
    """Time, in milliseconds, the first other head of each new sentence, and of those that follow."""
    rng, first, following = random.Random(0), [], []
    visit = await Visit.opened(url)
    for _ in range(SENTENCES):
        link = link_to_look(rng)
        await visit.ask("", link | {"layer": "0", "head": "0"})
        for times, place in ((first, "1"), (following, "2"), (following, "3")):
            await asyncio.sleep(0.2)
            answer = await visit.ask("", link | {"layer": place, "head": place})
            assert not answer.wrong
            times.append(answer.milliseconds)
    await visit.close()
    return first, following
