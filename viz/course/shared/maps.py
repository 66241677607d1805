"""Maps of the same words side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz.instruments import heatmap
from viz.widgets.exhibit_parts import presenting


def side_by_side(
    words: Sequence[str], shown: Mapping[str, tuple[np.ndarray, Mapping[str, Any]]], **of_all: Any
) -> None:
    """By its key each map (row, column) with what `heatmap` takes of its own; `of_all` it takes of all."""
    places = st.columns(len(shown), gap="small" if presenting() or len(shown) > 2 else "medium")
    for place, (key, (values, own)) in zip(places, shown.items(), strict=True):
        with place:
            heatmap(values, words, words, key=key, **{**of_all, **own})
