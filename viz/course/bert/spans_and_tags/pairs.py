"""Answers and tags, the second step: the scores of all pairs of a start and an end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags.answers import lines, read_answer, span_text, warn, words
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
    """Draw the score of each pair, and ask for the answer when the most probable end is before the start."""
    warn(used)
    origin.tell(model=used.model or "", text=params.question, second_text=params.passage)
    plain = read_answer(params, used)
    edge, at = where(plain)
    known = _ask_crossing(plain, edge, at)
    one = plain.pushed(edge, at, params.push) if params.push else plain
    found, names = one.span_scores, words(one)
    n, may = len(names), np.isfinite(found.scores)
    picture = (
        "np.nan_to_num(one.span_scores.scores, neginf=0), one.tokens, one.tokens, "
        "allowed=np.isfinite(one.span_scores.scores), scale='score'"
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
            st.text(_cell_text(one, touched.cell or found.best))
            start, end = one.separate_choices
            order = "which is not before the start. The best pair is"
            if end < start:
                order = "which is before the start: no answer. The best allowed pair is"
            st.text(
                f"Chosen separately: start at “{visible(names[start])}”, end at “{visible(names[end])}”, {order} "
                f"“{span_text(one, found.best)}”, {found.scores[found.best]:.2f}."
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
    """Return the score whose push makes the choices cross: the end at the first word, or the start at the last."""
    return ("end", 0) if one.separate_choices[0] > 0 else ("start", max(0, len(one.tokens) - 2))


def crossing(one: Answer) -> float:
    """Return a push with which the separate choices cross, halfway to the one with which the pushed word wins altogether."""
    edge, at = where(one)
    mine, other = (one.ends, one.starts) if edge == "end" else (one.starts, one.ends)
    crossed = float(mine.max() - mine[at])
    partner = (other[: at + 1] if edge == "end" else other[at:]).max()
    beaten = float(one.span_scores.scores[one.span_scores.best] - mine[at] - partner)
    return (crossed + max(beaten, crossed)) / 2 + 1e-6


def _ask_crossing(plain: Answer, edge: Edge, token: int) -> bool:
    """Ask for the answer once the ends cross, computed with a push that is enough for it."""
    names, by = words(plain), crossing(plain)
    crossed = plain.pushed(edge, token, by)
    start, end = crossed.separate_choices
    best = crossed.span_scores.best
    result = span_text(crossed, best)
    backwards = span_text(plain, (min(start, end), max(start, end)))
    offered = {result, span_text(plain, (token, token)), span_text(plain, (start, start)), backwards, NOTHING}
    return exhibit_parts.predict(
        SLUG + "crossed",
        f"{by:.1f} is added to the {edge} score of “{visible(names[token])}”. Chosen separately, the best start is "
        f"“{visible(names[start])}”, "
        f"the best end “{visible(names[end])}”{', which stands before it' if end < start else ''}. Which words are the answer?",
        sorted(offered),
        result,
        f"Of the allowed pairs “{result}” has the greatest sum, {crossed.span_scores.scores[best]:.2f}. "
        f"Move the slider to {by:.1f}, then further.",
    )


def _cell_text(one: Answer, cell: tuple[int, int]) -> str:
    """Return a sentence on the score of one cell."""
    i, j = cell
    names, start, end = words(one), one.starts[i], one.ends[j]
    total = (
        f"start “{visible(names[i])}” {start:.2f} + end “{visible(names[j])}” {end:.2f} = {start + end:.2f}"
    )
    return (
        f"{total}, and masked: it would end before it starts."
        if j < i
        else f"{total}: “{span_text(one, cell)}”."
    )
