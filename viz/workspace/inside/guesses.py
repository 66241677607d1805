"""Inside's first view: the logit lens as a table, the chosen cell's best words beside it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.target_token import default_row
from core.analysis.residual.logit_lens import LensResult, logit_lens
from core.run import Run
from viz.charts import marks
from viz.charts.layers import lens_table
from viz.charts.marks import PICKED
from viz.instruments import heatmap
from viz.labels import distinct, literal, percent
from viz.languages import _, mark
from viz.number_text import signed
from viz.shell import state
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.shared import target_picker

KEY = "inside.lens"
POSITIONS = 36
"""Positions in one table."""
TOP = 5
MANY = 50
"""Classes of which the probabilities after every layer are kept; the TOP of them at the end are shown, some more where there are few."""
LENS = r"p_\ell = \mathrm{softmax}\left(W_U\, \mathrm{norm}(x_\ell)\right)"
CODE = """import core
from core.analysis.residual.logit_lens import logit_lens

model = core.open_model({model!r})
run = model.run({text!r}{target})
lens = logit_lens(run)
print([[run.choice(int(i)) for i in layer] for layer in lens.ids[..., 0]])   # (layer + 1, position)
print(lens.chances[..., 0])"""
HEAD_LENS = r"p_\ell = \mathrm{head}\left(\mathrm{norm}(x_\ell)\right)"
EACH = {"answer": mark("the start and the end of the answer")}
READS = {
    "classes": mark("probabilities of the classes of the whole text"),
    "tags": mark("probabilities of tags for each word"),
    "answer": mark("for each position, the probabilities that the answer starts and ends there"),
    "score": mark("one score of the whole text"),
}
HEADS = mark(
    "A model carries one vector for each token from layer to layer (the residual stream), and each layer adds something to it. At the end the head of its fine-tuning reads these vectors and gives "
    "{reads}. Here the same head also reads the vectors after every earlier layer, as if the model stopped there. The last column is what the model really outputs.\n\n"
    "The head was trained for the last column only, so what it makes of an early layer is only a hint of what the vectors hold."
)

READS_NEXT, READS_HERE = (
    mark("for each word, of the next word"),
    mark("for each word, of the word at its position"),
)
WORDS = mark(
    "A model carries one vector for each word from layer to layer (the residual stream), and each layer adds something to it. At the end the output layer turns the vector into probabilities: {reads}. Here the same output layer also reads the vector after every earlier layer, as if the model stopped there. Rows are "
    "the words that were read, from top to bottom; columns are the layers, from left to right. The last column is what the model really predicts.\n\n"
    "Before any layer the vector is the word itself, and many models then guess that word. The output layer was trained for the last "
    "column only, so a prediction from an early layer is only a hint of what the vector holds."
)


def show(page: Page, selection: Selection, run: Run) -> None:
    lens = engine_client.submit(
        ("inside.lens", selection),
        lambda: logit_lens(run, MANY if run.model.main_output == "classes" else TOP),
        cost=2.0 * len(run.ids) * run.model.config.n_layers,
    )
    layers, n = lens.ids.shape[0] - 1, lens.ids.shape[1]
    target_picker.forget(
        "inside.lens.sentence", target_picker.run_identity(run), "inside.cell", "inside.from"
    )
    first = (
        int(controls.slider(_("Shown from token"), 0, n - POSITIONS, "inside.from", 0))
        if n > POSITIONS
        else 0
    )
    places = range(first, min(n, first + POSITIONS))
    place, layer = _cell(run, lens, places)
    columns = [_("before"), *(f"L{i}" for i in range(layers))]
    if run.model.whole_input:
        scored = run.model.main_output == "score"
        (_scores if scored else partial(_classes, run))(lens, columns)
        page_parts.summary(_score_sentence(lens) if scored else _sentence(run, lens, place), "logit_lens")
        _folds(page, selection, run, lens, place)
        return
    names = target_picker.row_names(run)
    table, beside = st.columns([4, 1], gap="medium")
    with table:
        words = [
            [target_picker.choice_name(run, int(lens.ids[j, at, 0])) for j in range(layers + 1)]
            for at in places
        ]
        figure = lens_table(
            words,
            lens.chances[:, places.start : places.stop, 0].T,
            [names[at] for at in places],
            columns,
            (place - first, layer),
        )
        page_parts.show(
            figure,
            KEY,
            _(
                "A table: a row for {each}, a column for each layer, in each cell what the model would predict there",
                each=_(EACH.get(run.model.main_output, mark("each word that is read"))),
            ),
            lambda: _pick(first),
        )
    with beside:
        st.caption(_where(run, place, layer))
        top = [target_picker.choice_name(run, int(index)) for index in lens.ids[layer, place]]
        page_parts.show(
            marks.bars(pd.Series(lens.chances[layer, place], top), percent, end=1.0, row=24),
            "inside.top",
            _("The most probable of the chosen cell with their probabilities"),
        )
    page_parts.summary(_sentence(run, lens, place), "logit_lens")
    _folds(page, selection, run, lens, place)


def _cell(run: Run, lens: LensResult, places: range) -> tuple[int, int]:
    """Return the chosen position and layer; before any choice, where the best word becomes the first guess."""
    start = min(max(default_row(run), places.start), places.stop - 1)
    raw = state.read(
        "inside.cell",
        f"{start}.{int(lens.decision_layer[start])}",
        _parse(len(lens.decision_layer), len(lens.ids)),
    )
    place, layer = (int(part) for part in raw.split("."))
    return (place, layer) if place in places else (start, layer)


def _parse(n: int, layers: int) -> Any:
    def parse(raw: str) -> str:
        place, _dot, layer = raw.partition(".")
        if place.isdecimal() and layer.isdecimal() and int(place) < n and int(layer) < layers:
            return raw
        raise state.Unusable(
            _("It names a position below {n} and a layer below {layers}, as 3.2.", n=n, layers=layers)
        )

    return parse


def _pick(first: int) -> None:
    found = page_parts.clicked_mark(KEY, PICKED)
    if found:
        state.write(**{"inside.cell": f"{first + int(found['place'])}.{int(found['at'])}"})


def _where(run: Run, place: int, layer: int) -> str:
    when = _("before any layer") if layer == 0 else _("after layer {layer}", layer=layer - 1)
    return literal(target_picker.begin(f"{target_picker.position_phrase(run, place)}, {when}"))


def _after(layer: int) -> str:
    """Return the place of a column, as the tables name it."""
    return _("before any layer") if layer == 0 else _("layer {layer}", layer=layer - 1)


def _classes(run: Run, lens: LensResult, columns: list[str]) -> None:
    """Draw the probability of each class after each layer, the most probable at the end first."""
    order = lens.ids[-1, 0][: 2 * TOP]
    ids, shares = lens.ids[:, 0], lens.chances[:, 0]
    table = np.array([np.where(ids == index, shares, 0.0).sum(-1) for index in order])
    figure = lens_table(
        [[percent(share) for share in row] for row in table],
        table,
        [target_picker.choice_name(run, int(index)) for index in order],
        columns,
        content=_("class"),
    )
    page_parts.show(
        figure,
        KEY,
        _("A table: a row for each class, a column for each layer, in each cell its probability"),
    )


def _scores(lens: LensResult, columns: list[str]) -> None:
    """Draw the score after each layer."""
    heatmap(
        lens.chances[:, 0, 0][None],
        [_("score")],
        columns,
        key=KEY,
        scale="score",
        axis=(_("output"), _("layer")),
        title=_("The score after each layer"),
        numbers=True,
        height=120,
        margins=False,
    )


def _score_sentence(lens: LensResult) -> str:
    values = lens.chances[:, 0, 0]
    steps = np.diff(values)
    most = int(np.abs(steps).argmax())
    return _(
        "The score is {first} before any layer and {last} at the end; layer {layer} changes it most, from {before} to {after}.",
        first=signed(values[0]),
        last=signed(values[-1]),
        layer=most,
        before=signed(values[most]),
        after=signed(values[most + 1]),
    )


def _sentence(run: Run, lens: LensResult, place: int) -> str:
    settled, final = int(lens.decision_layer[place]), lens.final_chances[:, place]
    word, last = target_picker.choice_name(run, int(lens.ids[-1, place, 0])), len(final) - 1
    where = target_picker.begin(target_picker.position_phrase(run, place))
    share = _("{share} at the end", share=percent(float(final[-1])))
    if settled == 0:
        return _(
            "{where} the first guess is “{word}” from the start: {first} before any layer, {end}.",
            where=where,
            word=word,
            first=percent(float(final[0])),
            end=share,
        )
    before = target_picker.choice_name(run, int(lens.ids[settled - 1, place, 0]))
    here = (
        _("{share} there, {end}", share=percent(float(final[settled])), end=share)
        if settled < last
        else share
    )
    return _(
        "{where} the first guess becomes “{word}” with layer {layer} of 0 to {last} and stays: {here}. One layer earlier it was “{before}”, and “{word}” had {share}.",
        where=where,
        word=word,
        layer=settled - 1,
        last=last - 1,
        here=here,
        before=before,
        share=percent(float(final[settled - 1])),
    )


def _folds(page: Page, selection: Selection, run: Run, lens: LensResult, place: int) -> None:
    with page_parts.fold(page_parts.EQUATION, "inside.guesses.equation") as fold:
        if fold.open:
            page_parts.equation(LENS if run.model.main_output == "logits" else HEAD_LENS)
            page_parts.dataframe(_frame(run, lens, [place]), hide_index=True, key="inside.guesses.rows")
    with page_parts.fold(page_parts.LOOKING, "inside.guesses.looking") as fold:
        if fold.open:
            here = READS_HERE if run.model.spec.framed else READS_NEXT
            text = WORDS if run.model.main_output == "logits" else HEADS
            st.markdown(_(text, reads=_(READS.get(run.model.main_output, here))))
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _frame(run, lens, range(lens.ids.shape[1])), "inside.guesses")
    target = "" if run.source is None else f", target={run.target_text!r}"
    code = CODE.format(model=selection.model, text=selection.text, target=target)
    page_parts.export_fold(
        lambda: _arrays(run, lens),
        code,
        key="inside.guesses",
    )


def _arrays(run: Run, lens: LensResult) -> dict[str, np.ndarray | Labelled]:
    """Return the guesses after each layer at each position: ids, tokens and probabilities, the most probable first."""
    layers = ["before any layer", *(f"layer {i}" for i in range(len(lens.ids) - 1))]
    axes = {"after": layers, "position": distinct(target_picker.row_names(run))}
    ranked = {**axes, "rank": [str(rank + 1) for rank in range(lens.ids.shape[-1])]}
    tokens = np.array([run.choice(int(index)) for index in lens.ids.ravel()]).reshape(lens.ids.shape)
    if run.model.main_output == "score":
        return {"score": Labelled(lens.chances[..., 0], axes)}
    return {
        "ids": Labelled(lens.ids, ranked),
        "tokens": Labelled(tokens, dict.fromkeys(ranked)),
        "probabilities": Labelled(lens.chances, ranked),
        "of the final word": Labelled(lens.final_chances, axes),
    }


def _frame(run: Run, lens: LensResult, places: Any) -> pd.DataFrame:
    rows = [(place, layer) for place in places for layer in range(len(lens.ids))]
    if run.model.main_output == "score":
        after = [_after(layer) for _place, layer in rows]
        return pd.DataFrame({_("after"): after, _("score"): lens.chances[:, 0, 0].round(4)})
    return pd.DataFrame(
        {
            _("word read"): [target_picker.row_name(run, place) for place, _layer in rows],
            _("after"): [_after(layer) for _place, layer in rows],
            _("first guess"): [
                target_picker.choice_name(run, int(lens.ids[layer, place, 0])) for place, layer in rows
            ],
            _("probability"): [round(float(lens.chances[layer, place, 0]), 4) for place, layer in rows],
            _("of the final word"): [
                round(float(lens.final_chances[layer, place]), 4) for place, layer in rows
            ],
        }
    )
