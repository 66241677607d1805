"""Bloom, MPT and Falcon with ALiBi: causal blocks without vectors of positions, whose heads take a fixed number off a score for each token of distance.

Le Scao et al. 2022; MosaicML 2023; Almazrouei et al. 2023; Press et al. 2022.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from core import masks
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import check_flags, check_shape
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.norm import LayerNorm
from core.layers.positions import Alibi
from core.layers.relative_attention import RelativeAttention
from core.layers.score_terms import ALIBI
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class BloomConfig:
    """The shape; the defaults are Bloom 560M. `bias`: maps and norms have biases; `embed_norm`: the embeddings are normed (both not in MPT).

    `halved`: what is taken off is divided by the root of the head's width, too, and was rounded (Falcon, see `core.layers.positions.Alibi`).
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 24
    n_heads: int = 16
    d_model: int = 1024
    d_ff: int = 4096
    n_vocab: int = 250880
    n_ctx: int = 2048
    bias: bool = True
    embed_norm: bool = True
    halved: bool = False
    activation: str = "gelu_tanh"
    eps: float = 1e-5
    dropout: float = 0.0
    headless: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        check_flags(self, "bias", "embed_norm", "halved", "headless")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> BloomConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17)


class BloomBlock(nn.Module):
    """x + sublayer(norm(x)), twice."""

    def __init__(self, cfg: BloomConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps, bias=cfg.bias) for _ in range(2))
        self.self_attn = RelativeAttention(
            cfg.d_model, cfg.n_heads, cfg.d_head, bias=cfg.bias, out_bias=cfg.bias, addition=ALIBI
        )
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation, bias=cfg.bias)
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        bias: Float[Tensor, "... #pos key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        seen = self.self_attn(y, y, allowed, bias, tap / "self_attn", store)
        x = tap("resid_mid", x + self.drop(seen), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


class Bloom(nn.Module):
    """Token embeddings, causal blocks whose scores fall with the distance, a last norm, output scores from the token table (tied).

    `forward` returns the hidden states that the output layer reads; row i of `logits` scores the token after position i. With
    a cache the batch has only the new positions.

    >>> import torch
    >>> net, ids = Bloom(BloomConfig.tiny()), torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: BloomConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        if cfg.embed_norm:
            self.embed["norm"] = LayerNorm(cfg.d_model, eps=cfg.eps)
        self.drop = dropout(cfg.dropout)
        self.alibi = Alibi(
            cfg.n_heads, divisor=math.sqrt(cfg.d_head) if cfg.halved else 1.0, halved=cfg.halved
        )
        self.layers = nn.ModuleList(BloomBlock(cfg) for _ in range(cfg.n_layers))
        self.final_norm = LayerNorm(cfg.d_model, eps=cfg.eps, bias=cfg.bias)

    @property
    def biases(self) -> Mapping[str, Alibi]:
        """Return the table of each kind of attention that has one."""
        return {"causal": self.alibi}

    def new_cache(self) -> Cache:
        return Cache(self.cfg.n_layers)

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: Cache | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        past = cache.n_read if cache else 0
        n, device = batch.ids.shape[1], batch.ids.device
        allowed = masks.causal(n, past=past).to(device)
        if not cache:
            allowed = allowed & masks.not_padding(batch.real)
        x = tap("embed.token", self.embed["token"](batch.ids), RESID)
        x = tap("embed.out", self.drop(self.embed["norm"](x) if self.cfg.embed_norm else x), RESID)
        bias = self.alibi(n, past + n).to(device)
        for i, block in enumerate(self.layers):
            x = block(x, allowed, bias, tap / f"layer.{i}", cache.self_attn[i] if cache else NO_STORE)
        return tap("final_norm.out", self.final_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["token"].scores(hidden), "batch pos vocab")


FAMILY = Family(
    name="bloom",
    config=BloomConfig,
    network=Bloom,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
)
