"""The influence of each word that was read on the one context vector: |d c / d x_i|, by autograd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.errors import InputError
from core.model import Model
from viz.languages import _

Array = np.ndarray


@dataclass(frozen=True)
class Reach:
    """Sizes (Frobenius norms) of d c / d x_i for each text and position: both (text, pos), 0 after the end of a text.

    `context_slopes` is of the whole context vector; `forward_slopes` of the part that has read from left to right, which ends
    with the last word: the c = h_n of an encoder with one direction.
    """

    context_slopes: Array
    forward_slopes: Array


def reach(model: Model, texts: Sequence[str]) -> Reach:
    """Return the size of the Jacobian of the context vector with respect to the embedding x_i of each token.

    c (d_model) = the last state of each direction of the encoder; x_i (d_model) the embedding. One backward pass: each text is
    in the batch once for each element of c. Errors: InputError for a model without a recurrent encoder, or a text without a
    token.
    """
    network, width = model.network, model.config.d_model
    if model.family != "seq2seq":
        raise InputError(
            _("{name} has no one context vector.", name=model.name),
            _("A recurrent encoder-decoder has one."),
            _("Choose such a model."),
        )
    rows = [model.tokenizer.encode(text).ids for text in texts]
    if not all(rows):
        raise InputError(_("A text holds no token."), _("Each needs at least one."), _("Type a letter."))
    longest = max(map(len, rows))
    with torch.inference_mode(False), torch.enable_grad():
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        real = torch.tensor([[place < len(row) for place in range(longest)] for row in rows])
        x = network.embed["token"](ids).detach().repeat_interleave(width, 0).requires_grad_()
        real = real.repeat_interleave(width, 0)
        context = network.encoder.context(network.encoder(x, real), real)
        one_each = context.view(len(rows), width, width).diagonal(dim1=1, dim2=2).sum()
        (slope,) = torch.autograd.grad(one_each, x)
    square = slope.view(len(rows), width, longest, width).square().sum(-1)
    half = width // 2 if network.encoder.backward_cells is not None else width
    return Reach(square.sum(1).sqrt().numpy(), square[:, :half].sum(1).sqrt().numpy())


def fading(model: Model, text: str) -> Array:
    """Return |d h_n / d x_1| for n = 1, 2, .. of the direction that reads from the left, (pos,).

    By the chain rule: d h_n / d x_1 = J_n .. J_2 (d h_1 / d x_1), where J_t is one step's Jacobian by autograd; all steps at
    once, each in the batch once for each element of the state (of an LSTM h and cell together).
    """
    cell, width = model.network.encoder.forward_cells[0], model.config.d_model
    with torch.inference_mode(False), torch.enable_grad():
        x = model.network.embed["token"](torch.tensor([model.tokenizer.encode(text).ids]))[0].detach()
        given, state, before = cell.from_input(x), cell.zeros(x[:1]), []
        for t in range(len(x)):
            before.append(state)
            state = tuple(part.detach() for part in cell.step(given[t : t + 1], state))
        size = cell.d_hidden * len(cell.states)
        first = x[:1].expand(size, width).clone().requires_grad_()
        (sensitive,) = torch.autograd.grad(
            _each(cell.step(cell.from_input(first), cell.zeros(first)), size), first
        )
        held = [
            torch.cat(parts).repeat_interleave(size, 0).requires_grad_()
            for parts in zip(*before, strict=True)
        ]
        after = cell.step(given.detach().repeat_interleave(size, 0), tuple(held))
        jacobians = (
            torch.cat(torch.autograd.grad(_each(after, size), held), 1).view(len(x), size, size).double()
        )
    found, so_far = [], sensitive.double()
    for t in range(len(x)):
        so_far = so_far if t == 0 else jacobians[t] @ so_far
        found.append(float(so_far[: cell.d_hidden].norm()))
    return np.array(found)


def _each(state: tuple[torch.Tensor, ...], size: int) -> torch.Tensor:
    """Return the sum of element i of the state in row i: its gradient is, row by row, that of each element."""
    return torch.cat(state, 1).view(-1, size, size).diagonal(dim1=1, dim2=2).sum()


def typical_fading(model: Model, texts: Sequence[str]) -> Array:
    """Return the geometric mean of `fading` over texts of one length, (pos,); geometric because the sizes span many powers of
    ten."""
    return np.exp(np.mean([np.log(np.maximum(fading(model, text), 1e-300)) for text in texts], axis=0))
