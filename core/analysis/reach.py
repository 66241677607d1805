"""How much a word that was read can still move the one context vector: |d c / d x_i|, by autograd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.errors import InputError
from core.model import Model

Array = np.ndarray


@dataclass(frozen=True)
class Reach:
    """Sizes (Frobenius norms) of d c / d x_i for each text and place: both (text, pos), 0 behind the end of a text.

    `whole` is of the whole context vector; `ahead` of the part that has read from left to right, which ends with the
    last word: the c = h_n of an encoder with one direction.
    """

    whole: Array
    ahead: Array


def reach(model: Model, texts: Sequence[str]) -> Reach:
    """The Jacobian of the context vector with respect to the vector x_i of each token, its size place by place.

    c (d_model) = what each direction of the encoder holds when it has read everything; x_i (d_model) the embedding.
    One backward pass: each text stands in the batch once for each element of c.

    Errors: InputError for a model without a recurrent encoder, or a text without a token.
    """
    network, width = model.network, model.config.d_model
    if model.family != "seq2seq":
        raise InputError(f"{model.name} has no one context vector.", "A recurrent encoder-decoder has one.", "Choose such a model.")
    rows = [model.tokenizer.encode(text).ids for text in texts]
    if not all(rows):
        raise InputError("A text holds no token.", "Each needs at least one.", "Type a letter.")
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


def by_length(model: Model, strings: Sequence[str], lengths: Sequence[int]) -> Reach:
    """|d c / d x_1| after 1, 2, .. words: each string is cut to each length; both fields (length,).

    Geometric means over the strings, because the sizes run over many powers of ten.
    """
    found = [reach(model, [string[:length] for length in lengths]) for string in strings]
    sizes = [np.stack([part[:, 0] for part in parts]) for parts in ([f.whole for f in found], [f.ahead for f in found])]
    whole, ahead = (np.exp(np.log(np.maximum(size, 1e-30)).mean(0)) for size in sizes)
    return Reach(whole, ahead)
