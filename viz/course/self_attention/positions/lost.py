"""The last step on positions: a trained model with them as they are, shuffled, and removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.course.exhibit import Folds
from viz.course.self_attention.positions import read, without_positions
from viz.course.self_attention.positions.params import SLUG, Params
from viz.course.self_attention.positions.steps import formulas
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, literal, percent, visible
from viz.number_text import number
from viz.shell import links, present_layout
from viz.widgets import engine_client, exhibit_parts, page_parts

LOW = 104
"""Pixels of the cells of a map that leave the controls below on the screen before a room."""
OF = {
    "gpt": "about the next token",
    "bert": "about each word, hidden in turn",
    "transformer": "about its own translation",
}


def lost(params: Params, _: object) -> Folds:
    """A trained model whose positions are shuffled, or taken away: three maps with what the model says."""
    model, text, lot = params.model, params.trained, params.draw
    found = engine_client.submit(
        ("positions.without", model, text, lot), lambda: read.measured(model, text, lot), 300 * len(text)
    )
    family = default().open(model).spec.name
    loss = {way: each.surprise for way, each in found.ways.items()}
    trained, shuffled, removed = (number(loss[way]) for way in without_positions.WAYS)
    here = "on this sentence"
    answer = f"Loss, nats per token: {trained} as trained, {shuffled} shuffled, {removed} removed."
    if exhibit_parts.presenting():  # one line each, and no sentence below
        here, looks = "here", ", ".join(percent(part) for part in _before(found).values())
        answer = (
            f"Loss in nats per token: {trained}, shuffled {shuffled}, removed {removed}; "
            f"{head_name(*found.head)} at the word before: {looks}."
        )
    known = exhibit_parts.predict(
        f"{SLUG}.worse",
        f"What raises the loss of {model} more {here}: positions shuffled, or removed?",
        {way: loss[way] for way in (without_positions.SHUFFLED, without_positions.REMOVED)}
        | {read.EQUAL: 0.0},
        read.worse(found),
        answer,
    )
    with present_layout.full_width():
        columns = st.columns(3, gap="small")
    for column, way in zip(columns, without_positions.WAYS, strict=True):
        with column:
            layer, head = found.head
            origin.tell(model=model, text=text, layer=layer, head=head, changed=f"positions {way}")
            _map(found, way, family, known or way == without_positions.AS_TRAINED)
    if not exhibit_parts.presenting():  # there the answer says it all
        looks = f"As trained, head {head_name(*found.head)} attends to the previous word"
        page_parts.summary(
            _loss_sentence(found, loss)
            if known
            else f"{looks}; its loss {OF.get(family, '')} is {trained} nats."
        )

    def table() -> pd.DataFrame:
        says = [_says(each, family, found.hidden) for each in found.ways.values()]
        return pd.DataFrame(
            {"loss, nats per token": list(loss.values()), "prediction": says}, index=list(found.ways)
        )

    return Folds(
        table,
        {f"pattern_{way.split()[0]}": each.pattern for way, each in found.ways.items()},
        {},
        known,
        {"positions.add": {}},
        (r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",),
        aside=lambda: _deeper(model, text),
    )


def _map(found: without_positions.Unplaced, way: str, family: str, open_: bool) -> None:
    """One way: what the model says, and where the head looks."""
    told, names = found.ways[way], distinct(token.strip() or token for token in found.tokens)
    name, how = way.capitalize(), f"{number(told.surprise)} nats" if open_ else "guess first"
    heard = _says(told, family, found.hidden) if open_ else "…"
    size: dict[str, Any] = {"height": 250}
    if exhibit_parts.presenting():
        size = {"height": LOW, "title": f"{name}: {heard if open_ else how}"}
    else:
        st.markdown(f"**{name}** :gray[{how}]")
        st.markdown(literal(heard))
    pattern = told.pattern[: found.n, : found.n]
    heatmap(pattern if open_ else np.zeros_like(pattern), names, names, key=f"{SLUG}.map.{way}", **size)


def _says(told: without_positions.WithoutPositions, family: str, hidden: str) -> str:
    """What the model says, in one line."""
    if family == "transformer":
        return f"“{told.says[0][0]}”"
    best = ", ".join(f"{visible(word.strip() or word)} {percent(chance)}" for word, chance in told.says)
    return f"for “{hidden}”: {best}" if hidden else f"next: {best}"


def _before(found: without_positions.Unplaced) -> dict[str, float]:
    """How much the head looks at the word before, in each run."""
    n = found.n
    return {way: float(np.diagonal(each.pattern[:n, :n], -1).mean()) for way, each in found.ways.items()}


def _loss_sentence(found: without_positions.Unplaced, loss: dict[str, float]) -> str:
    trained, shuffled, removed = (number(loss[way]) for way in without_positions.WAYS)
    before = _before(found)
    looked, then, last = (percent(before[way]) for way in without_positions.WAYS)
    return (
        f"The loss is {trained} nats as trained, {shuffled} shuffled, {removed} removed. The loss is largest with positions "
        f"{max(loss, key=loss.__getitem__)}. "
        f"Head {head_name(*found.head)} gives {looked} of its attention to the previous word; {then} if shuffled, {last} if removed."
    )


def _deeper(model: str, text: str) -> None:
    """The same measure over a few sentences, and the pages that go on from here."""
    found = engine_client.submit(("positions.several", model), lambda: read.mean_over(model), 4000)
    means = ", ".join(f"{way} {number(value)}" for way, value in found.items())
    st.text(f"Over {len(read.SEVERAL)} other sentences: {means} nats.")
    here = {"icon": ":material/arrow_forward:", "model": model, "text": text}
    links.page_link("what_if", "Change positions and more on the page What if", **here)
    formulas()
