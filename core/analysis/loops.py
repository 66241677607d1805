"""Repetition at the end of a text: greedy decoding often ends in a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.run import Run


@dataclass(frozen=True)
class Loop:
    """The repetition at the end of a text: its unit, and how many whole times it occurs."""

    unit: tuple[str, ...]
    times: int

    @property
    def phrase(self) -> str:
        """Return the loop as a part of a sentence.

        >>> Loop((" no",), 4).phrase
        'repeats “no” 4 times in a row'
        """
        return (
            f"repeats “{' '.join(''.join(self.unit).split()) or 'a line break'}” {self.times} times in a row"
        )


def find_loop(tokens: Sequence[str], min_times: int = 3) -> Loop | None:
    """Return the shortest unit that the end of these tokens repeats `min_times` times or more, from where the loop begins; None for no loop.

    >>> find_loop("a b c b c b c b".split())
    Loop(unit=('b', 'c'), times=3)
    >>> find_loop("a b a b".split()) is None
    True
    """
    n = len(tokens)
    for size in range(1, n // min_times + 1):
        start = n - size
        while start > 0 and tokens[start - 1] == tokens[start - 1 + size]:
            start -= 1
        if (times := (n - start) // size) >= min_times:
            return Loop(tuple(tokens[start : start + size]), times)
    return None


def unfinished_note(run: Run) -> str:
    """Return a sentence that says that a translator's own output never reached its end token; "" where it did."""
    side, tokenizer = run.side, run.model.tokenizer
    ends = (tokenizer.end, *run.model.ends)
    if run.source is None or int(np.argmax(run.logits[side.n_real - 1])) in ends:
        return ""
    written = [tokenizer.token(index) for index in side.ids[1 : side.n_real]]
    loop = find_loop(written)
    return f"{run.model.name} does not find an end: it {f'{loop.phrase} and ' if loop else ''}is stopped after {len(written)} tokens."
