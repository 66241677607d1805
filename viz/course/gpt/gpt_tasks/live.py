"""The last step of the exhibit on tuned GPTs: recorded tunings with and without the text's term, and one that a visitor starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.trainer import Training
from core.training.finetune import gpt_tuning
from core.training.finetune.gpt_finetune_tasks import ANSWERS, GOALS
from core.training.finetune.gpt_tuning import CHECKED, LAMBDAS, LONGEST, TUNINGS, Recorded, named
from core.training.records import Report
from viz.charts.tuned import curve
from viz.course.gpt.gpt_tasks import link
from viz.course.gpt.gpt_tasks.link import PAPER, SLUG, Params
from viz.course.gpt.gpt_tasks.loss import named as told
from viz.course.shared.shown import Shown, later
from viz.labels import percent
from viz.shell import errors
from viz.widgets import controls, lesson, parts, trainings

KINDS = {"right": "texts right", "loss": "−L₂, nats per text", "text": "−L₁, nats per token"}
"""Measures, and what they are called."""
NEAR = 0.02
"""Shares that differ by less count as equal."""
ANSWERED = ("more right", "as many right", "fewer right")
LOOKING = (
    "The classification begins with the small gpt-twin, the multiple choice where the tuning to opinions ended, entailment after the multiple choice, and similarity after entailment. Three measures on {checked} texts that no tuning read, at even distances of the steps. Both recorded tunings begin with the same random numbers: the same head, the same rows for the three marks, the same texts in the same order. The paper reports that the second term helps on large data sets and not on small ones; "
    "its data are reviews and examinations, ours a small grammar, so this is one small measurement and no proof. What the second term does for certain can be seen on the right: the network stays a model of the text. A step costs more with it, since the scores of all {vocabulary:,} tokens are needed at every position. "
    "Here the old rows of the table of tokens stay as they are, so that a recorded run is small; in the paper they learn, too."
)


def train(params: Params) -> Shown:
    """The recorded runs of the task, the visitor's own, and the button."""
    runs = {weight: gpt_tuning.Recorded.read(named(params.task, weight)) for weight in link.recorded_of(params.task)}
    question, picture = st.container(), st.container()
    known = True
    if {0.0, PAPER} <= set(runs):
        half = halfway(runs[0.0].reports)
        plain, both = (share(runs[weight], half) for weight in (0.0, PAPER))
        n = 1 + len(runs[0.0].again)
        with question:
            known = lesson.predict(
                SLUG + "helps", f"After half of the {runs[0.0].reports[-1].step} steps: how many texts has λ = 0.5 right, compared with λ = 0?", ANSWERED, verdict(plain, both),
                f"{percent(both, 2)} against {percent(plain, 2)}, {f'the mean of {n} random seeds' if n > 1 else 'one random seed'}; at the end {percent(share(runs[PAPER], -1), 2)} against {percent(share(runs[0.0], -1), 2)}. A token of the text costs {runs[PAPER].reports[-1].text or 0:.2f} nats with λ = 0.5, and {runs[0.0].reports[-1].text or 0:.2f} without.",
            )  # fmt: skip
    with picture:
        ticking = trainings.BEAT if trainings.running() else None
        st.fragment(_panel, run_every=ticking)(params.task, params.weight, known, ticking)
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            link.chooser(link.TUNED)
            with st.container(width=240):
                controls.stops("λ of your own training", LAMBDAS, SLUG + "weight", PAPER, lambda weight: f"{weight:g}")
    shown = {weight: run for weight, run in runs.items() if known or weight == 0}
    code = (f"from core.training.finetune import gpt_tuning\n\nfor name in gpt_tuning.Recorded.names():\n    run = gpt_tuning.Recorded.read(name)\n    print(name, run.reports[-1])\n\n"
            f"tuning = gpt_tuning.TUNINGS[{named(params.task, params.weight)!r}]  # for report, weights in gpt_tuning.training(tuning): trains it anew")  # fmt: skip
    arrays = {f"{kind}, {told(weight)}, {place}": np.array([getattr(report, kind) for report in reports]) for weight, run in shown.items() for place, reports in enumerate((run.reports, *run.again)) for kind in KINDS}
    vocabulary = link.vocabulary(link.used(params.task, PAPER))
    return Shown({"gpt.tuned": {"lambda": f"{params.weight:g}"}}, (), LOOKING.format(checked=CHECKED, vocabulary=vocabulary), (lambda: table(shown)) if known else later, arrays, code)


def halfway(reports: Sequence[Report]) -> int:
    """The number of the moment nearest to half of the steps."""
    return min(range(len(reports)), key=lambda at: abs(reports[at].step - reports[-1].step / 2))


def share(run: Recorded, moment: int) -> float:
    """The share of right texts at a moment, the mean over the random seeds."""
    return float(np.mean([reports[moment].right for reports in (run.reports, *run.again)]))


def verdict(plain: float, both: float) -> str:
    """Which of ANSWERED holds.

    >>> verdict(0.8, 0.9), verdict(0.8, 0.81), verdict(0.8, 0.7)
    ('more right', 'as many right', 'fewer right')
    """
    return ANSWERED[1] if abs(both - plain) < NEAR else ANSWERED[0 if both > plain else 2]


def table(runs: dict[float, Recorded]) -> pd.DataFrame:
    """Every moment of every recorded run."""
    return pd.DataFrame([
        {"λ": weight, "random seed": run.seed + place, "step": report.step, "right": report.right, "−L₂": report.loss, "−L₁": report.text, "seconds": report.seconds}
        for weight, run in runs.items() for place, reports in enumerate((run.reports, *run.again)) for report in reports
    ])  # fmt: skip


def watch() -> None:
    """On the other steps: keeps a training alive that runs, and draws the page anew when it is over."""
    if trainings.running():
        st.fragment(_watch, run_every=trainings.BEAT)()


def _watch() -> None:
    if not trainings.running():
        st.rerun()


def _panel(task: str, weight: float, known: bool, ticking: float | None) -> None:
    with errors.guard():
        name = named(task, weight)
        own = trainings.mine(name)
        if (trainings.BEAT if trainings.running() else None) != ticking:
            st.rerun()  # it began or ended: the whole page follows
        _curves(task, weight, known, own)
        tuning = TUNINGS[name]
        left, right = st.columns([2, 1] if lesson.presenting() else [3, 1], gap="medium", vertical_alignment="bottom")
        with left:
            st.progress(0.0 if own is None else trainings.share(own, tuning.steps, LONGEST), _standing(task, weight, own))
        with right:
            if own is not None and not own.over:
                st.button("Stop", icon=":material/stop_circle:", key=f"{SLUG}stop", on_click=trainings.stop, width="stretch")
            else:
                st.button("Train it now", icon=":material/model_training:", type="primary", key=f"{SLUG}start", on_click=trainings.start, args=(name,), width="stretch")


def _standing(task: str, weight: float, own: Training | None) -> str:
    if own is not None:
        return f"λ = {weight:g}. {trainings.standing(own, TUNINGS[named(task, weight)].steps, 'texts')}"
    return f"Not trained by you yet, {told(weight)}. {_takes(task, weight)}" + ("" if lesson.presenting() else " Your model then answers on this page.")


def _takes(task: str, weight: float) -> str:
    """How long the recorded run took."""
    name = named(task, weight if weight in link.recorded_of(task) else PAPER)
    return f"The recorded one took {gpt_tuning.Recorded.read(name).reports[-1].seconds:.0f} seconds of one processor core."


def _curves(task: str, weight: float, known: bool, own: Training | None) -> None:
    """Three measures side by side: of both recorded runs, and of the visitor's."""
    runs: dict[str, Sequence[Report]] = {told(each): gpt_tuning.Recorded.read(named(task, each)).reports for each in link.recorded_of(task) if known or each == 0}
    if own is not None and own.reports:
        runs[f"yours, {told(weight)}"] = own.reports
    hues = {name: place if not name.startswith("yours") else 2 for place, name in enumerate(runs)}
    shown = {kind: title for kind, title in KINDS.items() if not lesson.presenting() or kind != "loss"}
    for column, (kind, title) in zip(st.columns(len(shown), gap="small"), shown.items(), strict=True):
        lines = {name: [(report.step, float(getattr(report, kind) or 0)) for report in reports] for name, reports in runs.items()} or {"": []}
        level = 1 / (len(GOALS[task].labels) or ANSWERS) if kind == "right" else None
        alt = "; ".join(f"{name} from {points[0][1]:.2f} to {points[-1][1]:.2f}" for name, points in lines.items() if points)
        with column:
            parts.show(curve(lines, title=title, hues=hues, ends=(0, 1) if kind == "right" else None, level=level, height=250 if lesson.presenting() else 200), f"{SLUG}curve.{kind}", f"{title}: {alt}.")
