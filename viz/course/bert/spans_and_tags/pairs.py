"""Answers and tags, the second step: the scores of all pairs of a start and an end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags.answers import asked, lines, told, warn, words
from viz.course.bert.spans_and_tags.maths import Answer, Edge
from viz.course.bert.spans_and_tags.params import FURTHEST, SLUG, Params
from viz.course.bert.tuning_live import Using
from viz.course.exhibit import Folds
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import literal, visible
from viz.shell import present_layout
from viz.widgets import controls, exhibit_parts, page_parts

NOTHING = "no answer at all"


@tuning_live.needs("answers", SLUG)
def pairs(params: Params, used: Using) -> Folds:
    """The score of each pair; and what becomes of an end that is most probable before the start."""
    warn(used)
    origin.tell(model=used.model or "", text=params.question, second_text=params.passage)
    plain = asked(params, used)
    edge, at = where(plain)
    known = _ask_crossing(plain, edge, at)
    one = plain.pushed(edge, at, params.push) if params.push else plain
    found, names = one.found, words(one)
    n, may = len(names), np.isfinite(found.scores)
    picture = (
        "np.nan_to_num(one.found.scores, neginf=0), one.tokens, one.tokens, "
        "allowed=np.isfinite(one.found.scores), scale='score'"
    )
    with present_layout.full_width():
        left, right = st.columns([1, 1], gap="medium")
        with left:
            touched = heatmap(
                np.where(may, found.scores, 0.0),
                names,
                names,
                key=SLUG + "pairs",
                allowed=may,
                scale="score",
                selected=found.best,
                axis=("starts at", "ends at"),
                title="Score of each pair",
                height=exhibit_parts.by_mode(380, 300),
                python=lines(params, used)
                + "\nimport numpy as np\n"
                + drawing("heatmap", picture, origin.now()),
            )
        with right:
            st.text(_said(one, touched.cell or found.best))
            start, end = one.alone
            order = "which is not before the start. The best pair is"
            if end < start:
                order = "which is before the start: no answer. The best allowed pair is"
            st.text(
                f"Chosen separately: start at “{visible(names[start])}”, end at “{visible(names[end])}”, {order} "
                f"“{told(one, found.best)}”, {found.scores[found.best]:.2f}."
            )
            if known:
                label = f"Add to the {edge} score of “{literal(names[at])}”"
                controls.slider(label, 0.0, FURTHEST, SLUG + "push", 0.0, 0.5)
        allowed = int(may.sum())
        page_parts.summary(
            f"{n} positions: {n * n:,} pairs, {allowed:,} allowed, {n * n - allowed:,} hatched: "
            "they would end before they start."
        )
    i, j = found.best
    sides = [f"{k} {visible(word)}" for k, word in enumerate(names)]
    line = rf"r_{{{i}\,{j}}} = {one.starts[i]:.3f} + {one.ends[j]:.3f} = {found.scores[i, j]:.3f}"
    pushed = f"one = one.pushed({edge!r}, {at}, {params.push:g})\n" if params.push else ""
    return Folds(
        lambda: pd.DataFrame(found.scores, index=sides, columns=sides).round(3),
        {"scores": found.scores, "starts": one.starts, "ends": one.ends},
        {"model": tuning_live.opening(used), "pushed": pushed},
        known,
        {"spans.pair": {}},
        (line.replace("+ -", "- "),),
    )


def where(one: Answer) -> tuple[Edge, int]:
    """The score whose push makes the choices cross: the end at the first word, or the start at the last."""
    return ("end", 0) if one.alone[0] > 0 else ("start", max(0, len(one.tokens) - 2))


def crossing(one: Answer) -> float:
    """A push with which each choice alone would cross, halfway to where the pushed word wins altogether."""
    edge, at = where(one)
    mine, other = (one.ends, one.starts) if edge == "end" else (one.starts, one.ends)
    crossed = float(mine.max() - mine[at])
    partner = (other[: at + 1] if edge == "end" else other[at:]).max()
    beaten = float(one.found.scores[one.found.best] - mine[at] - partner)
    return (crossed + max(beaten, crossed)) / 2 + 1e-6


def _ask_crossing(plain: Answer, edge: Edge, at: int) -> bool:
    """What is the answer once the ends cross? Computed with a push that is enough for it."""
    names, by = words(plain), crossing(plain)
    crossed = plain.pushed(edge, at, by)
    start, end = crossed.alone
    best = crossed.found.best
    result = told(crossed, best)
    backwards = told(plain, (min(start, end), max(start, end)))
    offered = {result, told(plain, (at, at)), told(plain, (start, start)), backwards, NOTHING}
    return exhibit_parts.predict(
        SLUG + "crossed",
        f"{by:.1f} is added to the {edge} score of “{visible(names[at])}”. Chosen separately, the best start is "
        f"“{visible(names[start])}”, "
        f"the best end “{visible(names[end])}”{', which stands before it' if end < start else ''}. Which words are the answer?",
        sorted(offered),
        result,
        f"Of the allowed pairs “{result}” has the greatest sum, {crossed.found.scores[best]:.2f}. "
        f"Move the slider to {by:.1f}, then further.",
    )


def _said(one: Answer, cell: tuple[int, int]) -> str:
    """What a cell holds."""
    i, j = cell
    names, start, end = words(one), one.starts[i], one.ends[j]
    total = (
        f"start “{visible(names[i])}” {start:.2f} + end “{visible(names[j])}” {end:.2f} = {start + end:.2f}"
    )
    return (
        f"{total}, and masked: it would end before it starts." if j < i else f"{total}: “{told(one, cell)}”."
    )
