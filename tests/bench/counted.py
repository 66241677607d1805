"""The app, and at /forwards how many runs its engine has computed: `streamlit run tests/bench/counted.py`, for the load test only."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import app as whole
from core.serving import engine
from viz.shell import errors

FRAME = Path(whole.__file__).parent / "viz" / "frame.py"


async def forwards(_: Request) -> PlainTextResponse:
    return PlainTextResponse(str(engine.default().forwards))


app = st.App(
    FRAME,
    lifespan=whole.lifespan,
    middleware=whole.between,
    on_script_error=errors.show,
    routes=[Route("/forwards", forwards)],
)
