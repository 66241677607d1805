"""The exhibit on positional encoding: a formula, and four views of its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.self_attention import position_criteria
from viz.course.self_attention.positional_encoding import pictures
from viz.course.self_attention.positional_encoding.encoding import Data, cached_encoding, learned
from viz.course.self_attention.positional_encoding.params import (
    CURVES,
    DISTANCE,
    LEARNED,
    OF_A_PRESET,
    PRESETS,
    SLUG,
    VIEWS,
    Params,
)
from viz.course.shared import position_evidence
from viz.course.shared.positions import Formula, choose_dimensions
from viz.exhibit_text import read
from viz.number_text import signed
from viz.shell import links
from viz.widgets import controls, exhibit_parts, page_parts

LOOKING: dict[str, str] = dict(
    zip(VIEWS, read(Path(__file__).with_name("text.md")).steps[0].look.split("\n\n"), strict=True)
)
"""Explanation of the picture, view by view."""


def vectors(params: Params, _: object) -> Folds:
    """Draw presets, view, the picture and its sentence, and a question on the position."""
    # above the picture, and there whatever can be computed
    _presets(params)
    params.show(SLUG, "view")
    params = params.clamped()
    data, at = cached_encoding(params), params.position
    drawn = pictures.figures(at, data, exhibit_parts.presenting())
    for place, (column, (figure, words)) in enumerate(zip(st.columns(len(drawn)), drawn, strict=True)):
        with column:
            page_parts.show(figure, f"{SLUG}.{params.view}.{place}", words)
    page_parts.summary(pictures.sentence(at, data))
    _question(params.length, data)

    def note_below() -> None:
        if params.view == DISTANCE and data.missing:
            st.text("The curve of the learned positions is missing. " + data.missing)
        links.page_link(
            "positions",
            "Positions: the criteria step by step, and what a trained model loses without its positions",
            icon=":material/arrow_forward:",
        )

    def table() -> pd.DataFrame:
        found = pd.DataFrame(data.table.round(6)).rename(columns=str)
        return found.rename_axis(index="position", columns="dimension")

    def arrays() -> dict[str, np.ndarray]:
        taken = {"positions": data.table}
        if data.formula is not None:
            taken["wavelengths"] = np.array(data.formula.wavelengths())
        if data.products is not None:
            taken["dot_products"] = data.products
        for name, profile in ((data.distance or {}) | (data.bias or {})).items():
            taken |= {f"{name}: {part}": getattr(profile, part) for part in ("k", "mean", "low", "high")}
        return taken

    return Folds(
        table,
        arrays,
        _lines(params),
        more=lambda: _worked(params, data),
        look=LOOKING[params.view],
        note_below=note_below,
        change=lambda: _change(params),
        extra_folds=(
            ("Why not simply count? Four criteria, checked", "criteria", lambda: _criteria(params, data)),
        ),
    )


def _presets(now: Params) -> None:
    """Draw a row of ready-made settings; one is highlighted while the controls agree with it (the view may differ)."""
    key, fields = f"{SLUG}.presets", OF_A_PRESET[1:]

    def values(params: Params, names: Sequence[str]) -> dict[str, Any]:
        return {f"{SLUG}.{name}": getattr(params, name) for name in names}

    # only a document's figure brings its own view
    ready = {
        name: values(one, fields if one.view == CURVES else OF_A_PRESET) for name, one in PRESETS.items()
    }
    controls.preset_values(ready, key, values(now, fields), "Ready-made settings")


def _question(length: int, data: Data) -> None:
    """Ask whether the distance depends on the position, again for another width or length; computed after the choice."""
    d, n = data.formula.d_model if data.formula else 128, max(length, 12)

    def explanation() -> str:
        (right, *_), (_, low, high) = position_evidence.five_steps(d, n)
        return (
            f"With the right formula it is {right:.3f} everywhere, because five steps turn each pair of "
            "dimensions by a fixed angle, wherever they begin. With the exponent i/d for odd i, as some "
            f"slides print it, sine and cosine no longer share a frequency, and it varies from {low:.3f} to "
            f"{high:.3f}."
        )

    exhibit_parts.predict(
        f"{SLUG}.guess",
        f"Two words are five positions apart. Compare the distance between their position vectors (d = {d}) "
        f"at the start of a sentence of {n} words and at its end.",
        ("The same", "Larger at the end", "Smaller at the end"),
        "The same",
        explanation,
    )


def _change(params: Params) -> None:
    """Draw the settings; those that a learned table does not have are left out."""
    computed = params.formula != LEARNED
    params.show(SLUG, "formula")
    left, right = st.columns(2, gap="large")
    with left:
        p = ("p",) if params.formula == "over_p" else ()
        params.show(SLUG, "length", *(("d",) if computed else ()), *p, "position")
    with right:
        params.show(SLUG, *(("base",) if computed else ()), "dims", "which")


def _criteria(params: Params, data: Data) -> None:
    """Show the four criteria of the slides, each tick computed."""
    params.show(SLUG, "short", "long")
    trained, missing = learned()
    codes = position_criteria.encodings(data.formula or Formula(128), trained)
    verdicts = [
        position_criteria.judge(name, encode, params.short, params.long) for name, encode in codes.items()
    ]
    st.markdown("\n".join(f"{i}. {words}" for i, words in enumerate(position_criteria.CRITERIA, start=1)))
    ticks = pd.DataFrame(position_criteria.ticks(verdicts)).set_index("positions")
    st.table(ticks, border="horizontal")
    st.text("\n".join(position_criteria.reasons(verdicts, params.short, params.long)))
    if trained is None:
        st.text("Learned positions are missing here. " + missing)


def _worked(params: Params, data: Data) -> None:
    """Show the formula with this position's numbers, the worked example with d = 4, the numbers for d = 512."""
    page_parts.equation(
        r"\begin{aligned}PE(pos, 2j) &= \sin\!\left(pos / 10000^{2j/d}\right)\\"
        r"PE(pos, 2j+1) &= \cos\!\left(pos / 10000^{2j/d}\right)\end{aligned}"
    )
    at = params.position
    if data.formula is None:
        st.markdown(
            "gpt-mini has no formula for its positions: its table was trained like every other weight."
        )
    elif data.formula != Formula(4):
        st.markdown(f"**Position {at} with the settings above**")
        dimensions = choose_dimensions(data.table.shape[1], params.dims, params.which)
        _entries([position_evidence.entry(data.formula, at, i) for i in dimensions])
    values = position_evidence.worked_d4(at)
    shown = [entry.rounded for entry in values]
    st.markdown(
        f"**The worked example with d = 4** (at position {at}): the base 10000 to the power 2/4 is 100"
    )
    page_parts.equation(
        r"\begin{aligned}e'_w &= e_w + \Big[\sin pos,\; \cos pos,\\ &\qquad\sin\tfrac{pos}{100},\;"
        r"\cos\tfrac{pos}{100}\Big]\\[4pt] &= e_w + ["
        + ",\\;".join(shown[:2])
        + r",\\ &\qquad"
        + ",\\;".join(shown[2:])
        + r"]\end{aligned}"
    )
    _entries(values)
    st.markdown("**PE(1) for d = 512**, beside what the slides print: they cut after four digits, we round")
    _entries(position_evidence.worked_d512())


def _entries(entries: Sequence[position_evidence.Entry]) -> None:
    """Show a table that fits on a phone: the formula, or the printed number, never both."""
    rows = [
        {"i": str(entry.dimension)}
        | ({} if entry.printed else {"PE(pos, i)": entry.formula})
        | {"value": signed(entry.value, ".9f"), "rounded": entry.rounded}
        | ({"printed": entry.printed} if entry.printed else {})
        for entry in entries
    ]
    st.table(pd.DataFrame(rows).set_index("i"), border="horizontal")


def _lines(params: Params) -> dict[str, str]:
    """Return parts of the lines of Python that compute the same table."""
    if params.formula == LEARNED:
        table = f'learned_table(core.open_model("gpt-mini").network)[:{params.length}]'
        return {
            "imports": "import core\nfrom viz.course.shared.positions import learned_table",
            "table": table,
        }
    variant = "paired" if params.formula == "inclusive" else params.formula
    more = {"over_p": f", p={params.p}", "inclusive": ", cut=False"}.get(params.formula, "")
    table = f'Formula({params.d}, base={params.base}, variant="{variant}"{more}).table({params.length})'
    return {"imports": "from viz.course.shared.positions import Formula", "table": table}
