"""DeBERTa: BERT's post-norm encoder whose scores are a sum: of content with content, and of content with places both ways.

He et al. 2021 (section 3.1), in the form of its second and third version: places fall into buckets, and mostly pass the maps
of the tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.config_checks import check_flags, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.norm import LayerNorm
from core.layers.positions import LearnedPositions
from core.layers.relative_attention import DisentangledAttention, log_buckets
from core.models import Batch, Family, Kind, Output
from core.models.bert import MaskedLM, Reader
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"
FLAGS = ("to_place", "from_place", "shared", "places_normed", "absolute", "masked_lm")


@dataclass(frozen=True, kw_only=True)
class DebertaConfig:
    """The shape; the defaults are DeBERTa v3 base.

    Distances up to `furthest` are distinct, one by one, or where there are `n_buckets` in so many either way. `to_place`:
    what a query says to places; `from_place`: what places say to keys; `shared`: places pass the tokens' maps;
    `places_normed`: they are normed before. `absolute`: a vector for each position is added to the tokens too.

    >>> DebertaConfig(to_place=False, from_place=False)
    Traceback (most recent call last):
    ValueError: to_place=False and from_place=False: without either this is a BERT
    """

    least: ClassVar[Mapping[str, int]] = {"n_segments": 0}
    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    n_vocab: int = 128100
    n_ctx: int = 512
    n_segments: int = 0
    furthest: int = 512
    n_buckets: int = 256
    to_place: bool = True
    from_place: bool = True
    shared: bool = True
    places_normed: bool = True
    absolute: bool = False
    activation: str = "gelu"
    eps: float = 1e-7
    dropout: float = 0.0
    masked_lm: bool = True

    def __post_init__(self) -> None:
        check_shape(self)
        check_whole(self, furthest=2, n_buckets=0)
        if self.n_buckets and (
            self.n_buckets < 4 or self.n_buckets % 2 or self.furthest - 1 <= self.n_buckets // 2
        ):
            raise ValueError(
                Phrase(
                    "{given} must be 0, or even, at least 4 and below twice {other} less 1",
                    given=f"n_buckets={self.n_buckets}",
                    other=f"furthest={self.furthest}",
                )
            )
        check_flags(self, *FLAGS)
        if not (self.to_place or self.from_place):
            raise ValueError("to_place=False and from_place=False: without either this is a BERT")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def reach(self) -> int:
        """Return how many rows there are for distances to either side."""
        return self.n_buckets or self.furthest

    @classmethod
    def tiny(cls) -> DebertaConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17, furthest=16, n_buckets=4)


class DebertaBlock(nn.Module):
    """Two sub-layers, each norm(x + sublayer(x))."""

    def __init__(self, cfg: DebertaConfig) -> None:
        super().__init__()
        self.self_attn = DisentangledAttention(
            cfg.d_model, cfg.n_heads, to_place=cfg.to_place, from_place=cfg.from_place, shared=cfg.shared
        )
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        places: Float[Tensor, "distance d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(x, places, allowed, tap / "self_attn")), RESID)
        x = tap("norm1.out", self.norm1(x), RESID)
        x = x + self.drop(self.ffn(x, tap / "ffn"))
        return tap("resid_out", tap("norm2.out", self.norm2(x), RESID), RESID)


class Deberta(Reader):
    """Token embeddings (and segments and positions, where there are any), normed; blocks that share a vector for each distance.

    `forward` returns the last layer's output; `logits`, row i scores the word at position i.

    >>> net = Deberta(DebertaConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: DebertaConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        if cfg.n_segments:
            self.embed["segment"] = TokenEmbedding(cfg.n_segments, cfg.d_model)
        if cfg.absolute:
            self.embed["position"] = LearnedPositions(cfg.n_ctx, cfg.d_model)
        self.embed["norm"] = LayerNorm(cfg.d_model, eps=cfg.eps)
        self.drop = dropout(cfg.dropout)
        self.distance = LearnedPositions(2 * cfg.reach, cfg.d_model)
        self.distance_norm = LayerNorm(cfg.d_model, eps=cfg.eps) if cfg.places_normed else nn.Identity()
        self.layers = nn.ModuleList(DebertaBlock(cfg) for _ in range(cfg.n_layers))
        self.masked_lm = MaskedLM(cfg, cfg.d_model) if cfg.masked_lm else None
        self.pooler = None

    def places(self, n: int) -> Float[Tensor, "distance d_model"]:
        """Return the vectors of the distances 1 - n to n - 1, query minus key."""
        away = torch.arange(1 - n, n, device=self.distance.weight.device)
        if self.cfg.n_buckets:
            away = log_buckets(away, n=self.cfg.n_buckets, furthest=self.cfg.furthest)
        reach = self.cfg.reach
        return self.distance_norm(self.distance((away + reach).clamp(0, 2 * reach - 1)))

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        n = batch.ids.shape[1]
        total = tap("embed.token", self.embed["token"](batch.ids), RESID)
        if self.cfg.n_segments:
            segments = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments
            total = total + tap("embed.segment", self.embed["segment"](segments), RESID)
        if self.cfg.absolute:
            at = torch.arange(n, device=batch.ids.device)
            total = total + tap("embed.position", self.embed["position"](at), "pos d_model")
        total = tap("embed.sum", total, RESID)
        x = tap("embed.out", self.drop(self.embed["norm"](total)), RESID)
        allowed, places = masks.not_padding(batch.real), self.places(n)
        for i, block in enumerate(self.layers):
            x = block(x, places, allowed, tap / f"layer.{i}")
        return x


def _outputs(cfg: DebertaConfig) -> Mapping[str, Output]:
    paths = ("masked_lm.pre", "masked_lm.act", "masked_lm.norm.out", "logits")
    return {"logits": Output(paths)} if cfg.masked_lm else {}


FAMILY = Family(
    name="deberta",
    config=DebertaConfig,
    network=Deberta,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=_outputs,
    framed=True,
)
