"""A text as a product of conditionals: the probability of each token given the k tokens before it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from core.analysis.forcing import decoding_prompt
from core.errors import InputError
from core.model import Model
from core.models import Batch
from viz.number_text import or_scientific

Array = np.ndarray
LONGEST = 40


@dataclass(frozen=True, eq=False)
class Conditionals:
    """The conditionals of one text: `logprobs[i]` is ln P(u_i | the last `k` tokens before it), shape (n,).

    `best` and `best_p` are the most probable token of each position, `mean_by_torch` is torch's cross_entropy of the same scores.
    """

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    k: int
    logprobs: Array
    best: tuple[str, ...]
    best_p: Array
    mean_by_torch: float

    @property
    def total(self) -> float:
        """Return L_1 of this text, the sum of the logarithms."""
        return math.fsum(self.logprobs)

    @property
    def running(self) -> Array:
        """Return the sum so far, at each token (n,)."""
        return np.cumsum(self.logprobs)

    @property
    def product(self) -> float:
        """Return the product of the probabilities; its logarithm is `total`."""
        return float(np.prod(np.exp(self.logprobs)))

    @property
    def perplexity(self) -> float:
        """Return exp(-L_1 / n): as unsure as if so many tokens were equally probable each time."""
        return math.exp(-self.total / len(self.tokens))

    @property
    def least_probable(self) -> int:
        """Return the position of the least probable token."""
        return int(self.logprobs.argmin())


def conditionals(model: Model, text: str, k: int | None = None) -> Conditionals:
    """Return each token's probability given the k tokens before it; None: given all of them.

        L_1 = sum_i log P(u_i | u_{i-k}, .., u_{i-1})        (Radford et al. 2018, Eq. 1)

    START, which is no token of the text, comes before the first token, and in each window that reaches back to it. Any other
    window is read as a text of its own, from position 0. One padded pass reads all windows.
    Raises InputError: a model that writes nothing, no text, more than 40 tokens, k below 1.

    >>> import core
    >>> found = conditionals(core.open_model("gpt-mini"), "The dog ran.")
    >>> found.tokens, abs(math.log(found.product) - found.total) < 1e-9
    (('The', ' dog', ' ran', '.'), True)
    """
    decoding_prompt(model, "")
    encoded = model.tokenizer.encode(text)
    n = len(encoded.ids)
    if not text.strip() or not n:
        raise InputError(
            "There is no text.", "Each token of a text is predicted from those before it.", "Type a sentence."
        )
    if n > LONGEST:
        raise InputError(
            f"The text has {n} tokens.",
            f"This page reads up to {LONGEST}.",
            "Shorten it, or take an example.",
        )
    if k is not None and k < 1:
        raise InputError(
            f"The window is k = {k}.", "A token is predicted from at least one token.", "Choose 1 or more."
        )
    window = n if k is None else min(k, n)
    scores = _scores(model, encoded.ids, window)
    log_p = scores.log_softmax(-1)
    targets = torch.tensor(encoded.ids)
    best = log_p.max(-1)
    return Conditionals(
        tuple(encoded.tokens),
        tuple(encoded.ids),
        window,
        log_p[torch.arange(n), targets].numpy(),
        tuple(_name(model, int(i)) for i in best.indices),
        best.values.exp().numpy(),
        float(F.cross_entropy(scores, targets)),
    )


def _name(model: Model, index: int) -> str:
    return "END" if index == model.tokenizer.end else model.tokenizer.token(index)


def _scores(model: Model, ids: tuple[int, ...], k: int) -> Tensor:
    """Return the scores (n, vocab) of every next token given its window. Where all windows reach back, one row serves all."""
    start, n = model.tokenizer.start, len(ids)
    if start is None:
        raise InputError(
            f"{model.name} has no start.", "The first token is predicted from START.", "Choose another model."
        )
    if k >= n:
        return _pass(model, [[start, *ids[:-1]]])[0]
    rows = [[start, *ids[:place]] if place <= k else list(ids[place - k : place]) for place in range(n)]
    scores = _pass(model, rows)
    return torch.stack([scores[place, len(row) - 1] for place, row in enumerate(rows)])


def _pass(model: Model, rows: list[list[int]]) -> Tensor:
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[model.tokenizer.pad or 0] * (longest - len(row))] for row in rows])
    batch = Batch(ids=ids, real=torch.arange(longest) < torch.tensor([[len(row)] for row in rows]))
    with torch.inference_mode():
        return model.network.logits(model.network(batch)).double()


def times_as_probable(difference: float) -> str:
    """Return in words how many times less or more probable a difference of ln P makes a text.

    >>> times_as_probable(-2.302585), times_as_probable(0.693147), times_as_probable(-14.24)
    ('10 times less probable', '2 times more probable', '1,530,000 times less probable')
    """
    times = float(f"{np.exp(abs(difference)):.3g}")
    text = or_scientific(times, ",.0f" if times >= 100 else ".3g", high=1e12, digits=3)
    return f"{text} times {'less' if difference < 0 else 'more'} probable"
