"""GPT-NeoX and Pythia: causal blocks whose attention and feed-forward read the same stream, with partly rotary positions.

Black et al. 2022; Biderman et al. 2023. Only the first features of each query and key are rotated by their position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import check_flags, check_positive, check_shape
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.grouped_attention import GroupedQueryAttention, Turn
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.positions import frequencies, rotate_pairs, waves
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class NeoXConfig:
    """The shape; the defaults are Pythia 160M.

    `d_rotary` is how many features of a head are rotated. `parallel`: attention and feed-forward read the same stream and are
    added together; otherwise one reads after the other, as in GPT-2. `bias`: the four maps of the attention have one.

    >>> NeoXConfig(d_rotary=15)
    Traceback (most recent call last):
    ValueError: d_rotary=15 must be an even number from 2 to d_head=64: rotary positions turn pairs of features
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    n_vocab: int = 50304
    n_ctx: int = 2048
    activation: str = "gelu"
    eps: float = 1e-5
    dropout: float = 0.0
    d_rotary: int = 16
    rope_base: float = 10000.0
    parallel: bool = True
    bias: bool = True
    tied: bool = False
    headless: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        if type(self.d_rotary) is not int or self.d_rotary % 2 or not 2 <= self.d_rotary <= self.d_head:
            raise ValueError(
                Phrase(
                    "{given} must be an even number from 2 to {other}: rotary positions turn pairs of features",
                    given=f"d_rotary={self.d_rotary!r}",
                    other=f"d_head={self.d_head}",
                )
            )
        check_positive("rope_base", self.rope_base)
        check_flags(self, "parallel", "bias", "tied", "headless")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> NeoXConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17, d_rotary=4)


class NeoXBlock(nn.Module):
    """x + attention(norm1(x)) + ffn(norm2(x)); where it is not parallel the second norm reads what the first sum gave."""

    def __init__(self, cfg: NeoXConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.self_attn = GroupedQueryAttention(
            cfg.d_model,
            cfg.n_heads,
            cfg.n_heads,
            cfg.d_head,
            bias=cfg.bias,
            out_bias=cfg.bias,
            n_turned=cfg.d_rotary,
        )
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.drop = dropout(cfg.dropout)
        self.parallel = cfg.parallel

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
        mid = tap(
            "resid_mid", x + self.drop(self.self_attn(y, allowed, turn, tap / "self_attn", store)), RESID
        )
        y = tap("norm2.out", self.norm2(x if self.parallel else mid), RESID)
        return tap("resid_out", mid + self.drop(self.ffn(y, tap / "ffn")), RESID)


class NeoX(nn.Module):
    """Token embeddings, blocks with partly rotary positions, a last norm, output scores of their own or from the token table.

    `forward` returns the hidden states that the output layer reads; row i of `logits` scores the token after position i. With
    a cache the batch has only the new positions.

    >>> net = NeoX(NeoXConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: NeoXConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        self.drop = dropout(cfg.dropout)
        self.layers = nn.ModuleList(NeoXBlock(cfg) for _ in range(cfg.n_layers))
        self.final_norm = LayerNorm(cfg.d_model, eps=cfg.eps)
        self.to_logits = None if cfg.tied or cfg.headless else Linear(cfg.d_model, cfg.n_vocab, bias=False)

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
        w = frequencies(self.cfg.d_rotary, self.cfg.rope_base)[::2].to(device)
        angle = torch.arange(past, past + n, dtype=torch.float64, device=device)[:, None] * w
        token = tap("embed.token", self.embed["token"](batch.ids), RESID)
        x = tap("embed.out", self.drop(token), RESID)
        by = waves(angle, x.dtype)
        for i, block in enumerate(self.layers):
            store = cache.self_attn[i] if cache else NO_STORE
            x = block(x, allowed, lambda each: rotate_pairs(each, by), tap / f"layer.{i}", store)
        return tap("final_norm.out", self.final_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        found = self.embed["token"].scores(hidden) if self.to_logits is None else self.to_logits(hidden)
        return tap("logits", found, "batch pos vocab")


FAMILY = Family(
    name="neox",
    config=NeoXConfig,
    network=NeoX,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
)
