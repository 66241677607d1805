"""The last step of the exhibit on the scale: where exp overflows in numbers of 32 bits, and the remedy."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.look_up.charts.exponentials import exponentials
from viz.course.look_up.scaling import maths
from viz.course.look_up.scaling.params import Params
from viz.course.look_up.scaling.steps import SLUG, picture
from viz.languages import _, mark
from viz.number_text import number, or_scientific, row_of_numbers
from viz.shell import state
from viz.widgets import exhibit_parts, page_parts

NOT_A_NUMBER = mark("not a number")
WAYS = (mark("plain"), mark("largest subtracted"))


def overflow(params: Params, data: maths.Sample) -> Folds:
    """Draw three scores through exp in float32, plain or with the largest subtracted."""
    score = state.read(SLUG + "asked_score", params.score, state.whole_number(0, 200))
    scores = three(score)
    plain, safe = in_both_ways(scores)
    first = [number(float(found.weights[0])) for found in (plain, safe)]
    told = exhibit_parts.predict(
        f"{SLUG}overflow",
        _(
            "Three scores, {scores}, in 32-bit numbers. e^s / Σ e^s, computed as written: what is the first weight?",
            scores=row_of_numbers(scores, 0),
        ),
        (number(float(safe.weights[0])), number(1.0), number(0.0), _(NOT_A_NUMBER)),
        first[0],
        _(
            "The largest number that 32 bits hold is {largest}, reached at s = {s:.2f}. ",
            largest=_power(maths.LARGEST),
            s=maths.OVERFLOW,
        )
        + (
            _("e^{score} is beyond it: infinity, and infinity / infinity is not a number.", score=score)
            if plain.broken
            else _("e^{score} = {power} still fits.", score=score, power=_power(float(plain.exponentials[0])))
        ),
    )
    if told:
        state.write(**{SLUG + "asked_score": score})
    way, scores = params.safe, three(params.score)
    found = maths.in_float32(scores, safe=way)
    shown = zip((_("first"), _("second"), _("third")), found.inputs, found.exponentials, strict=True)
    points = [(name, float(s), float(e)) for name, s, e in shown] if told else []
    x = np.linspace(-210, 210, 421)
    drawn = exponentials(
        points, (x, x / math.log(10)), top=math.log10(maths.LARGEST), smallest=maths.VANISHES / math.log(10)
    )
    picture(
        drawn,
        f"{SLUG}overflow.picture",
        _("e to the power s over s; above the largest 32-bit number it is infinite."),
    )
    page_parts.summary(
        _summed(scores, found, safe=way)
        if told
        else _("The line is e^s. In the hatched part it is too large for a 32-bit number.")
    )
    return Folds(
        lambda: _exponentials(params),
        {
            f"{name}: {way}": getattr(run, name)
            for way, run in zip(WAYS, in_both_ways(three(params.score)), strict=True)
            for name in ("inputs", "exponentials", "weights")
        },
        {"scores": list(three(params.score))},
        told,
        {"softmax.safe": {"m": str(params.score)}},
        (
            r"\frac{e^{s_j}}{\sum_i e^{s_i}} = \frac{e^{-m}\, e^{s_j}}{e^{-m} \sum_i e^{s_i}} = \frac{e^{s_j - m}}{\sum_i e^{s_i - m}}, \quad m = \max_i s_i = "
            + str(params.score),
            r"e^{s} \le 3.4 \cdot 10^{38} \iff s \le " + f"{maths.OVERFLOW:.2f}",
        ),
        more=lambda: st.table(_exponentials(params).rename(_, axis=0).rename(_, axis=1), border="horizontal"),
    )


def _summed(scores: tuple[float, ...], result: maths.Softmax, *, safe: bool) -> str:
    weights = row_of_numbers(result.weights)
    if safe:
        return _(
            "{inputs} go into exp: none above 0, so none above 1, and the sum is {total}. The weights are {weights}. Mathematically nothing changes: e^−m cancels in numerator and denominator.",
            inputs=row_of_numbers(result.inputs, 0),
            total=number(result.total),
            weights=weights,
        )
    total = (
        number(result.total)
        if result.total < 1e6
        else _power(result.total)
        if math.isfinite(result.total)
        else _("infinite")
    )
    return _(
        "{inputs} go into exp; the sum is {total}, the weights are {weights}.",
        inputs=row_of_numbers(scores, 0),
        total=total,
        weights=weights,
    ) + (
        _(" Switch the subtraction on.")
        if result.broken
        else _(" It breaks above {s:.2f}: move the slider.", s=maths.OVERFLOW)
    )


def in_both_ways(scores: tuple[float, ...]) -> tuple[maths.Softmax, maths.Softmax]:
    """Return the softmax of scores as written, and with the largest subtracted first."""
    return maths.in_float32(scores, safe=False), maths.in_float32(scores, safe=True)


def three(largest: float) -> tuple[float, float, float]:
    """Return the scores of the last step: the largest, one below it, and 0."""
    return float(largest), float(largest - 1), 0.0


def _exponentials(params: Params) -> pd.DataFrame:
    rows = []
    for way, found in zip(WAYS, in_both_ways(three(params.score)), strict=True):
        for s, e, w in zip(found.inputs, found.exponentials, found.weights, strict=True):
            rows.append(
                {
                    "": way,
                    mark("into exp"): number(float(s), 0),
                    "eˢ": f"{float(e):.3g}",
                    mark("weight"): number(float(w)),
                }
            )
    return pd.DataFrame(rows).set_index("")


def _power(value: float) -> str:
    return or_scientific(value, ".2f", high=1e6, digits=2, times=" × ")
