"""T5's encoder alone (Raffel et al. 2020): it reads a text both ways and gives a vector for each token; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from core import masks
from core.layers.config_checks import check_flags, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.norm import RMSNorm
from core.layers.relative_attention import RelativeBias
from core.models import Batch, Family, Kind
from core.models.t5 import T5EncoderBlock, check_distances
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class T5EncoderConfig:
    """The shape; the defaults are T5 small. See `core.models.t5.T5Config`.

    >>> T5EncoderConfig(furthest=3)
    Traceback (most recent call last):
    ValueError: furthest=3 must be larger than half of n_buckets=32
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 6
    n_heads: int = 8
    d_model: int = 512
    d_head: int = 64
    d_ff: int = 2048
    n_vocab: int = 32128
    n_ctx: int = 512
    n_buckets: int = 32
    furthest: int = 128
    activation: str = "relu"
    gated: bool = False
    eps: float = 1e-6
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_shape(self)
        check_whole(self, d_head=1)
        check_distances(self)
        check_flags(self, "gated")

    @classmethod
    def tiny(cls) -> T5EncoderConfig:
        return cls(
            n_layers=2,
            n_heads=3,
            d_model=10,
            d_head=7,
            d_ff=13,
            n_vocab=29,
            n_ctx=17,
            n_buckets=8,
            furthest=12,
        )


class T5Encoder(nn.Module):
    """A token table, a stack with a table of biases, a norm at its end: the last layer's output.

    >>> import torch
    >>> net, ids = T5Encoder(T5EncoderConfig.tiny()), torch.tensor([[1, 2, 3]])
    >>> net(Batch(ids=ids, real=ids >= 0)).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, cfg: T5EncoderConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        self.drop = dropout(cfg.dropout)
        self.encoder_bias = RelativeBias(cfg.n_buckets, cfg.n_heads, both=True, furthest=cfg.furthest)
        self.encoder = nn.ModuleList(T5EncoderBlock(cfg) for _ in range(cfg.n_layers))
        self.final_norm = RMSNorm(cfg.d_model, eps=cfg.eps)

    @property
    def biases(self) -> Mapping[str, RelativeBias]:
        """Return the table of each kind of attention that has one."""
        return {"self": self.encoder_bias}

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        n, tap = batch.ids.shape[1], tap / "encoder"
        x = tap("embed.out", self.drop(tap("embed.token", self.embed["token"](batch.ids), RESID)), RESID)
        allowed, bias = masks.not_padding(batch.real), self.encoder_bias(n, n)
        for i, block in enumerate(self.encoder):
            x = block(x, allowed, bias, tap / f"layer.{i}")
        return tap("final_norm.out", self.final_norm(x), RESID)


FAMILY = Family(
    name="t5_encoder",
    config=T5EncoderConfig,
    network=T5Encoder,
    kinds=(Kind(name="self", stack="encoder.layer"),),
    stacks={"encoder": "encoder.layer"},
    outputs=lambda cfg: {},
)
