"""gpt-oss: Llama's blocks with a learned sink in each head, every second layer through a window, and experts in the place of one feed-forward network.

OpenAI 2025; positions are stretched by YaRN (Peng et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
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
    check_shape,
    check_whole,
)
from core.layers.embedding import TokenEmbedding
from core.layers.experts import Experts
from core.layers.grouped_attention import GroupedQueryAttention, Turn
from core.layers.linear import Linear
from core.layers.norm import RMSNorm
from core.layers.positions import rotate_pairs, yarn
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class GptOssConfig:
    """The shape; the defaults are gpt-oss-20b. A query of the layers in `local` sees `window` tokens, itself included.

    `n_active` of the `n_experts` compute each token. Positions are stretched by `rope_factor` from `rope_original` on (1: not): see `core.layers.positions.yarn`.
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 24
    n_heads: int = 64
    n_kv_heads: int = 8
    d_model: int = 2880
    d_head: int = 64
    d_ff: int = 2880
    n_vocab: int = 201088
    n_ctx: int = 131072
    window: int = 128
    local: tuple[int, ...] = tuple(range(0, 24, 2))
    n_experts: int = 32
    n_active: int = 4
    eps: float = 1e-5
    tied: bool = False
    rope_base: float = 150000.0
    rope_factor: float = 32.0
    rope_original: int = 4096
    rope_fast: float = 32.0
    rope_slow: float = 1.0
    headless: bool = False
    activation: ClassVar[str] = "silu"

    def __post_init__(self) -> None:
        check_shape(self)
        check_whole(self, n_kv_heads=1, d_head=2, n_experts=1, n_active=1, rope_original=1)
        check_groups(self)
        if self.n_active > self.n_experts:
            raise ValueError(
                Phrase(MORE_THAN, given=f"n_active={self.n_active}", other=f"n_experts={self.n_experts}")
            )
        for name, least in (("rope_base", 1), ("rope_factor", 1), ("rope_fast", 0), ("rope_slow", 0)):
            value = getattr(self, name)
            if (
                type(value) not in (int, float)
                or not least <= value < 1e12
                or value in (0, *([1] if name == "rope_base" else []))
            ):
                raise ValueError(
                    Phrase("{given} must be a number above {least}", given=f"{name}={value!r}", least=least)
                )
        check_flags(self, "tied", "headless")
        object.__setattr__(self, "local", check_layers(self, "local"))

    @classmethod
    def tiny(cls) -> GptOssConfig:
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
            n_experts=5,
            n_active=2,
            rope_original=4,
        )


class GptOssBlock(nn.Module):
    """x + sublayer(norm(x)), twice."""

    def __init__(self, cfg: GptOssConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = (RMSNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.self_attn = GroupedQueryAttention(
            cfg.d_model, cfg.n_heads, cfg.n_kv_heads, cfg.d_head, bias=True, out_bias=True, sinks=True
        )
        self.ffn = Experts(cfg.d_model, cfg.d_ff, n_experts=cfg.n_experts, n_active=cfg.n_active)

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
        x = tap("resid_mid", x + self.self_attn(y, allowed, turn, tap / "self_attn", store), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        return tap("resid_out", x + self.ffn(y, tap / "ffn"), RESID)


class GptOss(nn.Module):
    """Token embeddings, causal blocks with and without a window, a last norm, output scores of their own or from the token table.

    `forward` returns the hidden states that the output layer reads; row i of `logits` scores the token after position i. With
    a cache the batch has only the new positions.

    >>> net = GptOss(GptOssConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: GptOssConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        self.layers = nn.ModuleList(GptOssBlock(cfg) for _ in range(cfg.n_layers))
        self.final_norm = RMSNorm(cfg.d_model, eps=cfg.eps)
        self.to_logits = None if cfg.tied or cfg.headless else Linear(cfg.d_model, cfg.n_vocab, bias=False)

    def new_cache(self) -> Cache:
        return Cache(self.cfg.n_layers)

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: Cache | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        past, cfg = cache.n_read if cache else 0, self.cfg
        n, device = batch.ids.shape[1], batch.ids.device
        everywhere = masks.causal(n, past=past).to(device)
        through = everywhere.triu(past - cfg.window + 1)
        if not cache:
            real = masks.not_padding(batch.real)
            everywhere, through = everywhere & real, through & real
        places = torch.arange(past, past + n, dtype=torch.float64, device=device)
        x = tap("embed.token", self.embed["token"](batch.ids), RESID)
        x = tap("embed.out", x, RESID)
        by = yarn(
            places,
            cfg.d_head,
            cfg.rope_base,
            cfg.rope_factor,
            cfg.rope_original,
            (cfg.rope_fast, cfg.rope_slow),
        )
        for i, block in enumerate(self.layers):
            store = cache.self_attn[i] if cache else NO_STORE
            allowed = through if i in cfg.local else everywhere
            x = block(x, allowed, lambda each: rotate_pairs(each, by), tap / f"layer.{i}", store)
        return tap("final_norm.out", self.final_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        found = self.embed["token"].scores(hidden) if self.to_logits is None else self.to_logits(hidden)
        return tap("logits", found, "batch pos vocab")


FAMILY = Family(
    name="gpt_oss",
    config=GptOssConfig,
    network=GptOss,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
)
