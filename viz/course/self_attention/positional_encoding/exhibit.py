"""Positional encoding: waves of different length, one a dimension, tell a Transformer where each word stands."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving import engine
from viz.charts import thumbs
from viz.course.self_attention.positional_encoding import folds, pictures
from viz.course.shared.maths import positions as lesson
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, parts

EXHIBIT = Exhibit(
    title="Positional encoding", chapter=Chapter.SELF_ATTENTION, order=75, minutes=8,
    claim="Each dimension is a wave of its own length. Read at one position, they make a vector no other position shares.",
    cites=(
        Cite("ghojogh2023", "encoder of the transformer", "Eqs. (17), (18)"),
        Cite("ghojogh2020", "section 3.2.1", "Eqs. (17), (18), Fig. 10"),
        Cite("beigy2021", "position encoding", "PE(pos, i), the example with d = 4"),
        Cite("beigy2024", "position encoding", "four criteria, PE(1) for d = 512"),
        Cite("vaswani2017", "section 3.5"),
        Cite("su2021", "section 3.4", "Eq. (34)"),
        Cite("press2022", "section 3"),
    ),
)  # fmt: skip
SLUG = "positional_encoding."
VIEWS = ("Curves", "Matrix", "Dot products", "Distance")
SHORT = {"paired": "2⌊i/2⌋/d", "over_p": "2j/p", "unpaired": "i/d", "inclusive": "j to ⌊d/2⌋"}


@dataclass(frozen=True)
class Params:
    """What the visitor chose. `dims` dimensions are drawn as curves; `position` is the one that is read off."""

    view: str = "Curves"
    formula: str = "paired"
    d: int = 4
    length: int = 50
    base: int = 10_000
    p: int = 100
    dims: int = 4
    which: str = "first"
    position: int = 1


PRESETS = {
    "d = 4": Params(),
    "d = 512": Params(d=512, length=128, dims=6, which="spread"),
    "Fig. 10: n 10, d 60, p 100": Params(view="Matrix", formula="over_p", d=60, length=10, dims=6),
    "gpt-mini's learned": Params(formula="learned", length=64, dims=6, which="spread"),
}
PARSERS: dict[str, Any] = {
    "view": state.one_of(VIEWS), "formula": state.one_of(tuple(folds.FORMULAS)), "d": state.whole(2, 512),
    "length": state.whole(2, 256), "base": state.one_of(folds.BASES, 10_000), "p": state.whole(1, 512),
    "dims": state.whole(1, 8), "which": state.one_of(folds.WHICH), "position": state.whole(0, 255),
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """The table (pos, d_model) and what the chosen view draws of it; `formula` is None for learned positions."""

    table: np.ndarray
    formula: lesson.Formula | None
    learned: np.ndarray | None
    missing: str
    curves: lesson.Curves | None = None
    products: np.ndarray | None = None
    row: tuple[np.ndarray, np.ndarray] | None = None
    distance: dict[str, lesson.Profile] | None = None
    bias: dict[str, lesson.Profile] | None = None


def learned() -> tuple[np.ndarray | None, str]:
    """gpt-mini's table, or why there is none."""
    try:
        return lesson.learned_table(engine.default().open("gpt-mini").network), ""
    except InputError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - a damaged model takes away its own curve, not this page
        return None, f"gpt-mini could not be loaded ({type(error).__name__}); the log of the server says more."


def compute(params: Params = Params()) -> Data:
    """The table of the chosen formula and the quantities of the chosen view."""
    trained, missing = learned() if params.formula == "learned" or params.view == "Distance" else (None, "")
    if params.formula == "learned":
        if trained is None:
            raise InputError(missing, "Learned positions are read from the model's file.", "Choose a formula instead.")
        formula, table = None, trained[: params.length]
    else:
        variant: Any = "paired" if params.formula == "inclusive" else params.formula
        p = params.p if variant == "over_p" else None
        formula = lesson.Formula(params.d, float(params.base), variant, p, cut=params.formula != "inclusive")
        table = formula.table(params.length)
    data = Data(table, formula, trained, missing)
    source, n = (table if formula is None else formula), len(table)
    if params.view == "Curves":
        chosen = lesson.choose_dimensions(table.shape[1], params.dims, params.which)
        return replace(data, curves=lesson.curves(source, n, chosen))
    if params.view == "Dot products":
        return replace(data, products=lesson.dot_products(table), row=lesson.match(source, params.position, n))
    if params.view == "Distance":
        sources = {"learned" if formula is None else SHORT[params.formula]: source}
        if params.formula == "unpaired":
            sources[SHORT["paired"]] = lesson.Formula(params.d, float(params.base))
        rows = {name: lesson.distance_profile(which, n, 64, 4) for name, which in sources.items()}
        bias = lesson.score_by_distance(min(n, 64), base=float(params.base), learned=trained)
        return replace(data, distance=rows, bias=bias)
    return data


def thumbnail() -> str:
    """The four waves of d = 8 that are slow enough to be seen as waves over 40 positions."""
    return thumbs.curves(lesson.Formula(8, base=400.0).at(np.linspace(0, 40, 161))[:, :4].T)


def page() -> None:
    """Claim, presets, one control, the picture, one sentence; everything else folded."""
    parts.title(EXHIBIT)
    start = Params()
    chosen = Params(**{f.name: state.read(SLUG + f.name, getattr(start, f.name), PARSERS[f.name])
                       for f in fields(Params)})  # fmt: skip
    params = replace(chosen, position=min(chosen.position, chosen.length - 1))
    folds.presets(SLUG, PRESETS, chosen)
    controls.segmented("View", VIEWS, SLUG + "view", start.view, quiet=True)
    with errors.guard():
        _show(params)


def _show(params: Params) -> None:
    cost = 10 + params.length * (params.d + 64) // (40 if params.view == "Distance" else 2000)
    key = ("positional_encoding", params, params.view == "Distance" and learned()[0] is not None)
    data = ask.submit(key, lambda: compute(params), cost)
    drawn = pictures.figures(params.position, data, state.presenting())
    for place, (column, (figure, words)) in enumerate(zip(st.columns(len(drawn)), drawn, strict=True)):
        with column:
            parts.show(figure, f"{SLUG}{params.view}.{place}", words)
    parts.numbers(pictures.sentence(params.position, data))
    folds.change_it(SLUG, Params(), params)
    folds.criteria(data, learned)
    folds.question(params.length, data)
    folds.equation(params, data)
    folds.looking_at(params.view, data)
    parts.documents(EXHIBIT, folds.documents)
    parts.as_table(lambda: folds.table(data), "positional_encoding")
    parts.take_away(lambda: folds.arrays(data), folds.code(params), key="positional_encoding")
