"""Second view of What matters: the worth of each head over many sentences, as the rise of the loss without it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution import ablation_sweep
from core.analysis.attribution.importance import mean_loss
from core.model import Model
from core.run import Run
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.labels import head_name
from viz.number_text import true_minus
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import page_parts
from viz.workspace.importance import heads
from viz.workspace.importance.work import averages, each, own_samples
from viz.workspace.shared import head_survey
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.toy_models import own_texts

RISE = r"\Delta_h = \frac{1}{N} \sum_{\text{tokens}} \left( -\ln p(\text{token} \mid h \leftarrow h_0) + \ln p(\text{token}) \right)"
CODE = """import core
from core.analysis.attribution.importance import ablation_losses
from core.analysis.attribution.ablation_sweep import default_samples
from viz.instruments.kit import origin

model = core.open_model({model!r})
print(ablation_losses(model, default_samples(model, {n}), {kind!r}))   # (layer, head), nats per token"""


def show(page: Page, _: Selection, run: Run) -> HeadRef | None:
    """Draw the worth of each head, and return the head in view."""
    kind, how = heads.choices(run)
    model, samples = run.model, own_samples(run.model)
    what = "drawings" if patches.reads_patches(model) else "lines" if own_texts(model.name) else "sentences"
    if not samples:
        st.text(
            f"None of our {what} has a {'class' if model.is_classifier else 'right output'} that {model.name} knows: there is nothing to measure it on."
        )
        return None
    average = averages(model, kind) if how == "mean" else None
    places: list[tuple[int, int] | None] = [None, *ablation_sweep.all_heads(model, kind)]

    def loss_without(place: tuple[int, int] | None) -> float:
        return mean_loss(
            model,
            samples,
            () if place is None else (ablation_sweep.head_ablation(model, kind, *place, average),),
        )

    price = 60.0 * len(samples) * model.config.n_layers
    plain, *losses = each(
        [
            (("importance.loss", model.name, kind, how, place), partial(loss_without, place))
            for place in places
        ],
        price,
        f"{len(samples)} {what}, run",
    )
    rises = np.array(losses).reshape(-1, model.config.n_heads) - plain
    st.caption(
        f"The {'drawing' if patches.reads_patches(model) else 'text'} above is not used here: these are {len(samples)} {what}{' of its task' if own_texts(model.name) else ' of ours'}."
    )
    origin.tell(model=model.name, text=f"{len(samples)} {what} of ours", kind=kind)
    place = heads.grid(
        rises,
        heads.head_in_view(-rises, kind),
        kind,
        f"importance.many.{kind}",
        f"Effect of ablation on the loss, nats per {_each(model)}",
    )
    page_parts.summary(_sentence(model, kind, rises, plain, place, f"{len(samples)} {what}"), "ablation")
    head = heads.follow(kind, place)
    _folds(page, model, kind, rises, plain, place, len(samples))
    return head


def _each(model: Model) -> str:
    """Return the unit over which a loss is the mean."""
    return "drawing" if patches.reads_patches(model) else "token"


def _sentence(
    model: Model, kind: str, rises: np.ndarray, plain: float, place: tuple[int, int], on: str
) -> str:
    measured = head_survey.survey(model.name)[kind]
    rank = int((rises > rises[place]).sum()) + 1
    idle = int((rises < 0.01 * plain).sum())
    return (
        f"Without {head_name(*place)} ({measured.label(*place)}) the loss over {on} goes from {plain:.3f} to {plain + rises[place]:.3f} nats per {_each(model)}: number {rank} of {rises.size} heads. "
        f"{idle} of {rises.size} heads can go, each alone, for less than 1% of the loss."
    )


def _folds(
    page: Page, model: Model, kind: str, rises: np.ndarray, plain: float, place: tuple[int, int], n: int
) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.many.equation") as fold:
        if fold.open:
            page_parts.equation(RISE)
            st.text(
                true_minus(
                    f"{head_name(*place)}: {plain + rises[place]:.4f} − {plain:.4f} = {rises[place]:+.4f} nats per {_each(model)}."
                )
            )
    with page_parts.fold(page_parts.LOOKING, "importance.many.looking") as fold:
        if fold.open:
            st.markdown(
                f"For one {'picture' if patches.reads_patches(model) else 'word'} a head may matter very much or not at all. Here each head is ablated over many, and a cell is how much the cross-entropy loss "
                "rises (blue) or falls (orange). Most heads can be removed alone, because others do nearly the same: Michel and others found this in 2019. It does not follow that many can be removed together."
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(
        lambda: pd.DataFrame(
            {"head": [head_name(*at) for at in np.ndindex(rises.shape)], "rise": rises.ravel().round(5)}
        ),
        "importance.many",
    )
    page_parts.export_fold(
        lambda: {"rise": heads.by_head(rises)},
        CODE.format(model=model.name, n=n, kind=kind),
        key="importance.many",
    )
