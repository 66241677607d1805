"""Models that carry out a prompt word: how often the whole answer is right, on strings that no training samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.data.tasks import PROMPT_LENGTHS, PROMPT_LETTERS, PROMPTS, question, sample_strings
from core.models import Batch
from core.scoring import Metrics

EACH = 60
ROWS = 128


def measure(model: Any, limit: int | None = None, seed: int = 0) -> Metrics:
    """Measure exact_match, also by task: the share of questions whose answer is right symbol by symbol, with the end where it belongs.

    Up to 60 (or `limit`) different held-out strings of each length are used, upper and lower case, the same for each
    task. One pass gives the result of greedy decoding: its answer is right if and only if each symbol is the best
    guess after those before.
    """
    rng, each = np.random.default_rng(seed), EACH if limit is None else limit
    texts = [text for n in PROMPT_LENGTHS for text in sample_strings(each, rng, PROMPT_LETTERS, n, "test")]
    found = {
        task: correct_answers(model, [(question(task, text), make(text)) for text in texts])
        for task, make in PROMPTS.items()
    }
    means = {task: float(np.mean(right)) for task, right in found.items()}
    return {
        "items": len(texts) * len(PROMPTS),
        "exact_match": float(np.mean(list(means.values()))),
        "exact_match_by_task": means,
    }


def correct_answers(model: Any, items: list[tuple[str, str]]) -> list[bool]:
    """Return for each (question, answer) whether the model's best guesses are the answer and then END."""
    tokenizer = model.tokenizer
    rows: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        (tokenizer.encode(asked).ids, (*tokenizer.encode(answer).ids, tokenizer.end))
        for asked, answer in items
    ]
    right: list[bool] = []
    for first in range(0, len(rows), ROWS):
        right += _right(model, rows[first : first + ROWS])
    return right


def _right(model: Any, rows: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[bool]:
    device, longest = (
        next(model.network.parameters()).device,
        max(len(asked) + len(answer) for asked, answer in rows),
    )
    ids = torch.tensor(
        [[*asked, *answer, *[0] * (longest - len(asked) - len(answer))] for asked, answer in rows],
        device=device,
    )
    place = torch.arange(longest, device=device)
    begins, ends = (
        torch.tensor(places, device=device)[:, None]
        for places in zip(*((len(q), len(q) + len(a)) for q, a in rows), strict=True)
    )
    with torch.inference_mode():
        guesses = model.network.logits(model.network(Batch(ids=ids, real=place < ends))).argmax(-1)
    asked_for = (place[1:] >= begins) & (place[1:] < ends)
    return ((guesses[:, :-1] == ids[:, 1:]) | ~asked_for).all(1).tolist()
