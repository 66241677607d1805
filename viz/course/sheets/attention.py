"""Exercises on weights: the softmax, scores, masks, the mixture of the values, the Gaussian of local attention."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import torch

from core import masks
from core.layers.attention import masked_softmax
from core.layers.recurrent.alignment import gaussian
from core.layers.scores import Cosine, ScaledDot
from viz.course.shared.weighting import BY_HAND, WORDS, softmax
from viz.course.sheets.form import (
    Blank,
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
from viz.languages import _, mark
from viz.number_text import number, row_of_numbers, trimmed


def tenths(chance: random.Random, low: float, high: float) -> float:
    """Return a random number with one decimal between `low` and `high`."""
    return chance.randint(round(10 * low), round(10 * high)) / 10


def _shares(scores: Sequence[float]) -> tuple[list[float], float, list[Step]]:
    """Compute the softmax by hand: return the exponentials of the scores, their sum, and the steps of the solution that compute them."""
    powers = [rounded(math.exp(score)) for score in scores]
    whole = rounded(sum(powers))
    steps = [
        Step(
            _("The exponential of each score:"),
            below(*(f"e ^{{ {trimmed(s)} }} = {trimmed(p)}" for s, p in zip(scores, powers, strict=True))),
        ),
        Step(_("Their sum:"), total([trimmed(power) for power in powers], trimmed(whole))),
    ]
    return powers, whole, steps


def _divided(powers: Sequence[float], total: float, weights: Sequence[float]) -> Step:
    lines = (
        f"frac{{ {trimmed(p)} }}{{ {trimmed(total)} }} = {number(w, 3)}"
        for p, w in zip(powers, weights, strict=True)
    )
    return Step(_("Each exponential divided by the sum:"), below(*lines))


def softmax_row(chance: random.Random) -> Exercise:
    """Make an exercise in which the scores of four words become weights: a_i = e^(s_i) / sum_j e^(s_j)."""
    places = sorted(chance.sample(range(len(WORDS)), 4))
    scores = [BY_HAND[place] for place in places]
    powers, whole, steps = _shares(scores)
    weights = agreed_all([power / whole for power in powers], softmax(scores).tolist(), 3)
    return Exercise(
        _(
            "The table has the words and their scores $s_i$. What is the attention weight $a_i$ of each word after softmax? Three decimals."
        ),
        _(
            "{weights}. Rounded, the weights add up to {total}.",
            weights=row_of_numbers(weights, 3),
            total=number(sum(weights), 3),
        ),
        (*steps, _divided(powers, whole, weights)),
        {"scores": tuple(scores)},
        weights,
        number_blanks([_("weight of “{word}”", word=WORDS[place]) for place in places], weights, 3),
        (_("word"), *(WORDS[place] for place in places)),
        ((_("score $s_i$"), *map(trimmed, scores)), (_("weight $a_i$"), *[""] * 4)),
        room=5,
    )


def scaled_score(chance: random.Random) -> Exercise:
    """Make an exercise on s = q . k / sqrt(d), with query and key from a normal distribution of mean 0 and variance 1, as on the exhibit."""
    d = chance.choice((2, 3, 5, 6))
    q, k = ([round(chance.gauss(0, 1), 1) + 0.0 for _place in range(d)] for _place in range(2))
    terms = [rounded(a * b) for a, b in zip(q, k, strict=True)]
    raw, root = rounded(sum(terms)), rounded(math.sqrt(d))
    score = ScaledDot(d, d)(*(torch.tensor([[side]], dtype=torch.float64) for side in (q, k)))
    answer = agreed(raw / root, score.item(), 3)
    return Exercise(
        _(
            "A query and a key have $d = {d}$ numbers each. What is their dot product, and what is the scaled score $s = frac{{ q ^T k }}{{ sqrt{{ d }} }}$? Three decimals.",
            d=d,
        ),
        _("Dot product {dot}; score {score}.", dot=trimmed(raw), score=number(answer, 3)),
        (
            Step(
                _("The products of the numbers, added:"),
                below(
                    "q ^T k = "
                    + total([f"{inside(a)} · {inside(b)}" for a, b in zip(q, k, strict=True)], trimmed(raw)),
                ),
            ),
            Step(_("The divisor:"), f"sqrt{{ {d} }} = {trimmed(root)}"),
            Step(_("Divided:"), f"s = frac{{ {trimmed(raw)} }}{{ {trimmed(root)} }} = {number(answer, 3)}"),
        ),
        {"q": tuple(q), "k": tuple(k)},
        (raw, answer),
        (Blank(_("dot product"), raw, 2), Blank(_("score"), answer, 3)),
        ("", *(str(i) for i in range(1, d + 1))),
        ((_("query $q$"), *map(trimmed, q)), (_("key $k$"), *map(trimmed, k))),
        room=4,
    )


MASKS = {
    "causal": (mark("a causal mask: a word attends to itself and to the words before it"), masks.causal),
    "strict": (mark("a strict mask: a word attends only to the words before it"), masks.strict),
    "window": (
        mark("a window of radius 1: a word attends to itself and to its direct neighbours"),
        lambda n: masks.window(n, 1),
    ),
    "prefix": (
        mark(
            "a prefix mask with a prefix of 2 words: a word attends to the prefix, to itself and to the words before it"
        ),
        lambda n: masks.prefix(n, 2),
    ),
    "both": (
        mark("a causal mask and a window of radius 1 together: a key must be allowed by both"),
        lambda n: masks.causal(n) & masks.window(n, 1),
    ),
}


def masked_row(chance: random.Random) -> Exercise:
    """Make an exercise on one row of a masked attention: the keys that the mask allows, and the softmax over their scores."""
    first = chance.randint(0, len(WORDS) - 5)
    words, kind = WORDS[first : first + 5], chance.choice(list(MASKS))
    row = chance.randint(1, 4)
    scores = [tenths(chance, -1, 2) for _place in words]
    rule, mask = MASKS[kind]
    allowed = mask(5)[row]
    open_keys = [j for j in range(5) if allowed[j]]
    powers, whole, steps = _shares([scores[j] for j in open_keys])
    by_hand = [powers[open_keys.index(j)] / whole if j in open_keys else 0.0 for j in range(5)]
    exact = masked_softmax(torch.tensor([scores], dtype=torch.float64), allowed[None])[0].tolist()
    weights = agreed_all(by_hand, exact, 3)
    shut = ", ".join(words[j] for j in range(5) if j not in open_keys) or _("none")
    return Exercise(
        _(
            "The scores of the query “{word}” (word {place} of 5) are in the table. The layer uses {rule}. Cross out the masked keys, then compute the row of attention weights. Three decimals.",
            word=words[row],
            place=row + 1,
            rule=_(rule),
        ),
        _("Masked: {masked}. Weights: {weights}.", masked=shut, weights=row_of_numbers(weights, 3)),
        (
            Step(
                _(
                    "Masked keys get the weight 0 whatever their score: {masked}. The softmax is over the other keys.",
                    masked=shut,
                )
            ),
            *steps,
            _divided(powers, whole, [weights[j] for j in open_keys]),
        ),
        {"mask": kind, "row": row, "scores": tuple(scores)},
        (*(bool(one) for one in allowed), *weights),
        (
            *(
                Blank(_("“{word}” is masked (yes or no)", word=word), not one)
                for word, one in zip(words, allowed, strict=True)
            ),
            *number_blanks([_("weight of “{word}”", word=word) for word in words], weights, 3),
        ),
        (_("key"), *words),
        ((_("score"), *map(trimmed, scores)), (_("weight"), *[""] * 5)),
        room=5,
    )


def weighted_sum(chance: random.Random) -> Exercise:
    """Make an exercise on the output of one query, z = sum_j a_j v_j, with three values of two numbers each."""
    cuts = sorted(chance.sample(range(1, 20), 2))
    weights = [share / 20 for share in (cuts[0], cuts[1] - cuts[0], 20 - cuts[1])]
    values = [[float(chance.randint(-4, 4)) for _place in range(2)] for _place in weights]
    exact = (torch.tensor(weights, dtype=torch.float64) @ torch.tensor(values, dtype=torch.float64)).tolist()
    sums = [sum(a * v[i] for a, v in zip(weights, values, strict=True)) for i in range(2)]
    result = agreed_all(sums, exact, 2)
    lines = [
        f"z_{i + 1} = "
        + total(
            [f"{trimmed(a)} · {inside(v[i])}" for a, v in zip(weights, values, strict=True)],
            number(result[i], 2),
        )
        for i in range(2)
    ]
    return Exercise(
        _(
            "A query gives these attention weights to three keys, and each key has a value vector of two numbers. What is the output $z = sum{ j=1 }{ 3 } a_j v_j$?"
        ),
        f"$z = {vector(result, 2)}$.",
        (
            Step(
                _("Each number of the output is a weighted sum of that number of the values:"), below(*lines)
            ),
        ),
        {"weights": tuple(weights), "values": tuple(map(tuple, values))},
        result,
        number_blanks((_("first number of z"), _("second number of z")), result, 2),
        (_("key"), "1", "2", "3"),
        (
            (_("weight $a_j$"), *map(trimmed, weights)),
            *((_("value, number {n}", n=i + 1), *(trimmed(v[i]) for v in values)) for i in range(2)),
        ),
        room=4,
    )


def cosine(chance: random.Random) -> Exercise:
    """Make an exercise on the cosine score s = q . k / (|q| |k|) of a query and a key of three numbers each."""
    q, k = ([float(chance.choice((-3, -2, -1, 1, 2, 3, 4))) for _place in range(3)] for _place in range(2))
    dot = sum(a * b for a, b in zip(q, k, strict=True))
    squares = [sum(a * a for a in side) for side in (q, k)]
    lengths = [rounded(math.sqrt(square)) for square in squares]
    exact = Cosine(3, 3)(*(torch.tensor([[side]], dtype=torch.float64) for side in (q, k))).item()
    answer = agreed(dot / (lengths[0] * lengths[1]), exact, 3)
    return Exercise(
        _(
            "What is the cosine score $s = frac{ q ^T k }{ || q || · || k || }$ of this query and this key? Three decimals."
        ),
        f"{number(answer, 3)}.",
        (
            Step(
                _("The dot product:"),
                "q ^T k = "
                + total([f"{inside(a)} · {inside(b)}" for a, b in zip(q, k, strict=True)], trimmed(dot)),
            ),
            Step(
                _("The lengths:"),
                below(
                    *(
                        f"|| {name} || = sqrt{{ {' + '.join(f'{inside(a)} ^2' for a in side)} }} = sqrt{{ {trimmed(square)} }} = {trimmed(length)}"
                        for name, side, square, length in zip("qk", (q, k), squares, lengths, strict=True)
                    )
                ),
            ),
            Step(
                _("Divided:"),
                f"s = frac{{ {trimmed(dot)} }}{{ {trimmed(lengths[0])} · {trimmed(lengths[1])} }} = {number(answer, 3)}",
            ),
        ),
        {"q": tuple(q), "k": tuple(k)},
        (answer,),
        (Blank(_("cosine score"), answer, 3),),
        ("", "1", "2", "3"),
        ((_("query $q$"), *map(trimmed, q)), (_("key $k$"), *map(trimmed, k))),
        room=5,
    )


def local(chance: random.Random) -> Exercise:
    """Make an exercise on Luong's local attention: a weight times exp(-(s - p)^2 / (2 sigma^2)), sigma = D / 2."""
    half, centre = chance.choice((2, 3, 4)), tenths(chance, 4.1, 6.9)
    place = chance.randint(math.ceil(centre - half), math.floor(centre + half))
    weight, sigma = chance.randint(20, 80) / 100, half / 2
    gap = round(place - centre, 1)
    bell = rounded(math.exp(-rounded(gap * gap / (2 * sigma**2))))
    exact = gaussian(
        torch.tensor([float(place)], dtype=torch.float64),
        torch.tensor(centre, dtype=torch.float64),
        sigma,
    ).item()
    factor, answer = agreed(bell, exact, 3), agreed(weight * bell, weight * exact, 3)
    power = rounded(gap * gap / (2 * sigma**2))
    return Exercise(
        _(
            "Local attention predicts the position $p = {p}$ with a window of $D = {D}$ on each side, so $sigma = frac{{ D }}{{ 2 }}$. The alignment gives position $s = {s}$ the weight {weight}. By which factor $e ^{{ - ( s - p ) ^2 / ( 2 sigma ^2 ) }}$ does the Gaussian multiply it, and what is the new weight? Three decimals.",
            p=trimmed(centre),
            D=half,
            s=place,
            weight=trimmed(weight),
        ),
        _("Factor {factor}; weight {weight}.", factor=number(factor, 3), weight=number(answer, 3)),
        (
            Step(_("The standard deviation:"), f"sigma = frac{{ {half} }}{{ 2 }} = {trimmed(sigma)}"),
            Step(
                _("The exponent:"),
                f"frac{{ ( {place} - {trimmed(centre)} ) ^2 }}{{ 2 · {trimmed(sigma)} ^2 }} = frac{{ {trimmed(gap * gap)} }}{{ {trimmed(2 * sigma**2)} }} = {trimmed(power)}",
            ),
            Step(_("The factor:"), f"e ^{{ - {trimmed(power)} }} = {trimmed(bell)}"),
            Step(_("The product:"), f"{trimmed(weight)} · {trimmed(bell)} = {number(answer, 3)}"),
        ),
        {"p": centre, "D": half, "s": place, "weight": weight},
        (factor, answer),
        number_blanks((_("factor"), _("new weight")), (factor, answer), 3),
        room=5,
    )
