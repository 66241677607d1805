"""One number for each layer, such as the cosine of a word's two vectors: a line with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from viz.charts import marks
from viz.charts.parts.figures import draw_once


@draw_once
def by_layer(
    word: str, values: np.ndarray[Any, np.dtype[Any]], names: Sequence[str], *, revealed: bool
) -> marks.vega.Layers:
    """Return a word's cosines (layer,) over the layers of these names; before they are revealed only the first."""
    shown = pd.Series(values, ["\n".join(name.split()) for name in names], float)
    if not revealed:
        shown.iloc[1:] = np.nan
    low = max(-1.0, min(0.5, shown.min() - 0.1))
    return marks.lines(shown.to_frame(word), "{:.3f}", x="", title="cosine", ends=(low, 1.06), height=290)
