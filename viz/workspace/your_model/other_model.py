"""A model beside another: one click to Compare, and for two checkpoints of one shape how far each head is from its counterpart."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.model import Model
from viz.charts.marks import PICKED
from viz.labels import head_name, shorten
from viz.languages import _
from viz.widgets import controls, page_parts, pins
from viz.widgets.pins import View
from viz.workspace.your_model import charts, data


def show(model: Model, text: str) -> None:
    """Draw the choice of another model; the way to Compare; head by head where the two have one shape."""
    others = data.partners(model.name)
    if not others or not model.spec.kinds_of(model.config):
        return
    st.header(_("Beside another model"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        other = controls.select(_("The other"), others, "your_model.other", others[0])
        pins.to_compare(_("Compare on common words"), (View(model.name, text), View(other, text)))
    if not data.same_shape(model.name, other):
        st.text(
            _(
                "{model} and {other} have other numbers of layers or heads: Compare puts any two heads beside each other.",
                model=model.name,
                other=other,
            )
        )
        return
    _head_by_head(model.name, other, text)


def _head_by_head(one: str, other: str, text: str) -> None:
    kind, bits = data.head_distances(one, other, text)
    cells = [
        (int(i), int(j), head_name(int(i), int(j)), float(bits[i, j])) for i, j in np.ndindex(*bits.shape)
    ]
    layer, head = (int(place) for place in np.unravel_index(int(np.nan_to_num(bits).argmax()), bits.shape))
    told = _(
        "On “{text}” {head} differs most, by {most:.2f} bits; the mean over all {n} heads is {mean:.2f} (Jensen-Shannon divergence, 1 at most).",
        text=shorten(text, 60),
        head=head_name(layer, head),
        most=float(bits[layer, head]),
        n=bits.size,
        mean=float(np.nanmean(bits)),
    )
    page_parts.show(
        charts.distance_cells(cells),
        "your_model.apart",
        _("How far each head is from its counterpart. {sentence}", sentence=told),
        on_pick=lambda: None,
    )
    page_parts.summary(told)
    picked = page_parts.clicked_mark("your_model.apart", PICKED)
    place = (int(picked["place"]), int(picked["at"])) if picked else (layer, head)
    pins.to_compare(
        _("{head} of both in Compare", head=head_name(*place)),
        (View(one, text, kind, *place), View(other, text, kind, *place)),
    )
