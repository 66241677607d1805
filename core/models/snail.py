"""SNAIL: dilated causal convolutions gather what is near, causal attention between fetches it from afar (Mishra et al. 2018).

No position is added to anything: the convolutions learn order from a word's neighbours. Each block puts
what it found beside what it read, so the width grows and no block overwrites another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core import masks
from core.layers.cache import NO_PAST, NO_STORE, ConvolvedCache, Past, Store
from core.layers.concatenated_attention import ConcatenatedAttention
from core.layers.config_checks import check_sizes
from core.layers.convolution import DenseBlock
from core.layers.embedding import TokenEmbedding
from core.layers.linear import Linear
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


PARTS = ("both", "convolutions", "attention")
"""The kinds of block that a network may have: both, or one kind alone."""


@dataclass(frozen=True, kw_only=True)
class SnailConfig:
    """The shape: in each layer `n_dense` convolutions of dilation 1, 2, 4, .., then one block of attention.

    A convolution adds `n_filters` features, attention adds `d_model`, as many as a token begins with. `parts` takes the
    one or the other away, to be compared with; `n_ctx` has no weights: it is how many tokens are read at once.

    >>> SnailConfig(parts="neither")
    Traceback (most recent call last):
    ValueError: parts='neither' is not one of both, convolutions, attention
    >>> SnailConfig(n_layers=2, n_dense=4).field
    31
    """

    n_layers: int = 2
    n_heads: int = 1
    d_model: int = 32
    n_dense: int = 4
    n_filters: int = 32
    n_vocab: int = 64
    n_ctx: int = 256
    parts: str = "both"

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.parts not in PARTS:
            raise ValueError(f"parts={self.parts!r} is not one of {', '.join(PARTS)}")

    @property
    def attends(self) -> bool:
        return self.parts != "convolutions"

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def dilations(self) -> tuple[int, ...]:
        """Return the dilations of the convolutions of one layer: 1, 2, 4, ..; empty where it has none."""
        return tuple(2**i for i in range(self.n_dense)) if self.parts != "attention" else ()

    @property
    def field(self) -> int:
        """Return how many positions, the present one included, reach one through all convolutions: 1 + the sum of dilations."""
        return 1 + self.n_layers * sum(self.dilations)

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the numbers of features before the first layer and after each."""
        grows = len(self.dilations) * self.n_filters + self.attends * self.d_model
        return tuple(self.d_model + i * grows for i in range(self.n_layers + 1))

    @classmethod
    def tiny(cls) -> SnailConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, n_dense=3, n_filters=7, n_vocab=29, n_ctx=17)


class SnailLayer(nn.Module):
    """Dense blocks, then attention: each appends its features to the others (Mishra et al. 2018, 3, Figures 1 and 2).

    Each position comes out with more features; `allowed` is the causal mask.
    """

    def __init__(self, cfg: SnailConfig, d_in: int) -> None:
        super().__init__()
        widths = [d_in + i * cfg.n_filters for i in range(len(cfg.dilations) + 1)]
        self.dense = nn.ModuleList(
            DenseBlock(width, cfg.n_filters, dilation=dilation)
            for width, dilation in zip(widths, cfg.dilations, strict=False)
        )
        self.self_attn = (
            ConcatenatedAttention(cfg.d_model, cfg.n_heads, d_in=widths[-1]) if cfg.attends else None
        )

    def forward(
        self,
        x: Float[Tensor, "batch pos d_features"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
        recent: Sequence[Past] | None = None,
    ) -> Float[Tensor, "batch pos d_out"]:
        x = tap("features_in", x, "batch pos d_features")
        for i, block in enumerate(self.dense):
            x = block(x, tap / f"dense.{i}", recent[i] if recent else NO_PAST)
        x = tap("features_mid", x, "batch pos d_features")
        if self.self_attn is not None:
            x = torch.cat((x, self.self_attn(x, x, allowed, tap / "self_attn", store)), dim=-1)
        return tap("features_out", x, "batch pos d_features")


class Snail(nn.Module):
    """Token embeddings, layers of convolutions and attention, a linear map of all features to the vocabulary.

    `forward` returns all features; row i of `logits` scores the token after position i. With a cache the batch has only the
    new positions.

    >>> net = Snail(SnailConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: SnailConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        self.layers = nn.ModuleList(SnailLayer(cfg, width) for width in cfg.widths[:-1])
        self.to_vocab = Linear(cfg.widths[-1], cfg.n_vocab)

    def new_cache(self) -> ConvolvedCache:
        return ConvolvedCache(self.cfg.n_layers, self.cfg.n_layers * len(self.cfg.dilations))

    def forward(
        self, batch: Batch, tap: Tap = OFF, cache: ConvolvedCache | None = None
    ) -> Float[Tensor, "batch pos d_features"]:
        past, n, each = cache.n_read if cache else 0, batch.ids.shape[1], len(self.cfg.dilations)
        allowed = masks.causal(n, past=past).to(batch.ids.device)
        if not cache:
            allowed = allowed & masks.not_padding(batch.real)
        x = tap("embed.token", self.embed["token"](batch.ids), "batch pos d_model")
        for i, layer in enumerate(self.layers):
            store = cache.self_attn[i] if cache else NO_STORE
            x = layer(
                x,
                allowed,
                tap / f"layer.{i}",
                store,
                cache.recent[i * each : (i + 1) * each] if cache else None,
            )
        if cache:
            cache.read += n
        return x

    def logits(
        self, hidden: Float[Tensor, "*batch d_features"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.to_vocab(hidden), "batch pos vocab")


FAMILY = Family(
    name="snail",
    config=SnailConfig,
    network=Snail,
    kinds=(Kind(name="causal", stack="layer"),),
    stacks={"decoder": "layer"},
    stream=("features_in", "features_out"),
)
