"""The surprisal of each token for two models: bars side by side, minus ln P."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from viz.charts import marks
from viz.charts.parts import vega
from viz.labels import distinct, shorten

LETTERS = 11


def token_costs(
    tokens: Sequence[str], costs: Mapping[str, Sequence[float]], *, height: int = 250
) -> vega.Layers:
    """Draw a pair of bars for each token, in nats from 0; without `costs` the tokens alone, and question marks.

    >>> chart = token_costs(["a"], {"λ = 0": [7.0], "λ = 0.5": [1.0]}).to_dict()
    >>> [(bar["group"], bar["label"]) for bar in chart["data"]["values"]]
    [('λ = 0', '7.00'), ('λ = 0.5', '1.00')]
    """
    words = distinct(token.removeprefix(" ") or token for token in tokens)
    table = pd.DataFrame(costs or {"": np.nan}, [shorten(word, LETTERS) for word in words])
    return marks.columns(table, "{:.2f}", title="−ln P, nats", height=height)
