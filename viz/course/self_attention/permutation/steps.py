"""The steps of the exhibit on another order: guess, why, with positions, the mean, a set, a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.maths import max_difference
from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.self_attention.charts.reordered import reordered
from viz.course.self_attention.permutation import maths, order, proof
from viz.course.self_attention.permutation.params import SLUG, Order, Params, order_of
from viz.instruments import heatmap
from viz.number_text import percent_of_change, tiny
from viz.shell import links, state
from viz.widgets import exhibit_parts, page_parts

DRAWN_NUMBERS = 24
"""How many numbers of a row are drawn."""
SET_STAYS, SET_CHANGES = (
    "They stay as they are: it is there already",
    "They change: twice counts more than once",
)


def guess(params: Params, data: maths.Measured) -> Folds:
    """Ask for the output of the layer for another order, then draw its rows."""
    moved, n = data.plain, len(data.order)
    equal = (
        "Each position holds the same word as before."
        if moved.kind == maths.STAYS
        else "It is equivariant, not invariant."
    )
    known = exhibit_parts.predict(
        SLUG + "first",
        f"“{params.text}” in another order: what does the layer output?",
        (maths.STAYS, maths.MOVES, maths.CHANGES),
        moved.kind,
        f"Word by word the numbers agree up to {tiny(moved.largest)}; position by position they differ by "
        f"up to {moved.in_place:.2f}. {equal}",
    )
    _rows("first", data, moved, known)
    if not known:
        page_parts.summary(
            f"{n} words go into the first layer of bert-mini, {n} rows of {moved.before.shape[1]} numbers "
            f"come out. The first {DRAWN_NUMBERS} of each are drawn."
        )
    elif exhibit_parts.presenting():
        page_parts.summary(
            f"The largest difference of any number is {tiny(moved.largest)}, which is rounding; "
            f"position by position it is {tiny(moved.in_place)}."
        )
    else:
        page_parts.summary(
            "Each row moved along with its word: the largest difference of any number is "
            f"{tiny(moved.largest)}, which is rounding. Compared position by position it is "
            f"{tiny(moved.in_place)}."
        )
    order.choose(data)
    return _folds(data, moved, known)


def head_weights(params: Params, data: maths.Measured) -> Folds:
    """Draw one head's weights before and after: rows and columns in the new order."""
    names, tall = list(data.names), 150 if exhibit_parts.presenting() else 330
    new, (a, b), at = [names[i] for i in data.order], data.patterns, list(data.order)
    shown = (("before", a, names, "A, as written"), ("after", b, new, "A′, in the new order"))
    options: dict[str, Any] = {"numbers": len(names) <= 8, "height": tall}
    for column, (key, pattern, words, title) in zip(st.columns(2, gap="medium"), shown, strict=True):
        with column:
            heatmap(pattern[data.head], words, words, key=SLUG + key, title=title, **options)
    row, key = (int(i) for i in np.unravel_index(int(a[data.head].argmax()), a[data.head].shape))
    off = max_difference(b, a[:, at][:, :, at])
    through = (
        f" Through all {data.n_layers} layers of the model, in 32-bit numbers: up to {tiny(data.all_layers)}."
    )
    page_parts.summary(
        f"“{names[row]}” gives “{names[key]}” {a[data.head, row, key]:.3f} before and "
        f"{b[data.head, at.index(row), at.index(key)]:.3f} after. A′ = P A Pᵀ in all {len(a)} heads, "
        f"up to {tiny(off)}.{'' if exhibit_parts.presenting() else through}"
    )
    order.choose(data)
    return _folds(data, data.plain)


def positions(params: Params, data: maths.Measured) -> Folds:
    """Draw the rows with position vectors added: a word at another position is another vector."""
    moved, n = data.placed, len(data.order)
    _rows("positions", data, moved)
    kept, at = int(moved.unchanged.sum()), int(moved.change.argmax())
    if kept == n:
        page_parts.summary(f"{kept} of {n} rows keep their numbers: no word changed its position. Move one.")
    else:
        page_parts.summary(
            f"{kept} of {n} rows keep their numbers; without positions it was {int(data.plain.unchanged.sum())} "
            f"of {n}. “{data.names[moved.origin[at]]}” changes most, by {percent_of_change(float(moved.change.max()))} "
            f"of its length; the average is {percent_of_change(float(moved.change.mean()))}."
        )
    order.choose(data)
    return _folds(data, moved, more=lambda: equation_view.show("positions.add", SLUG))


def mean(params: Params, data: maths.Measured) -> Folds:
    """Draw one vector for the sentence, the mean of its rows."""
    moved = data.placed if params.places else data.plain
    old, after = moved.pooled
    change = float(np.linalg.norm(after - old) / np.linalg.norm(old))
    invariant = moved.pooled_largest < maths.SAME
    _rows("mean", data, moved, means=(old[:DRAWN_NUMBERS], after[:DRAWN_NUMBERS], change, invariant))
    page_parts.summary(
        f"The mean of the {len(data.order)} rows, {'with' if params.places else 'without'} positions: its "
        f"numbers differ by up to {tiny(moved.pooled_largest)} between the two orders. The mean is "
        f"{'' if invariant else 'not '}invariant."
    )
    order.choose(data)
    return _folds(data, moved, more=lambda: proof.pooled(moved))


def as_set(params: Params, data: maths.Measured) -> Folds:
    """Ask what a repeated word changes, then draw the rows."""
    moved, n, every = data.repetition, len(data.order), data.twice == len(data.order)
    said = "Every word" if every else f"“{data.names[data.twice]}”"
    stay, most = bool(moved.unchanged[:n].all()), percent_of_change(float(moved.change[:n].max()))
    known = exhibit_parts.predict(
        SLUG + "set",
        f"{said} is repeated once. What happens to the original rows?",
        (SET_STAYS, SET_CHANGES),
        SET_STAYS if stay else SET_CHANGES,
        f"They change by up to {most} of their length. "
        + (
            "Each word has the same share of the sentence as before, and only shares count."
            if stay
            else "A copy has the same score again, so its word gets more weight and the others less."
        ),
    )
    _rows("set", data, moved, known, new="with one word repeated")
    if known:
        told = (
            "Neither a set nor a count: only the shares of the words matter."
            if every
            else "So it is not a set operation: it works on a multiset. What if every word occurs twice? Try it."
        )
        page_parts.summary(
            f"{said} repeated: the {n} original rows change by up to {most}. A word that occurs c times weighs "
            f"c·a / Σ c·a. {told}"
        )
    order.say_twice(data)
    return _folds(data, moved, known, more=lambda: proof.repeated(data))


def mask(params: Params, data: maths.Measured) -> Folds:
    """Ask how many rows keep their numbers under a causal mask, then draw them."""
    moved, n = data.causal, len(data.order)
    asked = state.read(SLUG + "asked", Order(data.order), order_of(n))
    known = exhibit_parts.predict(
        SLUG + "mask",
        f"“{params.text}” in another order: how many of the {n} rows keep their numbers?",
        [str(i) for i in range(n + 1)],
        str(sum(maths.same_past(data.pieces, asked))),
        "A row keeps its numbers if its word is the same and the same words, in any order, come before it.",
    )
    if known:  # another order afterwards is another picture, not another question
        state.write(**{SLUG + "asked": Order(asked)})
    _rows("mask", data, moved, known)
    if known:
        kept = [f"“{data.names[i]}”" for i, keeps in zip(moved.origin, moved.unchanged, strict=True) if keeps]
        page_parts.summary(
            f"{len(kept)} of {n} rows keep their numbers: {', '.join(kept) or 'none'}. The largest change "
            f"is {percent_of_change(float(moved.change.max()))}. Without the mask {int(data.plain.unchanged.sum())} of {n} "
            "kept them."
        )
    order.choose(data)
    return _folds(data, moved, known, more=lambda: equation_view.show("causal.prefix", SLUG))


def _rows(
    key: str,
    data: maths.Measured,
    reordering: maths.Reordering,
    revealed: bool = True,
    *,
    new: str = "in the new order",
    means: tuple[np.ndarray, np.ndarray, float, bool] | None = None,
) -> None:
    """Draw the rows before and after; before `revealed` those after are covered."""
    n, d = len(reordering.after), reordering.before.shape[1]
    figure = reordered(
        reordering.before[:, :DRAWN_NUMBERS],
        reordering.after[:, :DRAWN_NUMBERS],
        data.names,
        reordering.origin,
        reordering.change,
        unchanged=reordering.unchanged.tolist(),
        covered=not revealed,
        means=means,
        titles=("as written", new),
        row=min(34, 300 // max(n, 1)) if exhibit_parts.presenting() else 34 if n <= 10 else 26,
    )
    told = (
        f"{int(reordering.unchanged.sum())} of {n} rows have the numbers that their word had before."
        if revealed
        else "The output is shown after your guess."
    )
    alt = f"Rows of {d} numbers, the first {DRAWN_NUMBERS} drawn, before and after. {told}"
    page_parts.show(figure, f"{SLUG}rows.{key}", alt)
    if not revealed and key != "first":
        page_parts.summary(
            f"Left: the {len(data.order)} rows in the old order, {d} numbers each. Right: those in the new order, shown after your guess."
        )


def _folds(
    data: maths.Measured,
    reordering: maths.Reordering,
    revealed: bool = True,
    more: Callable[[], object] = lambda: None,
) -> Folds:
    """Return the folds: the claim, `more` and the proof; the new position of each word, and everything measured."""

    def below() -> None:
        proof.equivariant()
        more()
        proof.by_hand(reordering)

    def table() -> pd.DataFrame:
        columns = {
            "word": [data.names[i] for i in reordering.origin],
            "position before": list(reordering.origin),
            "position after": range(len(reordering.origin)),
            "change of its row": reordering.change,
            "largest difference": np.abs(reordering.after - reordering.along).max(1),
        }
        return pd.DataFrame(columns)

    def arrays() -> dict[str, Any]:
        runs = {
            "plain": data.plain,
            "placed": data.placed,
            "causal": data.causal,
            "said": data.repetition,  # a name of the archive
        }
        found = {"order": data.order, "weights": data.patterns[0], "weights_after": data.patterns[1]}
        return found | {
            f"{name}_{when}": getattr(rows, when)
            for name, rows in runs.items()
            for when in ("before", "after")
        }

    def homework() -> None:
        links.page_link(
            "homework", "Both questions, with two more, on the homework page", icon=":material/arrow_forward:"
        )

    return Folds(table, arrays, revealed=revealed, more=below, note_below=homework)
