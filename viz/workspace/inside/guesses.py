"""Inside's first view: the logit lens as a table, the chosen cell's best words beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.target_token import telling
from core.analysis.residual.logit_lens import Lens, logit_lens
from core.run import Run
from viz.charts.layers import PICKED, lens_table, word_bars
from viz.labels import literal, percent
from viz.shell import state
from viz.shell.pages import Page
from viz.widgets import controls, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.shared import target_picker

KEY = "inside.lens"
SHOWN = 36
"""Positions in one table."""
TOP = 5
LENS = r"p_\ell = \mathrm{softmax}\left(W_U\, \mathrm{norm}(x_\ell)\right)"
CODE = """import core
from core.analysis.residual.logit_lens import logit_lens

model = core.open_model({model!r})
lens = logit_lens(model.run({text!r}{target}))
print([[model.tokenizer.token(int(i)) for i in layer] for layer in lens.ids[..., 0]])   # (layer + 1, position)"""


def show(page: Page, params: Any, run: Run) -> None:
    lens = engine_client.submit(
        ("inside.lens", params),
        lambda: logit_lens(run, TOP),
        cost=2.0 * len(run.ids) * run.model.config.n_layers,
    )
    n, layers = run.side.n_real, run.model.config.n_layers
    target_picker.forget("inside.lens.sentence", target_picker.told(run), "inside.cell", "inside.from")
    first = int(controls.slider("Shown from token", 0, n - SHOWN, "inside.from", 0)) if n > SHOWN else 0
    places = range(first, min(n, first + SHOWN))
    place, layer = _cell(run, lens, places)
    columns = ["before", *(f"L{i}" for i in range(layers))]
    table, beside = st.columns([4, 1], gap="medium")
    with table:
        words = [
            [target_picker.named(run, int(lens.ids[j, at, 0])) for j in range(layers + 1)] for at in places
        ]
        figure = lens_table(
            words,
            lens.chances[:, places.start : places.stop, 0].T,
            [target_picker.word(run.tokens[at]) for at in places],
            columns,
            (place - first, layer),
        )
        page_parts.show(
            figure,
            KEY,
            "A table: a row for each word that is read, a column for each layer, in each cell the word that the model would predict there",
            lambda: _pick(first),
        )
    with beside:
        st.caption(_where(run, place, layer))
        top = [target_picker.named(run, int(index)) for index in lens.ids[layer, place]]
        page_parts.show(
            word_bars(top, lens.chances[layer, place]),
            "inside.top",
            "The best words of the chosen cell with their probabilities",
        )
    page_parts.numbers(_sentence(run, lens, place), "logit_lens")
    _folds(page, params, run, lens, place)


def _cell(run: Run, lens: Lens, places: range) -> tuple[int, int]:
    """The chosen position and layer; before any choice, where the telling word becomes the first guess."""
    start = min(max(telling(run), places.start), places.stop - 1)
    raw = state.read(
        "inside.cell", f"{start}.{int(lens.settled[start])}", _parse(len(lens.settled), len(lens.ids))
    )
    place, layer = (int(part) for part in raw.split("."))
    return (place, layer) if place in places else (start, layer)


def _parse(n: int, layers: int) -> Any:
    def parse(raw: str) -> str:
        place, _, layer = raw.partition(".")
        if place.isdecimal() and layer.isdecimal() and int(place) < n and int(layer) < layers:
            return raw
        raise state.Unusable(f"It names a position below {n} and a layer below {layers}, as 3.2.")

    return parse


def _pick(first: int) -> None:
    found = page_parts.picked(KEY, PICKED)
    if found:
        state.write(**{"inside.cell": f"{first + int(found['row'])}.{int(found['column'])}"})


def _where(run: Run, place: int, layer: int) -> str:
    when = "before any layer" if layer == 0 else f"after layer {layer - 1}"
    return literal(target_picker.begin(f"{target_picker.behind(run, place)}, {when}"))


def _sentence(run: Run, lens: Lens, place: int) -> str:
    settled, final = int(lens.settled[place]), lens.final[:, place]
    word, last = f"“{target_picker.named(run, int(lens.ids[-1, place, 0]))}”", len(final) - 1
    share = f"{percent(float(final[-1]))} at the end"
    if settled == 0:
        return f"{target_picker.begin(target_picker.behind(run, place))} the first guess is {word} from the start: {percent(float(final[0]))} before any layer, {share}."
    before = target_picker.named(run, int(lens.ids[settled - 1, place, 0]))
    here = f"{percent(float(final[settled]))} there, {share}" if settled < last else share
    return (
        f"{target_picker.begin(target_picker.behind(run, place))} the first guess becomes {word} with layer {settled - 1} of 0 to {last - 1} and stays: {here}. "
        f"One layer earlier it was “{before}”, and {word} had {percent(float(final[settled - 1]))}."
    )


def _folds(page: Page, params: Any, run: Run, lens: Lens, place: int) -> None:
    with page_parts.fold(page_parts.EQUATION, "inside.guesses.equation") as fold:
        if fold.open:
            page_parts.equation(LENS)
            page_parts.dataframe(_frame(run, lens, [place]), hide_index=True, key="inside.guesses.rows")
    with page_parts.fold(page_parts.LOOKING, "inside.guesses.looking") as fold:
        if fold.open:
            reads = (
                "for each word, of the word at its position"
                if run.model.spec.framed
                else "for each word, of the next word"
            )
            st.markdown(
                f"A model carries one vector for each word from layer to layer (the residual stream), and each layer adds something to it. At the end the output layer turns the vector into probabilities: {reads}. Here the same output layer also reads the vector after every earlier layer, as if the model stopped there. Rows are "
                "the words that were read, from top to bottom; columns are the layers, from left to right. The last column is what the model really predicts.\n\n"
                "Before any layer the vector is the word itself, and many models then guess that word. The output layer was trained for the last "
                "column only, so a prediction from an early layer is only a hint of what the vector holds."
            )
    page_parts.documents(page)
    page_parts.as_table(lambda: _frame(run, lens, range(run.side.n_real)), "inside.guesses")
    target = "" if run.source is None else f", target={run.target_text!r}"
    code = CODE.format(model=params.model, text=params.text, target=target)
    page_parts.take_away(
        lambda: _arrays(run, lens),
        code,
        key="inside.guesses",
    )


def _arrays(run: Run, lens: Lens) -> dict[str, np.ndarray | Labelled]:
    """The guesses after each layer at each position: ids, tokens and probabilities, the most probable first."""
    layers = ["before any layer", *(f"layer {i}" for i in range(len(lens.ids) - 1))]
    axes = {"after": layers, "position": [f"{i} {token}" for i, token in enumerate(run.tokens)]}
    ranked = {**axes, "rank": [str(rank + 1) for rank in range(lens.ids.shape[-1])]}
    tokens = np.array([run.model.choice(int(index)) for index in lens.ids.ravel()]).reshape(lens.ids.shape)
    return {
        "ids": Labelled(lens.ids, ranked),
        "tokens": Labelled(tokens, dict.fromkeys(ranked)),
        "probabilities": Labelled(lens.chances, ranked),
        "of the final word": Labelled(lens.final, axes),
    }


def _frame(run: Run, lens: Lens, places: Any) -> pd.DataFrame:
    rows = [(place, layer) for place in places for layer in range(len(lens.ids))]
    return pd.DataFrame(
        {
            "word read": [target_picker.word(run.tokens[place]) for place, _ in rows],
            "after": ["before any layer" if layer == 0 else f"layer {layer - 1}" for _, layer in rows],
            "first guess": [
                target_picker.named(run, int(lens.ids[layer, place, 0])) for place, layer in rows
            ],
            "probability": [round(float(lens.chances[layer, place, 0]), 4) for place, layer in rows],
            "of the final word": [round(float(lens.final[layer, place]), 4) for place, layer in rows],
        }
    )
