"""GPT-Neo: GPT-2's blocks with scores that are not divided, of which some layers look through a window.

Black et al. 2021; the TinyStories models (Eldan and Li 2023) are of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import check_flags, check_layers, check_shape
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.norm import LayerNorm
from core.layers.positions import LearnedPositions
from core.layers.relative_attention import RelativeAttention
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class GPTNeoConfig:
    """The shape; the defaults are GPT-Neo 125M. A query of the layers in `local` sees `window` tokens, itself included.

    >>> GPTNeoConfig(local=(12,))
    Traceback (most recent call last):
    ValueError: local=(12,) must be numbers of layers below n_layers=12, each once and in order
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    n_vocab: int = 50257
    n_ctx: int = 2048
    window: int = 256
    local: tuple[int, ...] = (1, 3, 5, 7, 9, 11)
    activation: str = "gelu_tanh"
    eps: float = 1e-5
    dropout: float = 0.0
    headless: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        check_flags(self, "headless")
        object.__setattr__(self, "local", check_layers(self, "local"))

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> GPTNeoConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17, window=3, local=(1,))


class GPTNeoBlock(nn.Module):
    """x + sublayer(norm(x)), twice."""

    def __init__(self, cfg: GPTNeoConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.self_attn = RelativeAttention(cfg.d_model, cfg.n_heads, cfg.d_head, scaled=False, out_bias=True)
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        seen = self.self_attn(y, y, allowed, None, tap / "self_attn", store)
        x = tap("resid_mid", x + self.drop(seen), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


class GPTNeo(nn.Module):
    """Token + learned position embeddings, causal blocks with and without a window, output scores from the token table (tied).

    `forward` returns the hidden states that the output layer reads; row i of `logits` scores the token after position i. With
    a cache the batch has only the new positions.

    >>> net = GPTNeo(GPTNeoConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: GPTNeoConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {
                "token": TokenEmbedding(cfg.n_vocab, cfg.d_model),
                "position": LearnedPositions(cfg.n_ctx, cfg.d_model),
            }
        )
        self.drop = dropout(cfg.dropout)
        self.layers = nn.ModuleList(GPTNeoBlock(cfg) for _ in range(cfg.n_layers))
        self.final_norm = LayerNorm(cfg.d_model, eps=cfg.eps)

    def new_cache(self) -> Cache:
        return Cache(self.cfg.n_layers)

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: Cache | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        past = cache.n_read if cache else 0
        n, device = batch.ids.shape[1], batch.ids.device
        everywhere = masks.causal(n, past=past).to(device)
        through = everywhere.triu(past - self.cfg.window + 1)
        if not cache:
            real = masks.not_padding(batch.real)
            everywhere, through = everywhere & real, through & real
        token = tap("embed.token", self.embed["token"](batch.ids), RESID)
        places = torch.arange(past, past + n, device=device)
        position = tap("embed.position", self.embed["position"](places), "pos d_model")
        x = tap("embed.out", self.drop(token + position), RESID)
        for i, block in enumerate(self.layers):
            store = cache.self_attn[i] if cache else NO_STORE
            x = block(x, through if i in self.cfg.local else everywhere, tap / f"layer.{i}", store)
        return tap("final_norm.out", self.final_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["token"].scores(hidden), "batch pos vocab")


FAMILY = Family(
    name="gpt_neo",
    config=GPTNeoConfig,
    network=GPTNeo,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
)
