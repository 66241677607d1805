"""Gemma 2 and 3: causal blocks with a norm before and one behind each sub-layer, of which some look through a window.

Gemma Team 2024 (2) caps scores and logits; Gemma Team 2025 (3) norms each head's queries and keys instead, and turns them
by another base in the layers with a window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import (
    POSITIVE,
    check_flags,
    check_groups,
    check_layers,
    check_shape,
    check_whole,
)
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import GatedFeedForward
from core.layers.grouped_attention import GroupedQueryAttention, Turn, soft_cap
from core.layers.linear import Linear
from core.layers.norm import RMSNorm
from core.layers.positions import frequencies, rotate_pairs, waves
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap
from core.wording import mark

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class GemmaConfig:
    """The shape; the defaults are Gemma 2 with 2 billion weights.

    A query of the layers in `local` sees `window` tokens, itself included. Scores are divided by the root of `scale`, and
    kept below `score_cap`, logits below `logit_cap` (0: not). Queries and keys are rotated by the base `rope_base`, its
    angles divided by `rope_factor`, in the layers in `local` by `rope_local_base`.

    >>> GemmaConfig(score_cap=-1.0)
    Traceback (most recent call last):
    ValueError: score_cap=-1.0 must be a number of at least 0
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 26
    n_heads: int = 8
    n_kv_heads: int = 4
    d_model: int = 2304
    d_head: int = 256
    d_ff: int = 9216
    n_vocab: int = 256000
    n_ctx: int = 8192
    window: int = 4096
    local: tuple[int, ...] = tuple(range(0, 26, 2))
    activation: str = "gelu_tanh"
    eps: float = 1e-6
    dropout: float = 0.0
    scale: float = 256.0
    score_cap: float = 50.0
    logit_cap: float = 30.0
    qk_norm: bool = False
    tied: bool = True
    rope_base: float = 10000.0
    rope_local_base: float = 10000.0
    rope_factor: float = 1.0
    headless: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        object.__setattr__(self, "local", check_layers(self, "local"))
        check_whole(self, n_kv_heads=1, d_head=2)
        check_groups(self)
        for name in ("scale", "rope_base", "rope_local_base", "rope_factor", "score_cap", "logit_cap"):
            value, may_be_none = getattr(self, name), name.endswith("_cap")
            known = type(value) in (int, float) and math.isfinite(value)
            if not known or value < 0 or (value == 0 and not may_be_none):
                least = mark("{given} must be a number of at least 0") if may_be_none else POSITIVE
                raise ValueError(Phrase(least, given=f"{name}={value!r}"))
        check_flags(self, "qk_norm", "tied", "headless")

    @classmethod
    def tiny(cls) -> GemmaConfig:
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
            logit_cap=7.0,
        )


class GemmaBlock(nn.Module):
    """x + norm(sublayer(norm(x))), twice."""

    def __init__(self, cfg: GemmaConfig) -> None:
        super().__init__()
        self.norm1, self.after1, self.norm2, self.after2 = (
            RMSNorm(cfg.d_model, eps=cfg.eps) for _ in range(4)
        )
        self.self_attn = GroupedQueryAttention(
            cfg.d_model,
            cfg.n_heads,
            cfg.n_kv_heads,
            cfg.d_head,
            scale=cfg.scale,
            cap=cfg.score_cap,
            qk_norm=cfg.qk_norm,
            eps=cfg.eps,
        )
        self.ffn = GatedFeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        turn: Turn,
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        y = self.self_attn(y, allowed, turn, tap / "self_attn", store)
        y = tap("after1.out", self.after1(y), RESID)
        x = tap("resid_mid", x + self.drop(y), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        y = tap("after2.out", self.after2(self.ffn(y, tap / "ffn")), RESID)
        return tap("resid_out", x + self.drop(y), RESID)


class GemmaBody(nn.Module):
    """Token embeddings times the root of the width, blocks with and without a window, a last norm."""

    norms_behind = True
    """Whether the output of a sub-layer is normed before it is added."""

    def __init__(self, cfg: GemmaConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=True)})
        self.drop = dropout(cfg.dropout)
        self.layers = nn.ModuleList(GemmaBlock(cfg) for _ in range(cfg.n_layers))
        self.final_norm = RMSNorm(cfg.d_model, eps=cfg.eps)

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: Cache | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        past, cfg = cache.n_read if cache else 0, self.cfg
        n, device = batch.ids.shape[1], batch.ids.device
        everywhere, through = (mask.to(device) for mask in self.masks(n, past))
        if not cache:
            real = masks.not_padding(batch.real)
            everywhere, through = everywhere & real, through & real
        places = torch.arange(past, past + n, dtype=torch.float64, device=device)[:, None]
        wide, near = (
            places * frequencies(cfg.d_head, base)[::2].to(device) / factor
            for base, factor in ((cfg.rope_base, cfg.rope_factor), (cfg.rope_local_base, 1.0))
        )
        token = tap("embed.token", self.embed["token"](batch.ids), RESID)
        x = tap("embed.out", self.drop(token), RESID)
        wide, near = waves(wide, x.dtype), waves(near, x.dtype)
        for i, block in enumerate(self.layers):
            store = cache.self_attn[i] if cache else NO_STORE
            allowed, angle = (through, near) if i in cfg.local else (everywhere, wide)
            x = block(x, allowed, lambda each, by=angle: rotate_pairs(each, by), tap / f"layer.{i}", store)
        return tap("final_norm.out", self.final_norm(x), RESID)

    def masks(self, n: int, past: int) -> tuple[Bool[Tensor, "query key"], Bool[Tensor, "query key"]]:
        """Return the masks (query key) of the full-attention layers and of the sliding-window layers, for `n` queries after `past` cached positions."""
        everywhere = masks.causal(n, past=past)
        return everywhere, everywhere.triu(past - self.cfg.window + 1)


class Gemma(GemmaBody):
    """Token embeddings times the root of the width, causal blocks with and without a window, output scores that may be capped.

    `forward` returns the hidden states that the output layer reads; row i of `logits` scores the token after position i. With
    a cache the batch has only the new positions.

    >>> net = Gemma(GemmaConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: GemmaConfig) -> None:
        super().__init__(cfg)
        self.to_logits = None if cfg.tied or cfg.headless else Linear(cfg.d_model, cfg.n_vocab, bias=False)
        self.logit_cap = cfg.logit_cap

    def new_cache(self) -> Cache:
        return Cache(self.cfg.n_layers)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        logits = self.embed["token"].scores(hidden) if self.to_logits is None else self.to_logits(hidden)
        return tap("logits", soft_cap(logits, self.logit_cap), "batch pos vocab")


FAMILY = Family(
    name="gemma",
    config=GemmaConfig,
    network=Gemma,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
)
