"""Errata on layer normalization: its formula as printed, and its position in a layer."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import Tensor

from core.layers.norm import LayerNorm
from viz.course.errata._draws import gap, tensor
from viz.course.errata.entry import Evidence, Panel, erratum
from viz.languages import _, mark
from viz.number_text import in_brackets, small_difference


@erratum("E6")
def sigma() -> Evidence:
    h = 512
    x = tensor(h)
    centred = x - x.mean()
    printed = centred / centred.square().sum().sqrt()
    right = centred / centred.square().mean().sqrt()
    ours = LayerNorm(h).double().requires_grad_(False)(x)
    numbers = {
        "printed": float(printed.var(correction=0)),
        "right": float(right.var(correction=0)),
        "1/H": 1 / h,
        "factor": float(centred.square().sum().sqrt() / centred.square().mean().sqrt()),
        "to_torch": gap(F.layer_norm(x, (h,)), right),
        "ours": gap(ours, F.layer_norm(x, (h,))),
    }
    sentence = _(
        "{h} numbers drawn once: the variance afterwards is {printed:.6f} as printed, one over {h}, and {right:.3f} with the right σ; the printed σ is {factor:.3f} times too large (√{h} = {sqrt_h:.3f}). torch's layer norm is {to_torch} from the right form, which is what ε does.",
        h=h,
        printed=numbers["printed"],
        right=numbers["right"],
        factor=numbers["factor"],
        sqrt_h=math.sqrt(h),
        to_torch=small_difference(numbers["to_torch"]),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Variance after the norm"),
                [[numbers["printed"]], [numbers["right"]]],
                (_("as printed"), _("right")),
                (_("variance"),),
                "bars",
                4,
            ),
        ),
    )


ORDERS = {
    mark("post: LN(x + f(x))"): 0,
    mark("pre: x + f(LN(x))"): 1,
    mark("as worded: x + LN(f(x))"): 2,
}


@erratum("E16")
def order_of_norm() -> Evidence:
    n_layers, d, small = 12, 64, 0.28
    spreads = {
        size: [_spread(order, n_layers, d, size) for order in ORDERS.values()] for size in (small, small / 2)
    }
    post, pre, worded = spreads[small]
    numbers = {
        "post": post,
        "pre": pre,
        "worded": worded,
        "pre_half": spreads[small / 2][1],
        "worded_half": spreads[small / 2][2],
    }
    sentence = _(
        "After {n_layers} random sub-layers the standard deviation is {post:.2f} with the norm after the sum, {pre:.2f} before the sub-layer, {worded:.2f} as the decoder is worded. Making every sub-layer half as large gives {half}: in the order as worded nothing changes.",
        n_layers=n_layers,
        post=post,
        pre=pre,
        worded=worded,
        half=in_brackets(spreads[small / 2], 2),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Standard deviation after {n_layers} sub-layers", n_layers=n_layers),
                [[v] for v in spreads[small]],
                map(_, ORDERS),
                (_("spread"),),
                "bars",
                2,
            ),
        ),
    )


def _spread(order: int, n_layers: int, d: int, size: float) -> float:
    """Return the standard deviation of a vector after random linear sub-layers of that size."""
    x = F.layer_norm(tensor(16, d, start=100), (d,))
    for layer in range(n_layers):
        weight = tensor(d, d, start=layer) * size / math.sqrt(d)
        x = _step(order, x, weight)
    return float(x.std())


def _step(order: int, x: Tensor, weight: Tensor) -> Tensor:
    def norm(value: Tensor) -> Tensor:
        return F.layer_norm(value, value.shape[-1:], eps=1e-12)

    return (norm(x + x @ weight), x + norm(x) @ weight, x + norm(x @ weight))[order]
