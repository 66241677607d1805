"""Gemma 3 as an encoder, as in EmbeddingGemma (Vera et al. 2025): every layer looks both ways, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from core import masks
from core.models import Family, Kind
from core.models.gemma import GemmaBody, GemmaConfig

if TYPE_CHECKING:
    from jaxtyping import Bool


@dataclass(frozen=True, kw_only=True)
class GemmaEncoderConfig(GemmaConfig):
    """The shape, see `GemmaConfig`; a token of the layers in `local` sees those that are fewer than `window` tokens away, on both sides."""

    headless: bool = True

    @classmethod
    def tiny(cls) -> GemmaEncoderConfig:
        return cls(
            n_layers=2,
            n_heads=6,
            n_kv_heads=3,
            d_model=30,
            d_head=8,
            d_ff=13,
            n_vocab=29,
            n_ctx=17,
            window=3,
            local=(0,),
            scale=11.0,
            score_cap=4.0,
        )


class GemmaEncoder(GemmaBody):
    """The blocks of a Gemma without its mask: the hidden states of a whole text.

    >>> import torch
    >>> from core.models import Batch
    >>> net, ids = GemmaEncoder(GemmaEncoderConfig.tiny()), torch.tensor([[1, 2, 3]])
    >>> net(Batch(ids=ids, real=ids >= 0)).shape
    torch.Size([1, 3, 30])
    """

    def masks(self, n: int, past: int) -> tuple[Bool[Tensor, "query key"], Bool[Tensor, "query key"]]:
        """Return the mask (query key) of the layers that look everywhere, and of those with a window."""
        return masks.full(n), masks.window(n, self.cfg.window - 1)


FAMILY = Family(
    name="gemma_encoder",
    config=GemmaEncoderConfig,
    network=GemmaEncoder,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=lambda cfg: {},
)
