"""Full against block-sparse attention by the clock: a recorded run first, then, by button, on the machine that serves this page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import pandas as pd
import streamlit as st

from core.checkpoints.files import json_object
from core.data.home import assets
from core.errors import InputError
from core.scoring.cost import Cost
from viz.charts.over_length import over_length
from viz.course.bert.sparse_attention import maths
from viz.course.bert.sparse_attention.maths import Mask, Timing
from viz.course.bert.sparse_attention.params import SLUG, Params
from viz.course.bert.sparse_attention.steps import equation
from viz.course.exhibit import Folds
from viz.number_text import with_unit
from viz.widgets import engine_client, page_parts

LOT, SHOWN = SLUG + "lot", SLUG + "mine"
MOST, COST = 20, 12_000
"""One length is one job of about a quarter of a second, the longest of about one: others come in between."""
FOLDER = ("runs", "sparse_attention")


def measured(params: Params, data: Mask) -> Folds:
    """Time and memory over the length, both ways; the button measures with the mask that is set."""
    lot, mine = st.session_state.get(LOT, 0), st.session_state.get(SHOWN, False)
    kept = recorded()
    rows = _measure_here(params, lot) if mine else kept[1]
    where = "this server, just now" if mine else kept[0]
    of = (
        f"w = {params.window}, g = {params.n_global}, r = {params.n_random}, blocks of {params.block}"
        if mine
        else kept[2]
    )
    st.caption(
        f"{'Measured' if mine else 'A recorded run'}, one head of {maths.WIDTH} numbers, {of}: {where}."
    )
    lengths = [row.n for row in rows]
    pictures = (
        ("milliseconds", "ms", lambda cost: 1e3 * cost.seconds),
        ("bytes held at once", "bytes", lambda cost: float(cost.nbytes)),
    )
    for place, (title, unit, of_cost) in zip(st.columns(2, gap="medium"), pictures, strict=True):
        lines = {
            "blocks": [of_cost(row.blocks) for row in rows],
            "all pairs": [of_cost(row.full) for row in rows],
        }
        with place:
            page_parts.show_large(
                over_length(lines, lengths, title=title, x="n, tokens", unit=unit, scale="log2", height=250),
                f"{SLUG}clock.{unit}",
                f"{title.capitalize()} over the number of tokens, all pairs against blocks, {where}.",
                250,
            )
    page_parts.summary(_numbers(rows))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.button(
            "Measure on this machine",
            key=SLUG + "measure",
            type="primary",
            icon=":material/timer:",
            on_click=_measure_again,
            disabled=lot >= MOST,
        )
        st.button("The recorded run", key=SLUG + "recorded", on_click=_forget, disabled=not mine)
    columns = {
        "all pairs, ms": [f"{1e3 * row.full.seconds:.3g}" for row in rows],
        "blocks, ms": [f"{1e3 * row.blocks.seconds:.3g}" for row in rows],
        "all pairs, MB": [f"{row.full.nbytes / 1e6:,.2f}" for row in rows],
        "blocks, MB": [f"{row.blocks.nbytes / 1e6:,.2f}" for row in rows],
    }
    return Folds(
        lambda: pd.DataFrame(columns, index=[f"n = {n:,}" for n in lengths]),
        {
            "n": lengths,
            "full": [row.full.seconds for row in rows],
            "blocks": [row.blocks.seconds for row in rows],
            "full_bytes": [row.full.nbytes for row in rows],
            "blocks_bytes": [row.blocks.nbytes for row in rows],
        },
        equations=equation(params, lengths[-1]),
    )


def _numbers(rows: Sequence[Timing]) -> str:
    last = rows[-1]
    faster = [row.n for row in rows if row.blocks.seconds < row.full.seconds]
    told = (
        f"n = {last.n:,}: {1e3 * last.full.seconds:.3g} ms for all pairs, {1e3 * last.blocks.seconds:.3g} ms for the blocks; "
        f"{with_unit(last.full.nbytes)}B against {with_unit(last.blocks.nbytes)}B held at once. "
    )
    return told + (
        f"The blocks were faster from n = {min(faster):,} on."
        if faster
        else "At no length were the blocks faster here."
    )


def _measure_here(params: Params, lot: int) -> tuple[Timing, ...]:
    """Measure on this machine with the visitor's mask, one job per length."""
    who, shape = engine_client.session(), params.shape
    set_ = (shape.block, shape.window, shape.n_global, shape.n_random, shape.seed)
    with engine_client.many() as submit:
        return tuple(
            submit((SLUG + "measured", who, set_, n, lot), lambda n=n: maths.measure(n, *set_), COST)
            for n in maths.LENGTHS
        )


@cache
def recorded() -> tuple[str, tuple[Timing, ...], str]:
    """Return machine, timings and mask of the recorded run. Raises InputError where it cannot be read."""
    try:
        held: dict[str, Any] = json_object(assets(*FOLDER), "run.json")
        rows = tuple(
            Timing(int(row["n"]), Cost(**row["full"]), Cost(**row["blocks"])) for row in held["timings"]
        )
        return str(held["machine"]), rows, str(held["mask"])
    except (InputError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"The recorded times cannot be read ({type(error).__name__}).",
            "They are written by viz.course.bert.sparse_attention.record.",
            "Measure here instead.",
        ) from None


def as_json_rows(rows: Sequence[Timing]) -> list[dict[str, Any]]:
    """Return the timings as rows of JSON.

    >>> as_json_rows([Timing(2, Cost(0.1, 8), Cost(0.2, 4))])
    [{'n': 2, 'full': {'seconds': 0.1, 'nbytes': 8}, 'blocks': {'seconds': 0.2, 'nbytes': 4}}]
    """
    return [asdict(row) for row in rows]


def _measure_again() -> None:
    st.session_state[LOT] = min(MOST, st.session_state.get(LOT, 0) + 1)
    st.session_state[SHOWN] = True


def _forget() -> None:
    st.session_state[SHOWN] = False
