"""The last steps on many heads: one is independent of the others, and one cannot do the work of several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from core.maths import max_difference
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.self_attention.charts.head_grids import colour
from viz.course.self_attention.many_heads import maths
from viz.course.self_attention.many_heads.grids import grids
from viz.course.self_attention.many_heads.maths import Ways
from viz.course.self_attention.many_heads.params import SLUG, Params
from viz.course.self_attention.many_heads.steps import folds
from viz.labels import percent
from viz.number_text import number
from viz.widgets import exhibit_parts, page_parts

BEFORE, AFTER = "before", "head 1 re-initialised"
COVERED = "Covered until you guess."
SPREADS = ("With all on one word", "With the same on each", "With half on one", "It makes no difference")
EQUAL_SHARES = 0.02
"""Shares that differ by less are equal: the sampling error of 4,000 random words."""


def redraw(params: Params, data: Ways) -> Folds:
    """Ask what changes in the other heads when head 1 gets new weights, then draw the change of each output."""
    size, moved, room = params.sizes, maths.changed(data.way, data.reinitialised), exhibit_parts.presenting()
    rest = float(moved[1:].max(initial=0))
    options = ("Nothing, to the last bit", "A little, in head 2 alone", "All heads after it")
    known = exhibit_parts.predict(
        f"{SLUG}.redraw",
        f"Head 1 of {size.h} gets new weights. What changes in the outputs of the other heads?",
        options,
        options[0] if rest == 0 else options[1] if not moved[2:].any() else options[2],
        f"Head 1 changes by up to {number(float(moved[0]))}, the others by {rest:g}. "
        "Layers build on each other; the heads of one layer do not.",
    )
    out = [
        replace({stage.name: stage for stage in maths.stages(way)}["out"], name=name, code="weights @ v")
        for name, way in ((BEFORE, data.way), (AFTER, data.reinitialised))
    ]
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with left:
        grids("redraw", out, values=True, covered=() if known else (AFTER,))
    with right:
        figure = marks.bars(
            pd.Series(moved, [f"head {k + 1}" for k in range(size.h)]),
            "{:.2f}",
            title="largest change of an output",
            hues=[colour(k) for k in range(size.h)],
            covered=not known,
        )
        told = "How much the output of each head changes, a bar per head."
        page_parts.show(figure, f"{SLUG}.redraw.bars", told if known else COVERED)
    others, mixes = (
        ("", ".") if room else ("; the others are the same to the last bit", ": W_O mixes all heads.")
    )
    changed = number(max_difference(data.way.out, data.reinitialised.out))
    page_parts.summary(
        f"Of {size.h * size.n} rows the {size.n} of head 1 are new{others}. "
        f"After W_O every word has changed, by up to {changed}{mixes}"
        if known
        else f"{size.h} head{'s' * (size.h > 1)}, {size.n} words, {size.p} numbers each."
    )
    return folds(
        data,
        ("heads.query", "heads.merge"),
        tuple(
            rf"\max |Z_{{{k + 1}}} - Z_{{{k + 1}}}'| = " + (f"{value:.3f}" if value else "0")
            for k, value in enumerate(moved)
        ),
        known,
        {"changes": moved},
    )


def several(params: Params, data: Ways) -> Folds:
    """Ask which weights of one head lose least, then draw the loss by the number of heads; the parameters do not depend on h."""
    size, k, room = params.sizes, params.wanted, exhibit_parts.presenting()
    one, many = (_weights(maths.Sizes(1, size.n, size.d, h)) for h in (1, size.h))
    heads = range(1, k + 1)
    values = np.array([[maths.lost_share(k, m), maths.measured_loss(k, m, params.draw)] for m in heads])
    spread = maths.spreads(k, params.draw)
    known = exhibit_parts.predict(
        f"{SLUG}.several",
        f"A word needs {k} parts, each from a different word. One head divides its attention among these words. With which weights is the least lost?",
        SPREADS,
        _least(spread),
        f"One part of {k} is kept, however the attention is divided. Lost, measured on 4,000 random words: "
        f"{', '.join(f'{percent(loss, 1)} with {name}' for name, loss in spread.items())}.",
    )
    figure = marks.bars(
        pd.DataFrame(
            values,
            [f"{m} head{'s' * (m > 1)}" for m in heads],
            ["closed form: (k − heads) / k", "measured, least squares"],
        ),
        "{:.3f}",
        title=f"What is lost of {k} parts",
        covered=not known,
        row=min(52, 208 / k) if room else 0,
    )
    told = "The share that is lost with 1 head, 2 heads and so on."
    page_parts.show(figure, f"{SLUG}.several.picture", told if known else COVERED)
    lost = f"One head loses {percent(values[0, 0])}, {k} heads lose {percent(values[-1, 0])}. " * (
        known and not room
    )
    large = "." if room else f"; with d = 512 both have {maths.parameters(512):,}."
    page_parts.summary(
        f"{lost}With d = {size.d} one head of {size.d} has 4 (d² + d) = {one} weights, "
        f"{size.h} heads of {size.p} have {many}{large}"
    )
    d = size.d
    return Folds(
        lambda: pd.DataFrame(values.round(4), [f"{m} heads" for m in heads], ["closed form", "measured"]),
        {"lost": values},
        {},
        known,
        {"heads.merge": {}},
        (
            rf"4\,(d^2 + d) = 4\,({d}^2 + {d}) = {maths.parameters(d)}",
            r"\text{lost} = \frac{1}{k} \sum_{r=1}^{k} \left(1 - \frac{a_r^2}{\sum_s a_s^2}\right) = "
            r"\frac{k - 1}{k} = "
            rf"\frac{{{k - 1}}}{{{k}}} \text{{ for one head, however it shares its weight }} a "
            r"\text{ among these words}",
        ),
    )


def _least(spread: dict[str, float]) -> str:
    """Return the option with the smallest loss, or that there is no difference."""
    if max(spread.values()) - min(spread.values()) < EQUAL_SHARES:
        return SPREADS[-1]
    return f"With {min(spread, key=lambda name: spread[name])}"


def _weights(sizes: maths.Sizes) -> int:
    return sum(weight.numel() for weight in maths.layer(sizes).parameters())
