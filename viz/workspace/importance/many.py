"""What matters, second view: what each head is worth over many sentences, as the rise of the loss without it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution import ablation_sweep
from core.analysis.attribution.importance import mean_loss
from core.run import Run
from viz.instruments.kit import origin
from viz.labels import head_name
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.workspace.importance import heads
from viz.workspace.importance.work import averages, each, own
from viz.workspace.shared import head_picker
from viz.workspace.shared.toy_models import own_texts

RISE = r"\Delta_h = \frac{1}{N} \sum_{\text{tokens}} \left( -\ln p(\text{token} \mid h \leftarrow h_0) + \ln p(\text{token}) \right)"
CODE = """import core
from core.analysis.attribution.importance import ablation
from core.analysis.attribution.ablation_sweep import samples
from viz.instruments.kit import origin

model = core.open_model({model!r})
print(ablation(model, samples(model, {n}), {kind!r}))   # (layer, head), nats per token"""


def show(page: Page, params: Any, run: Run) -> None:
    kind, how = heads.choices(run)
    model, samples = run.model, own(run.model)
    average = averages(params.model, kind) if how == "mean" else None
    places: list[tuple[int, int] | None] = [None, *ablation_sweep.places(model, kind)]

    def without(place: tuple[int, int] | None) -> float:
        return mean_loss(
            model, samples, () if place is None else (ablation_sweep.off(model, kind, *place, average),)
        )

    price = 60.0 * len(samples) * model.config.n_layers
    plain, *losses = each(
        [(("importance.loss", params.model, kind, how, place), partial(without, place)) for place in places],
        price,
        f"{len(samples)} sentences, run",
    )
    rises = np.array(losses).reshape(-1, model.config.n_heads) - plain
    st.caption(
        f"The text above is not used here: these are {len(samples)} {'lines of its task' if own_texts(params.model) else 'sentences of ours'}."
    )
    origin.tell(model=params.model, text=f"{len(samples)} sentences of ours", kind=kind)
    place = heads.grid(
        rises,
        heads.chosen(-rises, kind),
        kind,
        f"importance.many.{kind}",
        "Effect of ablation on the loss, nats per token",
    )
    page_parts.numbers(_sentence(params, kind, rises, plain, place, len(samples)), "ablation")
    heads.follow(kind, place)
    _folds(page, params, kind, rises, plain, place, len(samples))


def _sentence(params: Any, kind: str, rises: np.ndarray, plain: float, place: tuple[int, int], n: int) -> str:
    measured = head_picker.survey(params.model)[kind]
    rank = int((rises > rises[place]).sum()) + 1
    idle = int((rises < 0.01 * plain).sum())
    return (
        f"Without {head_name(*place)} ({measured.word(*place)}) the loss over {n} sentences goes from {plain:.3f} to {plain + rises[place]:.3f} nats per token: number {rank} of {rises.size} heads. "
        f"{idle} of {rises.size} heads can go, each alone, for less than 1 % of the loss."
    )


def _folds(
    page: Page, params: Any, kind: str, rises: np.ndarray, plain: float, place: tuple[int, int], n: int
) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.many.equation") as fold:
        if fold.open:
            page_parts.equation(RISE)
            st.text(
                f"{head_name(*place)}: {plain + rises[place]:.4f} − {plain:.4f} = {rises[place]:+.4f} nats per token.".replace(
                    "-", "−"
                )
            )
    with page_parts.fold(page_parts.LOOKING, "importance.many.looking") as fold:
        if fold.open:
            st.markdown(
                "For one word a head may be everything or nothing. Here each head is ablated over many sentences, and a cell is how much the cross-entropy loss "
                "rises (blue) or falls (orange). Most heads can be missed alone, because others do nearly the same: that was the finding of Michel and others in 2019. "
                "It does not follow that many can be missed together."
            )
    page_parts.documents(page)
    page_parts.as_table(
        lambda: pd.DataFrame(
            {"head": [head_name(*at) for at in np.ndindex(rises.shape)], "rise": rises.ravel().round(5)}
        ),
        "importance.many",
    )
    page_parts.take_away(
        lambda: {"rise": rises}, CODE.format(model=params.model, n=n, kind=kind), key="importance.many"
    )
