"""MPNet: BERT's post-norm encoder with T5's number for the distance added to the scores, in all layers the same.

Song et al. 2020. There are no segments; the first token reads a later row of the position table, as in RoBERTa.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from core import masks
from core.errors import Phrase
from core.layers.config_checks import check_flags, check_shape, check_whole
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import FeedForward
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.positions import LearnedPositions, position_rows
from core.layers.relative_attention import RelativeAttention, RelativeBias
from core.layers.score_terms import DISTANCE
from core.models import Batch, Family, Kind, Output
from core.models.bert import MaskedLM, Reader
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class MPNetConfig:
    """The shape; the defaults are MPNet base. `n_buckets` and `furthest`: see `core.layers.relative_attention.buckets`.

    >>> MPNetConfig(n_buckets=5)
    Traceback (most recent call last):
    ValueError: n_buckets=5 must be a multiple of 4
    """

    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    n_vocab: int = 30527
    n_ctx: int = 512
    first_place: int = 2
    n_buckets: int = 32
    furthest: int = 128
    activation: str = "gelu"
    eps: float = 1e-5
    dropout: float = 0.0
    masked_lm: bool = True
    pooler: bool = True

    def __post_init__(self) -> None:
        check_shape(self)
        check_whole(self, first_place=0)
        if type(self.n_buckets) is not int or self.n_buckets < 4 or self.n_buckets % 4:
            raise ValueError(Phrase("{given} must be a multiple of 4", given=f"n_buckets={self.n_buckets!r}"))
        if type(self.furthest) is not int or self.furthest <= self.n_buckets // 4:
            raise ValueError(
                Phrase(
                    "{given} must be larger than a quarter of {other}",
                    given=f"furthest={self.furthest!r}",
                    other=f"n_buckets={self.n_buckets}",
                )
            )
        check_flags(self, "masked_lm", "pooler")

    @property
    def n_segments(self) -> int:
        """Return 0: no vectors mark the first and the second text."""
        return 0

    @property
    def two_ends(self) -> bool:
        """Return whether two texts are separated by two ends."""
        return True

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> MPNetConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17, n_buckets=8, furthest=12)


class MPNetBlock(nn.Module):
    """Two sub-layers, each norm(x + sublayer(x))."""

    def __init__(self, cfg: MPNetConfig) -> None:
        super().__init__()
        self.self_attn = RelativeAttention(
            cfg.d_model, cfg.n_heads, cfg.d_head, bias=True, out_bias=True, addition=DISTANCE
        )
        self.ffn = FeedForward(cfg.d_model, cfg.d_ff, activation=cfg.activation)
        self.norm1, self.norm2 = (LayerNorm(cfg.d_model, eps=cfg.eps) for _ in range(2))
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        bias: Float[Tensor, "... #pos key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("resid_in", x, RESID)
        x = tap("resid_mid", x + self.drop(self.self_attn(x, x, allowed, bias, tap / "self_attn")), RESID)
        x = tap("norm1.out", self.norm1(x), RESID)
        x = x + self.drop(self.ffn(x, tap / "ffn"))
        return tap("resid_out", tap("norm2.out", self.norm2(x), RESID), RESID)


class MPNet(Reader):
    """Token + learned position embeddings, normed; blocks that share one table of biases; two heads.

    `forward` returns the last layer's output; row i of `logits` scores the word at position i; `pooled` is tanh(W x_0 + b) of
    the first token.

    >>> import torch
    >>> net = MPNet(MPNetConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: MPNetConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {
                "token": TokenEmbedding(cfg.n_vocab, cfg.d_model),
                "position": LearnedPositions(cfg.first_place + cfg.n_ctx, cfg.d_model),
                "norm": LayerNorm(cfg.d_model, eps=cfg.eps),
            }
        )
        self.drop = dropout(cfg.dropout)
        self.bias = RelativeBias(cfg.n_buckets, cfg.n_heads, both=True, furthest=cfg.furthest)
        self.layers = nn.ModuleList(MPNetBlock(cfg) for _ in range(cfg.n_layers))
        self.masked_lm = MaskedLM(cfg, cfg.d_model) if cfg.masked_lm else None
        self.pooler = Linear(cfg.d_model, cfg.d_model) if cfg.pooler else None

    @property
    def biases(self) -> Mapping[str, RelativeBias]:
        """Return the table of each kind of attention that has one."""
        return {"self": self.bias}

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        n = batch.ids.shape[1]
        token = tap("embed.token", self.embed["token"](batch.ids), RESID)
        places = position_rows(batch.ids, batch.real, self.cfg.first_place)
        axes = RESID if places.dim() > 1 else "pos d_model"
        position = tap("embed.position", self.embed["position"](places), axes)
        total = tap("embed.sum", token + position, RESID)
        x = tap("embed.out", self.drop(self.embed["norm"](total)), RESID)
        allowed, bias = masks.not_padding(batch.real), self.bias(n, n)
        for i, block in enumerate(self.layers):
            x = block(x, allowed, bias, tap / f"layer.{i}")
        return x


def _outputs(cfg: MPNetConfig) -> Mapping[str, Output]:
    there = {
        "logits": (cfg.masked_lm, Output(("masked_lm.pre", "masked_lm.act", "masked_lm.norm.out", "logits"))),
        "pooled": (cfg.pooler, Output(("pooler.pre", "pooler.out"))),
    }
    return {name: output for name, (present, output) in there.items() if present}


FAMILY = Family(
    name="mpnet",
    config=MPNetConfig,
    network=MPNet,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=_outputs,
    framed=True,
)
