"""MAE: a ViT over the few visible patches, and a decoder that predicts the hidden ones (He et al. 2022).

The encoder sees a quarter of the picture and nothing of the rest; the decoder has a vector of its own, the same at each
hidden place, and the place's position. No label is needed: the picture itself is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core import masks
from core.data.patches import HIDDEN, PatchReader
from core.layers.init import normal
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.positions import LearnedPositions
from core.models import Batch, Family, Kind, Output
from core.models.transformer import RESID, PreNormEncoderBlock
from core.models.vit import PictureConfig, PictureEncoder
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, kw_only=True)
class MAEConfig(PictureConfig):
    """The shape; decoder and encoder are of one width.

    >>> MAEConfig(n_decoder_layers=0)
    Traceback (most recent call last):
    ValueError: n_decoder_layers=0 must be a whole number of at least 1
    """

    n_decoder_layers: int = 8

    @classmethod
    def tiny(cls) -> MAEConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, image=28, patch=7, n_decoder_layers=1)


class MAE(PictureEncoder):
    """A masked autoencoder: `encode` reads the visible patches, `decode` puts the mask's vector at the hidden ones and reads all.

    `forward` returns the decoder's last states, `patches` the numbers of each patch.

    >>> net = MAE(MAEConfig.tiny())
    >>> ids = torch.arange(17)[None] + 17 * (torch.arange(17) > 4)
    >>> net.patches(net(Batch(ids=ids, real=ids >= 0, values=torch.ones(1, 17, 147)))).shape
    torch.Size([1, 17, 147])
    """

    def __init__(self, cfg: MAEConfig) -> None:
        super().__init__(cfg)
        self.to_decoder = Linear(cfg.d_model, cfg.d_model)
        self.embed["mask"] = _Mask(cfg.d_model)
        self.embed["decoder_position"] = LearnedPositions(cfg.n_ctx, cfg.d_model)
        self.decoder = nn.ModuleList(PreNormEncoderBlock(cfg) for _ in range(cfg.n_decoder_layers))
        self.decoder_norm = LayerNorm(cfg.d_model, eps=cfg.eps)
        self.to_patches = Linear(cfg.d_model, cfg.n_numbers)

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        return self.decode(batch, self.encode(batch, tap), tap)

    def decode(
        self, batch: Batch, encoded: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the decoder's output for `encoded`, of which only visible places are read."""
        tap = tap / "decoder"
        hidden = (batch.ids >= self.cfg.n_ctx)[..., None]
        known = tap("read", self.to_decoder(encoded), RESID)
        token = tap("embed.token", self.embed["mask"](known, hidden), RESID)
        position = tap("embed.position", self.embed["decoder_position"](batch.ids % self.cfg.n_ctx), RESID)
        x, allowed = tap("embed.out", token + position, RESID), masks.not_padding(batch.real)
        for i, block in enumerate(self.decoder):
            x = block(x, allowed, tap / f"layer.{i}")
        return tap("final_norm.out", self.decoder_norm(x), RESID)

    def patches(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos number"]:
        return tap("patches", self.to_patches(hidden), "batch pos number")


class _Mask(nn.Module):
    """One learned vector where something is hidden, elsewhere what is known."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.token = nn.Parameter(normal(d_model, std=0.02))

    def forward(self, visible: Tensor, hidden: Tensor) -> Float[Tensor, "batch pos d_model"]:
        return torch.where(hidden, self.token, visible)


def _outputs(_: Any) -> Mapping[str, Output]:
    return {"patches": Output(("patches",))}


FAMILY = Family(
    name="mae",
    config=MAEConfig,
    network=MAE,
    kinds=(
        Kind(name="self", stack="encoder.layer"),
        Kind(name="decoder", stack="decoder.layer", depth="n_decoder_layers"),
    ),
    stacks={"encoder": "encoder.layer", "decoder": "decoder.layer"},
    outputs=_outputs,
    reads=lambda cfg: PatchReader(cfg.image, cfg.patch, cfg.channels, HIDDEN),
)
