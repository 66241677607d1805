"""The first steps of the exhibit on freezing: whether the head is enough, the parts that learn, the training curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import CHECKED, TUNINGS
from viz.charts import marks
from viz.course.bert import tuning_live
from viz.course.bert.frozen_or_full import read
from viz.course.bert.frozen_or_full.params import FROZEN, FULL, NAMES, SLUG, TASKS, TRAINED, WAYS, Params
from viz.course.exhibit import Folds
from viz.labels import percent
from viz.number_text import number
from viz.widgets import exhibit_parts, page_parts

FIRST = "before the first step"


def enough(params: Params, task: read.Task) -> Folds:
    """Ask for which of four tasks the head is enough, then draw the accuracy of each, frozen and fully fine-tuned."""
    whole = [found for found in map(read.task, TASKS) if found.is_complete]
    if not whole:
        return missing(params)
    gaps = {found.title: 1 - found.gap for found in whole}
    measured = "; ".join(
        f"{found.title} {share(found.right(FROZEN))} frozen, {share(found.right(FULL))} fully fine-tuned"
        for found in whole
    )
    told = len(whole) < 2 or exhibit_parts.predict(
        SLUG + "enough",
        "Only the new head learns; the body of bert-mini stays frozen. "
        "For which task is that nearly as good as full fine-tuning?",
        gaps,
        max(gaps, key=lambda title: gaps[title]),
        measured + ".",
    )
    table = pd.DataFrame(
        {way: {found.title: found.right(way) for found in whole} for way in WAYS}
        | {FIRST: {found.title: found.ways[FULL].reports[0].right for found in whole}}
    )
    shown = table if told else table.assign(**{FROZEN: np.nan})
    page_parts.show(
        marks.bars(shown, percent, title="accuracy on synthetic texts", end=1.0, row=78),
        SLUG + "enough.picture",
        listed(shown, percent),
    )
    now = task if task.is_complete else whole[0]
    page_parts.summary(
        f"{now.title}: {GOALS[now.name].says} Fully fine-tuned, {share(now.right(FULL))} "
        f"of the {now.ways[FULL].counted} are right"
        + (f", frozen {share(now.right(FROZEN))}." if told else ". How many with a frozen body?")
    )
    return Folds(
        lambda: table.map(percent).rename_axis("task").reset_index(),
        {way: [found.right(way) for found in whole] for way in WAYS},
        revealed=told,
        equations={"tuning.frozen": {}, "tuning.full": {}},
        look={"checked": CHECKED},
    )


def what_learns(params: Params, task: read.Task) -> Folds:
    """Ask how many weights learn with a frozen body, then draw the parts of the model that learn."""
    found, labels = read.parts(task.name), len(GOALS[task.name].labels) or 2
    head, body = found[-1].size, sum(part.size for part in found[:-1])
    d = head // labels - 1
    told = exhibit_parts.predict(
        SLUG + "count",
        f"{task.title}: the head is one linear map, {d} numbers in, {labels} "
        f"{'scores (start, end)' if task.name == 'answers' else 'labels'} out. With a frozen body, how many weights "
        "learn?",
        [f"{n:,}" for n in sorted({labels, d * labels, head, body // 6, body + head})],
        f"{head:,}",
        f"{d} × {labels} = {d * labels:,} weights and {labels} biases: {head:,}. "
        f"The body below has {body:,}, {body / head:,.0f} times as many.",
    )
    learning = pd.DataFrame(
        {way: {part.name: part.size * float(way in part.taught) for part in found} for way in WAYS}
    ).iloc[::-1]
    if not told:
        learning.loc[found[-1].name] = np.nan
    page_parts.show(
        marks.bars(learning, weights, title="weights that learn", row=48),
        SLUG + "parts.picture",
        listed(learning, weights),
    )
    all_of_it = f"With full fine-tuning {body + head:,} weights learn; frozen "
    page_parts.summary(
        all_of_it
        + (f"{head:,}, {percent(head / (body + head), 4)} of them." if told else "only those of the head.")
    )
    return Folds(
        lambda: pd.DataFrame(
            [(part.name, part.size, ", ".join(part.taught)) for part in found],
            columns=["part", "weights", "learns"],
        ),
        {"size": [part.size for part in found], "share_of_the_head": head / (body + head)},
        revealed=told,
        equations={"tuning.frozen": {}, "tuning.full": {}},
        latex=(rf"{d} \times {labels} + {labels} = {head}",),
    )


def course(params: Params, task: read.Task) -> Folds:
    """Draw the accuracy during training, over steps or over seconds, and the button that trains now."""
    reports = {way: task.ways[way].reports for way in WAYS if task.ways[way].reports}
    if not reports:
        params.show(SLUG.rstrip("."), "task")
        return missing(params)
    over = params.over
    lines = {
        way: [(each.seconds if over == "seconds" else each.step, each.right) for each in found]
        for way, found in reports.items()
    }
    level = 1 / len(GOALS[task.name].labels) if task.name in ("opinions", "pairs") else None
    title, height = f"{task.ways[FULL].counted} right (synthetic)", exhibit_parts.by_mode(250, 390)
    page_parts.show(
        marks.lines(
            pd.DataFrame({way: dict(points) for way, points in lines.items()}),
            x=over,
            title=title,
            form="%",
            ends=(0, 1),
            level=level,
            hues=[WAYS.index(way) for way in lines],
            height=height,
        ),
        SLUG + "course.picture",
        "; ".join(
            f"{way}: from {percent(points[0][1])} to {percent(points[-1][1])} in {points[-1][0]:.0f} {over}"
            for way, points in lines.items()
        )
        + ".",
    )
    page_parts.summary(" ".join(_cost(way, task.ways[way]) for way in lines))
    here = not exhibit_parts.presenting()
    params.show(SLUG.rstrip("."), "task", "over", *(("train",) if here else ()))  # above what is trained
    if here:
        tuning_live.panel(_trained(params), SLUG)
    return Folds(
        lambda: pd.DataFrame(
            [
                (way, each.step, each.seconds, each.right, each.loss)
                for way, found in reports.items()
                for each in found
            ],
            columns=["", "step", "seconds", "right", "loss"],
        ),
        {
            f"{NAMES[way]}_{kind}": [getattr(each, kind) for each in found]
            for way, found in reports.items()
            for kind in ("step", "seconds", "right", "loss")
        },
        equations={"tuning.frozen": {}, "tuning.full": {}},
        look={
            "checked": CHECKED,
            "rows": f"{TUNINGS['pairs-full'].n_rows} texts",
            "texts": f"{TUNINGS['pairs-frozen'].as_recorded.n_texts:,}",
        },
    )


def share(right: float | None) -> str:
    """Return a share in per cent; covered where there is none."""
    return marks.COVER if right is None else percent(right)


def weights(count: float) -> str:
    """Return a number of weights that learn in words.

    >>> weights(1200.0), weights(0.0)
    ('1,200', 'stays')
    """
    return number(count, 0, grouped=True) if count else "stays"


def listed(table: pd.DataFrame, label: Callable[[float], str]) -> str:
    """Return the bars of a table in words.

    >>> listed(pd.DataFrame({"frozen": [0.5], "full": [None]}, ["tags"]), percent)
    'tags, frozen: 50%; tags, full: ?.'
    """
    return (
        "; ".join(
            f"{group}, {way}: {label(value) if pd.notna(value) else marks.COVER}"
            for group, row in table.iterrows()
            for way, value in row.items()
        )
        + "."
    )


def _cost(way: str, used: tuning_live.Using) -> str:
    """Return a sentence on the cost of a way and its gain in accuracy."""
    first, last = used.reports[0], used.reports[-1]
    return (
        f"{way.capitalize()}: {last.step:,} steps, {last.seconds:.0f} seconds, "
        f"from {percent(first.right)} to {percent(last.right)}"
        + (", recorded before." if used.whose == "recorded" else ", yours.")
    )


def _trained(params: Params) -> str:
    return f"{params.task}-{TRAINED[params.train]}"


def missing(params: Params) -> Folds:
    """Return the folds of a step whose recorded run is missing."""
    return tuning_live.missing(_trained(params), SLUG, "tuning.frozen")
