"""T5: an encoder and a decoder without positions of their own: what tells them is added to the scores, by distance.

Raffel et al. 2020; Flan-T5 (Chung et al. 2022) has a gated feed-forward and an output layer of its own. Scores are not
divided, norms are root-mean-square ones, no map has a bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import check_flags, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward, GatedFeedForward
from core.layers.linear import Linear
from core.layers.norm import RMSNorm
from core.layers.relative_attention import RelativeAttention, RelativeBias
from core.layers.score_terms import DISTANCE, Term
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class T5Config:
    """The shape; the defaults are T5 small. `n_layers` counts each stack, or the encoder where `n_decoder_layers` counts the decoder.

    `n_buckets` and `furthest`: see `core.layers.relative_attention.buckets`. `gated`: the feed-forward has a gate. `tied`: the
    output layer reads the table of tokens; `scaled_output`: what it reads is divided by the root of the width.

    >>> T5Config(n_buckets=3)
    Traceback (most recent call last):
    ValueError: n_buckets=3 must be an even number of at least 4
    """

    order: ClassVar[str] = "pre"
    least: ClassVar[Mapping[str, int]] = {"n_decoder_layers": 0}
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
    n_decoder_layers: int = 0
    tied: bool = True
    scaled_output: bool = True

    def __post_init__(self) -> None:
        check_shape(self)
        check_whole(self, d_head=1)
        check_distances(self)
        check_flags(self, "gated", "tied", "scaled_output")

    @property
    def decoder_layers(self) -> int:
        """Return the layers of the decoder: as many as the encoder's, if nothing else is given."""
        return self.n_decoder_layers or self.n_layers

    @classmethod
    def tiny(cls) -> T5Config:
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


def check_distances(cfg: Any) -> None:
    """Raise a ValueError for buckets of distances that do not fit."""
    if type(cfg.n_buckets) is not int or cfg.n_buckets < 4 or cfg.n_buckets % 2:
        raise ValueError(
            Phrase("{given} must be an even number of at least 4", given=f"n_buckets={cfg.n_buckets!r}")
        )
    if type(cfg.furthest) is not int or cfg.furthest <= cfg.n_buckets // 2:
        raise ValueError(
            Phrase(
                "{given} must be larger than half of {other}",
                given=f"furthest={cfg.furthest!r}",
                other=f"n_buckets={cfg.n_buckets}",
            )
        )


def _attention(cfg: Any, addition: Term | None = None) -> RelativeAttention:
    return RelativeAttention(cfg.d_model, cfg.n_heads, cfg.d_head, scaled=False, addition=addition)


def _feed_forward(cfg: Any) -> nn.Module:
    if cfg.gated:
        return GatedFeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
    return FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation, bias=False)


class T5EncoderBlock(nn.Module):
    """Two sub-layers, each x + sublayer(norm(x))."""

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.self_attn, self.ffn = _attention(cfg, DISTANCE), _feed_forward(cfg)
        self.norm1, self.norm2 = (RMSNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        bias: Float[Tensor, "... #pos key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(y, y, allowed, bias, tap / "self_attn")), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


@dataclass(frozen=True)
class T5Context:
    """The inputs of a decoder block besides its own stream: the encoder's output, the two masks, the bias of its stack."""

    memory: Tensor
    causal: Tensor
    source_real: Tensor
    bias: Tensor


class T5DecoderBlock(nn.Module):
    """Three sub-layers, each x + sublayer(norm(x)); what looks across has no bias."""

    def __init__(self, cfg: T5Config) -> None:
        super().__init__()
        self.self_attn, self.cross_attn = _attention(cfg, DISTANCE), _attention(cfg)
        self.ffn = _feed_forward(cfg)
        self.norm1, self.norm2, self.norm3 = (RMSNorm(cfg.d_model, eps=cfg.eps) for _ in range(3))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        to: T5Context,
        tap: Tap = OFF,
        store: Store = NO_STORE,
        cross: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        seen = self.self_attn(y, y, to.causal, to.bias, tap / "self_attn", store)
        x = tap("resid_mid", x + self.drop(seen), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        seen = self.cross_attn(y, to.memory, to.source_real, None, tap / "cross_attn", cross)
        x = tap("resid_cross", x + self.drop(seen), RESID)
        y = tap("norm3.out", self.norm3(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


class T5(nn.Module):
    """One token table for both sides, two stacks with a table of biases each, output scores from the table or of their own.

    `encode` returns the memory; `forward` the decoder's hidden states for a batch with `source`; row i of
    `logits` scores the token after decoder input i. With a cache the batch has only the new target
    positions and `memory` is the result of `encode`.

    >>> import torch
    >>> net, ids = T5(T5Config.tiny()), torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0, source=ids))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: T5Config) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        self.drop = dropout(cfg.dropout)
        self.encoder_bias, self.decoder_bias = (
            RelativeBias(cfg.n_buckets, cfg.n_heads, both=both, furthest=cfg.furthest)
            for both in (True, False)
        )
        self.encoder = nn.ModuleList(T5EncoderBlock(cfg) for _ in range(cfg.n_layers))
        self.decoder = nn.ModuleList(T5DecoderBlock(cfg) for _ in range(cfg.decoder_layers))
        self.encoder_norm, self.decoder_norm = (RMSNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.to_logits = None if cfg.tied else Linear(cfg.d_model, cfg.n_vocab, bias=False)
        self.output_scale = cfg.d_model**-0.5 if cfg.scaled_output else 1.0

    @property
    def biases(self) -> Mapping[str, RelativeBias]:
        """Return the table of each kind of attention that has one."""
        return {"self": self.encoder_bias, "causal": self.decoder_bias}

    def new_cache(self) -> Cache:
        return Cache(self.cfg.decoder_layers)

    def encode(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch key d_model"]:
        tap, ids = tap / "encoder", batch.read()
        x = self._embedded(ids, tap)
        allowed, bias = masks.not_padding(batch.read_real()), self.encoder_bias(ids.shape[1], ids.shape[1])
        for i, block in enumerate(self.encoder):
            x = block(x, allowed, bias, tap / f"layer.{i}")
        return tap("final_norm.out", self.encoder_norm(x), RESID)

    def forward(
        self,
        batch: Batch,
        tap: Tap = OFF,
        cache: Cache | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        memory = self.encode(batch, tap) if memory is None else memory
        tap, n = tap / "decoder", batch.ids.shape[1]
        past = cache.n_read if cache else 0
        causal = masks.causal(n, past=past).to(batch.ids.device)
        if not cache:
            causal = causal & masks.not_padding(batch.real)
        bias = self.decoder_bias(n, past + n)
        to = T5Context(memory, causal, masks.not_padding(batch.read_real()), bias)
        x = self._embedded(batch.ids, tap)
        for i, block in enumerate(self.decoder):
            stores = (cache.self_attn[i], cache.cross_attn[i]) if cache else (NO_STORE, NO_STORE)
            x = block(x, to, tap / f"layer.{i}", *stores)
        return tap("final_norm.out", self.decoder_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        hidden = hidden * self.output_scale
        found = self.embed["token"].scores(hidden) if self.to_logits is None else self.to_logits(hidden)
        return tap("logits", found, "batch pos vocab")

    def _embedded(self, ids: Tensor, tap: Tap) -> Tensor:
        return tap("embed.out", self.drop(tap("embed.token", self.embed["token"](ids), RESID)), RESID)


FAMILY = Family(
    name="t5",
    config=T5Config,
    network=T5,
    kinds=(
        Kind(name="self", stack="encoder.layer", queries="source", keys="source"),
        Kind(name="causal", stack="decoder.layer", depth="decoder_layers"),
        Kind(name="cross", stack="decoder.layer", leaf="cross_attn", keys="source", depth="decoder_layers"),
    ),
    stacks={"encoder": "encoder.layer", "decoder": "decoder.layer"},
    has_source=True,
)
