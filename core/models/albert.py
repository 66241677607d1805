"""ALBERT: BERT with a token table in two factors, one layer's weights for all layers, and the order of two texts to tell.

Lan et al. 2020. The table is V x E and a map E x H behind it, in place of V x H (3.1, factorized embedding
parameterization); layers use the same weights, theta_1 = .. = theta_L, of attention, of the feed-forward network or of
both (cross-layer parameter sharing); the second output tells two neighbouring texts in their order from the same two
swapped (sentence-order prediction). The block is BERT's, with the GELU of GPT-2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core import masks
from core.layers.config_checks import check_flags, check_shape
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.positions import LearnedPositions
from core.models import Batch, Family, Kind, Output
from core.models.bert import RESID, MaskedLM, Reader, absent
from core.models.transformer import PostNormEncoderBlock
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


EMBED = "batch pos d_embed"
SHARED: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "attention": ("self_attn", "norm1"),
    "feed-forward": ("ffn", "norm2"),
    "all": ("self_attn", "norm1", "ffn", "norm2"),
}
"""The parts of a block that all layers may share, by the name of the choice; a sub-layer goes with its norm."""


@dataclass(frozen=True, kw_only=True)
class ALBERTConfig:
    """The shape; the defaults are ALBERT base with the heads of pre-training. `shared` is one of `SHARED`.

    >>> ALBERTConfig(shared="some")
    Traceback (most recent call last):
    ValueError: shared='some' is not one of none, attention, feed-forward, all
    """

    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    d_embed: int = 128
    n_vocab: int = 30000
    n_ctx: int = 512
    n_segments: int = 2
    shared: str = "all"
    activation: str = "gelu_tanh"
    eps: float = 1e-12
    dropout: float = 0.0
    masked_lm: bool = True
    pooler: bool = True
    sentence_order: bool = True

    def __post_init__(self) -> None:
        check_shape(self)
        if self.shared not in SHARED:
            raise ValueError(f"shared={self.shared!r} is not one of {', '.join(SHARED)}")
        check_flags(self, "masked_lm", "pooler", "sentence_order")
        if self.sentence_order and not self.pooler:
            raise ValueError("sentence_order=True needs pooler=True: it reads the pooled output")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> ALBERTConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, d_embed=7, n_vocab=29, n_ctx=17)


class ALBERT(Reader):
    """Token + segment + learned position embeddings of width E, normed, mapped to H; one block L times; two heads.

    `forward` returns the last layer's output. Row i of `logits` scores the word at position i; `pooled` is tanh(W x_0 + b) of
    the first token; `sentence_order` reads that and scores "in their order" (index 0) against "swapped". Layers that share
    a part have the same module in it, and
    `state_dict` names its weights once, as those of the first layer.

    >>> net = ALBERT(ALBERTConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> hidden = net(Batch(ids=ids, real=ids >= 0))
    >>> net.logits(hidden).shape, net.sentence_order(net.pooled(hidden)).shape
    (torch.Size([1, 3, 29]), torch.Size([1, 2]))
    >>> net.layers[0].ffn.to_out.weight.data_ptr() == net.layers[1].ffn.to_out.weight.data_ptr()
    True
    """

    def __init__(self, cfg: ALBERTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {
                "token": TokenEmbedding(cfg.n_vocab, cfg.d_embed),
                "segment": TokenEmbedding(cfg.n_segments, cfg.d_embed),
                "position": LearnedPositions(cfg.n_ctx, cfg.d_embed),
                "norm": LayerNorm(cfg.d_embed, eps=cfg.eps),
                "to_model": Linear(cfg.d_embed, cfg.d_model),
            }
        )
        self.drop = dropout(cfg.dropout)
        self.layers = shared_layers(cfg)
        self.masked_lm = MaskedLM(cfg, cfg.d_embed, EMBED) if cfg.masked_lm else None
        self.pooler = Linear(cfg.d_model, cfg.d_model) if cfg.pooler else None
        self.to_sentence_order = Linear(cfg.d_model, 2) if cfg.sentence_order else None
        self.register_state_dict_post_hook(_named_once)
        self.register_load_state_dict_pre_hook(_named_again)

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        segments = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments
        token = tap("embed.token", self.embed["token"](batch.ids), EMBED)
        segment = tap("embed.segment", self.embed["segment"](segments), EMBED)
        places = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        position = tap("embed.position", self.embed["position"](places), "pos d_embed")
        total = tap("embed.sum", token + segment + position, EMBED)
        narrow = tap("embed.norm.out", self.drop(self.embed["norm"](total)), EMBED)
        x = tap("embed.out", self.embed["to_model"](narrow), RESID)
        allowed = masks.not_padding(batch.real)
        for i, block in enumerate(self.layers):
            x = block(x, allowed, tap / f"layer.{i}")
        return x

    def sentence_order(
        self, pooled: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch class"]:
        if self.to_sentence_order is None:
            raise absent("head for the order of sentences", "run.hidden()")
        return tap("sentence_order", self.to_sentence_order(pooled), "batch class")


def shared_layers(cfg: Any) -> nn.ModuleList:
    """Return BERT's blocks; all of them share the parts of the first that `cfg.shared` names."""
    layers = nn.ModuleList(PostNormEncoderBlock(cfg) for _ in range(cfg.n_layers))
    for block in layers[1:]:
        for part in SHARED[cfg.shared]:
            setattr(block, part, getattr(layers[0], part))
    return layers


def shared_names(network: nn.Module) -> Mapping[str, str]:
    """Return the repeated names of weights that layers share, each with the weight's first name.

    >>> len(shared_names(ALBERT(ALBERTConfig.tiny()))), shared_names(ALBERT(ALBERTConfig.tiny()))["layers.1.norm2.bias"]
    (16, 'layers.0.norm2.bias')
    """
    first: dict[int, str] = {}
    names = [(name, id(weight)) for name, weight in network.named_parameters(remove_duplicate=False)]
    return {name: held for name, which in names if (held := first.setdefault(which, name)) != name}


def _named_once(network: nn.Module, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    for name in shared_names(network):
        state.pop(prefix + name, None)


def _named_again(network: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    for name, first in shared_names(network).items():
        if prefix + first in state:
            state[prefix + name] = state[prefix + first]


def _outputs(cfg: ALBERTConfig) -> Mapping[str, Output]:
    there = {
        "logits": (cfg.masked_lm, Output(("masked_lm.pre", "masked_lm.act", "masked_lm.norm.out", "logits"))),
        "pooled": (cfg.pooler, Output(("pooler.pre", "pooler.out"))),
        "sentence_order": (cfg.sentence_order, Output(("sentence_order",), reads="pooled")),
    }
    return {name: output for name, (present, output) in there.items() if present}


FAMILY = Family(
    name="albert",
    config=ALBERTConfig,
    network=ALBERT,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=_outputs,
    framed=True,
)
