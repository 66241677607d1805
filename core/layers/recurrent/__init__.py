"""Recurrent cells, one explicit step each, and the loop over a sequence in either direction.

Weights have the layout of `nn.RNN`, `nn.LSTM` and `nn.GRU`: `from_input.weight` is their weight_ih, `from_hidden.weight`
their weight_hh, gates below each other in their order. While weights are learned and no tap records, torch's kernels run
over the whole sequence with the same weights (a test compares both).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core.layers.linear import Linear
from core.layers.recurrent.lstm_sequence import LSTMSequence
from core.layers.recurrent.parts import part_starts, rows
from core.layers.trace_loops import steps
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped


State = tuple[Tensor, ...]
"""(hidden,) or (hidden, cell), each (batch d_hidden)."""

WIDE = "batch d_hidden"


class Cell(nn.Module):
    """The base of the three recurrent cells: two linear maps onto `n_parts` stacked vectors, and a state.

    `step` takes W_ih x + b_ih, computed for a whole sequence at once, and the state of the step before. `real` is False at
    padding: the state is zero there.
    """

    n_parts: int
    states: tuple[str, ...] = ("hidden",)
    kernel: Any

    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__()
        self.d_hidden = d_hidden
        self.from_input = Linear(d_input, self.n_parts * d_hidden)
        self.from_hidden = Linear(d_hidden, self.n_parts * d_hidden)

    def step(
        self,
        inputs: Float[Tensor, "batch d_gates"],
        state: State,
        tap: Tap = OFF,
        real: Bool[Tensor, " batch"] | None = None,
    ) -> State:
        raise NotImplementedError

    def zeros(self, like: Float[Tensor, "batch ..."]) -> State:
        """Return the state before the first word, zeros, for the rows of `like`."""
        return tuple(like.new_zeros(like.shape[0], self.d_hidden, dtype=torch.float32) for _ in self.states)

    def fused(
        self, x: Float[Tensor, "batch pos d_input"], state: State
    ) -> Float[Tensor, "batch pos d_hidden"]:
        """Return all hidden states of `x` by torch's own kernel, under autocast in its type."""
        x = in_autocast(x)
        start = tuple(each.unsqueeze(0).to(x.dtype) for each in state)
        weights = [
            self.from_input.weight,
            self.from_hidden.weight,
            self.from_input.bias,
            self.from_hidden.bias,
        ]
        weights = [weight.to(x.dtype) for weight in weights]
        initial = start if len(self.states) > 1 else start[0]
        return type(self).kernel(x, initial, weights, True, 1, 0.0, self.training, False, True)[0]

    @torch.no_grad()
    def initialise(self) -> None:
        """Make the recurrent matrices orthogonal, gate by gate (Saxe et al. 2014): a state neither fades nor grows at the start."""
        for part in self.from_hidden.weight.chunk(self.n_parts):
            nn.init.orthogonal_(part)


class RNNCell(Cell):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh) (Elman 1990), as `nn.RNN`; the state is (h,).

    >>> cell = RNNCell(3, 5)
    >>> cell.step(cell.from_input(torch.ones(2, 3)), cell.zeros(torch.ones(2, 3)))[0].shape
    torch.Size([2, 5])
    """

    n_parts = 1
    kernel = staticmethod(torch.rnn_tanh)

    def step(
        self,
        inputs: Float[Tensor, "batch d_gates"],
        state: State,
        tap: Tap = OFF,
        real: Bool[Tensor, " batch"] | None = None,
    ) -> State:
        (hidden,) = state
        return (tap("hidden", _zero_at_padding(torch.tanh(inputs + self.from_hidden(hidden)), real), WIDE),)


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000), as `nn.LSTM`.

    i, f, o = sigmoid(..), g = tanh(..) of W_ih x_t + b_ih + W_hh h_{t-1} + b_hh, in the order i, f, g, o;
    c_t = f * c_{t-1} + i * g, h_t = o * tanh(c_t). In the trace i, f, g, o are input, forget, candidate, output; the state
    is (h, c).

    >>> cell = LSTMCell(3, 5)
    >>> len(cell.step(cell.from_input(torch.ones(2, 3)), cell.zeros(torch.ones(2, 3))))
    2
    """

    n_parts = 4
    states = ("hidden", "cell")
    kernel = staticmethod(torch.lstm)

    def step(
        self,
        inputs: Float[Tensor, "batch d_gates"],
        state: State,
        tap: Tap = OFF,
        real: Bool[Tensor, " batch"] | None = None,
    ) -> State:
        hidden, cell = state
        i, f, g, o = (inputs + self.from_hidden(hidden)).chunk(4, dim=-1)
        i = tap("input", torch.sigmoid(i), WIDE)
        f = tap("forget", torch.sigmoid(f), WIDE)
        g = tap("candidate", torch.tanh(g), WIDE)
        o = tap("output", torch.sigmoid(o), WIDE)
        cell = tap("cell", _zero_at_padding(f * cell + i * g, real), WIDE)
        return tap("hidden", _zero_at_padding(o * torch.tanh(cell), real), WIDE), cell

    def fused(
        self, x: Float[Tensor, "batch pos d_input"], state: State
    ) -> Float[Tensor, "batch pos d_hidden"]:
        """Return all hidden states of `x`; in bfloat16 on a CPU by our own loops, which are twice as fast there."""
        x = in_autocast(x)
        if x.device.type != "cpu" or x.dtype != torch.bfloat16:
            return super().fused(x, state)
        maps = self.from_input, self.from_hidden
        return LSTMSequence.apply(x, *state, *(each.weight for each in maps), *(each.bias for each in maps))  # pyright: ignore

    def initialise(self) -> None:
        """Make the recurrent matrices orthogonal and the bias of the forget gate 1, so that it begins open (Jozefowicz et al. 2015)."""
        super().initialise()
        with torch.no_grad():
            self.from_input.bias[self.d_hidden : 2 * self.d_hidden] = 1.0


class GRUCell(Cell):
    """Gated recurrent unit (Cho et al. 2014), as `nn.GRU`.

    r, z = sigmoid(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), n = tanh(W_in x_t + b_in + r * (W_hn h_{t-1} + b_hn)), in the
    order r, z, n; h_t = (1 - z) * n + z * h_{t-1}. In the trace r, z, n are reset, update, new; the state is (h,).

    >>> cell = GRUCell(3, 5)
    >>> cell.step(cell.from_input(torch.ones(2, 3)), cell.zeros(torch.ones(2, 3)))[0].shape
    torch.Size([2, 5])
    """

    n_parts = 3
    kernel = staticmethod(torch.gru)

    def step(
        self,
        inputs: Float[Tensor, "batch d_gates"],
        state: State,
        tap: Tap = OFF,
        real: Bool[Tensor, " batch"] | None = None,
    ) -> State:
        (hidden,) = state
        given_r, given_z, given_n = inputs.chunk(3, dim=-1)
        from_r, from_z, from_n = self.from_hidden(hidden).chunk(3, dim=-1)
        reset = tap("reset", torch.sigmoid(given_r + from_r), WIDE)
        update = tap("update", torch.sigmoid(given_z + from_z), WIDE)
        new = tap("new", torch.tanh(given_n + reset * from_n), WIDE)
        return (tap("hidden", _zero_at_padding((1 - update) * new + update * hidden, real), WIDE),)


CELLS: Mapping[str, type[Cell]] = MappingProxyType({"rnn": RNNCell, "lstm": LSTMCell, "gru": GRUCell})


def in_autocast(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return `x` in the type of autocast, or unchanged outside of it."""
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


def _zero_at_padding(value: Tensor, real: Tensor | None) -> Tensor:
    return value if real is None else torch.where(real[:, None], value, 0.0)


def learning(module: nn.Module, tap: Tap) -> bool:
    """Return whether the module is being trained and no tap records, so that torch's fused kernels may be used."""
    return tap is OFF and torch.is_grad_enabled() and next(module.parameters()).requires_grad


def unroll(
    cell: Cell,
    x: Float[Tensor, "batch pos d_input"],
    real: Bool[Tensor, "batch pos"],
    tap: Tap = OFF,
    part: str = "",
    *,
    backward: bool = False,
    parts: Int[Tensor, "batch pos"] | None = None,
    axis: str = "pos",
) -> Float[Tensor, "batch pos d_hidden"]:
    """Return the hidden states of a sequence, starting from zeros.

    `real` is True at tokens that are not padding; padding comes after them and has the state zero. `backward` reads from
    the end: each row begins at its own last real token. Step T is the one at position T in both directions; `part` is the
    scope inside a step, `axis` the name of the sequence's axis in the trace. `parts` numbers the parts of a text, such as
    the sentences of a document: the state is zero again where one begins.

    >>> unroll(GRUCell(3, 5), torch.ones(2, 7, 3), torch.ones(2, 7, dtype=torch.bool), backward=True).shape
    torch.Size([2, 7, 5])
    >>> cell, x, real = GRUCell(3, 5), torch.ones(1, 4, 3), torch.ones(1, 4, dtype=torch.bool)
    >>> hidden = unroll(cell, x, real, parts=torch.tensor([[0, 0, 1, 1]]))
    >>> torch.equal(hidden[:, :2], hidden[:, 2:])
    True
    """
    if learning(cell, tap):
        return (
            _by_part(cell, x, real, backward, parts)
            if parts is not None
            else _run_fused(cell, x, real, backward)
        )
    n = x.shape[1]
    at, given, state = steps(tap, n, axis=axis), cell.from_input(x), cell.zeros(x)
    fresh = None if parts is None else part_starts(parts, backward=backward)
    hidden: list[Tensor] = [x] * n
    for t in reversed(range(n)) if backward else range(n):
        step = at(t) / part if part else at(t)
        if fresh is not None:
            state = tuple(torch.where(fresh[:, t, None], 0.0, each) for each in state)
        state = cell.step(given[:, t], state, step, real[:, t])
        hidden[t] = state[0]
    return torch.stack(hidden, dim=1)


def _run_fused(cell: Cell, x: Tensor, real: Tensor, backward: bool) -> Tensor:
    whole = cell.fused(reversed_rows(x, real) if backward else x, cell.zeros(x))
    return torch.where(real[:, :, None], reversed_rows(whole, real) if backward else whole, 0.0)


def _by_part(cell: Cell, x: Tensor, real: Tensor, backward: bool, parts: Tensor) -> Tensor:
    """Return the hidden states, each part read as a row of its own, all of about one length at once."""
    given, outputs, places = x.flatten(0, 1), [], []
    for place, inside in rows(parts, real, backward=backward):
        row = given.index_select(0, place.flatten()).unflatten(0, place.shape)
        outputs.append(cell.fused(row, cell.zeros(row)).flatten(0, 1)[inside.flatten()])
        places.append(place[inside])
    together = torch.cat(outputs)
    whole = together.new_zeros(len(given), cell.d_hidden).index_copy(0, torch.cat(places), together)
    return whole.unflatten(0, x.shape[:2])


def reversed_rows(
    x: Shaped[Tensor, "batch pos d_model"], real: Bool[Tensor, "batch pos"]
) -> Shaped[Tensor, "batch pos d_model"]:
    """Return each row's real positions in reverse order, padding left where it is.

    >>> reversed_rows(torch.tensor([[[1.0], [2.0], [9.0]]]), torch.tensor([[True, True, False]])).flatten().tolist()
    [2.0, 1.0, 9.0]
    """
    place = torch.arange(x.shape[1], device=x.device)
    turned = real.sum(1, keepdim=True) - 1 - place
    return x.gather(1, torch.where(real, turned, place)[:, :, None].expand_as(x))
