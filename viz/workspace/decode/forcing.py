"""Training against inference: the same sentence with the right words given at each step, and running free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.forcing import Forcing, Position, compare_forcing
from core.model import Model
from viz.instruments import timeline
from viz.instruments.timeline.timeline import Moment
from viz.labels import visible
from viz.languages import _
from viz.shell import state
from viz.widgets import controls, engine_client, page_parts
from viz.workspace.shared import model_run

RIGHT = {
    "She has a white car.": "Ella tiene un coche blanco.",
    "You are welcome.": "De nada.",
    "Once upon a time": " there was a little girl who lived in a village.",
}
"""How our opening texts are written on."""


def show(model: Model, text: str) -> None:
    """Draw the box for the right words, both runs as text, and both as a table."""
    text = model_run.readable_part(model, text, runs=8)  # both texts are read, and one is written anew
    reads = model.spec.has_source
    label = _("What should be written") if reads else _("How the text really goes on")
    target = controls.text(
        label, "target" if reads else "decode.goes", RIGHT.get(text) or _opening(model, text)
    )
    found: Forcing = engine_client.submit(
        ("decode.forcing", model.name, text, target),
        lambda: compare_forcing(model, text, target),
        cost=len(text + target) / 2 + 200,
    )
    given = "" if reads else text
    left, right = st.columns(2, gap="large") if state.presenting() else (st.container(), st.container())
    with left:
        st.markdown(
            _(
                "**Training: the right words are given, whatever the model would have written** (teacher forcing)"
            )
        )
        timeline(_moments(found.forced), prompt=given, key="decode.forced")
    with right:
        st.markdown(_("**Inference: the model reads its own words**"))
        timeline(_moments(found.free), prompt=given, key="decode.free")
    page_parts.summary(_sentence(model, found))
    with page_parts.fold(_("Position by position"), "decode.places") as opened:
        if opened.open:
            page_parts.dataframe(_table(found), hide_index=True, key="decode.forcing.table")
    st.caption(
        _(
            "In training all positions are computed in one pass: the input is the right text shifted by one position, START before it, and the causal mask hides what comes later. At inference there is no right text, so each word waits for the one before it."
        )
    )


def _opening(model: Model, text: str) -> str:
    """Return the model's own words, where we have no better ones."""
    return engine_client.run(model.name, text).target_text or "" if model.spec.has_source else " and"


def _moments(places: Sequence[Position]) -> list[Moment]:
    return [
        Moment(
            place.next,
            min(1.0, place.p),
            place.loss / np.log(2),
            None,
            "" if place.right else _("its first choice is {token}", token=visible(place.best)),
        )
        for place in places
    ]


def _sentence(model: Model, forcing: Forcing) -> str:
    loss = _(
        "With the right words given, the cross-entropy loss of {model} is {bits:.3f} bits per token: what training minimises.",
        model=model.name,
        bits=forcing.loss / np.log(2),
    )
    if forcing.first_difference is None:
        free_run = _("At inference it writes the same.")
    else:
        free = (
            forcing.free[forcing.first_difference].next
            if forcing.first_difference < len(forcing.free)
            else _("nothing")
        )
        forced = (
            forcing.forced[forcing.first_difference].next
            if forcing.first_difference < len(forcing.forced)
            else _("nothing")
        )
        free_run = _(
            "At inference it diverges at position {n}: it writes “{token}” where “{wanted}” was wanted.",
            n=forcing.first_difference + 1,
            token=visible(free),
            wanted=visible(forced),
        )
    same = _(
        "One pass over all positions and one step after the other give the same logits: they differ by {difference:.0e} at most.",
        difference=forcing.difference,
    )
    return f"{loss} {free_run} {same}"


def _table(forcing: Forcing) -> pd.DataFrame:
    rows = []
    for i in range(max(len(forcing.forced), len(forcing.free))):
        a, b = (places[i] if i < len(places) else None for places in (forcing.forced, forcing.free))
        rows.append(
            (
                i + 1,
                visible(a.read) if a else "",
                visible(a.next) if a else "",
                a.p if a else None,
                a.loss if a else None,
                visible(a.best) if a else "",
                visible(b.read) if b else "",
                visible(b.next) if b else "",
                b.p if b else None,
            )
        )
    return pd.DataFrame(
        rows,
        columns=[
            _("place"),
            _("given: reads"),
            _("wanted"),
            _("probability"),
            "-ln p",
            _("first choice"),
            _("free: reads"),
            _("writes"),
            _("its probability"),
        ],
    )
