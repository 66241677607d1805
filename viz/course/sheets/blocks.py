"""Exercises on the parts around the attention weights: positions, norms, heads, and the number of their parameters."""

from __future__ import annotations

import math
import random

import torch

from core.layers.norm import LayerNorm
from core.layers.positions import rotary, sinusoidal_at
from viz.course.shared.sizes import attention, encoder_layer, feed_forward, norm
from viz.course.sheets.form import (
    Blank,
    Doubtful,
    Exercise,
    Step,
    agreed,
    agreed_all,
    below,
    inside,
    number_blanks,
    rounded,
    total,
    vector,
)
from viz.languages import _
from viz.number_text import number, row_of_numbers, trimmed

BASE = 10_000


def position(chance: random.Random) -> Exercise:
    """Make an exercise on the sinusoidal encoding of a position: PE(pos, 2j) = sin(pos / 10000^(2j/d)), PE(pos, 2j + 1) = cos of the same, d = 4."""
    at, d = chance.randint(1, 60), 4
    exact = sinusoidal_at(torch.tensor([at]), d, BASE)[0].tolist()
    angles = [at * 1.0, at / 100]
    vector_ = agreed_all([f(angle) for angle in angles for f in (math.sin, math.cos)], exact, 3)
    lines = [
        f"{name} ( {trimmed(angle)} ) = {number(vector_[2 * j + i], 3)}"
        for j, angle in enumerate(angles)
        for i, name in enumerate(("sin", "cos"))
    ]
    return Exercise(
        _(
            "The sinusoidal position encoding of width $d = {d}$ gives position $t$ the numbers $sin ( t · theta_j )$ and $cos ( t · theta_j )$ with $theta_j = {base} ^{{ - 2 j / d }}$, for $j = 0$ and $j = 1$, a sine and a cosine in turn. What is the vector of position {position}? Angles in radians, three decimals.",
            d=d,
            base=BASE,
            position=at,
        ),
        f"$[ {row_of_numbers(vector_, 3, ' ; ')} ]$.",
        (
            Step(
                _("The frequencies:"),
                below(f"theta_0 = {BASE} ^0 = 1", f"theta_1 = {BASE} ^{{ - 2 / 4 }} = frac{{ 1 }}{{ 100 }}"),
            ),
            Step(
                _("The angles:"),
                below(
                    f"{at} · theta_0 = {trimmed(angles[0])}",
                    f"{at} · theta_1 = {trimmed(angles[1])}",
                ),
            ),
            Step(_("Sine and cosine of each:"), below(*lines)),
        ),
        {"position": at, "d": d},
        vector_,
        number_blanks([_("number {n} of the vector", n=i + 1) for i in range(d)], vector_, 3),
        room=5,
    )


def rotated(chance: random.Random) -> Exercise:
    """Make an exercise on rotary positions: query and key of two numbers are turned by their positions in radians; the score depends on the distance only."""
    q, k = ([float(chance.choice((-2, -1, 1, 2, 3))) for _place in range(2)] for _place in range(2))
    m, n = chance.sample(range(1, 9), 2)

    def turned(side: list[float], angle: int) -> tuple[list[float], str, str]:
        cos, sin = rounded(math.cos(angle)), rounded(math.sin(angle))
        (a, b), c, s = side, inside(cos), inside(sin)
        made = [rounded(a * cos - b * sin), rounded(a * sin + b * cos)]
        return (
            made,
            below(f"cos ( {angle} ) = {trimmed(cos)}", f"sin ( {angle} ) = {trimmed(sin)}"),
            below(
                f"{inside(a)} · {c} - {inside(b)} · {s} = {trimmed(made[0])}",
                f"{inside(a)} · {s} + {inside(b)} · {c} = {trimmed(made[1])}",
            ),
        )

    (q_at, q_angle, q_line), (k_at, k_angle, k_line) = turned(q, m), turned(k, n)
    exact = [
        rotary(torch.tensor([[[side]]], dtype=torch.float64), torch.tensor([at]))[0, 0, 0]
        for side, at in ((q, m), (k, n))
    ]
    score = sum(a * b for a, b in zip(q_at, k_at, strict=True))
    answer = agreed(score, float(exact[0] @ exact[1]), 2)
    return Exercise(
        _(
            "Rotary positions turn the query $q = {q}$ by its position, {m} radians, and the key $k = {k}$ by its position, {n} radians: $( a , b )$ becomes $( a cos t - b sin t , a sin t + b cos t )$. What is the score $q ^T k$ of the turned vectors (no scaling, two decimals)? What is it when both stand 5 positions later?",
            q=vector(q),
            m=m,
            k=vector(k),
            n=n,
        ),
        _(
            "{score}; the same 5 positions later, because only the distance {distance} counts.",
            score=number(answer, 2),
            distance=abs(m - n),
        ),
        (
            Step(_("The query turned by {m}:", m=m), q_angle),
            Step("", q_line),
            Step(_("The key turned by {n}:", n=n), k_angle),
            Step("", k_line),
            Step(
                _("Their dot product:"),
                total(
                    [f"{inside(a)} · {inside(b)}" for a, b in zip(q_at, k_at, strict=True)],
                    number(answer, 2),
                ),
            ),
        ),
        {"q": tuple(q), "k": tuple(k), "m": m, "n": n},
        (answer,),
        number_blanks((_("score"), _("score 5 positions later")), (answer, answer), 2),
        room=7,
    )


def layer_norm(chance: random.Random) -> Exercise:
    """Make an exercise on layer norm of a residual sum: y = (x - mu) / sqrt(var) with gain 1 and bias 0."""
    x, z = ([float(chance.randint(-4, 6)) for _place in range(4)] for _place in range(2))
    summed = [a + b for a, b in zip(x, z, strict=True)]
    mean = sum(summed) / 4
    away = [one - mean for one in summed]
    variance = rounded(sum(one * one for one in away) / 4)
    if variance < 1:
        raise Doubtful
    deviation = rounded(math.sqrt(variance))
    with torch.no_grad():
        exact = LayerNorm(4).double()(torch.tensor(summed, dtype=torch.float64)).tolist()
    result = agreed_all([one / deviation for one in away], exact, 3)
    quotients = (
        f"frac{{ {trimmed(a)} }}{{ {trimmed(deviation)} }} = {number(y, 3)}"
        for a, y in zip(away, result, strict=True)
    )
    return Exercise(
        _(
            "A position of the residual stream holds $x$, and the sublayer gives $z$. Add them and apply layer norm to the sum: mean 0, variance 1 over the four numbers (divide by 4; gain 1, bias 0, and leave out the small $epsilon$). Three decimals."
        ),
        f"$[ {row_of_numbers(result, 3, ' ; ')} ]$.",
        (
            Step(_("The residual sum:"), f"x + z = {vector(summed)}"),
            Step(
                _("The mean:"), f"mu = frac{{ {' + '.join(map(inside, summed))} }}{{ 4 }} = {trimmed(mean)}"
            ),
            Step(_("The deviations from the mean:"), vector(away)),
            Step(
                _("The variance and its root:"),
                below(
                    f"sigma ^2 = frac{{ {' + '.join(f'{inside(one)} ^2' for one in away)} }}{{ 4 }} = {trimmed(variance)}",
                    f"sigma = sqrt{{ {trimmed(variance)} }} = {trimmed(deviation)}",
                ),
            ),
            Step(_("Each deviation divided by it:"), below(*quotients)),
        ),
        {"x": tuple(x), "z": tuple(z)},
        result,
        number_blanks([_("number {n} after layer norm", n=i + 1) for i in range(4)], result, 3),
        ("", "1", "2", "3", "4"),
        ((_("stream $x$"), *map(trimmed, x)), (_("sublayer $z$"), *map(trimmed, z))),
        room=6,
    )


def heads(chance: random.Random) -> Exercise:
    """Make an exercise on the shapes of multi-head attention, where h heads share the width d."""
    n, h, d_head = chance.randint(3, 12), chance.choice((2, 3, 4, 6, 8)), chance.choice((4, 8, 16, 32))
    d = h * d_head
    result = (d_head, h * n * n, attention(d))
    return Exercise(
        _(
            "A layer of self-attention has width $d = {d}$ and $h = {h}$ heads; the text has $n = {n}$ tokens. How many numbers does a query of one head have? What shape do the queries of all heads have, and the attention weights? How many weights are there, and how many parameters does the layer have (four square matrices, each with a bias)? Which of these answers change with $h$?",
            d=d,
            h=h,
            n=n,
        ),
        _(
            "{size} numbers; queries {h} × {n} × {size}; weights {h} × {n} × {n}, that is {weights}; {parameters} parameters. The number of parameters does not change with $h$; the others do.",
            size=d_head,
            h=h,
            n=n,
            weights=result[1],
            parameters=result[2],
        ),
        (
            Step(_("The heads share the width:"), f"frac{{ d }}{{ h }} = frac{{ {d} }}{{ {h} }} = {d_head}"),
            Step(
                _("Each head has a weight for each pair of tokens:"),
                f"h · n · n = {h} · {n} · {n} = {result[1]}",
            ),
            Step(
                _("Four matrices and their biases:"),
                f"4 · ( d ^2 + d ) = 4 · ( {d * d} + {d} ) = {result[2]}",
            ),
        ),
        {"n": n, "d": d, "h": h},
        result,
        (
            *number_blanks(
                (
                    _("numbers of a query of one head"),
                    _("weights of all heads"),
                    _("parameters of the layer"),
                ),
                result,
            ),
            Blank(_("the number of weights changes with h (yes or no)"), True),
            Blank(_("the number of parameters changes with h (yes or no)"), False),
        ),
        room=6,
    )


def parameters(chance: random.Random) -> Exercise:
    """Make an exercise on the number of parameters of an encoder layer: 4 (d^2 + d) + 2 d d_ff + d_ff + d + 4 d."""
    d, times = chance.choice((4, 6, 8, 10, 12, 16, 20, 32)), chance.choice((2, 3, 4))
    d_ff = times * d
    parts = (attention(d), feed_forward(d, d_ff), 2 * norm(d))
    return Exercise(
        _(
            "An encoder layer has width $d = {d}$, and its feed-forward network has $f = {f}$ hidden units. Every matrix has a bias, and each of the two layer norms has a gain and a bias. How many parameters does the layer have?",
            d=d,
            f=d_ff,
        ),
        _(
            "{all}: attention {attention}, feed-forward {feed_forward}, norms {norms}.",
            all=encoder_layer(d, d_ff),
            attention=parts[0],
            feed_forward=parts[1],
            norms=parts[2],
        ),
        (
            Step(
                _("Attention, four matrices with their biases:"),
                f"4 · ( {d} · {d} + {d} ) = {parts[0]}",
            ),
            Step(
                _("Feed-forward, both matrices:"),
                f"( {d} · {d_ff} + {d_ff} ) + ( {d_ff} · {d} + {d} ) = {parts[1]}",
            ),
            Step(_("Two norms:"), f"2 · 2 · {d} = {parts[2]}"),
            Step(_("Together:"), total(list(map(str, parts)), str(encoder_layer(d, d_ff)))),
        ),
        {"d": d, "d_ff": d_ff},
        (*parts, encoder_layer(d, d_ff)),
        number_blanks(
            (_("attention"), _("feed-forward"), _("both norms"), _("the whole layer")),
            (*parts, encoder_layer(d, d_ff)),
        ),
        room=5,
    )


def factorised(chance: random.Random) -> Exercise:
    """Make an exercise on the parameters of ALBERT's embedding: V E + E d + d in place of V d."""
    vocab, d = chance.choice((1000, 2000, 5000, 8000, 30_000)), chance.choice((256, 512, 768, 1024))
    e = chance.choice((32, 64, 128))
    whole, small = vocab * d, vocab * e + e * d + d
    share = agreed(small / whole, small / whole, 3)
    return Exercise(
        _(
            "A vocabulary has $V = {V}$ tokens, the layers have width $d = {d}$. How many parameters does an embedding matrix $V × d$ have? ALBERT has a matrix $V × E$ with $E = {E}$ and maps $E$ numbers to $d$ (with a bias): how many parameters are these, and what share of the first number? Three decimals.",
            V=vocab,
            d=d,
            E=e,
        ),
        f"{whole}; {small}; {number(share, 3)}.",
        (
            Step(_("One matrix:"), f"V · d = {vocab} · {d} = {whole}"),
            Step(
                _("The narrow matrix and the map after it:"),
                f"V · E + E · d + d = {vocab * e} + {e * d} + {d} = {small}",
            ),
            Step(_("The share:"), f"frac{{ {small} }}{{ {whole} }} = {number(share, 3)}"),
        ),
        {"V": vocab, "d": d, "E": e},
        (whole, small, share),
        (
            *number_blanks((_("parameters of V × d"), _("parameters of ALBERT's embedding")), (whole, small)),
            Blank(_("share"), share, 3),
        ),
        room=5,
    )
