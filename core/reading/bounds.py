"""Bounds on the length of texts, in tokens, so that the work of a page is limited before any of it is done."""

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
    """Return whether `runs` runs of `tokens` tokens stay within the limit of work, `WORK`, and the patterns of one
    within the limit of memory, `PATTERNS`.

    >>> import core
    >>> affordable(core.open_model("gpt-mini"), runs=48, tokens=100), affordable(core.open_model("gpt-mini"), runs=480, tokens=100)
    (True, False)
    """
    config = model.config
    patterns = 4 * config.n_layers * config.n_heads * tokens**2
    return runs * (tokens + FIXED) * model.n_parameters <= WORK and patterns <= PATTERNS


def n_special(model: Model) -> int:
    """Return the number of special tokens that the model puts before and after a text, which take up part of its context.

    >>> import core
    >>> n_special(core.open_model("gpt-mini")), n_special(core.open_model("bert-mini"))
    (0, 2)
    """
    before, behind = model.tokenizer.frame_ids
    return 2 if model.spec.framed else len(before) + len(behind) * model.spec.has_source


def token_limit(model: Model, *, runs: float = 1, each: float = 0) -> int:
    """Return how many tokens of a text a page may read that runs the model `runs` times, and `each` times more for every token.

    >>> import core
    >>> [token_limit(core.open_model("gpt-mini"), runs=1, each=each) for each in (0, 1, 6)]
    [512, 61, 16]
    """
    room = model.config.n_ctx - n_special(model)
    if model.spec.has_source and not provenance.is_foreign(model.name):
        room = min(room, SOURCE)
    fitting = (n for n in range(room, 0, -1) if _fits(model, runs + each * n, n))
    return max(next(fitting, 0), min(LEAST, room))


def _fits(model: Model, runs: float, n: int) -> bool:
    """Return whether so many runs of a text of `n` tokens are affordable, counting the output that the model writes for it."""
    if not model.spec.has_source:
        return affordable(model, runs, n)
    if not provenance.is_foreign(model.name):
        return affordable(model, runs, n + WRITES)
    written = max(WRITES, 3 * n // 2)
    return affordable(model, runs + STEP * written / (n + written + FIXED), n + written)


def slice_tokens(model: Model, text: str, first: int, n: int) -> str:
    """Return at most `n` tokens of a text as text, from its token `first` on, cut where tokens begin and end.

    A part read by itself may have more tokens than it had in the whole text; it is then shortened.
    """
    spans = [span for span in model.reader.encode(text).spans if span]
    end = min(len(spans), first + n)
    while end > first:
        part = text[spans[first][0] : spans[end - 1][1]]
        over = len(model.reader.encode(part).ids) - n
        if over <= 0:
            return part
        end -= over
    return ""
