"""How much of a text is read where much is made of it: the work is bounded by tokens before any of it is done."""

from __future__ import annotations

from core.model import WRITES, Model

WORK = 7e10
"""Tokens times weights that one question may cost: a second or two of one core."""
FIXED = 128
"""What a run costs besides its tokens, in tokens."""
PATTERNS = 200 * 2**20
"""Bytes that the patterns of a run may take."""
SOURCE = 48
"""Tokens of a text that is translated: what is written to it is written token by token."""
LEAST = 16
"""So much is read of every text, however large the model is."""


def affordable(model: Model, runs: float, tokens: int) -> bool:
    """Whether so many runs of so many tokens stay within `WORK`, and the patterns of one within `PATTERNS`.

    >>> import core
    >>> affordable(core.open_model("gpt-mini"), runs=48, tokens=100), affordable(core.open_model("gpt-mini"), runs=480, tokens=100)
    (True, False)
    """
    config = model.config
    patterns = 4 * config.n_layers * config.n_heads * tokens**2
    return runs * (tokens + FIXED) * model.n_parameters <= WORK and patterns <= PATTERNS


def most(model: Model, *, runs: float = 1, each: float = 0) -> int:
    """Tokens of a text that a page may read which makes `runs` runs of it, and `each` more for every token.

    >>> import core
    >>> [most(core.open_model("gpt-mini"), runs=1, each=each) for each in (0, 1, 6)]
    [512, 61, 16]
    """
    room = model.config.n_ctx - 2 * model.spec.framed
    written = 0
    if model.spec.has_source:
        room, written = min(room, SOURCE), WRITES
    fitting = (n for n in range(room, 0, -1) if affordable(model, runs + each * n, n + written))
    return max(next(fitting, 0), min(LEAST, room))


def part(model: Model, text: str, first: int, n: int) -> str:
    """At most `n` tokens of a text, from its token `first` on, cut where tokens begin and end.

    A part may be more tokens by itself than it was in the whole: then it is as much shorter.
    """
    spans = [span for span in model.reader.encode(text).spans if span]
    end = min(len(spans), first + n)
    while end > first:
        found = text[spans[first][0] : spans[end - 1][1]]
        over = len(model.reader.encode(found).ids) - n
        if over <= 0:
            return found
        end -= over
    return ""
