"""Both layers by the clock: a recorded run first, then, by button, on the machine that serves this page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.shared.shown import Shown, show
from viz.course.transformer.complexity import charts as orders
from viz.course.transformer.complexity import maths as costs
from viz.course.transformer.complexity.link import SLUG, times
from viz.widgets import compute as ask
from viz.widgets import controls, parts

LOT = SLUG + "lot"
"""How often this visitor measured at a width, and at which widths that is shown: of this visit, not of the link."""
SHOWN = SLUG + "mine"
MOST = 20
COST = 12_000
"""One length is one job of about a quarter of a second: others come in between."""
CLOCKED = (
    "Each dot is the fastest of several passes of one layer over one text of n words, width p: our own attention layer with 8 heads, and torch's LSTM. One thread, so nothing runs side by side; the "
    "seconds are those of this thread's processor. The dashed line is where everything counted says that they meet, n = 2p. A clock also sees what no table counts: on one core the LSTM gains nothing from "
    "waiting less, attention writes its n × n scores to memory several times, and small layers cost mostly the call itself. On a machine that works on thousands of numbers at once, the n steps of the LSTM still wait for "
    "each other, and those of attention do not."
)


def measured(params: Any, data: Any, start: Any) -> Shown:
    """The recorded times, or the visitor's own; the button measures."""
    width, lots = params.width, st.session_state.get(LOT, {})
    mine = lots.get(width, 0) if width in st.session_state.get(SHOWN, ()) else 0
    kept = costs.recorded()
    rows = _own(width, mine) if mine else kept.of(width)
    where = "this server, just now" if mine else kept.machine
    n = [row.n for row in rows]
    lines = {"self-attention": (n, [1e3 * row.attention for row in rows]), "LSTM": (n, [1e3 * row.lstm for row in rows])}
    st.caption(f"{'Measured' if mine else 'A recorded run'}, p = {width}: {where}.")
    show(orders.over_length(lines, at=None, crossing=costs.crossing(width, whole=True), y_title="milliseconds", dots=True, said="counted: n = 2p", unit="ms", height=310), SLUG + "clock.picture",
               f"Milliseconds of a pass over the number of words, {where}: " + "; ".join(f"n = {row.n:,}: attention {1e3 * row.attention:.3g}, LSTM {1e3 * row.lstm:.3g}" for row in rows) + ".", 310)  # fmt: skip
    parts.numbers(_numbers(rows, width))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.button("Measure on this machine", key=SLUG + "measure", type="primary", icon=":material/timer:", on_click=_again, args=(width,), disabled=lots.get(width, 0) >= MOST)
        st.button("The recorded run", key=SLUG + "recorded", on_click=_forget, args=(width,), disabled=not mine)
        with st.container(width="content"):
            controls.segmented("p", costs.WIDTHS, SLUG + "width", start.width)
    frame = pd.DataFrame({"self-attention, ms": [round(1e3 * row.attention, 4) for row in rows], "LSTM, ms": [round(1e3 * row.lstm, 4) for row in rows]}, index=[f"n = {row.n:,}" for row in rows])
    last = rows[-1]
    whole = {"n": f"{last.n:,}", "p": f"{width}"}
    return Shown(
        {"complexity.attention_whole": whole | {"C": f"{costs.attention(last.n, width, whole=True).operations:,}"}, "complexity.lstm_whole": whole | {"C": f"{costs.recurrence(last.n, width, whole=True).operations:,}"}},
        (), CLOCKED, lambda: frame, {"n": np.array(n), "attention": np.array([row.attention for row in rows]), "lstm": np.array([row.lstm for row in rows])},
        f"import torch\nfrom viz.course.transformer.complexity.maths import LENGTHS, measure\n\ntorch.set_num_threads(1)\nfor n in LENGTHS:\n    print(measure(n, {width}))",
    )  # fmt: skip


def _own(width: int, lot: int) -> tuple[costs.Timing, ...]:
    """A measurement of one's own, one job a length."""
    who = ask.session()
    with ask.many() as submit:
        return tuple(submit(("complexity.measured", who, width, n, lot), lambda n=n: costs.measure(n, width), COST) for n in costs.LENGTHS)


def _numbers(rows: tuple[costs.Timing, ...], width: int) -> str:
    faster = [row.n for row in rows if row.attention < row.lstm]
    first, last = rows[0], rows[-1]
    told = f"n = {first.n}: attention {1e3 * first.attention:.2g} ms, LSTM {1e3 * first.lstm:.2g} ms. n = {last.n:,}: {1e3 * last.attention:.3g} and {1e3 * last.lstm:.3g} ms, {times(last.lstm / last.attention)}. "
    return told + (f"Attention was faster up to n = {max(faster):,}." if faster else f"At p = {width} the LSTM was faster at every length.")


def _again(width: int) -> None:
    lots = st.session_state.get(LOT, {})
    st.session_state[LOT] = lots | {width: min(MOST, lots.get(width, 0) + 1)}
    st.session_state[SHOWN] = {*st.session_state.get(SHOWN, ()), width}


def _forget(width: int) -> None:
    st.session_state[SHOWN] = {*st.session_state.get(SHOWN, ())} - {width}
