"""ModernBERT: a pre-norm encoder with rotary positions and a gated feed-forward network, most layers of which look near by.

Warner et al. 2024. Layers that look everywhere are rotated by another base than the others; there are no segments, and no
biases but that of the words. Other encoders of this time differ in single places, each an option here: nomic-bert (Nussbaum et al. 2024) has
BERT's norms and segments, jina v2 (Günther et al. 2023) scores that fall with the distance both ways in the place of rotated queries and keys,
ESM-2 (Lin et al. 2023) reads amino acids, with biases and a feed-forward network of two maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.config_checks import check_flags, check_layers, check_positive, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward, GatedFeedForward
from core.layers.grouped_attention import GroupedQueryAttention, Turn
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.positions import Alibi, LearnedPositions, frequencies, position_rows, rotate_pairs, waves
from core.layers.relative_attention import RelativeAttention
from core.layers.score_terms import ALIBI
from core.models import Batch, Family, Kind, Output
from core.models.bert import MaskedLM, Reader
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"
CHOICES: Mapping[str, tuple[str, ...]] = {
    "block": ("before", "behind"),
    "biases": ("none", "norms", "all"),
    "places": ("turned", "alibi", "learned"),
}
HIDDEN = 0.15 * 0.8
"""The share of the tokens whose vectors were 0 in the training of an ESM."""


@dataclass(frozen=True, kw_only=True)
class ModernBERTConfig:
    """The shape; the defaults are ModernBERT base. A token of the layers in `local` sees `reach` tokens on each side.

    Queries and keys are rotated by the base `rope_base`, in the layers in `local` by `rope_local_base`; or, with other `places`, a fixed number
    for each token of distance is taken off a score ("alibi"), or there is a table of vectors ("learned"), whose row `first_place` is that of the first token.
    `block`: norms stand "before" the sub-layers, the first of them only where there is a `first_norm`, or "behind". `biases` have "none", the "norms", or "all": then of
    a gated network the last map. With a `blank`, the id of the token for a blank, its vector is 0 and all others grow (ESM).

    >>> ModernBERTConfig(reach=0)
    Traceback (most recent call last):
    ValueError: reach=0 must be a whole number of at least 1
    """

    least: ClassVar[Mapping[str, int]] = {"n_segments": 0}
    n_layers: int = 22
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 1152
    n_vocab: int = 50368
    n_ctx: int = 8192
    n_segments: int = 0
    reach: int = 64
    local: tuple[int, ...] = tuple(i for i in range(22) if i % 3)
    activation: str = "gelu"
    eps: float = 1e-5
    dropout: float = 0.0
    rope_base: float = 160000.0
    rope_local_base: float = 10000.0
    block: str = "before"
    first_norm: bool = False
    embed_norm: bool = True
    gated: bool = True
    biases: str = "none"
    places: str = "turned"
    first_place: int = 0
    blank: int = -1
    masked_lm: bool = True
    pooler: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        object.__setattr__(self, "local", check_layers(self, "local"))
        check_whole(self, reach=1, first_place=0, blank=-1)
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {', '.join(known)}")
        if self.places == "turned" and self.d_head % 2:
            raise ValueError(
                Phrase(
                    "{given} makes {other}, which must be even: rotary positions turn pairs",
                    given=f"n_heads={self.n_heads}",
                    other=f"d_head={self.d_head}",
                )
            )
        for name in ("rope_base", "rope_local_base"):
            check_positive(name, getattr(self, name))
        check_flags(self, "masked_lm", "pooler", "first_norm", "embed_norm", "gated")

    @property
    def order(self) -> str:
        """Return the position of the norms, in the words of other families."""
        return "pre" if self.block == "before" else "post"

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
    """x + sublayer(norm(x)), twice, of which the first block may read what was normed already; or norm(x + sublayer(x)), twice."""

    def __init__(self, cfg: ModernBERTConfig, *, normed: bool) -> None:
        super().__init__()
        biased = cfg.biases == "all"
        norm = partial(LayerNorm, cfg.d_model, eps=cfg.eps, bias=cfg.biases != "none")
        self.before = cfg.block == "before"
        self.norm1, self.norm2 = nn.Identity() if normed else norm(), norm()
        self.self_attn = (
            RelativeAttention(
                cfg.d_model, cfg.n_heads, cfg.d_head, bias=biased, out_bias=biased, addition=ALIBI
            )
            if cfg.places == "alibi"
            else GroupedQueryAttention(
                *(cfg.d_model, cfg.n_heads, cfg.n_heads, cfg.d_head),
                bias=biased,
                out_bias=biased,
                n_turned=None if cfg.places == "turned" else 0,
            )
        )
        self.ffn = (
            GatedFeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation, out_bias=biased)
            if cfg.gated
            else FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation, bias=biased)
        )
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        by: Turn | Float[Tensor, "... #pos key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the stream after the block; `by` rotates queries and keys, or is a bias that is added to the scores."""
        x = tap("resid_in", x, RESID)
        y = tap("norm1.out", self.norm1(x), RESID) if self.before else x
        sides = (y, y) if isinstance(by, Tensor) else (y,)
        x = tap("resid_mid", x + self.drop(self.self_attn(*sides, allowed, by, tap / "self_attn")), RESID)
        x = x if self.before else tap("norm1.out", self.norm1(x), RESID)
        y = tap("norm2.out", self.norm2(x), RESID) if self.before else x
        x = x + self.drop(self.ffn(y, tap / "ffn"))
        return tap("resid_out", x if self.before else tap("norm2.out", self.norm2(x), RESID), RESID)


class ModernBERT(Reader):
    """Token embeddings, normed; pre-norm blocks that look everywhere or near by; a last norm; a head for hidden words.

    `forward` returns what the head reads; row i of `logits` scores the word at position i.

    >>> net = ModernBERT(ModernBERTConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: ModernBERTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        biased = cfg.biases != "none"
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        if cfg.n_segments:
            self.embed["segment"] = TokenEmbedding(cfg.n_segments, cfg.d_model)
        if cfg.places == "learned":
            self.embed["position"] = LearnedPositions(cfg.first_place + cfg.n_ctx, cfg.d_model)
        if cfg.embed_norm:
            self.embed["norm"] = LayerNorm(cfg.d_model, eps=cfg.eps, bias=biased)
        self.alibi = Alibi(cfg.n_heads, both=True) if cfg.places == "alibi" else None
        self.drop = dropout(cfg.dropout)
        before = cfg.block == "before"
        self.layers = nn.ModuleList(
            ModernBERTBlock(cfg, normed=i == 0 and before and not cfg.first_norm) for i in range(cfg.n_layers)
        )
        self.final_norm = LayerNorm(cfg.d_model, eps=cfg.eps, bias=biased) if before else None
        self.masked_lm = MaskedLM(cfg, cfg.d_model, biases=biased) if cfg.masked_lm else None
        self.pooler = Linear(cfg.d_model, cfg.d_model) if cfg.pooler else None

    @property
    def biases(self) -> Mapping[str, Alibi]:
        """Return the table of each kind of attention that has one."""
        return {} if self.alibi is None else {"self": self.alibi}

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        cfg, device = self.cfg, batch.ids.device
        n = batch.ids.shape[1]
        places = torch.arange(n, dtype=torch.float64, device=device)
        everywhere = masks.not_padding(batch.real)
        near = everywhere & ((places[:, None] - places).abs() <= cfg.reach)
        x = self._embedded(batch, tap)
        bias = None if self.alibi is None else self.alibi(n, n).to(device)
        wide, local = (self._turn(places, base, x.dtype) for base in (cfg.rope_base, cfg.rope_local_base))
        for i, block in enumerate(self.layers):
            allowed, turn = (near, local) if i in cfg.local else (everywhere, wide)
            x = block(x, allowed, turn if bias is None else bias, tap / f"layer.{i}")
        return x if self.final_norm is None else tap("final_norm.out", self.final_norm(x), RESID)

    def _turn(self, places: Tensor, base: float, dtype: torch.dtype) -> Turn:
        if self.cfg.places != "turned":
            return lambda each: each
        w = frequencies(self.cfg.d_head, base)[::2].to(places.device)
        by = waves(places[:, None] * w, dtype)
        return lambda each: rotate_pairs(each, by)

    def _embedded(self, batch: Batch, tap: Tap) -> Tensor:
        cfg, token = self.cfg, self.embed["token"](batch.ids)
        if cfg.blank >= 0:
            blanks = (batch.ids == cfg.blank) & batch.real
            share = blanks.sum(-1) / batch.real.sum(-1)
            token = torch.where(blanks[..., None], 0.0, token * ((1 - HIDDEN) / (1 - share))[:, None, None])
        x = tap("embed.token", token, RESID)
        if cfg.n_segments:
            segments = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments
            x = x + tap("embed.segment", self.embed["segment"](segments), RESID)
        if cfg.places == "learned":
            rows = position_rows(batch.ids, batch.real, cfg.first_place)
            axes = RESID if rows.dim() > 1 else "pos d_model"
            x = x + tap("embed.position", self.embed["position"](rows), axes)
        return tap("embed.out", self.drop(self.embed["norm"](x) if cfg.embed_norm else x), RESID)


def _outputs(cfg: ModernBERTConfig) -> Mapping[str, Output]:
    paths = ("masked_lm.pre", "masked_lm.act", "masked_lm.norm.out", "logits")
    words = {"logits": Output(paths)} if cfg.masked_lm else {}
    return words | ({"pooled": Output(("pooler.pre", "pooler.out"))} if cfg.pooler else {})


FAMILY = Family(
    name="modernbert",
    config=ModernBERTConfig,
    network=ModernBERT,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=_outputs,
    framed=True,
)
