"""Models that copy a string: how much of it is right, by its length, also for strings longer than any in the training."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.data.tasks import COPY_LENGTHS, COPY_LETTERS, sample_strings
from core.scoring import Metrics
from core.scoring.translation import translate

LENGTHS = (1, 2, 5, 10, 15, 20, 25, 30, 40, 60, 80)
EACH = 100


def measure(model: Any, limit: int | None = None, seed: int = 0) -> Metrics:
    """Measure token_accuracy and exact_match of greedy copies of up to 100 (or `limit`) unseen strings of each length.

    token_accuracy is the share of positions with the symbol of the string; exact_match counts copies that are the
    whole string and no more. Both are means over the lengths that the training has; `.._beyond` are means over longer
    ones, up to four times as long.
    """
    rng, each = np.random.default_rng(seed), EACH if limit is None else limit
    texts = {n: sample_strings(each, rng, COPY_LETTERS, n, "test") for n in LENGTHS}
    flat = [text for some in texts.values() for text in some]
    written = dict(zip(flat, translate(model, flat), strict=True))
    places = {
        n: float(np.mean([matching_share(written[text], text) for text in some])) for n, some in texts.items()
    }
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


def matching_share(copy: str, text: str) -> float:
    """Return the share of the positions of `text` at which `copy` has the same symbol.

    >>> matching_share("abxd", "abcde"), matching_share("", "ab"), matching_share("abab", "ab")
    (0.6, 0.0, 1.0)
    """
    return sum(a == b for a, b in zip(copy, text, strict=False)) / len(text)
