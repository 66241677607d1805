"""The position-wise feed-forward network and its activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.linear import Linear
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


def gelu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016); BERT's.

    >>> round(gelu(torch.tensor(-1.0)).item(), 6)
    -0.158655
    """
    return F.gelu(x)


def gelu_tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the approximation of GPT-2.

    >>> round(gelu_tanh(torch.tensor(-1.0)).item(), 6)
    -0.158808
    """
    return F.gelu(x, approximate="tanh")


def silu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return x sigmoid(x) (Hendrycks and Gimpel 2016; also called swish, Ramachandran et al. 2017); Llama's.

    >>> round(silu(torch.tensor(-1.0)).item(), 6)
    -0.268941
    """
    return F.silu(x)


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {"relu": torch.relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}
)


class FeedForward(nn.Module):
    """Two linear maps with an activation between, the same at each position (Vaswani et al. 2017, Eq. 2).

    R = W_2 act(W_1 x + b_1) + b_2, with d_ff hidden units.

    >>> FeedForward(2, 3)(torch.zeros(1, 5, 2)).shape
    torch.Size([1, 5, 2])
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "relu", bias: bool = True) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.to_hidden = Linear(d_model, d_ff, bias=bias)
        self.to_out = Linear(d_ff, d_model, bias=bias)

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        pre = tap("pre", self.to_hidden(x), "batch pos d_ff")
        act = tap("act", self.activation(pre), "batch pos d_ff")
        return tap("out", self.to_out(act), "batch pos d_model")


class GatedFeedForward(nn.Module):
    """Two maps side by side, one through an activation as the gate of the other, then one back (Shazeer 2020: SwiGLU with silu).

    R = W_2 (act(W_g x) * W_1 x), with biases if `bias` is set, with that of W_2 alone if `out_bias` is. In the trace `pre` is
    W_g x, `up` is W_1 x, and `act` is what W_2 reads.

    >>> GatedFeedForward(2, 3)(torch.zeros(1, 5, 2)).shape
    torch.Size([1, 5, 2])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "silu",
        bias: bool = False,
        out_bias: bool = False,
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.to_gate = Linear(d_model, d_ff, bias=bias)
        self.to_hidden = Linear(d_model, d_ff, bias=bias)
        self.to_out = Linear(d_ff, d_model, bias=bias or out_bias)

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        pre = tap("pre", self.to_gate(x), "batch pos d_ff")
        up = tap("up", self.to_hidden(x), "batch pos d_ff")
        act = tap("act", self.activation(pre) * up, "batch pos d_ff")
        return tap("out", self.to_out(act), "batch pos d_model")
