"""Inside's view of a mixture of experts: which experts the router of a layer gives each token to, and with which weights."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.analysis.routing import Routing, routing
from core.run import Run
from viz.charts.layers import lens_table
from viz.charts.marks import PICKED
from viz.labels import distinct, percent
from viz.languages import _
from viz.shell import state
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.widgets.export import Labelled
from viz.workspace.shared import target_picker

KEY = "inside.experts"
MANY = 24
"""Experts that all have a column; of more, those have one that compute a token of the text."""
EQUATION = r"s = W_r x, \qquad g = \mathrm{softmax}(s), \qquad y = \sum_{e \in \mathrm{top}_k(s)} g_e\, \mathrm{FFN}_e(x)"
CODE = """import core
from core.analysis.routing import routing

model = core.open_model({model!r})
routes = routing(model.run({text!r}))
print(routes.weights[{layer}].round(2))   # (position, expert), 0 where an expert is not chosen"""


def show(page: Page, selection: Selection, run: Run) -> None:
    routes = routing(run)
    layers = len(routes.weights)
    layer = int(controls.slider(_("Layer"), 0, layers - 1, "inside.layer", 0)) if layers > 1 else 0
    weights, names = routes.weights[layer], target_picker.row_names(run)
    experts = _columns(routes, layer)
    shares = weights[:, experts]
    target_picker.forget("inside.experts.sentence", target_picker.run_identity(run), "inside.token")
    place = state.read("inside.token", len(names) - 1, state.one_of(range(len(names))))
    figure = lens_table(
        [[f"{100 * share:.0f}" if share else None for share in row] for row in shares],
        shares,
        names,
        [f"E{expert}" for expert in experts],
        (place, experts.index(routes.experts_of(layer, place)[0])),
        _("expert"),
        _("weight"),
    )
    told = _(
        "A table: a row for each token, a column for each expert, in each cell the weight with which the expert computes the token"
    )
    page_parts.show(figure, KEY, told, _pick)
    page_parts.summary(sentence(run, routes, layer, place))
    _folds(page, selection, run, routes, layer)


def _pick() -> None:
    picked = page_parts.clicked_mark(KEY, PICKED)
    if picked:
        state.write(**{"inside.token": int(picked["place"])})


def _columns(routes: Routing, layer: int) -> list[int]:
    counts = routes.counts(layer)
    return [expert for expert in range(len(counts)) if len(counts) <= MANY or counts[expert]]


def sentence(run: Run, routes: Routing, layer: int, place: int) -> str:
    """Say which experts compute one token, what weight stays, and how the tokens of the text are spread over the experts."""
    row, chosen, counts = routes.weights[layer, place], routes.experts_of(layer, place), routes.counts(layer)
    which = ", ".join(
        _("expert {n} ({share})", n=expert, share=percent(float(row[expert]))) for expert in chosen
    )
    left = 1 - float(row.sum())
    rest = (
        _(
            " Their weights sum to {total}: this router weighs all experts, and the others' share is left out.",
            total=percent(float(row.sum())),
        )
        if left > 0.005
        else ""
    )
    most = int(counts.argmax())
    n, used = len(routes.weights[layer]), int((counts > 0).sum())
    return _(
        "In layer {layer} “{token}” is computed by {which}.{rest} Of {experts} experts {used} compute at least one of the {n} tokens; expert {most} computes most, {count}.",
        layer=layer,
        token=target_picker.row_name(run, place),
        which=which,
        rest=rest,
        experts=len(counts),
        used=used,
        n=n,
        most=most,
        count=int(counts[most]),
    )


def _folds(page: Page, selection: Selection, run: Run, routes: Routing, layer: int) -> None:
    with page_parts.fold(page_parts.EQUATION, "inside.experts.equation") as fold:
        if fold.open:
            page_parts.equation(EQUATION)
            n = run.model.config.n_active
            among = getattr(run.model.config, "among_chosen", True)
            st.markdown(
                _("k = {n} experts compute each token.", n=n)
                + " "
                + (
                    _("The softmax is over their scores alone, so the weights sum to 1.")
                    if among
                    else _(
                        "The softmax is over the scores of all experts, so the weights of the chosen ones sum to less than 1."
                    )
                )
            )
    with page_parts.fold(page_parts.LOOKING, "inside.experts.looking") as fold:
        if fold.open:
            st.markdown(
                _(
                    "In a mixture of experts each layer has several feed-forward networks. A router, one linear map, gives each token a score for each of them, and only those with the largest scores compute it. "
                    "A row is a token, a column an expert; the colour is the weight with which the expert's output is added, and an empty cell is an expert that does not compute the token. "
                    "Experts are numbered per layer: expert 3 of layer 0 and expert 3 of layer 1 are different networks."
                )
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _frame(run, routes, layer), KEY)
    code = CODE.format(model=selection.model, text=selection.text, layer=layer)
    page_parts.export_fold(lambda: _arrays(run, routes), code, key=KEY)


def _arrays(run: Run, routes: Routing) -> dict[str, Labelled]:
    n_layers, _n_positions, n_experts = routes.weights.shape
    axes = {
        "layer": [f"layer {layer}" for layer in range(n_layers)],
        "position": distinct(target_picker.row_names(run)),
        "expert": [f"E{expert}" for expert in range(n_experts)],
    }
    return {"weights": Labelled(routes.weights, axes), "router scores": Labelled(routes.scores, axes)}


def _frame(run: Run, routes: Routing, layer: int) -> pd.DataFrame:
    experts = _columns(routes, layer)
    index = pd.Index(distinct(target_picker.row_names(run)), name=_("token"))
    columns = pd.Index([f"E{expert}" for expert in experts])
    return pd.DataFrame(routes.weights[layer][:, experts].round(4), index=index, columns=columns)
