"""The attention of a recurrent decoder over its source sentence, one query per output word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.dropout import dropout as share_dropped
from core.layers.linear import Linear
from core.layers.scores import Score
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Real


WEIGHTS = "batch head query key"


@dataclass(frozen=True)
class Source:
    """The source sequence of attention, prepared once a sentence: keys in the form of the score, values, and a mask of real tokens.

    keys (batch key ..), values (batch head key d_head), real (batch key).
    """

    keys: Float[Tensor, "batch key ..."]
    values: Float[Tensor, "batch head key d_head"]
    real: Bool[Tensor, "batch key"]


def prepare_source(
    score: Score, memory: Float[Tensor, "batch key d_model"], tap: Tap = OFF
) -> tuple[Float[Tensor, "batch key ..."], Float[Tensor, "batch one key d_model"]]:
    """Return the keys, prepared for the score, and the values: both are the encoder's states."""
    k = tap("k", memory[:, None], "batch head key d_head")
    v = tap("v", memory[:, None], "batch head key d_head")
    return score.prepare(k.squeeze(1)), v


def gaussian(
    positions: Real[Tensor, " key"], centre: Float[Tensor, "*batch"], sigma: float
) -> Float[Tensor, "*batch key"]:
    """Return exp(-(s - p_t)^2 / (2 sigma^2)) (Luong et al. 2015, Eq. (10)): 1 at the centre, e^-2 at two sigma.

    >>> gaussian(torch.tensor([3.0, 5.0]), torch.tensor(3.0), sigma=1.0)
    tensor([1.0000, 0.1353])
    """
    return torch.exp(-((positions - centre[..., None]) ** 2) / (2 * sigma**2))


class Global(nn.Module):
    """a = softmax(score(query, key)) over the whole source, c = a @ h (Bahdanau et al. 2015, Eq. (5) and (6)).

    `forward` returns the context at each query. One head: the trace has the leaves of every attention, `heads` is the
    context with the head axis.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def forward(
        self, query: Float[Tensor, "batch query d_model"], source: Source, first: int = 0, tap: Tap = OFF
    ) -> Float[Tensor, "batch query d_model"]:
        _, scores = _compared(self.score, query, source, tap)
        allowed = tap("allowed", source.real[:, None, None].expand_as(scores), WEIGHTS)
        return _mixed(tap("pattern", masked_softmax(scores, allowed), WEIGHTS), source, tap)


class Gated(nn.Module):
    """c = beta * (a @ h) with beta = sigmoid(w . query), the share of the context that is used (Xu et al. 2015, 4.2.1).

    `forward` returns the context at each query, as that of `Global`; `gate` in the trace is beta. A word that follows from
    those before it ("is") needs no source, and its weights may be anywhere. In training a share `dropout` of each context
    is missing, another one at each word, so that attending again is worth it.
    """

    def __init__(self, score: Score, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.score, self.drop = score, share_dropped(dropout)
        self.to_gate = Linear(d_model, 1)

    def forward(
        self, query: Float[Tensor, "batch query d_model"], source: Source, first: int = 0, tap: Tap = OFF
    ) -> Float[Tensor, "batch query d_model"]:
        q, scores = _compared(self.score, query, source, tap)
        allowed = tap("allowed", source.real[:, None, None].expand_as(scores), WEIGHTS)
        pattern = tap("pattern", masked_softmax(scores, allowed), WEIGHTS)
        gate = tap("gate", torch.sigmoid(self.to_gate(q))[:, None], "batch head query one")
        return self.drop(_mixed(pattern, source, tap, gate))


class Local(nn.Module):
    """Attention inside a window [p_t - D, p_t + D] of the source (Luong et al. 2015, section 3.2).

    Monotonic: p_t = t. Predictive: p_t = n sigmoid(v_p . tanh(W_p q)), n the length of the source, and what the
    softmax inside the window gives is multiplied by a Gaussian around p_t with sigma = D / 2. The product is not
    divided by its sum again, so it sums to less than 1. Source and target positions count from 0 here.
    `forward` returns the context at each query; the first query is at target position `first`.
    In the trace beside the leaves of every attention: `centre` is p_t, `align` the softmax, `gaussian` its factor;
    `pattern` is what mixes the values. A row whose window is past the end of the source has nothing allowed: zeros.
    Beigy 2021 prints neither window nor sigma.
    """

    def __init__(self, score: Score, window: int, d_model: int, d_ff: int, *, predictive: bool) -> None:
        super().__init__()
        self.score, self.window = score, window
        self.to_hidden = Linear(d_model, d_ff, bias=False) if predictive else None
        self.to_centre = Linear(d_ff, 1, bias=False) if predictive else None

    def forward(
        self, query: Float[Tensor, "batch query d_model"], source: Source, first: int = 0, tap: Tap = OFF
    ) -> Float[Tensor, "batch query d_model"]:
        q, scores = _compared(self.score, query, source, tap)
        centre = tap("centre", self._centre(q, source.real, first), "batch head query")
        positions = torch.arange(source.real.shape[1], device=query.device)
        near = (positions - centre[..., None]).abs() <= self.window
        allowed = tap("allowed", (near & source.real[:, None, None]).expand_as(scores), WEIGHTS)
        if self.to_centre is None:
            return _mixed(tap("pattern", masked_softmax(scores, allowed), WEIGHTS), source, tap)
        align = tap("align", masked_softmax(scores, allowed), WEIGHTS)
        factor = tap("gaussian", gaussian(positions, centre, self.window / 2), WEIGHTS)
        return _mixed(tap("pattern", align * factor, WEIGHTS), source, tap)

    def _centre(self, query: Tensor, real: Tensor, first: int) -> Tensor:
        """Return p_t (batch head query)."""
        if self.to_hidden is None or self.to_centre is None:
            steps = torch.arange(first, first + query.shape[1], device=query.device, dtype=torch.float32)
            return steps.expand(query.shape[0], 1, -1)
        share = torch.sigmoid(self.to_centre(torch.tanh(self.to_hidden(query))).float())
        return (share * real.sum(1)[:, None, None]).mT


def _compared(score: Score, query: Tensor, source: Source, tap: Tap) -> tuple[Tensor, Tensor]:
    """Return the query as the trace has it (batch query d_model), and its scores (batch head query key)."""
    q = tap("q", query[:, None], "batch head query d_head").squeeze(1)
    return q, tap("scores", score.compare(q, source.keys)[:, None], WEIGHTS)


def _mixed(pattern: Tensor, source: Source, tap: Tap, gate: Tensor | float = 1.0) -> Tensor:
    """Return the context c_t = sum_s a_t(s) h_s, times the gate (batch query d_model)."""
    heads = tap("heads", pattern.to(source.values.dtype) @ source.values, "batch head query d_head")
    return tap("context", (heads * gate).squeeze(1), "batch query d_model")
