"""Maps of the same words side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz.instruments import heatmap
from viz.widgets.exhibit_parts import presenting


def side_by_side(
    words: Sequence[str], maps: Mapping[str, tuple[np.ndarray, Mapping[str, Any]]], **common: Any
) -> None:
    """Draw heatmaps of the same words side by side. `maps`: by key, the values (row, column) and the arguments of `heatmap` for that map
    only; `common` holds those for all.
    """
    places = st.columns(len(maps), gap="small" if presenting() or len(maps) > 2 else "medium")
    for place, (key, (values, own)) in zip(places, maps.items(), strict=True):
        with place:
            heatmap(values, words, words, key=key, **{**common, **own})
