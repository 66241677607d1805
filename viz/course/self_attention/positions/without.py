"""The last step of the exhibit on positions: a trained model with its positions as they are, shuffled, and removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.charts.curves import number
from viz.course.self_attention.positions import folds as more
from viz.course.self_attention.positions.maths import unplaced as analysis
from viz.course.shared.shown import Shown
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, literal, percent, visible
from viz.shell import room
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

SLUG, LONGEST = "positions.", 24
LOW = 104
"""Pixels of the cells of a map that leave the controls below on the screen before a room."""
EQUAL = "Both alike"
OF = {"gpt": "about the next token", "bert": "about each word, hidden in turn", "transformer": "about its own translation"}


def measured(model: str, text: str, lot: int) -> analysis.Unplaced:
    """The three runs. Errors: InputError for a text that is too long to be drawn."""
    opened = default().open(model)
    n = len(opened.tokenizer.encode(text).ids)
    if n > LONGEST:
        raise InputError(f"The text has {n} tokens.", f"This page draws up to {LONGEST}.", "Shorten it, or take an example.")
    return analysis.unplaced(opened, text, lot)


def worse(found: analysis.Unplaced) -> str:
    """Which of the two surprises the model more."""
    shuffled, removed = (found.ways[way].surprise for way in (analysis.SHUFFLED, analysis.REMOVED))
    return EQUAL if abs(shuffled - removed) < 0.005 else analysis.SHUFFLED if shuffled > removed else analysis.REMOVED


def without(params: Any) -> Shown:
    """Question, the three maps with what the model says, the sentence of numbers."""
    model, text = params.model, params.text
    found = ask.submit(("positions.without", model, text, params.lot), lambda: measured(model, text, params.lot), 300 * len(text))
    family = default().open(model).spec.name
    told = {way: each.surprise for way, each in found.ways.items()}
    nats = [number(told[way]) for way in analysis.WAYS]
    here, answer = "on this sentence", f"Loss, nats per token: {nats[0]} as trained, {nats[1]} shuffled, {nats[2]} removed."
    if lesson.presenting():  # one line each, and no sentence below
        looks = ", ".join(percent(part) for part in _before(found).values())
        here, answer = "here", f"Loss in nats per token: {nats[0]}, shuffled {nats[1]}, removed {nats[2]}; {head_name(*found.head)} at the word before: {looks}."
    known = lesson.predict(
        f"{SLUG}worse", f"What harms {model} more {here}: positions shuffled, or removed?", {way: told[way] for way in (analysis.SHUFFLED, analysis.REMOVED)} | {EQUAL: 0.0}, worse(found),
        answer,
    )  # fmt: skip
    names = distinct(token.strip() or token for token in found.tokens)
    with room.wide():
        columns = st.columns(3, gap="small")
    for column, way in zip(columns, analysis.WAYS, strict=True):
        open_ = known or way == analysis.AS_TRAINED
        with column:
            name, how = way.capitalize(), f"{number(told[way])} nats" if open_ else "guess first"
            heard = said(found.ways[way], family, found.hidden) if open_ else "…"
            if not lesson.presenting():
                st.markdown(f"**{name}** :gray[{how}]")
                st.markdown(literal(heard))
            small: dict[str, Any] = {"height": LOW, "title": f"{name}: {heard if open_ else how}"} if lesson.presenting() else {"height": 250}
            pattern = found.ways[way].pattern[: found.n, : found.n]
            origin.tell(model=model, text=text, layer=found.head[0], head=found.head[1], changed=f"positions {way}")
            heatmap(pattern if open_ else np.zeros_like(pattern), names, names, key=f"{SLUG}map.{way}", **small)
    kept = {way: value if known or way == analysis.AS_TRAINED else None for way, value in told.items()}
    if not lesson.presenting():  # there the answer says it all
        parts.numbers(_numbers(found, told) if known else f"As trained, head {head_name(*found.head)} looks at the word before; its loss {OF.get(family, '')} is {number(told[analysis.AS_TRAINED])} nats.")
    code = (f"import core\nfrom viz.course.self_attention.positions.maths.unplaced import unplaced\n\nfound = unplaced(core.open_model({model!r}), {text!r}, {params.lot})\n"
            "surprise = {way: told.surprise for way, told in found.ways.items()}")  # fmt: skip
    frame = pd.DataFrame({"loss, nats per token": list(kept.values()), "says": [said(found.ways[way], family, found.hidden) if kept[way] is not None else "" for way in kept]}, index=list(kept))
    arrays = {f"pattern_{way.split()[0]}": found.ways[way].pattern for way in kept if kept[way] is not None}
    return Shown({"positions.add": {}}, (r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",), more.LOOKING[5], lambda: frame, arrays, code)


def said(told: analysis.Told, family: str, hidden: str) -> str:
    """What the model says, in one line."""
    if family == "transformer":
        return f"“{told.says[0][0]}”"
    best = ", ".join(f"{visible(word.strip() or word)} {percent(chance)}" for word, chance in told.says)
    return f"for “{hidden}”: {best}" if hidden else f"next: {best}"


def _before(found: analysis.Unplaced) -> dict[str, float]:
    """How much the head looks at the word before, in each run."""
    return {way: float(np.diagonal(each.pattern[: found.n, : found.n], -1).mean()) for way, each in found.ways.items()}


def _numbers(found: analysis.Unplaced, told: dict[str, float]) -> str:
    prev = _before(found)
    worst = max(told, key=told.__getitem__)
    looked = f"Head {head_name(*found.head)} looked {percent(prev[analysis.AS_TRAINED])} at the word before; shuffled {percent(prev[analysis.SHUFFLED])}, removed {percent(prev[analysis.REMOVED])}."
    return (f"Loss {number(told[analysis.AS_TRAINED])} nats as trained; {number(told[analysis.SHUFFLED])} shuffled, {number(told[analysis.REMOVED])} removed: worst is {worst}. {looked}")
