"""Models that copy a string: how much of it is right, by its length, also where it is longer than any in the training."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.data.tasks import COPIED, COPY_LENGTHS, strings
from core.scoring import Metrics
from core.scoring.translation import translate

LENGTHS = (1, 2, 5, 10, 15, 20, 25, 30, 40, 60, 80)
EACH = 100


def measure(model: Any, limit: int | None = None, seed: int = 0) -> Metrics:
    """Return token_accuracy and exact_match of greedy copies, of up to 100 (or `limit`) unseen strings a length.

    token_accuracy is the share of places with the sign of the string; exact_match asks for the whole string
    and nothing behind it. The two by themselves are the means over the measured lengths up to the longest of the
    training; `.._beyond` over the longer ones, up to four times that.
    """
    rng, each = np.random.default_rng(seed), EACH if limit is None else limit
    texts = {n: strings(each, rng, COPIED, n, "test") for n in LENGTHS}
    flat = [text for some in texts.values() for text in some]
    written = dict(zip(flat, translate(model, flat), strict=True))
    places = {n: float(np.mean([same(written[text], text) for text in some])) for n, some in texts.items()}
    whole = {n: float(np.mean([written[text] == text for text in some])) for n, some in texts.items()}
    found: Metrics = {"items": len(flat)}
    for name, by_length in (("token_accuracy", places), ("exact_match", whole)):
        found[name] = float(np.mean([value for n, value in by_length.items() if n in COPY_LENGTHS]))
        found[f"{name}_beyond"] = float(
            np.mean([value for n, value in by_length.items() if n not in COPY_LENGTHS])
        )
    found["token_accuracy_by_length"] = {f"length {n}": value for n, value in places.items()}
    found["exact_match_by_length"] = {f"length {n}": value for n, value in whole.items()}
    return found


def same(written: str, text: str) -> float:
    """The share of places of `text` where `written` has the same sign.

    >>> same("abxd", "abcde"), same("", "ab"), same("abab", "ab")
    (0.6, 0.0, 1.0)
    """
    return sum(a == b for a, b in zip(written, text, strict=False)) / len(text)
