"""BERT: a Transformer encoder that reads both ways, with heads for hidden words and the next sentence, and for what it is tuned to.

Devlin et al. 2019. The block is the encoder's of Vaswani et al. 2017, norm(x + sublayer(x)), with GELU; a segment
embedding says which of two texts a token belongs to. The three heads of fine-tuning (4.1 to 4.3, and figure 4) are one
linear map each: of the first token, of each token, of each token to a score for "starts here" and one for "ends here".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.errors import InputError, Marked
from core.layers.block_sparse import BlockMask
from core.layers.config_checks import check_flags, check_shape
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import ACTIVATIONS
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.packed_attention import PackedAttention
from core.layers.positions import LearnedPositions, position_rows
from core.models import Batch, Family, Kind, Output
from core.models.transformer import PostNormEncoderBlock
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


RESID = "batch pos d_model"


@dataclass(frozen=True, kw_only=True)
class BERTConfig:
    """The shape; the defaults are BERT base, uncased, with the heads of pre-training. Those of fine-tuning are there when asked for.

    `n_segments` may be 0: nothing is added for the text that a token belongs to (DistilBERT). `first_place` is the row of
    the position table that the first token reads (RoBERTa's: 2); the table has so many rows more than `n_ctx`.

    >>> BERTConfig(n_segments=-1)
    Traceback (most recent call last):
    ValueError: n_segments=-1 must be a whole number of at least 0
    """

    least: ClassVar[Mapping[str, int]] = {"n_segments": 0}
    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    n_vocab: int = 30522
    n_ctx: int = 512
    n_segments: int = 2
    first_place: int = 0
    activation: str = "gelu"
    eps: float = 1e-12
    dropout: float = 0.0
    masked_lm: bool = True
    pooler: bool = True
    next_sentence: bool = True
    n_classes: int = 0
    n_tags: int = 0
    answers: bool = False

    def __post_init__(self) -> None:
        check_shape(self)
        for name in ("n_classes", "n_tags", "first_place"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)!r} must be a whole number, 0 for none")
        check_flags(self, "masked_lm", "pooler", "next_sentence", "answers")
        if self.next_sentence and not self.pooler:
            raise ValueError("next_sentence=True needs pooler=True: it reads the pooled output")

    @property
    def two_ends(self) -> bool:
        """Return whether two texts are parted by two ends, and by no segments: in RoBERTa's kin."""
        return self.first_place > 0

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @classmethod
    def tiny(cls) -> BERTConfig:
        return cls(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=29, n_ctx=17)


class MaskedLM(nn.Module):
    """Scores over the vocabulary at each position: norm(act(W x + b)), then the token table and a bias a word.

    `width` is that of the table's rows, named by the last of `axes`.
    Without `biases` the map and the norm have none.
    """

    def __init__(self, cfg: Any, width: int, axes: str = RESID, *, biases: bool = True) -> None:
        super().__init__()
        self.to_hidden = Linear(cfg.d_model, width, bias=biases)
        self.activation = ACTIVATIONS[cfg.activation]
        self.norm = LayerNorm(width, eps=cfg.eps, bias=biases)
        self.bias = nn.Parameter(torch.zeros(cfg.n_vocab))
        self.axes = axes

    def transformed(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch d_embed"]:
        """Return the vectors that are compared with the token table: dense, activation and norm of hidden, the same shape."""
        pre = tap("pre", self.to_hidden(hidden), self.axes)
        act = tap("act", self.activation(pre), self.axes)
        return tap("norm.out", self.norm(act), self.axes)

    def forward(
        self, hidden: Float[Tensor, "*batch d_model"], tokens: TokenEmbedding, tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tokens.scores(self.transformed(hidden, tap / "masked_lm")) + self.bias


class Reader(nn.Module):
    """The two heads that every network of BERT's kind may have: for hidden words, and over the first token."""

    embed: Any
    masked_lm: MaskedLM | None
    pooler: Linear | None

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        if self.masked_lm is None:
            raise absent("head for hidden words", "run.hidden() and run.attention()")
        return tap("logits", self.masked_lm(hidden, self.embed["token"], tap), "batch pos vocab")

    def pooled(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch d_model"]:
        if self.pooler is None:
            raise absent("pooled output", "run.hidden()")
        pre = tap("pooler.pre", self.pooler(hidden[:, 0]), "batch d_model")
        return tap("pooler.out", pre.tanh(), "batch d_model")


class BERT(Reader):
    """Token + segment (where there are any) + learned position embeddings, normed; post-norm encoder blocks; three heads.

    `forward` returns the last layer's output. Row i of `logits` scores the word at position i; `pooled` is tanh(W x_0 + b) of
    the first token; `next_sentence` reads that and scores "the second text follows" (index 0) against "it comes from
    elsewhere". In a fine-tuned network `classes` reads the first token, `tags` each token, and `answer` scores each token as
    the first (index 0) and as the last (index 1) of the answer.

    >>> net = BERT(BERTConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> hidden = net(Batch(ids=ids, real=ids >= 0))
    >>> net.logits(hidden).shape, net.next_sentence(net.pooled(hidden)).shape
    (torch.Size([1, 3, 29]), torch.Size([1, 2]))
    """

    attention: type[PackedAttention] = PackedAttention
    """The attention of its layers."""

    def __init__(self, cfg: BERTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model)})
        if cfg.n_segments:
            self.embed["segment"] = TokenEmbedding(cfg.n_segments, cfg.d_model)
        self.embed["position"] = LearnedPositions(cfg.first_place + cfg.n_ctx, cfg.d_model)
        self.embed["norm"] = LayerNorm(cfg.d_model, eps=cfg.eps)
        self.drop = dropout(cfg.dropout)
        self.layers = nn.ModuleList(PostNormEncoderBlock(cfg, self.attention) for _ in range(cfg.n_layers))
        self.masked_lm = MaskedLM(cfg, cfg.d_model) if cfg.masked_lm else None
        self.pooler = Linear(cfg.d_model, cfg.d_model) if cfg.pooler else None
        self.to_next_sentence = Linear(cfg.d_model, 2) if cfg.next_sentence else None
        self.to_classes = Linear(cfg.d_model, cfg.n_classes) if cfg.n_classes else None
        self.to_tags = Linear(cfg.d_model, cfg.n_tags) if cfg.n_tags else None
        self.to_answer = Linear(cfg.d_model, 2) if cfg.answers else None

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        total = tap("embed.token", self.embed["token"](batch.ids), RESID)
        if self.cfg.n_segments:
            segments = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments
            total = total + tap("embed.segment", self.embed["segment"](segments), RESID)
        places = position_rows(batch.ids, batch.real, self.cfg.first_place)
        position = self.embed["position"](places)
        total = total + tap("embed.position", position, RESID if places.dim() > 1 else "pos d_model")
        total = tap("embed.sum", total, RESID)
        x = tap("embed.out", self.drop(self.embed["norm"](total)), RESID)
        for i, (block, allowed) in enumerate(zip(self.layers, self.layer_masks(batch.real), strict=True)):
            x = block(x, allowed, tap / f"layer.{i}")
        return x

    def layer_masks(
        self, real: Bool[Tensor, "batch pos"]
    ) -> Sequence[Bool[Tensor, "batch one one key"] | BlockMask]:
        """Return the mask of each layer: here every token may attend to every one that is not padding."""
        return [masks.not_padding(real)] * self.cfg.n_layers

    def next_sentence(
        self, pooled: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch class"]:
        if self.to_next_sentence is None:
            raise absent("head for the next sentence", "run.hidden()")
        return tap("next_sentence", self.to_next_sentence(pooled), "batch class")

    def classes(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch class"]:
        if self.to_classes is None:
            raise absent("head for classes", "a model that was tuned to classify")
        return tap("classes", self.to_classes(hidden[:, 0]), "batch class")

    def tags(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos tag"]:
        if self.to_tags is None:
            raise absent("head for tags", "a model that was tuned to tag words")
        return tap("tags", self.to_tags(hidden), "batch pos tag")

    def answer(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos edge"]:
        if self.to_answer is None:
            raise absent("head for answers", "a model that was tuned to find answers")
        return tap("answer", self.to_answer(hidden), "batch pos edge")


def absent(head: str, use: str) -> InputError:
    """Return the error for a head that a checkpoint does not have: `head` names it, `use` the way out.

    >>> absent("head for tags", "run.hidden()").wrong
    'This checkpoint has no head for tags.'
    """
    return InputError(
        "This checkpoint has no {head}.",
        "It was saved without it, and none is invented.",
        "Use {use}.",
        head=Marked(head),
        use=Marked(use),
    )


def _outputs(cfg: BERTConfig) -> Mapping[str, Output]:
    there = {
        "logits": (cfg.masked_lm, Output(("masked_lm.pre", "masked_lm.act", "masked_lm.norm.out", "logits"))),
        "pooled": (cfg.pooler, Output(("pooler.pre", "pooler.out"))),
        "next_sentence": (cfg.next_sentence, Output(("next_sentence",), reads="pooled")),
        "classes": (cfg.n_classes > 0, Output(("classes",))),
        "tags": (cfg.n_tags > 0, Output(("tags",))),
        "answer": (cfg.answers, Output(("answer",))),
    }
    return {name: output for name, (present, output) in there.items() if present}


FAMILY = Family(
    name="bert",
    config=BERTConfig,
    network=BERT,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=_outputs,
    framed=True,
)
