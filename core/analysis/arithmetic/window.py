"""The lines of local attention: the window around its middle, and the Gaussian in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from core.analysis.arithmetic.digits import Array
from core.analysis.arithmetic.lines import Citation, Line, expression_line, sum_line
from core.analysis.arithmetic.scores import to_numpy
from core.wording import TOKENS, _

if TYPE_CHECKING:
    from jaxtyping import Float


LOCAL: tuple[Citation, ...] = (
    ("beigy2021", "Global vs Local Attention", "p_t"),
    ("luong2015", "3.2", "Eq. (9)"),
)
GAUSSIAN: tuple[Citation, ...] = (
    ("beigy2021", "Global vs Local Attention", "a_st"),
    ("luong2015", "3.2", "Eq. (10)"),
)


def window_lines(
    attend: Any,
    q: Float[Array, " d_model"],
    query: int,
    key: int,
    n: int,
    centre: float,
    paths: Callable[[str], str],
) -> list[Line]:
    """Return the lines of local attention: the window's middle p_t, and the key's distance from it."""
    read, window = paths("q"), attend.window
    if attend.to_hidden is None:
        made = [
            expression_line(
                "centre",
                _("the middle of the window"),
                _("Word after word: the window stands at the position that is being written."),
                "p_{t} = t",
                LOCAL,
                form="{}",
                formula=lambda t: t,
                values=[float(query)],
                recorded=centre,
                path=paths("centre"),
            )
        ]
    else:
        hidden, v = (
            to_numpy(attend.to_hidden.weight).astype(np.float64) @ q,
            to_numpy(attend.to_centre.weight)[0],
        )
        place = sum_line(
            "place",
            _("where to look"),
            _("A small network reads {query}'s state and says where in the source to look."),
            "x_{t} = v_{p} · tanh(W_{p} q_{t})",
            LOCAL,
            columns={"v": v, "W q": hidden},
            form="{} · tanh({})",
            axis="unit",
            shared=True,
            reads=[read],
        )
        made = [
            place,
            expression_line(
                "centre",
                _("the middle of the window"),
                _(
                    "Squashed to a share between 0 and 1 of the {n} positions: the middle of the window, counted from 0.",
                    n=n,
                ),
                "p_{t} = n · σ(x_{t})",
                LOCAL,
                form=f"{n} · σ({{}})",
                formula=lambda x: n / (1 + math.exp(-x)),
                values=[place.value],
                size=n,
                recorded=centre,
                path=paths("centre"),
            ),
        ]
    inside = abs(key - centre) <= window
    reach = {"place": key, "window": window, **TOKENS}
    words = (
        _(
            "{key} stands at position {place}. The window reaches {window} places to each side: it is inside.",
            **reach,
        )
        if inside
        else _(
            "{key} stands at position {place}. The window reaches {window} places to each side: it is outside, and its weight is exactly 0.",
            **reach,
        )
    )
    return [
        *made,
        expression_line(
            "window",
            _("how far the key is from the middle"),
            words,
            f"|j − p_{{t}}| ≤ {window}",
            LOCAL,
            form=f"|{key} − {{}}|",
            formula=lambda p: abs(key - p),
            values=[centre],
            reads=[paths("centre"), paths("allowed")],
        ),
    ]


def gaussian_lines(
    attend: Any,
    key: int,
    centre: float,
    align: float,
    factor: float,
    weight: float,
    paths: Callable[[str], str],
) -> list[Line]:
    """Return the lines of the Gaussian around the predicted position, and of the weight: softmax times Gaussian."""
    sigma = attend.window / 2
    return [
        expression_line(
            "gaussian",
            _("the Gaussian"),
            _(
                "The Gaussian favours positions near the middle: 1 in it, less on both sides; σ is half the window, {sigma:g}.",
                sigma=sigma,
            ),
            "g_{j} = e^{−(j − p_{t})^{2} / 2σ^{2}}",
            GAUSSIAN,
            form=f"e^(−({key} − {{}})² / (2 · {sigma:g}²))",
            formula=lambda p: math.exp(-((key - p) ** 2) / (2 * sigma**2)),
            values=[centre],
            recorded=factor,
            path=paths("gaussian"),
            reads=[paths("centre")],
        ),
        expression_line(
            "weighted",
            _("softmax times Gaussian"),
            _("The weight of {key}. The row is not divided by its sum again, so it adds up to less than 1."),
            "a_{ij} = align_{ij} · g_{j}",
            GAUSSIAN,
            form="{} · {}",
            formula=lambda a, b: a * b,
            values=[align, factor],
            recorded=weight,
            path=paths("pattern"),
            reads=[paths("align"), paths("gaussian")],
        ),
    ]
