"""Llama and its kin: causal blocks with rotary positions, grouped queries, root-mean-square norms and a gated feed-forward.

Touvron et al. 2023; Mistral (Jiang et al. 2023) adds a sliding window, Qwen2 biases on queries, keys and values, Qwen3 a norm
on each head's queries and keys, Gemma (Gemma Team 2024) embeddings times the root of the width. Others of this build differ in
single places, each an option here: SmolLM3, OLMo 2, Granite, StableLM, Cohere, Phi, GPT-J, Falcon; Mixtral (Jiang et al. 2024), Qwen3-MoE
and OLMoE have experts with a router in the place of the feed-forward network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import (
    MORE_THAN,
    check_flags,
    check_groups,
    check_layers,
    check_positive,
    check_shape,
    check_whole,
)
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.experts import GatedExperts
from core.layers.feedforward import FeedForward, GatedFeedForward
from core.layers.grouped_attention import GroupedQueryAttention, Turn
from core.layers.linear import Linear
from core.layers.norm import LayerNorm, RMSNorm
from core.layers.positions import Waves, frequencies, rotate_pairs, waves
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"
NUMBERS = ("rope_base", "rope_size", "rope_factor", "rope_low", "rope_high", "embed_scale", "output_scale")
NORMS: Mapping[str, Callable[..., nn.Module]] = {
    "rms": RMSNorm,
    "layer": LayerNorm,
    "layer, unbiased": partial(LayerNorm, bias=False),
}
FLAGS = (
    "qkv_bias",
    "out_bias",
    "ffn_bias",
    "logits_bias",
    "qk_norm",
    "wide_norm",
    "among_chosen",
    "tied",
    "scaled",
    "headless",
)
BLOCKS = ("before", "behind", "parallel", "one norm")
"""Where norms stand: before each sub-layer; behind each (OLMo 2); before two that read the same stream; one before both of these."""


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """The shape; the defaults are Llama 2 with 7 billion weights.

    `sliding_window` is how many tokens a query sees, itself included (0: all before it). `rope_original` is the context
    before the rotary frequencies were stretched by `rope_factor` (Llama 3.1; 0: they were not): wavelengths above
    rope_original / rope_low grow by the factor, those below rope_original / rope_high stay, between them both are blended.
    With `rope_each` each pair of features has a factor of its own, and rotated queries and keys grow by `rope_size` (LongRoPE, Ding et al. 2024).
    Of a head's features the first `d_rotary` are rotated (0: all), in the layers in `unturned` none. `norm` and `block` are keys of
    `NORMS` and `BLOCKS`; the feed-forward network is `gated` or has two maps. Scores are divided by the root of `scale` (0: of d_head),
    embeddings and scores of words multiplied by `embed_scale` and `output_scale`. With `n_experts` (0: one network) `n_active` of them compute each
    token, weighted by a softmax `among_chosen` ones or among all.

    >>> LlamaConfig(n_kv_heads=5)
    Traceback (most recent call last):
    ValueError: n_kv_heads=5 does not divide n_heads=32
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 32
    n_heads: int = 32
    n_kv_heads: int = 32
    d_model: int = 4096
    d_head: int = 128
    d_ff: int = 11008
    n_vocab: int = 32000
    n_ctx: int = 4096
    activation: str = "silu"
    eps: float = 1e-5
    dropout: float = 0.0
    sliding_window: int = 0
    qkv_bias: bool = False
    qk_norm: bool = False
    wide_norm: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    logits_bias: bool = False
    norm: str = "rms"
    block: str = "before"
    gated: bool = True
    n_experts: int = 0
    n_active: int = 0
    among_chosen: bool = True
    d_rotary: int = 0
    unturned: tuple[int, ...] = ()
    scale: float = 0.0
    embed_scale: float = 1.0
    output_scale: float = 1.0
    tied: bool = False
    scaled: bool = False
    rope_base: float = 10000.0
    rope_factor: float = 1.0
    rope_low: float = 1.0
    rope_high: float = 4.0
    rope_original: int = 0
    rope_each: tuple[float, ...] = ()
    rope_size: float = 1.0
    headless: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        check_whole(self, n_kv_heads=1, d_head=2, sliding_window=0, rope_original=0, d_rotary=0)
        check_whole(self, n_experts=0, n_active=1 if self.n_experts else 0)
        if self.n_active > self.n_experts:
            raise ValueError(
                Phrase(MORE_THAN, given=f"n_active={self.n_active}", other=f"n_experts={self.n_experts}")
            )
        object.__setattr__(self, "unturned", check_layers(self, "unturned"))
        check_groups(self)
        if self.d_rotary % 2 or self.d_rotary > self.d_head:
            raise ValueError(
                Phrase(
                    "{given} must be an even number up to {other}: rotary positions turn pairs of features",
                    given=f"d_rotary={self.d_rotary}",
                    other=f"d_head={self.d_head}",
                )
            )
        object.__setattr__(self, "rope_each", tuple(self.rope_each))
        pairs = (self.d_rotary or self.d_head) // 2
        if self.rope_each and len(self.rope_each) != pairs:
            raise ValueError(
                Phrase(
                    "rope_each has {n} factors for {pairs} pairs of rotated features",
                    n=len(self.rope_each),
                    pairs=pairs,
                )
            )
        numbers = {name: getattr(self, name) for name in (*NUMBERS, *(("scale",) if self.scale else ()))}
        for name, value in [*numbers.items(), *(("rope_each", each) for each in self.rope_each)]:
            check_positive(name, value)
        for name, known in (("norm", NORMS), ("block", BLOCKS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {'; '.join(known)}")
        if self.rope_original and not self.rope_low < self.rope_high:
            raise ValueError(
                Phrase(
                    "{given} must be smaller than {other}",
                    given=f"rope_low={self.rope_low}",
                    other=f"rope_high={self.rope_high}",
                )
            )
        check_flags(self, *FLAGS, "gated")

    @classmethod
    def tiny(cls) -> LlamaConfig:
        return cls(n_layers=2, n_heads=6, n_kv_heads=3, d_model=30, d_head=8, d_ff=13, n_vocab=29, n_ctx=17)


def rope_frequencies(cfg: LlamaConfig) -> Float[Tensor, " pair"]:
    """Return the angle a position turns each pair of features by, (d_head / 2) in float64: base^(-2j / d_head), stretched as the config says.

    >>> rope_frequencies(LlamaConfig.tiny())
    tensor([1.0000, 0.1000, 0.0100, 0.0010], dtype=torch.float64)
    """
    w = frequencies(cfg.d_rotary or cfg.d_head, cfg.rope_base)[::2]
    if cfg.rope_each:
        return w / torch.tensor(cfg.rope_each, dtype=w.dtype)
    if not cfg.rope_original:
        return w
    turns = cfg.rope_original * w / (2 * math.pi)  # full turns within the original context
    blend = ((turns - cfg.rope_low) / (cfg.rope_high - cfg.rope_low)).clamp(0, 1)
    return w * (blend + (1 - blend) / cfg.rope_factor)


def _feed_forward(cfg: LlamaConfig) -> nn.Module:
    if cfg.n_experts:
        return GatedExperts(
            cfg.d_model,
            cfg.d_ff,
            n_experts=cfg.n_experts,
            n_active=cfg.n_active,
            among_chosen=cfg.among_chosen,
            activation=cfg.activation,
        )
    kind = GatedFeedForward if cfg.gated else FeedForward
    return kind(cfg.d_model, cfg.d_ff, activation=cfg.activation, bias=cfg.ffn_bias)


class LlamaBlock(nn.Module):
    """x + sublayer(norm(x)), twice; or with norms behind, or both sub-layers reading x."""

    def __init__(self, cfg: LlamaConfig, *, unturned: bool = False) -> None:
        super().__init__()
        norm = partial(NORMS[cfg.norm], cfg.d_model, eps=cfg.eps)
        behind = cfg.block == "behind"
        self.block = cfg.block
        self.norm1 = nn.Identity() if behind else norm()
        self.norm2 = nn.Identity() if behind or cfg.block == "one norm" else norm()
        self.after1, self.after2 = (norm(), norm()) if behind else (None, None)
        self.self_attn = GroupedQueryAttention(
            cfg.d_model,
            cfg.n_heads,
            cfg.n_kv_heads,
            cfg.d_head,
            bias=cfg.qkv_bias,
            out_bias=cfg.out_bias,
            qk_norm=cfg.qk_norm,
            wide_norm=cfg.wide_norm,
            eps=cfg.eps,
            n_turned=0 if unturned else cfg.d_rotary or None,
            scale=cfg.scale or None,
        )
        self.ffn = _feed_forward(cfg)
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
        out = self.self_attn(y, allowed, turn, tap / "self_attn", store)
        if self.after1 is not None:
            out = tap("after1.out", self.after1(out), RESID)
        mid = tap("resid_mid", x + self.drop(out), RESID)
        read = {"parallel": x, "one norm": y}.get(self.block, mid)
        out = self.ffn(tap("norm2.out", self.norm2(read), RESID), tap / "ffn")
        if self.after2 is not None:
            out = tap("after2.out", self.after2(out), RESID)
        return tap("resid_out", mid + self.drop(out), RESID)


class Llama(nn.Module):
    """Token embeddings, causal blocks with rotary positions, a last norm, output scores of their own or from the token table.

    `forward` returns the hidden states that the output layer reads; row i of `logits` scores the token after position i. With
    a cache the batch has only the new positions.

    >>> net = Llama(LlamaConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: LlamaConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=cfg.scaled, scale=cfg.embed_scale)}
        )
        self.drop = dropout(cfg.dropout)
        self.layers = nn.ModuleList(LlamaBlock(cfg, unturned=i in cfg.unturned) for i in range(cfg.n_layers))
        self.final_norm = NORMS[cfg.norm](cfg.d_model, eps=cfg.eps)
        self.to_logits = None if cfg.tied or cfg.headless else Linear(cfg.d_model, cfg.n_vocab, bias=False)
        biased = cfg.logits_bias and not cfg.headless
        self.logits_bias = nn.Parameter(torch.zeros(1, cfg.n_vocab)) if biased else None
        self.output_scale = cfg.output_scale
        self.norms_behind = cfg.block == "behind"

    def new_cache(self) -> Cache:
        return Cache(self.cfg.n_layers)

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: Cache | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        past = cache.n_read if cache else 0
        n, device = batch.ids.shape[1], batch.ids.device
        allowed = masks.causal(n, past=past)
        if self.cfg.sliding_window:
            allowed = allowed.triu(past - self.cfg.sliding_window + 1)
        allowed = allowed.to(device)
        if not cache:
            allowed = allowed & masks.not_padding(batch.real)
        places = torch.arange(past, past + n, dtype=torch.float64, device=device)
        token = tap("embed.token", self.embed["token"](batch.ids), RESID)
        x = tap("embed.out", self.drop(token), RESID)
        cos, sin = waves(places[:, None] * rope_frequencies(self.cfg).to(device), x.dtype)
        by = Waves(cos * self.cfg.rope_size, sin * self.cfg.rope_size)
        for i, block in enumerate(self.layers):
            store = cache.self_attn[i] if cache else NO_STORE
            plain = i in self.cfg.unturned
            x = block(
                x,
                allowed,
                lambda each, plain=plain: each if plain else rotate_pairs(each, by),
                tap / f"layer.{i}",
                store,
            )
        return tap("final_norm.out", self.final_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        hidden = hidden if self.output_scale == 1.0 else hidden * self.output_scale
        found = self.embed["token"].scores(hidden) if self.to_logits is None else self.to_logits(hidden)
        found = found if self.logits_bias is None else found + self.logits_bias[0]
        return tap("logits", found, "batch pos vocab")


FAMILY = Family(
    name="llama",
    config=LlamaConfig,
    network=Llama,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
)
