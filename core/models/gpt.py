"""GPT: a stack of decoder blocks without cross-attention, each position writing the next token.

Radford et al. 2018 (GPT-1, norm after the sum) and 2019 (GPT-2, norm before the sub-layer, one more at the end). A tuned
GPT has one more linear map, W_y, which reads the place where the text ends (2018, 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core import masks
from core.errors import InputError
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import check_flags, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.packed_attention import PackedAttention
from core.layers.positions import LearnedPositions
from core.models import Batch, Family, Kind, Output, next_word_output
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """The shape of a GPT; the defaults are GPT-2 small.

    The first token reads the row `first_place` of the table of positions (OPT). With `attention_only` a layer has no feed-forward network (Elhage et al. 2021), and d_ff no meaning. The head of
    fine-tuning is there when it is asked for. `headless`: there is no output layer, and nothing is written.

    >>> GPTConfig(d_model=10, n_heads=3)
    Traceback (most recent call last):
    ValueError: d_model=10 is not divisible by n_heads=3
    """

    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    n_vocab: int = 50257
    n_ctx: int = 1024
    activation: str = "gelu_tanh"
    order: str = "pre"
    eps: float = 1e-5
    dropout: float = 0.0
    first_place: int = 0
    attention_only: bool = False
    n_classes: int = 0
    headless: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        check_flags(self, "attention_only", "headless")
        check_whole(self, first_place=0)
        if type(self.n_classes) is not int or self.n_classes < 0:
            raise ValueError(f"n_classes={self.n_classes!r} must be a whole number, 0 for no such head")
        if self.attention_only and self.order != "pre":
            raise ValueError(f"attention_only=True goes with order='pre', not {self.order!r}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> GPTConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17)


class PreNormBlock(nn.Module):
    """x + sublayer(norm(x)), twice: GPT-2."""

    def __init__(self, cfg: GPTConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.self_attn = PackedAttention(cfg.d_model, cfg.n_heads)
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, "batch pos d_model")
        y = tap("norm1.out", self.norm1(x), "batch pos d_model")
        x = tap(
            "resid_mid",
            x + self.drop(self.self_attn(y, y, allowed, tap / "self_attn", store)),
            "batch pos d_model",
        )
        y = tap("norm2.out", self.norm2(x), "batch pos d_model")
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), "batch pos d_model")


class PostNormBlock(nn.Module):
    """norm(x + sublayer(x)), twice: GPT-1 and the Transformer of 2017."""

    def __init__(self, cfg: GPTConfig) -> None:
        super().__init__()
        self.self_attn = PackedAttention(cfg.d_model, cfg.n_heads)
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, "batch pos d_model")
        x = tap(
            "resid_mid",
            x + self.drop(self.self_attn(x, x, allowed, tap / "self_attn", store)),
            "batch pos d_model",
        )
        x = tap("norm1.out", self.norm1(x), "batch pos d_model")
        x = x + self.drop(self.ffn(x, tap / "ffn"))
        return tap("resid_out", tap("norm2.out", self.norm2(x), "batch pos d_model"), "batch pos d_model")


class AttentionBlock(nn.Module):
    """x + attention(norm(x)) and nothing else: small enough to see how two layers make an induction head."""

    def __init__(self, cfg: GPTConfig) -> None:
        super().__init__()
        self.norm1 = LayerNorm(cfg.d_model, eps=cfg.eps)
        self.self_attn = PackedAttention(cfg.d_model, cfg.n_heads)
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, "batch pos d_model")
        y = tap("norm1.out", self.norm1(x), "batch pos d_model")
        x = tap(
            "resid_mid",
            x + self.drop(self.self_attn(y, y, allowed, tap / "self_attn", store)),
            "batch pos d_model",
        )
        return tap("resid_out", x, "batch pos d_model")


BLOCKS = {"pre": PreNormBlock, "post": PostNormBlock}


class GPT(nn.Module):
    """Token + learned position embeddings, causal blocks, output scores from the token table (tied).

    `forward` returns the hidden states that the output layer reads, after the final norm where there is one; row i of
    `logits` scores the token after position i. In a fine-tuned network `classes` are the scores of its head at each
    position; it was trained at the last. With a cache the batch has only the new positions.

    >>> net = GPT(GPTConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: GPTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {
                "token": TokenEmbedding(cfg.n_vocab, cfg.d_model),
                "position": LearnedPositions(cfg.first_place + cfg.n_ctx, cfg.d_model),
            }
        )
        self.drop = dropout(cfg.dropout)
        block = AttentionBlock if cfg.attention_only else BLOCKS[cfg.order]
        self.layers = nn.ModuleList(block(cfg) for _ in range(cfg.n_layers))
        self.final_norm = LayerNorm(cfg.d_model, eps=cfg.eps) if cfg.order == "pre" else None
        self.to_classes = Linear(cfg.d_model, cfg.n_classes) if cfg.n_classes else None

    def new_cache(self) -> Cache:
        return Cache(self.cfg.n_layers)

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: Cache | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        past = cache.n_read if cache else 0
        n = batch.ids.shape[1]
        allowed = masks.causal(n, past=past).to(batch.ids.device)
        if not cache:
            allowed = allowed & masks.not_padding(batch.real)
        token = tap("embed.token", self.embed["token"](batch.ids), "batch pos d_model")
        places = self.cfg.first_place + torch.arange(past, past + n, device=batch.ids.device)
        position = tap("embed.position", self.embed["position"](places), "pos d_model")
        x = tap("embed.out", self.drop(token + position), "batch pos d_model")
        for i, block in enumerate(self.layers):
            x = block(x, allowed, tap / f"layer.{i}", cache.self_attn[i] if cache else NO_STORE)
        return (
            x if self.final_norm is None else tap("final_norm.out", self.final_norm(x), "batch pos d_model")
        )

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["token"].scores(hidden), "batch pos vocab")

    def classes(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch *pos class"]:
        if self.to_classes is None:
            raise InputError(
                "This checkpoint has no head for classes.",
                "It was saved without it, and none is invented.",
                "Use a model that was tuned for classification.",
            )
        return tap("classes", self.to_classes(hidden), "batch pos class")


def _outputs(cfg: GPTConfig) -> Mapping[str, Output]:
    return {**next_word_output(cfg), **({"classes": Output(("classes",))} if cfg.n_classes else {})}


FAMILY = Family(
    name="gpt",
    config=GPTConfig,
    network=GPT,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
    outputs=_outputs,
)
