"""The presets, controls and folds of the exhibit on positional encoding: widgets and our own words, no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.self_attention.maths import position_criteria as criteria_lesson
from viz.course.shared.maths import position_evidence as evidence
from viz.course.shared.maths import positions as lesson
from viz.labels import literal
from viz.shell import state
from viz.widgets import controls, errata, parts
from viz.widgets import lesson as ask

FORMULAS = {
    "paired": "2⌊i/2⌋/d, as in the original paper",
    "over_p": "2j/p, as the survey of 2020 prints it",
    "unpaired": "i/d also for odd i, as the slides of 2021 and 2024 print it",
    "inclusive": "j up to ⌊d/2⌋ inclusive, one pair too many",
    "learned": "no formula: learned by gpt-mini",
}
BASES, WHICH = (10, 100, 1_000, 10_000, 100_000), ("first", "spread", "last")
LOOKING = {
    "Curves": "Each lane is one dimension of the position vectors. The line is the wave of the formula, the dots are "
    "the whole positions: only they exist for a model. Blue lanes are sines (even dimensions), orange ones "
    "cosines (odd dimensions). The dotted line marks one position; the numbers at the right, read from top to "
    "bottom, are its vector. A model adds that vector to the word vector, once, below the first layer.",
    "Matrix": "Each row is one position, each column one dimension; the framed row is the position that is read off. "
    "Blue is positive, orange negative, pale is near 0. The left columns change from row to row, the right ones "
    "hardly change within a sentence: like the second hand and the hour hand of a clock.",
    "Dot products": "Row t and column s show the dot product of the vectors of positions t and s: how well they match "
    "before any weights are learned. With the right formula it depends only on the distance t − s, so every diagonal "
    "has one colour. No query and no key is involved yet.",
    "Distance": "Above: how far apart two position vectors are when the positions are k steps apart. The line is the "
    "mean over all positions, the ribbon reaches from the smallest to the largest; where there is no ribbon the position "
    "does not matter. Below, on the same axis: how a score between a query and a key changes with their distance when "
    "nothing but position tells them apart. Rotary turns queries and keys (heads of 32 dimensions here, mean over all "
    "directions, which gives exactly the sinusoid's curve); ALiBi subtracts slope × distance (three of 8 heads); "
    "learned positions are those of gpt-mini, brought to the same length.",
}


def presets(slug: str, choices: Mapping[str, Any], now: Any) -> None:
    """One row of ready-made settings; a setting is lit while the controls agree with it (the view may differ)."""
    key = f"{slug}presets"
    lit = state.held(key, next((name for name, params in choices.items() if replace(params, view=now.view) == now), None))

    def take() -> None:
        wanted = choices.get(st.session_state.get(key) or "")
        if wanted is not None:
            values = asdict(wanted)
            if wanted.view == type(wanted)().view:
                values.pop("view")  # only a document's figure brings its own view
            state.write(**{slug + name: value for name, value in values.items()})

    st.pills("Ready-made settings", list(choices), format_func=literal, key=key, default=lit, on_change=take,
             label_visibility="collapsed", wrap=True)  # fmt: skip


def change_it(slug: str, start: Any, now: Any) -> None:
    """The fold with the knobs: formula, d, length, base, dimensions shown, position read off."""
    with parts.fold("Change it", f"{slug}change") as opened:
        if not opened.open:
            return
        controls.select("Exponent of the base", tuple(FORMULAS), slug + "formula", start.formula, FORMULAS.__getitem__)
        left, right = st.columns(2, gap="large")
        with left:
            controls.slider("Positions (length)", 2, 256, slug + "length", start.length)
            if now.formula != "learned":
                controls.slider("Dimensions d", 2, 512, slug + "d", start.d)
            if now.formula == "over_p":
                controls.slider("p (the size of a key)", 1, 512, slug + "p", start.p)
            controls.slider("Position read off", 0, 255, slug + "position", start.position)
        with right:
            if now.formula != "learned":
                controls.segmented("Base", BASES, slug + "base", start.base, lambda base: f"{base:,}")
            controls.slider("Curves drawn", 1, 8, slug + "dims", start.dims)
            controls.segmented("Which dimensions", WHICH, slug + "which", start.which)


def criteria(data: Any, learned: Callable[[], tuple[np.ndarray | None, str]]) -> None:
    """The fold with the four criteria of the slides, each tick computed."""
    with parts.fold("Why not simply count? Four criteria, checked", "positional_encoding.criteria") as opened:
        if not opened.open:
            return
        left, right = st.columns(2, gap="large")
        with left:
            short = controls.slider("A short sentence, words", 3, 10, "positional_encoding.short", 5)
        with right:
            long = controls.slider("A long sentence, words", 11, 100, "positional_encoding.long", 20)
        formula = data.formula or lesson.Formula(128)
        trained, missing = learned()
        found = criteria_lesson.encodings(formula, trained)
        verdicts = [criteria_lesson.judge(name, encode, short, long) for name, encode in found.items()]
        st.markdown("\n".join(f"{i}. {words}" for i, words in enumerate(criteria_lesson.CRITERIA, start=1)))
        st.table(pd.DataFrame(criteria_lesson.ticks(verdicts)).set_index("positions"), border="horizontal")
        st.text("\n".join(criteria_lesson.reasons(verdicts, short, long)))
        if trained is None:
            st.text("Learned positions are missing here. " + missing)


def question(length: int, data: Any) -> None:
    """Predict first: does the place matter? Asked anew for another width or length; computed after the choice."""
    d, n = data.formula.d_model if data.formula else 128, max(length, 12)

    def why() -> str:
        (right, *_), (_, low, high) = evidence.five_steps(d, n)
        return (f"With the right formula it is {right:.3f} everywhere, because five steps turn each pair of dimensions by a fixed "
                f"angle, wherever one starts. With the exponent i/d for odd i, as some slides print it, sine and cosine no longer "
                f"share a frequency, and it varies from {low:.3f} to {high:.3f}.")  # fmt: skip

    ask.predict(
        "positional_encoding.guess",
        f"Two words stand five positions apart. Is the distance between their position vectors (d = {d}) the same at the start "
        f"of a sentence of {n} words and at its end?",
        ("The same", "It grows", "It varies"), "The same", why,
    )  # fmt: skip


def equation(params: Any, data: Any) -> None:
    """The formula with this position's numbers, the worked example with d = 4, the numbers for d = 512."""
    with parts.fold(parts.EQUATION, "positional_encoding.equation") as opened:
        if not opened.open:
            return
        parts.equation(r"\begin{aligned}PE(pos, 2j) &= \sin\!\left(pos / 10000^{2j/d}\right)\\"
                       r"PE(pos, 2j+1) &= \cos\!\left(pos / 10000^{2j/d}\right)\end{aligned}")  # fmt: skip
        at = params.position
        if data.formula is None:
            st.markdown("gpt-mini has no formula for its positions: its table was trained like every other weight.")
        elif data.formula != lesson.Formula(4):
            st.markdown(f"**Position {at} with the settings above**")
            dimensions = lesson.choose_dimensions(data.table.shape[1], params.dims, params.which)
            _entries([evidence.entry(data.formula, at, i) for i in dimensions])
        values = evidence.worked_d4(at)
        shown = [e.rounded for e in values]
        st.markdown(f"**The worked example with d = 4** (at position {at}): the base 10000 to the power 2/4 is 100")
        parts.equation(r"\begin{aligned}e'_w &= e_w + \Big[\sin pos,\; \cos pos,\\ &\qquad\sin\tfrac{pos}{100},\;"
                       r"\cos\tfrac{pos}{100}\Big]\\[4pt] &= e_w + [" + ",\\;".join(shown[:2])
                       + r",\\ &\qquad" + ",\\;".join(shown[2:]) + r"]\end{aligned}")  # fmt: skip
        _entries(values)
        st.markdown("**PE(1) for d = 512**, beside what the slides print: they cut after four digits, we round")
        _entries(evidence.worked_d512())


def _entries(entries: Sequence[evidence.Entry]) -> None:
    """Narrow enough for a phone: the formula, or what is printed, never both."""
    rows = [
        {"i": str(e.dimension)} | ({} if e.printed else {"PE(pos, i)": e.formula})
        | {"value": f"{e.value:.9f}".replace("-", "−"), "rounded": e.rounded.replace("-", "−")}
        | ({"printed": e.printed} if e.printed else {})
        for e in entries
    ]  # fmt: skip
    st.table(pd.DataFrame(rows).set_index("i"), border="horizontal")


def looking_at(view: str, data: Any) -> None:
    """What the axes, colours and lines of this view are, and what to try."""
    with parts.fold(parts.LOOKING, "positional_encoding.looking") as opened:
        if opened.open:
            st.markdown(LOOKING[view])
            st.markdown("Attention without a mask has no sense of order: shuffle the words, and each gets the same "
                        "result as before. Order must be told to it. **Try** a base of 10 under Change it: the waves "
                        "become short and far positions begin to look alike.")  # fmt: skip
            if view == "Distance" and data.missing:
                st.text("The curve of the learned positions is missing. " + data.missing)


def documents() -> None:
    """The errata that concern positions, each with its evidence computed now."""
    errata.show("E3", "E4", "E33", "E34", "E43")


def table(data: Any) -> pd.DataFrame:
    """The position vectors, one row a position."""
    frame = pd.DataFrame(data.table.round(6))
    return frame.rename_axis(index="position", columns="dimension").rename(columns=str)


def arrays(data: Any) -> dict[str, np.ndarray]:
    """What one takes away: the table, and what the view shows of it."""
    found = {"positions": data.table}
    if data.products is not None:
        found["dot_products"] = data.products
    for name, profile in ((data.distance or {}) | (data.bias or {})).items():
        found |= {f"{name}: {part}": getattr(profile, part) for part in ("k", "mean", "low", "high")}
    return found


def code(params: Any) -> str:
    """The lines that make the same table in a notebook."""
    if params.formula == "learned":
        return (
            "import core\nfrom viz.course.shared.maths.positions import learned_table\n\n"
            f'table = learned_table(core.open_model("gpt-mini").network)[:{params.length}]  # (pos, d_model)'
        )
    variant = "paired" if params.formula == "inclusive" else params.formula
    more = f", p={params.p}" if variant == "over_p" else ", cut=False" if params.formula == "inclusive" else ""
    return ("from viz.course.shared.maths.positions import Formula\n\n"
            f'table = Formula({params.d}, base={params.base}, variant="{variant}"{more}).table({params.length})'
            "  # (pos, d_model)")  # fmt: skip
