"""ModernBERT: a pre-norm encoder with rotary positions and a gated feed-forward network, most layers of which look near by.

Warner et al. 2024. Layers that look everywhere are turned by another base than the others; there are no segments, and no
biases but that of the words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.layers.config_checks import check_flags, check_layers, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import GatedFeedForward
from core.layers.grouped_attention import GroupedQueryAttention, Turn
from core.layers.norm import LayerNorm
from core.layers.positions import frequencies, turned, waves
from core.models import Batch, Family, Kind, Output
from core.models.bert import MaskedLM, Reader
from core.trace import OFF, Tap

RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class ModernBERTConfig:
    """The shape; the defaults are ModernBERT base. A token of the layers in `local` sees `reach` tokens on each side.

    Queries and keys are turned by the base `rope_base`, in the layers in `local` by `rope_local_base`.

    >>> ModernBERTConfig(reach=0)
    Traceback (most recent call last):
    ValueError: reach=0 must be a whole number of at least 1
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 22
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 1152
    n_vocab: int = 50368
    n_ctx: int = 8192
    reach: int = 64
    local: tuple[int, ...] = tuple(i for i in range(22) if i % 3)
    activation: str = "gelu"
    eps: float = 1e-5
    dropout: float = 0.0
    rope_base: float = 160000.0
    rope_local_base: float = 10000.0
    masked_lm: bool = True

    def __post_init__(self) -> None:
        check_shape(self)
        object.__setattr__(self, "local", check_layers(self, "local"))
        check_whole(self, reach=1)
        if self.d_head % 2:
            raise ValueError(
                f"n_heads={self.n_heads} makes d_head={self.d_head}, which must be even: rotary positions turn pairs"
            )
        for name in ("rope_base", "rope_local_base"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name}={value!r} must be a positive number")
        check_flags(self, "masked_lm")

    @property
    def n_segments(self) -> int:
        """No text is told from another."""
        return 0

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> ModernBERTConfig:
        return cls(
            n_layers=2,
            n_heads=3,
            d_model=30,
            d_ff=13,
            n_vocab=29,
            n_ctx=17,
            reach=1,
            local=(1,),
            rope_base=900.0,
        )


class ModernBERTBlock(nn.Module):
    """x + sublayer(norm(x)), twice; the first block reads what was normed already."""

    def __init__(self, cfg: ModernBERTConfig, *, first: bool) -> None:
        super().__init__()
        self.norm1 = nn.Identity() if first else LayerNorm(cfg.d_model, eps=cfg.eps, bias=False)
        self.norm2 = LayerNorm(cfg.d_model, eps=cfg.eps, bias=False)
        self.self_attn = GroupedQueryAttention(cfg.d_model, cfg.n_heads, cfg.n_heads, cfg.d_head)
        self.ffn = GatedFeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.drop = dropout(cfg.dropout)

    def forward(self, x: Tensor, allowed: Tensor, turn: Turn, tap: Tap = OFF) -> Tensor:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(y, allowed, turn, tap / "self_attn")), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


class ModernBERT(Reader):
    """Token embeddings, normed; pre-norm blocks that look everywhere or near by; a last norm; a head for hidden words.

    `forward` gives what the head reads (batch pos d_model); `logits` (batch pos vocab), row i scores the word at position i.

    >>> net = ModernBERT(ModernBERTConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: ModernBERTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {
                "token": TokenEmbedding(cfg.n_vocab, cfg.d_model),
                "norm": LayerNorm(cfg.d_model, eps=cfg.eps, bias=False),
            }
        )
        self.drop = dropout(cfg.dropout)
        self.layers = nn.ModuleList(ModernBERTBlock(cfg, first=i == 0) for i in range(cfg.n_layers))
        self.final_norm = LayerNorm(cfg.d_model, eps=cfg.eps, bias=False)
        self.masked_lm = MaskedLM(cfg, cfg.d_model, biases=False) if cfg.masked_lm else None
        self.pooler = None

    def forward(self, batch: Batch, tap: Tap = OFF) -> Tensor:
        cfg, device = self.cfg, batch.ids.device
        places = torch.arange(batch.ids.shape[1], dtype=torch.float64, device=device)
        wide, near = (
            places[:, None] * frequencies(cfg.d_head, base)[::2].to(device)
            for base in (cfg.rope_base, cfg.rope_local_base)
        )
        everywhere = masks.not_padding(batch.real)
        by = everywhere & ((places[:, None] - places).abs() <= cfg.reach)
        token = tap("embed.token", self.embed["token"](batch.ids), RESID)
        x = tap("embed.out", self.drop(self.embed["norm"](token)), RESID)
        wide, near = waves(wide, x.dtype), waves(near, x.dtype)
        for i, block in enumerate(self.layers):
            allowed, angle = (by, near) if i in cfg.local else (everywhere, wide)
            x = block(x, allowed, lambda each, by=angle: turned(each, by), tap / f"layer.{i}")
        return tap("final_norm.out", self.final_norm(x), RESID)


def _outputs(cfg: ModernBERTConfig) -> Mapping[str, Output]:
    paths = ("masked_lm.pre", "masked_lm.act", "masked_lm.norm.out", "logits")
    return {"logits": Output(paths)} if cfg.masked_lm else {}


FAMILY = Family(
    name="modernbert",
    config=ModernBERTConfig,
    network=ModernBERT,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=_outputs,
    framed=True,
)
