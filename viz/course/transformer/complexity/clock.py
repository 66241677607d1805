"""Both layers by the clock: a recorded run first, then, by button, on the machine that serves this page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.over_length import over_length
from viz.course.exhibit import Folds
from viz.course.transformer.complexity import maths
from viz.course.transformer.complexity.maths import Data, times
from viz.course.transformer.complexity.params import Params
from viz.widgets import engine_client, page_parts

SLUG = "complexity."
LOT = SLUG + "lot"
"""How often this visitor measured at a width, and at which widths that is shown: of this visit, not of the
link."""
WIDTHS_MEASURED_HERE = SLUG + "mine"
MOST = 20
COST = 12_000
"""One length is one job of about a quarter of a second: others come in between."""


def measured(params: Params, data: Data) -> Folds:
    """Draw the recorded times, or those measured on this server by the button."""
    width, lots = params.width, st.session_state.get(LOT, {})
    mine = lots.get(width, 0) if width in st.session_state.get(WIDTHS_MEASURED_HERE, ()) else 0
    kept = maths.recorded_timings()
    rows = _measure_here(width, mine) if mine else kept.of_width(width)
    where = "this server, just now" if mine else kept.machine
    n = [row.n for row in rows]
    lines = {
        "self-attention": [1e3 * row.attention for row in rows],
        "LSTM": [1e3 * row.lstm for row in rows],
    }
    st.caption(f"{'Measured' if mine else 'A recorded run'}, p = {width}: {where}.")
    told = "; ".join(
        f"n = {row.n:,}: attention {1e3 * row.attention:.3g}, LSTM {1e3 * row.lstm:.3g}" for row in rows
    )
    crossing = maths.crossing(width, count_all=True)
    picture = over_length(
        lines,
        [row.n for row in rows],
        title="milliseconds",
        marked={f"counted: n = 2p = {crossing:,}": crossing},
        unit="ms",
        height=280,
    )
    page_parts.show_large(
        picture,
        SLUG + "clock.picture",
        f"Milliseconds of a pass over the number of words, {where}: {told}.",
        310,
    )
    page_parts.summary(_numbers(rows, width))
    with st.container(
        horizontal=True, gap="medium", vertical_alignment="bottom"
    ):  # the width stands beside its buttons
        st.button(
            "Measure on this machine",
            key=SLUG + "measure",
            type="primary",
            icon=":material/timer:",
            on_click=_measure_again,
            args=(width,),
            disabled=lots.get(width, 0) >= MOST,
        )
        st.button(
            "The recorded run", key=SLUG + "recorded", on_click=_forget, args=(width,), disabled=not mine
        )
        with st.container(width="content"):
            params.show("complexity", "width")
    last = rows[-1]
    whole = {"n": f"{last.n:,}", "p": f"{width}"}
    both = {"attention_whole": maths.attention, "lstm_whole": maths.recurrence}
    return Folds(
        lambda: pd.DataFrame(
            {f"{name}, ms": np.round(ms, 4) for name, ms in lines.items()},
            index=[f"n = {each:,}" for each in n],
        ),
        {"n": n, "attention": [row.attention for row in rows], "lstm": [row.lstm for row in rows]},
        equations={
            f"complexity.{name}": whole | {"C": f"{cost(last.n, width, count_all=True).operations:,}"}
            for name, cost in both.items()
        },
    )


def _measure_here(width: int, lot: int) -> tuple[maths.Timing, ...]:
    """Measure both layers at all lengths on this server, one job per length."""
    who = engine_client.session()
    with engine_client.many() as submit:
        return tuple(
            submit(("complexity.measured", who, width, n, lot), lambda n=n: maths.measure(n, width), COST)
            for n in maths.LENGTHS
        )


def _numbers(rows: tuple[maths.Timing, ...], width: int) -> str:
    faster = [row.n for row in rows if row.attention < row.lstm]
    first, last = rows[0], rows[-1]
    told = (
        f"n = {first.n}: attention {1e3 * first.attention:.2g} ms, LSTM {1e3 * first.lstm:.2g} ms. n = "
        f"{last.n:,}: {1e3 * last.attention:.3g} and {1e3 * last.lstm:.3g} ms, "
        f"{times(last.lstm / last.attention)}. "
    )
    return told + (
        f"Attention was faster up to n = {max(faster):,}."
        if faster
        else f"At p = {width} the LSTM was faster at every length."
    )


def _measure_again(width: int) -> None:
    lots = st.session_state.get(LOT, {})
    st.session_state[LOT] = lots | {width: min(MOST, lots.get(width, 0) + 1)}
    st.session_state[WIDTHS_MEASURED_HERE] = {*st.session_state.get(WIDTHS_MEASURED_HERE, ()), width}


def _forget(width: int) -> None:
    st.session_state[WIDTHS_MEASURED_HERE] = {*st.session_state.get(WIDTHS_MEASURED_HERE, ())} - {width}
