"""Which state of a recurrent decoder asks the source, and what its weights do with the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from core.errors import InputError
from core.run import Run

Array = np.ndarray
ATTENTION, STATE = "decoder.attn", "decoder.layer.{}.hidden"
NEEDED = ("encoder.*hidden", "decoder.start.layer.*.hidden", "decoder.layer.*.hidden", "decoder.attn.*")
"""What a run has to keep for the functions here."""


def states(run: Run) -> tuple[Array, Array]:
    """The decoder's top states before and after each step: s_{t-1} and s_t, both (step, d_model)."""
    top = run.model.config.n_layers - 1
    now = run.trace[STATE.format(top)]
    first = run.trace[f"decoder.start.layer.{top}.hidden"]
    return np.concatenate((first[None], now[:-1])), now


def who_asks(run: Run) -> tuple[float, float]:
    """The largest difference between the query that was used and s_{t-1}, and between it and s_t.

    One of the two is 0: Bahdanau et al. 2015 ask with s_{t-1}, Luong et al. 2015 with s_t.

    Errors: InputError for a model without alignment.
    """
    _attends(run)
    query = run.trace[f"{ATTENTION}.q"][0]
    before, now = (float(np.abs(query - state).max()) for state in states(run))
    return before, now


@dataclass(frozen=True)
class Split:
    """The additive score of one step in both ways of writing it, each (key,), in float64; `width` is that of tanh's input."""

    stacked: Array
    parted: Array
    width: int


def split_score(run: Run, step: int) -> Split | None:
    """v . tanh(W [s; h_j]) and v . tanh(W_1 s + W_2 h_j) with W = [W_1 W_2]: equal (Bahdanau et al. 2015, appendix A.1.2).

    None where the model scores otherwise.
    """
    _attends(run)
    score = run.model.network.decoder.attend.score
    if not hasattr(score, "from_query"):
        return None
    with torch.no_grad():
        w1, w2, v = (weight.detach().double() for weight in (score.from_query.weight, score.from_key.weight, score.v))
        query = torch.tensor(run.trace[f"{ATTENTION}.q"][0, step], dtype=torch.float64)
        keys = torch.tensor(run.trace[f"{ATTENTION}.k"][0], dtype=torch.float64)
        both = torch.cat((query.expand(len(keys), -1), keys), 1)
        stacked = torch.tanh(both @ torch.cat((w1, w2), 1).T) @ v
        parted = torch.tanh(w1 @ query + keys @ w2.T) @ v
    return Split(stacked.numpy(), parted.numpy(), len(v))


def slopes(weights: Array) -> Array:
    """d a_j / d s_k = diag(a) - a a^T: how each weight answers to each score, (key, key).

    >>> slopes(np.array([0.5, 0.5])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return np.diag(weights) - np.outer(weights, weights)


def _attends(run: Run) -> None:
    if not getattr(run.model.config, "attends", False):
        raise InputError(f"{run.model.name} has no alignment.", "Its decoder reads one vector only.", "Choose a model with attention.")
