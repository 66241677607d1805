"""The most probable next word at each step is not always the most probable sentence: two ways to write, compared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, product
from operator import mul
from typing import Any

import numpy as np
import torch

from core.analysis.forcing import continuation_logits, decoding_prompt
from core.decoding.counterexample import TREE, Letters, Words
from core.decoding.prompt import Prompt
from core.model import Model
from core.models import Batch
from core.run import batched

WIDTH = 4
ROOM = 10


@dataclass(frozen=True)
class Way:
    """Text token by token: the tokens, and P of each token given those before it."""

    tokens: tuple[str, ...]
    p: tuple[float, ...]

    @property
    def products(self) -> tuple[float, ...]:
        """Return the probability of the text so far, after each token.

        >>> Way(("b", "b"), (0.4, 0.9)).products
        (0.4, 0.36000000000000004)
        """
        return tuple(accumulate(self.p, mul))

    @property
    def total(self) -> float:
        """Return the probability of the whole text."""
        return self.products[-1]


def parting(one: Way, other: Way) -> int:
    """Return the first position where two texts differ; the length of the shorter one if they never do.

    >>> parting(Way(("a", "b"), (0.5, 0.5)), Way(("a", "c"), (0.5, 0.4)))
    1
    """
    pairs = enumerate(zip(one.tokens, other.tokens, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one.tokens), len(other.tokens)))


def on_paper() -> tuple[tuple[Way, Way], tuple[Way, ...]]:
    """Return (greedy, best) on the tree .5 / .4 / .1, and all its nine sentences.

    >>> (greedy, best), every = on_paper()
    >>> round(greedy.total, 2), round(best.total, 2), round(sum(way.total for way in every), 6)
    (0.2, 0.36, 1.0)
    """
    every = tuple(_sentence(ids) for ids in product(range(len(TREE[()])), repeat=2))
    first = int(np.argmax(TREE[()]))
    greedy = _sentence((first, int(np.argmax(TREE[(first,)]))))
    return (greedy, max(every, key=lambda way: way.total)), every


def _sentence(ids: Words) -> Way:
    return Way(
        tuple(map(Letters().token, ids)), tuple(float(TREE[ids[:n]][word]) for n, word in enumerate(ids))
    )


def by_model(model: Model, text: str, width: int = WIDTH) -> tuple[Way, Way]:
    """Translate a text greedily, and by beam search of this width (by the sum of ln p, no length penalty).

    Raises InputError for an empty text or one the model cannot read.
    """
    prompt = decoding_prompt(model, text)
    source = torch.tensor([list(prompt.source)])
    batch = Batch(
        ids=source[:, :1],
        real=torch.ones(1, 1, dtype=torch.bool),
        source=source,
        source_real=torch.ones_like(source, dtype=torch.bool),
    )
    options: dict[str, Any] = {
        "start": prompt.ids[-1],
        "end": prompt.end or 0,
        "limit": min(3 * len(prompt.source) + ROOM, model.config.n_ctx - 2),
    }
    with torch.inference_mode():
        found = [
            batched.greedy(model.network, batch, **options)[0],
            batched.beam(model.network, batch, width=width, alpha=0.0, **options)[0],
        ]
    greedy, beam = (_way(model, prompt, [*ids, prompt.end or 0]) for ids in found)
    return greedy, beam


def _way(model: Model, prompt: Prompt, ids: list[int]) -> Way:
    log_p = continuation_logits(model, prompt, [ids[:-1]])[0].log_softmax(-1)
    return Way(
        tuple(prompt.name(index) for index in ids),
        tuple(float(log_p[t, index].exp()) for t, index in enumerate(ids)),
    )
