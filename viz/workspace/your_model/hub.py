"""A model of the Hub by its name: what it would bring, how far it is, and the button that ends it."""

from __future__ import annotations

import streamlit as st

from core.checkpoints import hub
from core.checkpoints.hub import Offer
from core.errors import InputError
from core.jobs.fetching import FETCHER, Fetching
from viz.labels import literal
from viz.languages import _
from viz.shell import errors, notices
from viz.widgets import controls, page_parts
from viz.workspace.your_model.arrival import bring_into_view

BEAT = 0.5
"""Seconds between two looks at a fetching that runs."""
MB = 10**6
_OFFER, _REFUSED = "your_model.offer", "your_model.refused"


def draw() -> None:
    """Draw the box for the name; its files with their sizes; then the progress."""
    name = controls.text(_("Its name on the Hub"), "your_model.hub", "", placeholder="owner/name")
    st.button(
        _("See what it has"), icon=":material/search:", disabled=not name.strip(), on_click=_ask, args=(name,)
    )
    if refused := st.session_state.get(_REFUSED):
        notices.box(*refused)
    offer: Offer | None = st.session_state.get(_OFFER)
    if offer is not None:
        _offer(offer)
    st.fragment(_running, run_every=BEAT if _runs() else None)(_runs())


def _runs() -> bool:
    return FETCHER.now is not None and not FETCHER.now.over


def _ask(name: str) -> None:
    st.session_state[_OFFER], st.session_state[_REFUSED] = None, None
    try:
        st.session_state[_OFFER] = hub.find_download(hub.PREFIX + name.strip().removeprefix(hub.PREFIX))
    except InputError as error:
        st.session_state[_REFUSED] = (error.wrong, error.rule, error.remedy)


def _offer(offer: Offer) -> None:
    files = ", ".join(f"{file} {size / MB:,.1f} MB" for file, size in offer.sizes.items())
    page_parts.summary(f"{offer.name}: {offer.total / MB:,.1f} MB. {files}.")
    st.button(
        _("Fetch {size:,.1f} MB", size=offer.total / MB),
        icon=":material/download:",
        type="primary",
        disabled=_runs(),
        on_click=_begin,
        args=(offer,),
    )


def _begin(offer: Offer) -> None:
    try:
        FETCHER.begin(offer)
        st.session_state[_REFUSED] = None
    except InputError as error:
        st.session_state[_REFUSED] = (error.wrong, error.rule, error.remedy)


def _running(before: bool) -> None:
    with errors.guard():
        now = FETCHER.now
        if now is None:
            return
        if before and now.over:
            if now.model:
                bring_into_view(now.model.name)
                st.session_state[_OFFER] = None
            st.rerun()
        _standing(now)


def _standing(now: Fetching) -> None:
    if now.problem:
        notices.box(now.problem.wrong, now.problem.rule, now.problem.remedy)
    elif not now.over:
        share = now.bytes_here / max(now.offer.total, 1)
        told = _(
            "{name}: {here:,.1f} of {total:,.1f} MB",
            name=literal(now.offer.name),
            here=now.bytes_here / MB,
            total=now.offer.total / MB,
        )
        st.progress(min(share, 1.0), told)
        st.button(_("Stop"), icon=":material/stop_circle:", key="your_model.stop", on_click=FETCHER.stop)
