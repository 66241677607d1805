"""ELMo: two language models that share their tables, one reading to the right and one to the left (Peters et al. 2018).

Each is a stack of LSTM layers. The word after a place is foretold by the one, the word before it by the other; what is
wanted of them later is a word's states on the way, from all layers and both directions, in a mixture that each task
learns for itself. No word looks at another: what was read before is in the state or it is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core.layers.config_checks import check_flags, check_sizes
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.linear import Linear
from core.layers.recurrent import LSTMCell, unroll
from core.models import Batch, Family, Output
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


HALF = "batch pos d_half"


@dataclass(frozen=True, kw_only=True)
class ELMoConfig:
    """The shape; the defaults are those of Peters et al. 2018, but for the words, which there are read letter by letter.

    `d_model` is the width of a word's vector in a layer, both directions together; the token table and each direction
    have half of it. `d_hidden` is the width of an LSTM's state before it is projected. With `residual` a layer adds to
    what it was given, the first one not.

    >>> ELMoConfig(d_model=7)
    Traceback (most recent call last):
    ValueError: d_model=7 cannot be halved for two directions
    """

    n_heads: ClassVar[int] = 0
    n_layers: int = 2
    d_model: int = 1024
    d_hidden: int = 4096
    n_vocab: int = 793471
    n_ctx: int = 512
    residual: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} cannot be halved for two directions")
        check_flags(self, "residual")

    @property
    def d_half(self) -> int:
        return self.d_model // 2

    @classmethod
    def tiny(cls) -> ELMoConfig:
        return cls(d_model=26, d_hidden=11, n_vocab=29, n_ctx=17)


class Chain(nn.Module):
    """One direction: h_j = P_j LSTM_j(h_{j-1}), and from the second layer on h_{j-1} is added.

    In the projected LSTM of Sak et al. 2014 the projected state is fed back, here the whole one: torch's own kernel
    then runs over the sequence while weights are learned.
    """

    def __init__(self, cfg: ELMoConfig, *, backward: bool) -> None:
        super().__init__()
        self.backward, self.residual = backward, cfg.residual
        self.cells = nn.ModuleList(LSTMCell(cfg.d_half, cfg.d_hidden) for _ in range(cfg.n_layers))
        self.project = nn.ModuleList(Linear(cfg.d_hidden, cfg.d_half) for _ in range(cfg.n_layers))

    def forward(
        self, i: int, x: Float[Tensor, "batch pos d_half"], real: Bool[Tensor, "batch pos"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_half"]:
        """Return the output of layer `i` of the chain."""
        cell: Any = self.cells[i]
        hidden = unroll(cell, x, real, tap, f"layer.{i}", backward=self.backward)
        out = tap(f"layer.{i}.projected", self.project[i](hidden), HALF)
        return x + out if self.residual and i else out


class Mixture(nn.Module):
    """ELMo_k = gamma * sum_j s_j h_kj with s = softmax(w), over the L + 1 layers (Peters et al. 2018, Eq. (1)).

    w and gamma belong to a task; before one is learned every layer has the same weight and gamma is 1.

    >>> mixture = Mixture(3)
    >>> mixture(torch.eye(3))
    tensor([0.3333, 0.3333, 0.3333], grad_fn=<MulBackward0>)
    """

    def __init__(self, n: int) -> None:
        super().__init__()
        self.w, self.gamma = nn.Parameter(torch.zeros(n)), nn.Parameter(torch.ones(()))

    def forward(
        self, layers: Float[Tensor, "*batch layer d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch d_model"]:
        weights = tap("weights", self.w.softmax(0), "layer")
        return tap("out", self.gamma * torch.einsum("j,...jd->...d", weights, layers), "batch pos d_model")


class ELMo(nn.Module):
    """One token table for both directions and the output, a chain of LSTM layers each way, a mixture of the layers.

    `forward` returns a word's vectors in all layers: the table's row twice, then [forward; backward] of each LSTM layer. Row i
    of `logits` scores the token after position i, from the top of the forward chain, row i of `backward_logits` the token
    before it; `log_probs` and `backward_log_probs`
    are their log-softmax. `mixture` is ELMo_k.

    The loss of both is -sum_i (log p(x_i | x_<i) + log p(x_i | x_>i)).

    >>> net = ELMo(ELMoConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> hidden = net(Batch(ids=ids, real=ids >= 0))
    >>> hidden.shape, net.logits(hidden).shape, net.mixture(hidden).shape
    (torch.Size([1, 3, 3, 26]), torch.Size([1, 3, 29]), torch.Size([1, 3, 26]))
    """

    def __init__(self, cfg: ELMoConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_half)})
        self.bias = nn.Parameter(torch.zeros(cfg.n_vocab))
        self.drop = dropout(cfg.dropout)
        self.ahead, self.back = Chain(cfg, backward=False), Chain(cfg, backward=True)
        self.mix = Mixture(cfg.n_layers + 1)

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos layer d_model"]:
        token = tap("embed.token", self.embed["token"](batch.ids), HALF)
        both = torch.cat((token, token), dim=-1)
        floors = [both]
        for i in range(self.cfg.n_layers):
            both = tap(f"layer.{i}.inputs", self.drop(both), "batch pos d_model")
            ahead, back = both.chunk(2, dim=-1)
            both = torch.cat(
                (
                    self.ahead(i, ahead, batch.real, tap / "forward"),
                    self.back(i, back, batch.real, tap / "backward"),
                ),
                dim=-1,
            )
            both = tap(f"layer.{i}.out", both, "batch pos d_model")
            floors.append(both)
        return tap("layers", torch.stack(floors, dim=-2), "batch pos layer d_model")

    def one_way(self, batch: Batch, direction: int) -> Float[Tensor, "batch pos d_half"]:
        """Return the top of one chain alone, 0 forward and 1 backward, as `top` does for both."""
        chain, x = (self.ahead, self.back)[direction], self.embed["token"](batch.ids)
        for i in range(self.cfg.n_layers):
            x = chain(i, self.drop(x), batch.real)
        return self.drop(x)

    def logits(
        self, hidden: Float[Tensor, "batch pos layer d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos vocab"]:
        return tap("logits", self.scores(self.top(hidden, 0)), "batch pos vocab")

    def backward_logits(
        self, hidden: Float[Tensor, "batch pos layer d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos vocab"]:
        return tap("backward_logits", self.scores(self.top(hidden, 1)), "batch pos vocab")

    def log_probs(
        self, logits: Float[Tensor, "batch pos vocab"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos vocab"]:
        return tap("log_probs", logits.log_softmax(-1), "batch pos vocab")

    def backward_log_probs(
        self, logits: Float[Tensor, "batch pos vocab"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos vocab"]:
        return tap("backward_log_probs", logits.log_softmax(-1), "batch pos vocab")

    def mixture(
        self, hidden: Float[Tensor, "batch pos layer d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        return self.mix(hidden, tap / "mixture")

    def top(
        self, hidden: Float[Tensor, "*batch layer d_model"], direction: int
    ) -> Float[Tensor, "*batch d_half"]:
        """Return the top layer's states of one direction, 0 forward and 1 backward, as the output layer reads them."""
        return self.drop(hidden[..., -1, :].chunk(2, dim=-1)[direction])

    def scores(self, top: Float[Tensor, "*batch d_half"]) -> Float[Tensor, "*batch vocab"]:
        """Return the output layer's scores, which both directions share."""
        return self.embed["token"].scores(top) + self.bias


def _outputs(_: ELMoConfig) -> Mapping[str, Output]:
    return {
        "logits": Output(("logits",)),
        "backward_logits": Output(("backward_logits",)),
        "log_probs": Output(("log_probs",), reads="logits"),
        "backward_log_probs": Output(("backward_log_probs",), reads="backward_logits"),
        "mixture": Output(("mixture.weights", "mixture.out")),
    }


FAMILY = Family(
    name="elmo",
    config=ELMoConfig,
    network=ELMo,
    kinds=(),
    stacks={"encoder": "layer"},
    stream=("inputs", "out"),
    outputs=_outputs,
)
