"""The Transformer of Vaswani et al. 2017: an encoder reads, a decoder writes and looks across.

Post-norm is the paper's block, norm(x + sublayer(x)); pre-norm, x + sublayer(norm(x)) with a norm at the end of
each stack, trains more easily. Both are written out. Marian (Junczys-Dowmunt et al. 2018) is the paper's with its sines before its
cosines; BART (Lewis et al. 2020) has a learned table of positions and a norm behind the embeddings, one of each a side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.layers.block_sparse import BlockMask
from core.layers.cache import NO_STORE, Cache, Store
from core.layers.config_checks import check_flags, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.norm import LayerNorm
from core.layers.packed_attention import PackedAttention
from core.layers.positions import LearnedPositions, Sinusoidal
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"
POSITIONS = ("sinusoidal", "halves", "spread", "learned")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The shape; the defaults are the paper's base model. `n_layers` counts each stack, or the encoder where `n_decoder_layers` counts the decoder.

    `positions` are "sinusoidal", the same with all sines before all cosines ("halves"), these with the last frequency 1 / 10,000 ("spread", M2M100), or "learned", the first token reading
    the row `first_place`. `scaled`: tokens are multiplied by the root of the width; `embed_norm`: their sum with the position
    is normed; `output_bias`: there is a number for each word that its score gets.

    >>> TransformerConfig(positions="rotary")
    Traceback (most recent call last):
    ValueError: positions='rotary' is not one of sinusoidal, halves, spread, learned
    """

    least: ClassVar[Mapping[str, int]] = {"n_decoder_layers": 0}
    n_layers: int = 6
    n_heads: int = 8
    d_model: int = 512
    d_ff: int = 2048
    n_vocab: int = 37000
    n_ctx: int = 512
    activation: str = "relu"
    order: str = "post"
    eps: float = 1e-5
    dropout: float = 0.0
    n_decoder_layers: int = 0
    positions: str = "sinusoidal"
    first_place: int = 0
    scaled: bool = True
    embed_norm: bool = False
    output_bias: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        if self.positions not in POSITIONS:
            raise ValueError(f"positions={self.positions!r} is not one of {', '.join(POSITIONS)}")
        if self.positions == "spread" and (self.d_model % 2 or self.d_model < 4):
            raise ValueError(
                f"d_model={self.d_model} must be even and at least 4: half of it are sines, half cosines"
            )
        check_whole(self, first_place=0)
        check_flags(self, "scaled", "embed_norm", "output_bias")

    @property
    def decoder_layers(self) -> int:
        """Return the layers of the decoder: as many as the encoder's, if nothing else is given."""
        return self.n_decoder_layers or self.n_layers

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> TransformerConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17)


def _parts(
    cfg: Any, attention: type[PackedAttention] = PackedAttention
) -> tuple[PackedAttention, FeedForward]:
    return (
        attention(cfg.d_model, cfg.n_heads),
        FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation),
    )


class PostNormEncoderBlock(nn.Module):
    """Two sub-layers, each norm(x + sublayer(x)): the paper's, and BERT's (any config with these sizes will do)."""

    def __init__(self, cfg: Any, attention: type[PackedAttention] = PackedAttention) -> None:
        super().__init__()
        self.self_attn, self.ffn = _parts(cfg, attention)
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"] | BlockMask,
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(x, x, allowed, tap / "self_attn")), RESID)
        x = tap("norm1.out", self.norm1(x), RESID)
        x = x + self.drop(self.ffn(x, tap / "ffn"))
        return tap("resid_out", tap("norm2.out", self.norm2(x), RESID), RESID)


class PreNormEncoderBlock(nn.Module):
    """Two sub-layers, each x + sublayer(norm(x))."""

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.self_attn, self.ffn = _parts(cfg)
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.drop = dropout(cfg.dropout)

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], allowed: Bool[Tensor, "... #pos key"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(y, y, allowed, tap / "self_attn")), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


@dataclass(frozen=True)
class DecoderContext:
    """The inputs of a decoder block besides its own stream: the encoder's output and the two masks."""

    memory: Tensor
    causal: Tensor
    source_real: Tensor


class PostNormDecoderBlock(nn.Module):
    """Three sub-layers, each norm(x + sublayer(x)): masked self-attention, cross-attention, feed-forward."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.self_attn, self.ffn = _parts(cfg)
        self.cross_attn = PackedAttention(cfg.d_model, cfg.n_heads)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(3))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        to: DecoderContext,
        tap: Tap = OFF,
        store: Store = NO_STORE,
        cross: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(x, x, to.causal, tap / "self_attn", store)), RESID)
        x = tap("norm1.out", self.norm1(x), RESID)
        x = tap(
            "resid_cross",
            x + self.drop(self.cross_attn(x, to.memory, to.source_real, tap / "cross_attn", cross)),
            RESID,
        )
        x = tap("norm2.out", self.norm2(x), RESID)
        x = x + self.drop(self.ffn(x, tap / "ffn"))
        return tap("resid_out", tap("norm3.out", self.norm3(x), RESID), RESID)


class PreNormDecoderBlock(nn.Module):
    """Three sub-layers, each x + sublayer(norm(x))."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.self_attn, self.ffn = _parts(cfg)
        self.cross_attn = PackedAttention(cfg.d_model, cfg.n_heads)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(3))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        to: DecoderContext,
        tap: Tap = OFF,
        store: Store = NO_STORE,
        cross: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(y, y, to.causal, tap / "self_attn", store)), RESID)
        y = tap("norm2.out", self.norm2(x), RESID)
        x = tap(
            "resid_cross",
            x + self.drop(self.cross_attn(y, to.memory, to.source_real, tap / "cross_attn", cross)),
            RESID,
        )
        y = tap("norm3.out", self.norm3(x), RESID)
        return tap("resid_out", x + self.drop(self.ffn(y, tap / "ffn")), RESID)


ENCODER_BLOCKS = {"post": PostNormEncoderBlock, "pre": PreNormEncoderBlock}
DECODER_BLOCKS = {"post": PostNormDecoderBlock, "pre": PreNormDecoderBlock}


class Transformer(nn.Module):
    """Shared token table on both sides and at the output, sinusoidal positions (or learned ones, a table a side), two stacks.

    `encode` returns the memory; `forward` the decoder's hidden states for a batch with `source`; row i of `logits` scores the
    token after decoder input i. Padding of the source is masked in cross-attention; that of the target comes last and needs
    no mask. With a cache the batch has only the new target positions, and `memory` is the result of `encode`.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=cfg.scaled), **_placing(cfg)}
        )
        own = cfg.positions == "learned" or cfg.embed_norm
        self.source_embed: Any = nn.ModuleDict(_placing(cfg)) if own else None
        self.drop = dropout(cfg.dropout)
        self.encoder = nn.ModuleList(ENCODER_BLOCKS[cfg.order](cfg) for _ in range(cfg.n_layers))
        self.decoder = nn.ModuleList(DECODER_BLOCKS[cfg.order](cfg) for _ in range(cfg.decoder_layers))
        norms = (
            [LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2)] if cfg.order == "pre" else [None, None]
        )
        self.encoder_norm, self.decoder_norm = norms
        self.logits_bias = nn.Parameter(torch.zeros(1, cfg.n_vocab)) if cfg.output_bias else None

    def new_cache(self) -> Cache:
        return Cache(self.cfg.decoder_layers)

    def encode(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch key d_model"]:
        tap = tap / "encoder"
        x = self._embedded(batch.read(), 0, self.source_embed or self.embed, tap)
        allowed = masks.not_padding(batch.read_real())
        for i, block in enumerate(self.encoder):
            x = block(x, allowed, tap / f"layer.{i}")
        return x if self.encoder_norm is None else tap("final_norm.out", self.encoder_norm(x), RESID)

    def forward(
        self,
        batch: Batch,
        tap: Tap = OFF,
        cache: Cache | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        memory = self.encode(batch, tap) if memory is None else memory
        tap = tap / "decoder"
        past = cache.n_read if cache else 0
        causal = masks.causal(batch.ids.shape[1], past=past).to(batch.ids.device)
        if not cache:
            causal = causal & masks.not_padding(batch.real)
        to = DecoderContext(memory, causal, masks.not_padding(batch.read_real()))
        x = self._embedded(batch.ids, past, self.embed, tap)
        for i, block in enumerate(self.decoder):
            stores = (cache.self_attn[i], cache.cross_attn[i]) if cache else (NO_STORE, NO_STORE)
            x = block(x, to, tap / f"layer.{i}", *stores)
        return x if self.decoder_norm is None else tap("final_norm.out", self.decoder_norm(x), RESID)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        found = self.embed["token"].scores(hidden)
        found = found if self.logits_bias is None else found + self.logits_bias
        return tap("logits", found, "batch pos vocab")

    def _embedded(self, ids: Tensor, past: int, side: Any, tap: Tap) -> Tensor:
        token = tap("embed.token", self.embed["token"](ids), RESID)
        steps = self.cfg.first_place + torch.arange(past, past + ids.shape[1], device=ids.device)
        position = tap("embed.position", side["position"](steps), "pos d_model")
        total = token + position
        if self.cfg.embed_norm:
            total = side["norm"](tap("embed.sum", total, RESID))
        return tap("embed.out", self.drop(total), RESID)


def _placing(cfg: TransformerConfig) -> dict[str, nn.Module]:
    """Return the modules that embed positions: the position table and, if the config has one, the norm after it."""
    rows = cfg.first_place + cfg.n_ctx
    learned = cfg.positions == "learned"
    places: dict[str, nn.Module] = {
        "position": LearnedPositions(rows, cfg.d_model)
        if learned
        else Sinusoidal(rows, cfg.d_model, halves=cfg.positions == "halves", spread=cfg.positions == "spread")
    }
    return places | ({"norm": LayerNorm(cfg.d_model, eps=cfg.eps)} if cfg.embed_norm else {})


FAMILY = Family(
    name="transformer",
    config=TransformerConfig,
    network=Transformer,
    kinds=(
        Kind(name="self", stack="encoder.layer", queries="source", keys="source"),
        Kind(name="causal", stack="decoder.layer", depth="decoder_layers"),
        Kind(name="cross", stack="decoder.layer", leaf="cross_attn", keys="source", depth="decoder_layers"),
    ),
    stacks={"encoder": "encoder.layer", "decoder": "decoder.layer"},
    has_source=True,
)
