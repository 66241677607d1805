"""Dilated causal convolutions of two taps, and the gated block that appends their output to its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core.layers.cache import NO_PAST, Past
from core.layers.linear import Linear
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


class CausalConv(nn.Module):
    """y_t = W_0 x_{t-r} + W_1 x_t + b: each position reads itself and the one `dilation` = r before it.

    A convolution of kernel 2 (van den Oord et al. 2016, 2.1), the only one that SNAIL has, with zeros before the first
    position. `x` is x_t, `past` is x_{t-r}.

    >>> conv = CausalConv(1, 1)
    >>> for weight, number in ((conv.before.weight, 10.0), (conv.now.weight, 1.0), (conv.now.bias, 0.0)):
    ...     _ = torch.nn.init.constant_(weight, number)
    >>> x = torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> conv(x, NO_PAST(x, 2)).flatten().tolist()
    [1.0, 2.0, 13.0]
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.before = Linear(d_in, d_out, bias=False)
        self.now = Linear(d_in, d_out)

    def forward(
        self, x: Float[Tensor, "batch pos d_in"], past: Float[Tensor, "batch pos d_in"]
    ) -> Float[Tensor, "batch pos d_out"]:
        return self.before(past) + self.now(x)


class DenseBlock(nn.Module):
    """[x; tanh(conv_f(x)) * sigmoid(conv_g(x))]: the input, followed by `n_filters` new features.

    Mishra et al. 2018, 3 and Figure 2a; the gate is WaveNet's (van den Oord et al. 2016, Eq. 2). Nothing is added: the first
    d_in numbers are x itself.

    >>> block = DenseBlock(3, 2, dilation=4)
    >>> x = torch.ones(1, 5, 3)
    >>> y = block(x)
    >>> y.shape, torch.equal(y[..., :3], x)
    (torch.Size([1, 5, 5]), True)
    """

    def __init__(self, d_in: int, n_filters: int, *, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.filter, self.gate = (CausalConv(d_in, n_filters) for _ in range(2))

    def forward(
        self, x: Float[Tensor, "batch pos d_features"], tap: Tap = OFF, store: Past | Any = NO_PAST
    ) -> Float[Tensor, "batch pos d_features+{self.filter.now.out_features}"]:
        x = tap("x", x, "batch pos d_features")
        past = tap("past", store(x, self.dilation), "batch pos d_features")
        found = tap("filter.pre", self.filter(x, past), "batch pos d_filters")
        opened = tap("gate.pre", self.gate(x, past), "batch pos d_filters")
        found = tap("filter.act", found.tanh(), "batch pos d_filters")
        opened = tap("gate.act", opened.sigmoid(), "batch pos d_filters")
        return torch.cat((x, tap("gated", found * opened, "batch pos d_filters")), dim=-1)
