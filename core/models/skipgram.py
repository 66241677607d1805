"""Skip-gram: one vector a word, learned by guessing the words around it (Mikolov et al. 2013a, b).

No word looks at another: the vector of *bank* is the same in every sentence. What BERT and GPT give is compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core.layers.config_checks import check_sizes
from core.layers.embedding import TokenEmbedding
from core.models import Batch, Family
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, kw_only=True)
class SkipGramConfig:
    """The shape: vectors of `d_model` numbers, `window` words to each side count as around.

    `n_ctx` is how many words are read at once; it has no weights and no meaning for what comes out.

    >>> SkipGramConfig(window=0)
    Traceback (most recent call last):
    ValueError: window=0 must be a whole number of at least 1
    """

    n_layers: ClassVar[int] = 0
    n_heads: ClassVar[int] = 0
    d_model: int = 300
    n_vocab: int = 10000
    n_ctx: int = 512
    window: int = 5

    def __post_init__(self) -> None:
        check_sizes(self)

    @classmethod
    def tiny(cls) -> SkipGramConfig:
        return cls(d_model=33, n_vocab=29, n_ctx=17, window=2)


class SkipGram(nn.Module):
    """p(a word around | word) = softmax(u . v + b): v from the table of words, u and b from that of surroundings.

    `forward` returns the vectors, each a row of the table; row i of `logits` scores
    the words around word i.

    >>> net = SkipGram(SkipGramConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 1]])
    >>> vectors = net(Batch(ids=ids, real=ids >= 0))
    >>> net.logits(vectors).shape, bool((vectors[0, 0] == vectors[0, 2]).all())
    (torch.Size([1, 3, 29]), True)
    """

    def __init__(self, cfg: SkipGramConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {part: TokenEmbedding(cfg.n_vocab, cfg.d_model) for part in ("token", "around")}
        )
        self.bias = nn.Parameter(torch.zeros(cfg.n_vocab))

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        return tap("embed.token", self.embed["token"](batch.ids), "batch pos d_model")

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["around"].scores(hidden) + self.bias, "batch pos vocab")


STACKS: Mapping[str, str] = {}
FAMILY = Family(name="skipgram", config=SkipGramConfig, network=SkipGram, kinds=(), stacks=STACKS)
