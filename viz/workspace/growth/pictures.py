"""The pictures of a training: all heads at a moment beside its curves, one head at two moments, and the folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.heads.habits import HABIT_NAMES, MIN_SCORE
from core.jobs.names import task_of
from core.jobs.trainer import YOURS
from core.run import Attention
from viz.charts import marks
from viz.charts.parts.figures import draw_once
from viz.instruments import clicked_head, grid_packet, heatmap, show_grid
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, visible
from viz.languages import _, mark, write_number
from viz.shell import state
from viz.shell.pages import Page
from viz.widgets import controls, page_parts
from viz.widgets.export import Labelled
from viz.workspace.growth.course import NEXT, Course, table

GRID = "growth.grid"
LINKED = "growth"
FORMED, NOT_YET = mark("formed"), mark("not yet")
FORMULAS = {
    "induction": (
        r"\frac{1}{|R|}\sum_{i \in R} \sum_{\;j:\ x_{j-1} = x_i} a_{ij}",
        mark(
            "R are the positions whose symbol has occurred before: the weight is that on what followed it then."
        ),
    ),
    "previous": (
        r"\frac{1}{n-2}\sum_{i=3}^{n} a_{i,\,i-1}",
        mark("The mean weight on the word just before, from the third word on."),
    ),
    NEXT: (
        r"\frac{1}{|R|}\sum_{i \in R} a_{i,\,s(i+1)}",
        mark(
            "R are the positions before each symbol of the answer; s(i+1) is the position of that symbol in the question."
        ),
    ),
}
CODE = """{opening}
run = model.run({text!r})
print(run.attention("causal", by="word").weights[{layer}, {head}])"""
OPENING = "import core\n\nmodel = core.open_model({name!r})"
RETRAINED = "from core.training.toy import toy_training\n\n*_, (_, weights) = toy_training.training(toy_training.TASKS[{task!r}], steps={step})  # trains it again, from other initial weights\nmodel = toy_training.model(toy_training.TASKS[{task!r}], weights, 'mine')"
RECORDED = "from core.training.toy import toy_training\n\nmodel = toy_training.RecordedRun.read({task!r}).open_step({step})"


def everything(
    course: Course, step: int, other: int, now: Attention, left: DeltaGenerator, right: DeltaGenerator
) -> str:
    """Draw all heads at this moment, beside the loss and the scores over the whole training; return the head in view."""
    names = list(course.heads)
    head = state.read("growth.head", course.best, state.one_of(names, course.best))
    scores = course.scores[course.index_of(step)]
    origin.tell(model=course.model(step), text=course.text, kind=now.kind)
    with left:
        packet = grid_packet(
            now.weights,
            kinds=[[_(FORMED if value >= MIN_SCORE else NOT_YET) for value in row] for row in scores],
            scores=scores,
            allowed=now.allowed[0, 0],
            title=_("All heads at step {step:,}", step=step),
            group=LINKED,
            place=GRID,
            queries=now.queries,
            keys=now.keys,
        )
        show_grid(packet, key=GRID, selected=course.heads[head], echo=clicked_head(GRID)[1], on_choice=_open)
    with right:
        moments = {_("step {step:,}", step=each): each for each in (step, other)}
        lost = pd.DataFrame({_("loss"): course.loss}, course.measured)
        curves = pd.DataFrame({name: course.curve(name) for name in names}, course.measured)
        weight = _("{head}, {habit}: mean weight", head=head, habit=course.says)
        for key, chart, alt in (
            (
                "loss",
                _over_steps(lost, moments, _("loss, nats per token")),
                mark("Loss from {first:.2f} to {last:.2f}."),
            ),
            (
                "curves",
                _over_steps(curves, moments, weight, head),
                mark("{head} from {first:.2f} to {last:.2f}."),
            ),
        ):
            line = lost[_("loss")] if key == "loss" else curves[head]
            values = {"head": head, "first": float(line.iloc[0]), "last": float(line.iloc[-1])}
            page_parts.show_large(chart, f"growth.{key}", _(alt, **values), present_height=140)
    return head


@draw_once
def _over_steps(
    table: pd.DataFrame, moments: dict[str, int], title: str, head: str = ""
) -> marks.vega.Layers:
    """Return lines over the steps of the training, of which early ones have more room, with the moments in view."""
    return marks.lines(
        table,
        title=title,
        x=_("steps of training") if head else "",
        ends=(0, 1.05) if head else None,
        hues=[0] * len(table.columns) if head else [1],
        highlighted=[head] if head else (),
        scales=("symlog", "linear"),
        overlay=marks.rules(moments),
        height=190,
    )


def _open() -> None:
    """Compare the head of the tile that was clicked."""
    at = clicked_head(GRID)[0]
    if at is not None:
        state.write(**{"growth.head": head_name(*at)})


def choices(course: Course) -> None:
    """Draw the choice of the head, where no tile chooses it; the score, and the step to compare with."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if not state.presenting():
            controls.pills(_("Head"), list(course.heads), "growth.head", course.best)
        if course.habits:
            controls.select(
                _("Score"),
                list(course.habits),
                "growth.habit",
                course.habits[0],
                lambda habit: _(HABIT_NAMES[habit]),
            )
        controls.select(
            _("Compare with step"),
            list(course.steps),
            "growth.other",
            course.steps[0],
            lambda at: write_number(f"{at:,}"),
        )


def draw_two_moments(
    course: Course, head: str, step: int, other: int, now: Attention, then: Attention
) -> None:
    """Draw one head at two moments, on one scale."""
    for column, (key, at, held) in zip(
        st.columns(2, gap="medium"), (("then", other, then), ("now", step, now)), strict=True
    ):
        with column:
            origin.tell(
                model=course.model(at),
                text=course.text,
                kind=held.kind,
                layer=course.heads[head][0],
                head=course.heads[head][1],
            )
            heatmap(
                held.weights[course.heads[head]],
                held.queries,
                held.keys,
                key=f"growth.{key}",
                allowed=held.allowed[0, 0],
                axis=(_("query"), _("key")),
                title=_("{head} at step {step:,}", head=head, step=at),
                group=LINKED,
                height=380,
            )


def folds(
    page: Page, course: Course, head: str, step: int, other: int, now: Attention, then: Attention
) -> None:
    with page_parts.fold(page_parts.EQUATION, "growth.equation") as fold:
        if fold.open:
            _equation(course, head, step, now)
    with page_parts.fold(page_parts.LOOKING, "growth.looking") as fold:
        if fold.open:
            st.markdown(
                _(
                    "Each tile is one head: rows are the positions that attend, columns the positions attended to, and dark means much weight. All tiles show the same line of "
                    "text, so only the weights of the model change from moment to moment. The curves are measured on many other lines, which the training never saw. "
                    "The axis of steps is stretched at the left: equal factors are equally far apart, because most changes happen early. A score is the share of a head's weight that fits the habit. It does not show that the model needs this head: switch it off in What if to see that."
                )
            )
            if course.habit == NEXT:
                st.markdown(
                    _(
                        "The training takes one processor core at low priority and ends after two minutes at most. Close the tab, and it ends too."
                    )
                )
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: pd.DataFrame(table(course)), "growth")
    layer, number = course.heads[head]
    task = task_of(course.name)
    opening = OPENING if task is None else RETRAINED if course.name.startswith(YOURS) else RECORDED
    code = CODE.format(
        opening=opening.format(name=course.model(step), task=task, step=step),
        text=course.text,
        layer=layer,
        head=number,
    )
    by_head = {"layer": [f"L{i}" for i in range(course.scores.shape[1])]}
    by_head |= {"head": [f"H{i}" for i in range(course.scores.shape[2])]}
    by_step = {"step": [str(each) for each in course.measured]}
    data = {
        name: Labelled(each.weights, {**by_head, "query": distinct(each.queries), "key": distinct(each.keys)})
        for name, each in (("now", now), ("then", then))
    } | {
        "loss": Labelled(np.array(course.loss), by_step),
        "scores": Labelled(course.scores, by_step | by_head),
    }
    page_parts.export_fold(lambda: data, code, key="growth")


def _equation(course: Course, head: str, step: int, now: Attention) -> None:
    """Draw the definition of the score, and the row of this text in which the head has most of it."""
    formula, words = FORMULAS.get(course.habit, (r"a_{ij}", _("The weight of position i on position j.")))
    page_parts.equation(formula)
    st.text(_(words))
    weights = now.weights[course.heads[head]]
    row = int(np.argmax(weights[2:].max(-1))) + 2
    key = int(weights[row].argmax())
    st.text(
        _(
            "On this line at step {step:,}, {head} gives {weight:.2f} from “{query}” (position {row}) to “{key}” (position {column}). Over all measured lines its score is {score:.2f}.",
            step=step,
            head=head,
            weight=weights[row, key],
            query=visible(now.queries[row]),
            row=row + 1,
            key=visible(now.keys[key]),
            column=key + 1,
            score=course.curve(head)[course.index_of(step)],
        )
    )
