"""The second half of attention, from scores to output, for kinds that differ only in how a score is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.linear import Linear
from core.trace import Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class FromScores(nn.Module):
    """Mask, softmax, mixture and W_O, every step named; a subclass computes the scores and describes them."""

    has_output_projection = True
    """Whether W_O mixes the heads."""
    d_head: int
    to_out: Linear

    def attend(
        self,
        scores: Float[Tensor, "batch head query key"],
        allowed: Bool[Tensor, "... #query key"],
        v: Float[Tensor, "batch head key d_head"],
        tap: Tap,
        sink: Float[Tensor, "batch head query one"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return the output at each query; `sink` is a score of each query that counts beside those of the keys."""
        scores = tap("scores", scores, "batch head query key")
        allowed = tap("allowed", allowed.expand_as(scores), "batch head query key")
        pattern = tap("pattern", masked_softmax(scores, allowed, sink=sink), "batch head query key")
        heads = tap("heads", pattern.to(v.dtype) @ v, "batch head query d_head")
        return tap("out", self.to_out(heads.transpose(1, 2).flatten(-2)), "batch query d_model")

    def split(self, x: Float[Tensor, "batch pos d_heads"]) -> Float[Tensor, "batch head pos d_head"]:
        """Cut each vector into one part per head."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)
