"""First view of What matters: a grid of all heads, coloured by the change of one word's probability without each; the gradient's estimate beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.attribution.ablation_sweep import pearson
from core.run import Run
from viz.charts.layers import agreement_plot
from viz.charts.marks import PICKED
from viz.instruments import heatmap
from viz.labels import changes, head_name
from viz.languages import _, mark
from viz.number_text import signed, true_minus
from viz.shell import links, state
from viz.shell.pages import Page
from viz.widgets import controls, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance.work import own_samples
from viz.workspace.shared import attention_kinds, head_survey, target_picker
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.what_if_link import EDITS, OFF

PLOT = "importance.plot"
HOW = {"zero": mark("Zero-ablate"), "mean": mark("Mean-ablate")}
EFFECT = r"\Delta_h = \ln p(\text{word} \mid h \leftarrow h_0) - \ln p(\text{word}) \;\approx\; \sum_{\text{positions}} \frac{\partial \ln p}{\partial h} \cdot (h_0 - h), \qquad h_0 = 0 \text{ or } \bar h"
OUTPUTS = {
    **{"logits": mark("word"), "classes": mark("class")},
    **{"tags": mark("tag"), "answer": mark("position")},
}
PROBABILITY_LOOKING = mark(
    "The model runs once as it is and then once for each head, with that head alone ablated. A cell is how the logarithm of the {what}'s probability changed: below 0 (orange) the head makes the {what} more probable, above 0 (blue) less probable. −0.69 halves the probability, −2.3 leaves a tenth.\n\n"
    "Zero is a value that a head may never take on ordinary input, so later layers may react to it in unusual ways. Its mean over {n} inputs that this model can read removes only what is special to this one. Where the two pictures differ, trust mean-ablation more.\n\n"
    "The dots compare with gradient attribution, which needs one run and one gradient instead of one run per head: how steeply ln p falls in the direction in which the head is changed. On the dashed line it equals the effect of ablation. Heads can stand in for each other: that an answer survives without a head does not show that the head does nothing."
)
SCORED = mark(
    "The model runs once as it is and then once for each head, with that head alone ablated. A cell is how the score changed: below 0 (orange) the head raises the score, above 0 (blue) it lowers it.\n\n"
    "Zero is a value that a head may never take on ordinary input. Its mean over many inputs removes only what is special to this one: where the two pictures differ, trust mean-ablation more.\n\n"
    "The dots compare with gradient attribution, which needs one run and one gradient instead of one run per head: on the dashed line it equals the effect of ablation."
)
CODE = """import core
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.ablation_sweep import ModelInput, gradient_estimates, ablation_effects

model = core.open_model({model!r})
item, asked = ModelInput({text!r}{target}), OutputTarget(row={row}, token={token}, against={against}{activation})
print(ablation_effects(model, item, asked, {kind!r}))           # (layer, head): the change when that head is zero
print(gradient_estimates(model, item, asked.goal, {kind!r}))   # the same, guessed from one gradient"""


def show(page: Page, params: Any, run: Run, compute: Callable[[Any], Any]) -> HeadRef:
    """Draw the sweep and return the head in view."""
    question = target_picker.pick_target(run, "importance")
    left, right = st.columns([3, 2], gap="large")
    below, plot = st.container(), right.container()
    with right if state.presenting() else st.container():
        kind, how = choices(run)
        onward = st.container()
    params = replace(params, target=run.target_text, kind=kind, question=question, how=how)
    with below:
        swept = compute(params)
        place = _pictures(run, swept, kind, left, plot)
        page_parts.summary(_sentence(params, run, swept, place), "ablation")
    with onward:
        head = follow(kind, place)
    _folds(page, params, run, swept, place)
    return head


def _pictures(
    run: Run, swept: Any, kind: str, left: DeltaGenerator, right: DeltaGenerator
) -> tuple[int, int]:
    """Draw all heads, and beside them the gradient's estimates; return the head in view."""
    place = head_in_view(swept.effects, kind)
    with left:
        place = grid(swept.effects, place, kind, f"importance.grid.{kind}", _title(run, swept))
    with right:
        names = [head_name(*at) for at in np.ndindex(swept.effects.shape)]
        figure = agreement_plot(
            swept.guesses.ravel(),
            swept.effects.ravel(),
            names,
            head_name(*place),
            target_picker.unit(swept.question),
        )
        page_parts.show(
            figure,
            PLOT,
            _("Dots: for each head gradient attribution against the effect of ablation"),
            lambda: _pick(kind),
        )
    return place


def kind_of(run: Run) -> str:
    """Return the kind of attention, where a model has several."""
    now = state.read("kind", "") or run.kinds[-1]
    now = now if now in run.kinds else run.kinds[-1]
    return (
        controls.segmented(
            _("Which attention"), run.kinds, "kind", now, lambda kind: _(attention_kinds.KINDS[kind])
        )
        if len(run.kinds) > 1
        else now
    )


def choices(run: Run) -> tuple[str, str]:
    """Draw the choice of the heads, and of the values put in their place."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        return kind_of(run), controls.segmented(
            _("Ablation"), tuple(HOW), "importance.how", "zero", lambda name: _(HOW[name])
        )


def head_in_view(effects: np.ndarray, kind: str) -> tuple[int, int]:
    """Return the visitor's head, else the one that does most for the word: without it the number falls most."""
    layer, head = (int(i) for i in np.unravel_index(int(effects.argmin()), effects.shape))
    found = (
        state.read("layer", layer, state.whole_number(0, effects.shape[0] - 1)),
        state.read("head", head, state.whole_number(0, effects.shape[1] - 1)),
    )
    return found if state.read("kind", kind) == kind else (layer, head)


def grid(values: np.ndarray, place: tuple[int, int], kind: str, key: str, title: str) -> tuple[int, int]:
    """Draw layers by heads, centred on 0; a click chooses a head for all pages."""
    rows, columns = ([f"{letter}{i}" for i in range(n)] for letter, n in zip("LH", values.shape, strict=True))
    cell = heatmap(
        values,
        rows,
        columns,
        key=key,
        scale="difference",
        axis=(_("layer"), _("head")),
        selected=place,
        title=title,
        numbers=True,
        height=360,
    ).cell
    if cell is not None and cell != place:
        state.write(kind=kind, layer=cell[0], head=cell[1])
    return cell or place


def follow(kind: str, place: tuple[int, int]) -> HeadRef:
    """Draw the ways on from here for the head in view, and return it."""
    head = HeadRef(kind, *place)
    with st.container(horizontal=True, gap="medium"):
        links.page_link("what_if", _("Switch {head} off and watch", head=head), **vars(head), **{EDITS: OFF})
        links.page_link("look", _("See where {head} looks", head=head), **vars(head), view="full")
    return head


def _pick(kind: str) -> None:
    found = page_parts.clicked_mark(PLOT, PICKED)
    if found:
        layer, head = str(found["name"]).removeprefix("L").split(".H")
        state.write(kind=kind, layer=int(layer), head=int(head))


def _title(run: Run, swept: Any) -> str:
    return _(
        "Change of {quantity} without the head (effect of ablation){unit}",
        quantity=target_picker.quantity(run, swept.question),
        unit=target_picker.unit(swept.question),
    )


def _sentence(params: Any, run: Run, swept: Any, place: tuple[int, int]) -> str:
    effect, word = float(swept.effects[place]), target_picker.target_phrase(run, swept.question)
    heads = head_survey.survey(params.model)[params.kind]
    name = f"{head_name(*place)} ({_(heads.label(*place))})"
    if not swept.question.is_score:
        before, after = np.exp(swept.before), np.exp(swept.before + effect)
        moved = changes(float(before), float(after))
    else:
        moved = true_minus(
            _(
                "goes from {before:.2f} to {after:.2f}",
                before=float(swept.before),
                after=float(swept.before) + effect,
            )
        )
    rank = int((swept.effects < effect).sum() if effect < 0 else (swept.effects > effect).sum())
    size = swept.effects.size
    if not effect:
        ranked = _("the head does not change it")
    elif effect < 0:
        ranked = (
            _("{rank} of {n} heads raise it more", rank=rank, n=size)
            if rank
            else _("no other head raises it more")
        )
    else:
        ranked = (
            _("{rank} of {n} heads lower it more", rank=rank, n=size)
            if rank
            else _("no other head lowers it more")
        )
    guess = _(
        "Gradient attribution gives {guess} where it is {effect}; over all heads the two agree with r = {r:.2f}.",
        guess=signed(swept.guesses[place], "+.2f"),
        effect=signed(effect, "+.2f"),
        r=float(pearson(swept.guesses, swept.effects)),
    )
    start = _("Without {head} {what} {moved}; {ranked}.", head=name, what=word, moved=moved, ranked=ranked)
    return f"{start} {true_minus(guess)}"


def _folds(page: Page, params: Any, run: Run, swept: Any, place: tuple[int, int]) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.heads.equation") as fold:
        if fold.open:
            page_parts.equation(EFFECT)
            effect = float(swept.effects[place])
            st.text(
                true_minus(
                    _(
                        "{head}: {after:.4f} − ({before:.4f}) = {effect:+.4f}; the gradient gives {guess:+.4f}.",
                        head=head_name(*place),
                        after=float(swept.before) + effect,
                        before=float(swept.before),
                        effect=effect,
                        guess=float(swept.guesses[place]),
                    )
                )
            )
    with page_parts.fold(page_parts.LOOKING, "importance.heads.looking") as fold:
        if fold.open:
            st.markdown(
                _(SCORED)
                if swept.question.activation == "none"
                else _(
                    PROBABILITY_LOOKING, what=_(OUTPUTS[run.model.main_output]), n=len(own_samples(run.model))
                )
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _frame(params, swept), "importance.heads")
    target = "" if run.target_text is None else f", {run.target_text!r}"
    code = CODE.format(
        **target_picker.arguments(swept.question),
        model=params.model,
        text=params.text,
        target=target,
        kind=params.kind,
    )
    page_parts.export_fold(
        lambda: {"change": by_head(swept.effects), "by gradient": by_head(swept.guesses)},
        code,
        key="importance.heads",
    )


def by_head(values: np.ndarray) -> Labelled:
    """Return numbers of all heads, (layer, head), with the names of both."""
    layers, heads = values.shape
    return Labelled(
        values, {"layer": [f"L{i}" for i in range(layers)], "head": [f"H{i}" for i in range(heads)]}
    )


def _frame(params: Any, swept: Any) -> pd.DataFrame:
    heads = head_survey.survey(params.model)[params.kind]
    places = list(np.ndindex(swept.effects.shape))
    return pd.DataFrame(
        {
            _("head"): [head_name(*at) for at in places],
            _("habit"): [_(heads.label(*at)) for at in places],
            _("change"): [round(float(swept.effects[at]), 4) for at in places],
            _("gradient attribution"): [round(float(swept.guesses[at]), 4) for at in places],
        }
    )
