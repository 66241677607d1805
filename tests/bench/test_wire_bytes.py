"""What Look sends over the websocket with its page: all heads of a sentence, then one head after another; and how long the first other head takes.

`pytest -m bench -s tests/bench/test_wire_bytes.py`, the times on an idle machine. Bytes are those of the messages before the
connection deflates them, to a visitor who stores none of them (a browser stores those of 10 kB and more).
"""

from __future__ import annotations

import asyncio
import random
from statistics import median

import pytest

from tests.bench.measuring import judge, spread
from tests.bench.visitors import KNOWN
from tests.bench.wire import Visit, answers

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


def test_all_heads_and_another_in_bytes(loaded_app):
    rng, all_heads = random.Random(0), 0
    for words in (6, 24, 56):
        for view in ("", "heads", "full"):
            link = link_to_look(rng, words) | ({"view": view} if view else {}) | {"layer": "2"}
            links = (("", link | {"head": str(head)}) for head in range(4))
            first, *others = asyncio.run(answers(loaded_app.url, *links))
            assert not any(one.wrong for one in (first, *others))
            beside = f"{first.size / KB:.1f} kB with the page"
            most = max(one.size for one in others)
            judge(f"{words} words, {view or 'one head'}: another head", most / KB, ANOTHER / KB, "kB", beside)
            all_heads = first.size if view == "heads" else all_heads
    beside = f"a {BERTVIZ / all_heads:.0f}th of BertViz's page"
    judge("48 heads of 56 words", all_heads / KB, ALL_HEADS / KB, "kB", beside)


def test_the_first_other_head_of_a_new_sentence(loaded_app):
    first, following = asyncio.run(_waits(loaded_app.url))
    beside = f"{spread(first)}; the next {spread(following)}"
    judge("the first other head of a new sentence", median(first), FIRST, "ms", beside)


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
