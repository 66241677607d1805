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
from viz.labels import head_name, percent
from viz.languages import _, mark
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
LOOKING = mark(
    "For one {unit} a head may matter very much or not at all. Here each head is ablated over many, and a cell is how much the cross-entropy loss rises (blue) or falls (orange). Most heads can be removed alone, because others do nearly the same: Michel and others found this in 2019. It does not follow that many can be removed together."
)
CODE = """import core
from core.analysis.attribution.importance import ablation_losses
from core.analysis.attribution.ablation_sweep import default_samples
from viz.instruments.kit import origin

model = core.open_model({model!r})
print(ablation_losses(model, default_samples(model, {n}), {kind!r}))   # (layer, head), nats per token"""


def show(page: Page, selection: Selection, run: Run) -> HeadRef | None:
    """Draw the worth of each head, and return the head in view."""
    kind, how = heads.choices(run)
    model, samples = run.model, own_samples(run.model)
    picture = patches.reads_patches(model)
    what = _("drawings") if picture else _("lines") if own_texts(model.name) else _("sentences")
    if not samples:
        st.text(
            _(
                "None of our {what} has a class that {model} knows: there is nothing to measure it on.",
                what=what,
                model=model.name,
            )
            if model.is_classifier
            else _(
                "None of our {what} has a right output that {model} knows: there is nothing to measure it on.",
                what=what,
                model=model.name,
            )
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

    n = len(samples)
    price = 60.0 * n * model.config.n_layers
    plain, *losses = each(
        [
            (("importance.loss", model.name, kind, how, place), partial(loss_without, place))
            for place in places
        ],
        price,
        _("{n} {what}, run", n=n, what=what),
    )
    rises = np.array(losses).reshape(-1, model.config.n_heads) - plain
    ours = _("{n} {what} of ours", n=n, what=what)
    used = _("{n} {what} of its task", n=n, what=what) if own_texts(model.name) else ours
    st.caption(
        _("The drawing above is not used here: these are {texts}.", texts=used)
        if picture
        else _("The text above is not used here: these are {texts}.", texts=used)
    )
    origin.tell(model=model.name, text=ours, kind=kind)
    place = heads.grid(
        rises,
        heads.head_in_view(-rises, kind),
        kind,
        f"importance.many.{kind}",
        _("Effect of ablation on the loss, nats per {unit}", unit=_each(model)),
    )
    page_parts.summary(_sentence(model, kind, rises, plain, place, f"{n} {what}"), "ablation")
    head = heads.follow(kind, place)
    _folds(page, model, kind, rises, plain, place, n)
    return head


def _each(model: Model) -> str:
    """Return the unit over which a loss is the mean."""
    return _("drawing") if patches.reads_patches(model) else _("token")


def _sentence(
    model: Model, kind: str, rises: np.ndarray, plain: float, place: tuple[int, int], on: str
) -> str:
    measured = head_survey.survey(model.name)[kind]
    rank = int((rises > rises[place]).sum()) + 1
    idle = int((rises < 0.01 * plain).sum())
    return _(
        "Without {head} ({habit}) the loss over {texts} goes from {before:.3f} to {after:.3f} nats per {unit}: number {rank} of {n} heads. {idle} of {n} heads can go, each alone, for less than {share} of the loss.",
        head=head_name(*place),
        habit=_(measured.label(*place)),
        texts=on,
        before=float(plain),
        after=float(plain + rises[place]),
        unit=_each(model),
        rank=rank,
        n=rises.size,
        idle=idle,
        share=percent(0.01, 0),
    )


def _folds(
    page: Page, model: Model, kind: str, rises: np.ndarray, plain: float, place: tuple[int, int], n: int
) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.many.equation") as fold:
        if fold.open:
            page_parts.equation(RISE)
            st.text(
                true_minus(
                    _(
                        "{head}: {after:.4f} − {before:.4f} = {rise:+.4f} nats per {unit}.",
                        head=head_name(*place),
                        after=float(plain + rises[place]),
                        before=float(plain),
                        rise=float(rises[place]),
                        unit=_each(model),
                    )
                )
            )
    with page_parts.fold(page_parts.LOOKING, "importance.many.looking") as fold:
        if fold.open:
            st.markdown(_(LOOKING, unit=_("picture") if patches.reads_patches(model) else _("word")))
    page_parts.sources_fold(page)
    page_parts.table_fold(
        lambda: pd.DataFrame(
            {_("head"): [head_name(*at) for at in np.ndindex(rises.shape)], _("rise"): rises.ravel().round(5)}
        ),
        "importance.many",
    )
    page_parts.export_fold(
        lambda: {"rise": heads.by_head(rises)},
        CODE.format(model=model.name, n=n, kind=kind),
        key="importance.many",
    )
