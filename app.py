"""The server. `streamlit run app.py` finds `app`, warms up, and serves `viz/frame.py`."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

import viz
from viz.ui import errors, serving


def warm_up() -> None:
    """Everything that is slow the first time: imports, the shipped models, one figure. Then freeze the heap.

    Streamlit collects garbage after every interaction of anyone; with torch loaded that takes 100-200 ms a time
    unless the objects that stay for good are frozen first.
    """
    import altair as alt
    import plotly.graph_objects as go
    import threadpoolctl
    import torch
    from altair.utils import schemapi

    import core.engine
    from viz import pages, theme

    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, "blas")
    engine = core.engine.default()
    for listing in engine.models():
        if not listing.ok:
            logging.getLogger("atlas").warning("model %s is not served: %s", listing.name, listing.problem)
    engine.warm([listing.name for listing in engine.models() if listing.ok])
    pages.discover()
    go.Figure(go.Heatmap(z=[[0, 1]])).update_layout(template=theme.template()).to_json()
    schemapi.disable_debug_mode()  # the tests hold every chart against Vega-Lite's schema: 0.2 s a chart that no visitor has to wait for again
    alt.Chart(alt.Data(values=[{"x": 0}])).mark_point().encode(x="x:Q").to_dict(validate=False)
    gc.collect()
    gc.freeze()


@contextlib.asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, object]]:
    try:
        serving.send_at_once()
        warm_up()
    except Exception:
        logging.getLogger("atlas").exception("the warm-up did not finish")
    yield {}


between = [Middleware(part) for part in (serving.Sieve, serving.Remembered, serving.NameAhead)]
app = st.App(Path(viz.__file__).with_name("frame.py"), lifespan=lifespan, middleware=between, on_script_error=errors.show)
