"""How much of a text is read where much is made of it: the work is bounded by tokens before any of it is done."""

from __future__ import annotations

from core.model import WRITES, Model
from core.reading import provenance

WORK = 7e10
"""Tokens times weights that one question may cost: a second or two of one core."""
FIXED = 128
"""The costs of a run besides its tokens, in tokens."""
PATTERNS = 200 * 2**20
"""Bytes that the patterns of a run may take."""
SOURCE = 48
"""Tokens of a text that a translator of ours reads: it learned from short sentences."""
STEP = 8
"""The cost of a token that is written after the others, in tokens that are read at once."""
LEAST = 16
"""So much is read of every text, however large the model is."""


def affordable(model: Model, runs: float, tokens: int) -> bool:
    """Return whether so many runs of so many tokens stay within `WORK`, and the patterns of one within `PATTERNS`.

    >>> import core
    >>> affordable(core.open_model("gpt-mini"), runs=48, tokens=100), affordable(core.open_model("gpt-mini"), runs=480, tokens=100)
    (True, False)
    """
    config = model.config
    patterns = 4 * config.n_layers * config.n_heads * tokens**2
    return runs * (tokens + FIXED) * model.n_parameters <= WORK and patterns <= PATTERNS


def marks(model: Model) -> int:
    """Return the tokens of its context that a text of this model does not have for itself: those put before and behind it.

    >>> import core
    >>> marks(core.open_model("gpt-mini")), marks(core.open_model("bert-mini"))
    (0, 2)
    """
    before, behind = model.tokenizer.frame_ids
    return 2 if model.spec.framed else len(before) + len(behind) * model.spec.has_source


def most(model: Model, *, runs: float = 1, each: float = 0) -> int:
    """Return the tokens of a text that a page may read which makes `runs` runs of it, and `each` more for every token.

    >>> import core
    >>> [most(core.open_model("gpt-mini"), runs=1, each=each) for each in (0, 1, 6)]
    [512, 61, 16]
    """
    room = model.config.n_ctx - marks(model)
    if model.spec.has_source and not provenance.is_foreign(model.name):
        room = min(room, SOURCE)
    fitting = (n for n in range(room, 0, -1) if _fits(model, runs + each * n, n))
    return max(next(fitting, 0), min(LEAST, room))


def _fits(model: Model, runs: float, n: int) -> bool:
    """Return whether so many runs of a text of `n` tokens are affordable, with what is written to it, first of all token by token."""
    if not model.spec.has_source:
        return affordable(model, runs, n)
    if not provenance.is_foreign(model.name):
        return affordable(model, runs, n + WRITES)
    written = max(WRITES, 3 * n // 2)
    return affordable(model, runs + STEP * written / (n + written + FIXED), n + written)


def part(model: Model, text: str, first: int, n: int) -> str:
    """Return at most `n` tokens of a text, from its token `first` on, cut where tokens begin and end.

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
