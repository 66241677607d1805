"""Attention from its scores on, for the attentions that differ only in how a score is made."""

from __future__ import annotations

from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.linear import Linear
from core.trace import Tap


class FromScores(nn.Module):
    """Mask, softmax, mixture and W_O, every step named; how scores (batch head query key) are made is for the subclass to compute and describe."""

    mixes = True
    """There is a W_O."""
    d_head: int
    to_out: Linear

    def attend(
        self, scores: Tensor, allowed: Tensor, v: Tensor, tap: Tap, sink: Tensor | None = None
    ) -> Tensor:
        """Return what the attention gives (batch query d_model); `sink` is a score beside those of the keys, of each query."""
        scores = tap("scores", scores, "batch head query key")
        allowed = tap("allowed", allowed.expand_as(scores), "batch head query key")
        pattern = tap("pattern", masked_softmax(scores, allowed, sink=sink), "batch head query key")
        heads = tap("heads", pattern.to(v.dtype) @ v, "batch head query d_head")
        return tap("out", self.to_out(heads.transpose(1, 2).flatten(-2)), "batch query d_model")

    def split(self, x: Tensor) -> Tensor:
        """Return features side by side as heads: batch pos (head d_head) -> batch head pos d_head."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)
