"""The app, and at /forwards how many runs its engine has computed: `streamlit run tests/bench/counted.py`, for the load test only."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import viz
from core.serving import engine
from viz import application

FRAME = Path(viz.__file__).with_name("frame.py")


async def forwards(_: Request) -> PlainTextResponse:
    return PlainTextResponse(str(engine.default().forwards))


app = st.App(
    FRAME,
    lifespan=application.lifespan,
    middleware=application.MIDDLEWARE,
    on_script_error=application.on_script_error,
    routes=[*application.ROUTES, Route("/forwards", forwards)],
)
