"""Models of strings that occur twice: how much attention a head pays to the continuation of the first copy.

Each row is sampled: some symbols, a string of others, the same string again. On the rows of each length

    induction_score = the mean weight on the one position after the first copy of the present symbol
                      (`core.analysis.attention.measures.induction`), of the head where that is largest over all rows
    copied          = how often the best guess is the next symbol, from the second symbol of the second copy on

Row lengths and the number of symbols before the string are random: no position shows how far back the first copy is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.analysis.attention.measures import induction
from core.data.tasks import sample_repeat
from core.models import Batch
from core.scoring import Metrics
from core.trace import Recorder

OFFSETS = (4, 8, 12, 16, 20, 24)
ROWS = 64


def measure(model: Any, limit: int | None = None, seed: int = 0) -> Metrics:
    """Measure how well the model copies: the induction score of its best head and the share of symbols copied right.

    Both overall and by offset, the distance between the two copies, on 64 (or `limit`) held-out rows of each offset.
    """
    rng, n_rows = np.random.default_rng(seed), ROWS if limit is None else limit
    found = {n: [one_row(model, *sample_repeat(rng, n, "test")) for _ in range(n_rows)] for n in OFFSETS}
    by_head = {n: np.mean([weights for weights, _ in rows], axis=0) for n, rows in found.items()}
    copied = {n: float(np.mean([right for _, right in rows])) for n, rows in found.items()}
    mean = np.mean(list(by_head.values()), axis=0)
    layer, head = np.unravel_index(mean.argmax(), mean.shape)
    return {
        "items": n_rows * len(OFFSETS),
        "best_head": f"L{layer}.H{head}",
        "induction_score": float(mean[layer, head]),
        "copied": float(np.mean(list(copied.values()))),
        "induction_score_by_offset": {
            f"offset {n}": float(scores[layer, head]) for n, scores in by_head.items()
        },
        "copied_by_offset": {f"offset {n}": right for n, right in copied.items()},
    }


def one_row(model: Any, text: str, second: int) -> tuple[np.ndarray, float]:
    """Return the induction score of each head, (layer, head), and the share of right guesses from index `second` on."""
    ids = torch.tensor([model.tokenizer.encode(text).ids], device=next(model.network.parameters()).device)
    tap = Recorder(("layer.*.self_attn.pattern",))
    with torch.inference_mode():
        hidden = model.network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), tap=tap)
        guesses = model.network.logits(hidden)[0].argmax(-1)
    trace = tap.close()
    weights = np.concatenate(
        [trace.numpy(f"layer.{i}.self_attn.pattern") for i in range(model.config.n_layers)]
    )
    right = guesses[second:-1] == ids[0, second + 1 :]
    return induction(weights, ids[0].tolist()), float(right.float().mean())
