"""The last step of the exhibit on tuned GPTs: recorded tunings with and without the text loss, and the visitor's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.data.gpt_inputs import CLASSIFICATION, TASKS
from core.jobs.trainer import Training
from core.training.finetune.gpt_finetune_tasks import ANSWERS, GOALS
from core.training.finetune.gpt_tuning import CHECKED, LAMBDAS, LONGEST, TUNINGS, RecordedRun, tuning_name
from core.training.records import Report
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.gpt.gpt_tasks import loss
from viz.course.gpt.gpt_tasks.params import PAPER, SLUG, TITLES, Params
from viz.course.gpt.gpt_tasks.read import Models, recorded, recorded_of
from viz.labels import percent
from viz.shell import errors
from viz.widgets import controls, engine_client, exhibit_parts, page_parts, training_jobs

KINDS = {"right": "accuracy", "loss": "−L₂, nats per text", "text": "−L₁, nats per token"}
"""Measures, and what they are called."""
NEAR = 0.02
"""Shares that differ by less count as equal."""
ANSWERED = ("more", "about as many", "fewer")


def train(params: Params, models: Models) -> Folds:
    """Draw the recorded runs of the task, the visitor's own, and the training button."""
    task, weight = params.tuned, params.weight
    runs = {each: RecordedRun.read(tuning_name(task, each)) for each in recorded_of(task)}
    known = not {0.0, PAPER} <= set(runs) or _ask(runs[0.0], runs[PAPER])
    ticking = training_jobs.BEAT if training_jobs.running() else None
    st.fragment(_panel, run_every=ticking)(task, weight, known, ticking)
    with st.container(
        horizontal=True, gap="medium", vertical_alignment="bottom"
    ):  # λ here is that of one's own
        controls.segmented("Task", TASKS, SLUG + "tuned", CLASSIFICATION, TITLES.__getitem__, quiet=True)
        with st.container(width=240):
            controls.select_slider("λ of your own training", LAMBDAS, SLUG + "weight", PAPER, "{:g}".format)
    vocabulary = engine_client.open(recorded(task).name).config.n_vocab
    return Folds(
        lambda: table(runs),
        {
            f"{kind}, {loss.lambda_label(each)}, {place}": [getattr(report, kind) for report in reports]
            for each, run in runs.items()
            for place, reports in enumerate((run.reports, *run.other_runs))
            for kind in KINDS
        },
        {"name": tuning_name(task, weight)},
        known,
        {"gpt.tuned": {"lambda": f"{weight:g}"}},
        look={"checked": CHECKED, "vocabulary": vocabulary},
    )


def _ask(plain: RecordedRun, both: RecordedRun) -> bool:
    """Ask whether the text loss helps; the answer is measured after half of the steps."""
    half = halfway(plain.reports)
    last, with_text = plain.reports[-1], both.reports[-1]
    n = 1 + len(plain.other_runs)
    seeds = f"the mean of {n} random seeds" if n > 1 else "one random seed"
    return exhibit_parts.predict(
        SLUG + "helps",
        f"After half of the {last.step} steps: how many texts does the model tuned with λ = 0.5 classify correctly, compared with the one tuned with λ = 0?",
        ANSWERED,
        verdict(share(plain, half), share(both, half)),
        f"{percent(share(both, half), 2)} against {percent(share(plain, half), 2)}, {seeds}; at the end "
        f"{percent(share(both, -1), 2)} against {percent(share(plain, -1), 2)}. The loss per token of the text is "
        f"{with_text.text or 0:.2f} nats with λ = 0.5 and {last.text or 0:.2f} with λ = 0.",
    )


def halfway(reports: Sequence[Report]) -> int:
    """Return the index of the report nearest to half of the steps."""
    return min(range(len(reports)), key=lambda at: abs(reports[at].step - reports[-1].step / 2))


def share(run: RecordedRun, moment: int) -> float:
    """Return the accuracy (0 to 1) at a report, the mean over the random seeds."""
    return float(np.mean([reports[moment].right for reports in (run.reports, *run.other_runs)]))


def verdict(plain: float, both: float) -> str:
    """Return the answer of ANSWERED that holds.

    >>> verdict(0.8, 0.9), verdict(0.8, 0.81), verdict(0.8, 0.7)
    ('more', 'about as many', 'fewer')
    """
    return ANSWERED[1] if abs(both - plain) < NEAR else ANSWERED[0 if both > plain else 2]


def table(runs: dict[float, RecordedRun]) -> pd.DataFrame:
    """Return a table of every report of every recorded run."""
    return pd.DataFrame(
        [
            {
                "λ": weight,
                "random seed": run.seed + place,
                "step": report.step,
                "right": report.right,
                "−L₂": report.loss,
                "−L₁": report.text,
                "seconds": report.seconds,
            }
            for weight, run in runs.items()
            for place, reports in enumerate((run.reports, *run.other_runs))
            for report in reports
        ]
    )


def watch() -> None:
    """Keep a running training alive, on any step of the page, and redraw the page when it ends."""
    if training_jobs.running():
        st.fragment(_watch, run_every=training_jobs.BEAT)()


def _watch() -> None:
    if not training_jobs.running():
        st.rerun()


def _panel(task: str, weight: float, revealed: bool, ticking: float | None) -> None:
    with errors.guard():
        name = tuning_name(task, weight)
        training = training_jobs.latest_training(name)
        if (training_jobs.BEAT if training_jobs.running() else None) != ticking:
            st.rerun()  # it began or ended: the whole page follows
        _curves(task, weight, revealed, training)
        columns = [2, 1] if exhibit_parts.presenting() else [3, 1]
        left, right = st.columns(columns, gap="medium", vertical_alignment="bottom")
        with left:
            done = 0.0 if training is None else training_jobs.share(training, TUNINGS[name].steps, LONGEST)
            st.progress(done, _training_status(task, weight, training))
        with right:
            if training is not None and not training.over:
                st.button(
                    "Stop",
                    f"{SLUG}stop",
                    icon=":material/stop_circle:",
                    on_click=training_jobs.stop,
                    width="stretch",
                )
            else:
                st.button(
                    "Train it now",
                    f"{SLUG}start",
                    icon=":material/model_training:",
                    type="primary",
                    on_click=training_jobs.start,
                    args=(name,),
                    width="stretch",
                )


def _training_status(task: str, weight: float, training: Training | None) -> str:
    if training is not None:
        steps = TUNINGS[tuning_name(task, weight)].steps
        return f"λ = {weight:g}. {training_jobs.progress_sentence(training, steps, 'texts')}"
    found = RecordedRun.read(tuning_name(task, weight if weight in recorded_of(task) else PAPER))
    return (
        f"You have not trained it yet, {loss.lambda_label(weight)}. "
        f"The recorded training took {found.reports[-1].seconds:.0f} seconds of one processor core."
        + (exhibit_parts.by_mode(" Your model then answers on this page.", ""))
    )


def _curves(task: str, weight: float, revealed: bool, training: Training | None) -> None:
    """Draw three measures side by side: of both recorded runs, and of the visitor's."""
    runs: dict[str, Sequence[Report]] = {
        loss.lambda_label(each): RecordedRun.read(tuning_name(task, each)).reports
        for each in recorded_of(task)
        if revealed or each == 0
    }
    hues = {name: place for place, name in enumerate(runs)}
    if training is not None and training.reports:
        mine = f"yours, {loss.lambda_label(weight)}"
        runs[mine], hues[mine] = training.reports, 2
    shown = {kind: title for kind, title in KINDS.items() if not exhibit_parts.presenting() or kind != "loss"}
    height = exhibit_parts.by_mode(200, 250)
    for column, (kind, title) in zip(st.columns(len(shown), gap="small"), shown.items(), strict=True):
        lines = {
            name: [(report.step, float(getattr(report, kind) or 0)) for report in reports]
            for name, reports in runs.items()
        } or {"": []}
        right = kind == "right"
        level = 1 / (len(GOALS[task].labels) or ANSWERS) if right else None
        picture = marks.lines(
            pd.DataFrame({name: dict(points) for name, points in lines.items()}),
            title=title,
            form="%" if right else ",~r",
            hues=[hues.get(name, 0) for name in lines],
            ends=(0, 1) if right else None,
            level=level,
            height=height,
        )
        told = "; ".join(
            f"{name} from {points[0][1]:.2f} to {points[-1][1]:.2f}"
            for name, points in lines.items()
            if points
        )
        with column:
            page_parts.show(picture, f"{SLUG}curve.{kind}", f"{title}: {told}.")
