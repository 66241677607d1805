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
"""Height of the cells of a map in present mode, in pixels, that leaves the controls below on the screen."""
LOSS_SUBJECTS = {
    "gpt": "about the next token",
    "bert": "about each word, hidden in turn",
    "transformer": "about its own translation",
}


def ablation(params: Params, _: object) -> Folds:
    """Draw a trained model with its positions as trained, shuffled and removed: three maps with their predictions."""
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
            else f"{looks}; its loss {LOSS_SUBJECTS.get(family, '')} is {trained} nats."
        )

    def table() -> pd.DataFrame:
        says = [_says(each, family, found.hidden) for each in found.ways.values()]
        return pd.DataFrame(
            {
                "loss, nats per token": list(loss.values()),
                "prediction": says,
            },
            index=list(found.ways),
        )

    return Folds(
        table,
        {f"pattern_{way.split()[0]}": each.pattern for way, each in found.ways.items()}
        | {"previous_word": np.array(list(_before(found).values()))},
        {},
        known,
        {"positions.add": {}},
        (r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",),
        note_below=lambda: _deeper(model, text),
    )


def _map(runs: without_positions.Unplaced, way: str, family: str, open_: bool) -> None:
    """Draw one of the runs: its prediction, and the attention of the head."""
    told, names = runs.ways[way], distinct(token.strip() or token for token in runs.tokens)
    name, how = way.capitalize(), f"{number(told.surprise)} nats" if open_ else "guess first"
    heard = _says(told, family, runs.hidden) if open_ else "…"
    size: dict[str, Any] = {"height": 250}
    if exhibit_parts.presenting():
        size = {"height": LOW, "title": f"{name}: {heard if open_ else how}"}
    else:
        st.markdown(f"**{name}** :gray[{how}]")
        st.markdown(literal(heard))
    pattern = told.pattern[: runs.n, : runs.n]
    heatmap(pattern if open_ else np.zeros_like(pattern), names, names, key=f"{SLUG}.map.{way}", **size)


def _says(run: without_positions.WithoutPositions, family: str, hidden: str) -> str:
    """Return the prediction of a run, in one line."""
    if family == "transformer":
        return f"“{run.says[0][0]}”"
    best = ", ".join(f"{visible(word.strip() or word)} {percent(chance)}" for word, chance in run.says)
    return f"for “{hidden}”: {best}" if hidden else f"next: {best}"


def _before(runs: without_positions.Unplaced) -> dict[str, float]:
    """Return the mean attention of the head to the word before, in each run."""
    n = runs.n
    return {way: float(np.diagonal(each.pattern[:n, :n], -1).mean()) for way, each in runs.ways.items()}


def _loss_sentence(runs: without_positions.Unplaced, loss: dict[str, float]) -> str:
    trained, shuffled, removed = (number(loss[way]) for way in without_positions.WAYS)
    before = _before(runs)
    looked, then, last = (percent(before[way]) for way in without_positions.WAYS)
    return (
        f"The loss is {trained} nats as trained, {shuffled} shuffled, {removed} removed. The loss is largest with positions "
        f"{max(loss, key=loss.__getitem__)}. "
        f"Head {head_name(*runs.head)} gives {looked} of its attention to the previous word; {then} if shuffled, {last} if removed."
    )


def _deeper(model: str, text: str) -> None:
    """Show the same measure over a few sentences, and links to further pages."""
    found = engine_client.submit(("positions.several", model), lambda: read.mean_over(model), 4000)
    means = ", ".join(f"{way} {number(value)}" for way, value in found.items())
    st.text(f"Over {len(read.SEVERAL)} other sentences: {means} nats.")
    here = {"icon": ":material/arrow_forward:", "model": model, "text": text}
    links.page_link("what_if", "Change positions and more on the page What if", **here)
    formulas()
