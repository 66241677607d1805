"""HAN: words make sentences, sentences make a document, each time by a learned weighting; for telling the class of a text.

Yang et al. 2016, "Hierarchical attention networks for document classification". Two recurrent encoders that read both
ways, one over the words of each sentence and one over the sentences; behind each an attention whose query is no word
but a learned vector, "what is the informative word here".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core.layers.config_checks import check_classes, check_sizes
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.linear import Linear
from core.layers.recurrent import CELLS
from core.layers.recurrent.parts import part_masks
from core.layers.summary import Summary
from core.models import Batch, Family, Kind, Output
from core.models.seq2seq import Encoder
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, kw_only=True)
class HANConfig:
    """The shape; the defaults are near the paper's: 50 numbers each way, at both levels.

    `d_model` is the width of embeddings and of what both directions of an encoder give together, `n_layers` how many
    layers each of the two encoders has. `classes` are the names of the classes, in the order of the scores.

    >>> HANConfig(classes=("one",))
    Traceback (most recent call last):
    ValueError: classes=('one',) must be two or more different names of at most 40 letters
    """

    n_heads: ClassVar[int] = 1
    attends: ClassVar[bool] = True
    bidirectional: ClassVar[bool] = True
    n_layers: int = 1
    d_model: int = 100
    n_vocab: int = 30000
    n_ctx: int = 1024
    cell: str = "gru"
    classes: Sequence[str] = ("no", "yes")
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(self)
        if not isinstance(self.cell, str) or self.cell not in CELLS:
            raise ValueError(f"cell={self.cell!r} is not one of {', '.join(CELLS)}")
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} cannot be halved for two directions")
        object.__setattr__(self, "classes", check_classes(self.classes))

    @property
    def d_head(self) -> int:
        return self.d_model

    @classmethod
    def tiny(cls) -> HANConfig:
        return cls(n_layers=2, d_model=34, n_vocab=29, n_ctx=19, classes=("red", "green", "blue"))


class HAN(nn.Module):
    """Word vectors, an encoder and a `Summary` for each sentence; then an encoder of the sentences and a `Summary` of them.

    `Batch.segments` (batch pos) is the number of each token's sentence, from 0 on and without a gap; without it all
    is one sentence. `forward` returns the document's vector v, `classes` W v + b: their
    softmax are the probabilities of the classes (Eq. (11)).

    >>> net = HAN(HANConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.classes(net(Batch(ids=ids, real=ids >= 0, segments=torch.tensor([[0, 0, 1]])))).shape
    torch.Size([1, 3])
    """

    def __init__(self, cfg: HANConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=True)})
        self.drop = dropout(cfg.dropout)
        self.words, self.sentences = Encoder(cfg), Encoder(cfg)
        self.summaries: Any = nn.ModuleDict({level: Summary(cfg.d_model) for level in ("words", "sentences")})
        self.to_classes = Linear(cfg.d_model, len(cfg.classes))

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch d_model"]:
        parts = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments
        belongs = part_masks(parts, batch.real)
        token = tap("embed.token", self.embed["token"](batch.ids), "batch pos d_model")
        x, below = tap("embed.out", self.drop(token), "batch pos d_model"), tap / "words"
        words = self.words(x, batch.real, below, parts=parts)
        each = self.drop(self.summaries["words"](words, belongs, below / "attn"))
        there, above = belongs.any(-1), tap / "sentences"
        sentences = self.sentences(each, there, above, axis="sentence")
        whole = self.summaries["sentences"](sentences, there[:, None], above / "attn")
        return tap("document", self.drop(whole.squeeze(1)), "batch d_model")

    def classes(
        self, document: Float[Tensor, "batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch class"]:
        return tap("classes", self.to_classes(document), "batch class")


FAMILY = Family(
    name="han",
    config=HANConfig,
    network=HAN,
    kinds=(
        Kind(name="words", stack="words", leaf="attn", queries="sentence", layered=False),
        Kind(
            name="sentences",
            stack="sentences",
            leaf="attn",
            queries="document",
            keys="sentence",
            layered=False,
        ),
    ),
    stacks={"words": "words.layer", "sentences": "sentences.layer"},
    stream=("inputs", "hidden"),
    sentences=True,
    outputs=lambda cfg: {"classes": Output(("classes",))},
)
