"""The position vectors of a formula, or those that gpt-mini has learned, and what a view draws of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.errors import InputError
from core.serving.engine import default
from viz.course.self_attention.positional_encoding.params import (
    CURVES,
    DISTANCE,
    LEARNED,
    OF_A_PRESET,
    PRODUCTS,
    Params,
)
from viz.course.shared import positions
from viz.widgets import engine_client

SHORT = {"paired": "2⌊i/2⌋/d", "over_p": "2j/p", "unpaired": "i/d", "inclusive": "j to ⌊d/2⌋"}


@dataclass(frozen=True)
class Data:
    """The table (pos, d_model) and what the view draws of it; `formula` is None for learned positions."""

    table: np.ndarray
    formula: positions.Formula | None
    learned: np.ndarray | None
    missing: str
    curves: positions.Curves | None = None
    products: np.ndarray | None = None
    row: tuple[np.ndarray, np.ndarray] | None = None
    distance: dict[str, positions.Profile] | None = None
    bias: dict[str, positions.Profile] | None = None


def learned() -> tuple[np.ndarray | None, str]:
    """Return gpt-mini's table, or None and the reason."""
    try:
        return positions.learned_table(default().open("gpt-mini").network), ""
    except InputError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - a damaged model takes away its own curve, not this page
        name = type(error).__name__
        return None, f"gpt-mini could not be loaded ({name}); see the log of the server."


def encoded(params: Params) -> Data:
    """Return the table and the quantities of the chosen view. Errors: InputError without learned positions."""
    wants = params.formula == LEARNED or params.view == DISTANCE
    trained, missing = learned() if wants else (None, "")
    if params.formula == LEARNED:
        if trained is None:
            raise InputError(
                missing, "Learned positions are read from the model's file.", "Choose a formula instead."
            )
        formula, table = None, trained[: params.length]
    else:
        variant: Any = "paired" if params.formula == "inclusive" else params.formula
        p = params.p if variant == "over_p" else None
        cut = params.formula != "inclusive"
        formula = positions.Formula(params.d, float(params.base), variant, p, cut=cut)
        table = formula.table(params.length)
    data = Data(table, formula, trained, missing)
    source, n = (table if formula is None else formula), len(table)
    if params.view == CURVES:
        chosen = positions.choose_dimensions(table.shape[1], params.dims, params.which)
        return replace(data, curves=positions.curves(source, n, chosen))
    if params.view == PRODUCTS:
        row = positions.match(source, params.position, n)
        return replace(data, products=positions.dot_products(table), row=row)
    if params.view == DISTANCE:
        sources = {LEARNED if formula is None else SHORT[params.formula]: source}
        if params.formula == "unpaired":
            sources[SHORT["paired"]] = positions.Formula(params.d, float(params.base))
        rows = {name: positions.distance_profile(which, n, 64, 4) for name, which in sources.items()}
        bias = positions.score_by_distance(min(n, 64), base=float(params.base), learned=trained)
        return replace(data, distance=rows, bias=bias)
    return data


def cached_encoding(params: Params) -> Data:
    """Return the same, computed once for all visitors."""
    cost = 10 + params.length * (params.d + 64) // (40 if params.view == DISTANCE else 2000)
    with_learned = params.view == DISTANCE and learned()[0] is not None
    chosen = tuple(getattr(params, name) for name in OF_A_PRESET)
    return engine_client.submit(("positional_encoding", chosen, with_learned), lambda: encoded(params), cost)
