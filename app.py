"""The server. `streamlit run app.py` finds `app`, draws the first screen once, and serves `viz/frame.py`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz.platform import versions

with versions.explain():
    from viz import application

application.check_settings()

app = st.App(
    Path(application.__file__).parent / "frame.py",
    lifespan=application.lifespan,
    routes=application.ROUTES,
    middleware=application.MIDDLEWARE,
    on_script_error=application.on_script_error,
)
