"""Models that learn a task from the text in front of them: how often the answer to the last `?` is right.

Each text has its own random pairs, classes, letters and answers. What helps is in the text alone.

    accuracy            the mean of the tasks
    accuracy_by_task    of each task by itself
    accuracy_by_place   by how many symbols before the `?` the answer occurred
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.data.episodes import TASKS, Episode, sample_episode
from core.models import Batch
from core.scoring import Metrics

EACH, ROWS = 600, 128
PLACES = (range(1, 16), range(16, 31), range(31, 1000))
"""Groups of places back; 30 is as far as the convolutions of snail-recall reach."""


def measure(model: Any, limit: int | None = None, seed: int = 0) -> Metrics:
    """Measure accuracy, also by task and by distance, on 600 (or `limit`) new texts of each task with one question each."""
    items = sample_episodes(EACH if limit is None else limit, seed)
    right = {task: correct_answers(model, texts) for task, texts in items.items()}
    by_task = {task: float(np.mean(found)) for task, found in right.items()}
    back = np.array([item.back for texts in items.values() for item in texts])
    all_right = np.concatenate([right[task] for task in items])
    groups = {range_name(places): all_right[np.isin(back, places)] for places in PLACES}
    return {
        "items": len(back),
        "accuracy": float(np.mean(list(by_task.values()))),
        "accuracy_by_task": by_task,
        "accuracy_by_place": {name: float(found.mean()) for name, found in groups.items() if len(found)},
    }


def range_name(places: range) -> str:
    """Return the name of a range of distances back from the question.

    >>> range_name(range(1, 16)), range_name(PLACES[-1])
    ('1 to 15 back', '31 and more back')
    """
    more = places.stop == PLACES[-1].stop
    return f"{places.start} {'and more' if more else f'to {places.stop - 1}'} back"


def sample_episodes(each: int, seed: int = 0) -> dict[str, list[Episode]]:
    """Sample held-out texts with the seed, the same for every model: so many of each task, of all sizes in turn."""
    rng = np.random.default_rng(seed)
    return {
        task: [sample_episode(rng, task, sizes[i % len(sizes)], 1, "test") for i in range(each)]
        for task, (_, sizes) in TASKS.items()
    }


def correct_answers(model: Any, items: list[Episode]) -> list[bool]:
    """Return for each text whether the model's best guess is the answer."""
    found: list[bool] = []
    for first in range(0, len(items), ROWS):
        some = items[first : first + ROWS]
        wanted = [model.tokenizer.encode(item.answers[-1]).ids[0] for item in some]
        guesses = last_scores(model, [item.text for item in some]).argmax(-1).tolist()
        found += [guess == want for guess, want in zip(guesses, wanted, strict=True)]
    return found


def last_scores(model: Any, texts: list[str]) -> torch.Tensor:
    """Return the logits (text, vocab) of the token after each text."""
    device = next(model.network.parameters()).device
    rows = [model.tokenizer.encode(text).ids for text in texts]
    ends = torch.tensor([len(row) for row in rows], device=device)
    ids = torch.zeros(len(rows), int(ends.max()), dtype=torch.long, device=device)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row, device=device)
    real = torch.arange(ids.shape[1], device=device) < ends[:, None]
    with torch.inference_mode():
        hidden = model.network(Batch(ids=ids, real=real))
        return model.network.logits(hidden[torch.arange(len(rows), device=device), ends - 1])
