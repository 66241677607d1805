"""A fine-tuning on the page: its recorded run, the button that runs it now, and the choice between the two models.

    using = live.using("opinions-full", SLUG)   # draws nothing: the page asks which model to run its text through
    run = ask.run(using.model or live.BEFORE, text)
    live.panel("opinions-full", SLUG)           # where the page wants it: curves, sentence, progress, buttons

A training runs in its panel, which looks again each second, and nothing else of the page is drawn again until it is over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from core.jobs.names import RECORDED
from core.jobs.trainer import SEEDS, Training
from core.training.finetune import tuning
from core.training.finetune.tuning import LONGEST, TUNINGS, Tuning
from core.training.records import Report
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.labels import percent
from viz.shell import errors, state
from viz.widgets import controls, exhibit_parts, page_parts, training_jobs

BEFORE = tuning.BODY
"""The model before it was tuned."""
WHOSE = {"recorded": "the recorded model", "yours": "your model"}
COUNTED = {"opinions": "texts", "pairs": "pairs", "answers": "answers", "tags": "words"}
MISSING = "There is no recorded run of this fine-tuning here yet. Train it now."


@dataclass(frozen=True, eq=False)
class Using:
    """The tuned model that a page uses: `whose` is a key of WHOSE, or "" with no `model` at all; its reports, and the random
    seed of its start."""

    tuning: Tuning
    whose: str
    model: str | None
    reports: tuple[Report, ...] = ()
    seed: int = 0
    machine: str = ""

    @property
    def counted(self) -> str:
        """Return the name of the things that are counted as right."""
        return COUNTED[self.tuning.goal]

    @property
    def rows(self) -> int:
        """Return how many texts a step reads.

        >>> Using(TUNINGS["pairs-frozen"], "recorded", None).rows, Using(TUNINGS["pairs-frozen"], "yours", None).rows
        (12000, 32)
        """
        return (self.tuning.as_recorded if self.whose == "recorded" else self.tuning).n_rows


def using(name: str, slug: str) -> Using:
    """Return the model that the visitor chose for this tuning: their own once they trained one, unless they chose the recorded
    one."""
    offered = _usable_models(name)
    if not offered:
        return Using(TUNINGS[name], "", None)
    whose = state.read(_whose(name, slug), list(offered)[-1], state.one_of(list(offered)))
    return offered[whose]


def panel(name: str, slug: str) -> None:
    """Draw the run in use, its curves, and below them the button and the choice; only the panel is drawn again during training."""
    ticking = training_jobs.BEAT if training_jobs.running(name) else None
    st.fragment(_panel, run_every=ticking)(name, slug, ticking, using(name, slug).model)


def watch(name: str) -> None:
    """Keep a running training alive on a page without its panel, and draw the page again when it is over."""
    if training_jobs.running(name):
        st.fragment(_watch, run_every=training_jobs.BEAT)(name)


def _watch(name: str) -> None:
    if not training_jobs.running(name):
        st.rerun()


def missing(name: str, slug: str, *equations: str) -> Folds:
    """Draw the panel in place of a picture where there is neither a recorded run nor the visitor's, and return the folds."""
    panel(name, slug)
    code = f"from core.training.finetune import tuning\n\nprint(tuning.TUNINGS[{name!r}])"
    return Folds(
        {"": [MISSING]},
        {},
        code,
        equations={key: {} for key in equations},
        look=MISSING,
    )


def needs(
    goal: str, slug: str, *equations: str
) -> Callable[[Callable[[Any, Using], Folds]], Callable[[Any, Mapping[str, Using]], Folds]]:
    """Decorate a step that takes the tuned model of a goal; where there is none, the panel that trains it is drawn instead."""

    def step(draw: Callable[[Any, Using], Folds]) -> Callable[[Any, Mapping[str, Using]], Folds]:
        @functools.wraps(draw)
        def step_with_model(params: Any, models: Mapping[str, Using]) -> Folds:
            used = models[goal]
            return draw(params, used) if used.model else missing(used.tuning.name, slug, *equations)

        return step_with_model

    return step


def made(run: Using) -> str:
    """Return a sentence on the training of a model and its gain; MISSING where there is no model.

    >>> made(Using(TUNINGS["tags-full"], "", None)) == MISSING
    True
    """
    if not run.reports:
        return MISSING
    first, last = run.reports[0], run.reports[-1]
    what = (
        "Only the head learns"
        if run.tuning.frozen
        else "All layers and the head learn"
        if run.tuning.learns == tuning.ALL
        else f"The upper {run.tuning.learns} layers and the head learn"
    )
    how = f"{last.step:,} steps of {run.rows:,} texts, {last.seconds:.0f} seconds" + (
        " of one processor core, recorded before" if run.whose == "recorded" else " just now"
    )
    return f"{what}: {how}, random seed {run.seed}. On {tuning.CHECKED} synthetic texts that were not in training, {percent(first.right)} of the {run.counted} were right at step {first.step}, {percent(last.right)} at the end."


def brief(run: Using) -> str:
    """Return the same in a few words, for present mode."""
    if not run.reports:
        return MISSING
    first, last = run.reports[0], run.reports[-1]
    return f"{last.step:,} steps, {last.seconds:.0f} seconds, random seed {run.seed}: from {percent(first.right)} to {percent(last.right)} of the {run.counted} right, on unseen synthetic texts."


def _usable_models(name: str) -> dict[str, Using]:
    """Return the models that this visitor may use, the recorded one first."""
    found: dict[str, Using] = {}
    if name in tuning.RecordedRun.names():
        run = tuning.RecordedRun.read(name)
        found["recorded"] = Using(run.job, "recorded", RECORDED + name, run.reports, run.seed, run.machine)
    own = training_jobs.latest_training(name)
    if own is not None and own.over and own.reports:
        found["yours"] = Using(TUNINGS[name], "yours", own.name, own.reports, own.seed)
    return found


def _whose(name: str, slug: str) -> str:
    return f"{slug}whose.{name}"


def _panel(name: str, slug: str, ticking: float | None, model_in_view: str | None) -> None:
    with errors.guard():
        used, own = using(name, slug), training_jobs.latest_training(name)
        if (
            training_jobs.BEAT if own is not None and not own.over else None
        ) != ticking or used.model != model_in_view:
            st.rerun()  # it began or ended, or another model was chosen: the whole page follows
        _curves(name, slug, used, own)
        st.text(brief(used) if exhibit_parts.presenting() else made(used))
        _progress(used, own)
        _controls(name, slug, used, own)


def _curves(name: str, slug: str, used: Using, user_training: Training | None) -> None:
    """Draw accuracy and loss of the recorded run and of the visitor's, side by side."""
    recorded = _usable_models(name).get("recorded")
    known = {
        whose: run.reports
        for whose, run in (("recorded", recorded), ("yours", user_training))
        if run and run.reports
    }
    hues, height = {"recorded": 0, "yours": 1}, exhibit_parts.by_mode(200, 180)
    labels = used.tuning.goal_spec.labels
    for column, kind, title, ends in zip(
        st.columns(2, gap="medium"),
        ("right", "loss"),
        (f"{used.counted} right (synthetic)", "loss, nats"),
        ((0, 1), None),
        strict=True,
    ):
        lines = {
            whose: [(report.step, getattr(report, kind)) for report in reports]
            for whose, reports in known.items()
        } or {"": []}
        alt = (
            "; ".join(
                f"{whose}: from {points[0][1]:.2f} to {points[-1][1]:.2f}"
                for whose, points in lines.items()
                if points
            )
            or "nothing is measured yet"
        )
        with column:
            page_parts.show(
                marks.lines(
                    pd.DataFrame({whose: dict(points) for whose, points in lines.items()}),
                    title=title,
                    form="%" if ends else ",~r",
                    hues=[hues.get(whose, 0) for whose in lines],
                    ends=ends,
                    height=height,
                    level=1 / len(labels) if kind == "right" and labels else None,
                ),
                f"{slug}{name}.{kind}",
                f"{title}: {alt}.",
            )


def _progress(used: Using, user_training: Training | None) -> None:
    """Draw the progress of the visitor's training, or say that there is none; in present mode a bar only for a training."""
    if user_training is None:
        if not exhibit_parts.presenting():
            st.progress(0.0, "You have not trained it yet. The training runs here, on one processor core.")
        return
    st.progress(
        training_jobs.share(user_training, used.tuning.steps, LONGEST),
        training_jobs.progress_sentence(user_training, used.tuning.steps, used.counted),
    )


def _controls(name: str, slug: str, used: Using, user_training: Training | None) -> None:
    busy = user_training is not None and not user_training.over
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if busy:
            st.button(
                "Stop", icon=":material/stop_circle:", key=f"{slug}{name}.stop", on_click=training_jobs.stop
            )
        else:
            st.button(
                "Train it now",
                icon=":material/model_training:",
                type="primary",
                key=f"{slug}{name}.start",
                on_click=_start,
                args=(name, slug),
            )
        if not exhibit_parts.presenting():
            with st.container(width=170):
                controls.number(
                    "Draw",
                    0,
                    SEEDS - 1,
                    f"{slug}seed",
                    0,
                    help="The random seed: the same number gives the same initial head and the same texts again.",
                )
        offered = list(_usable_models(name))
        if len(offered) > 1:
            controls.segmented("The page uses", offered, _whose(name, slug), offered[-1], WHOSE.__getitem__)
        elif not exhibit_parts.presenting():
            st.text(
                "The page uses "
                + (WHOSE[used.whose] + "." if used.whose else f"{BEFORE}, which was not tuned.")
            )


def _start(name: str, slug: str) -> None:
    state.write(**{_whose(name, slug): None})
    training_jobs.start(name, state.read(f"{slug}seed", 0, state.whole_number(0, SEEDS - 1)))


def reports(used: Using) -> str:
    """Return the Python expression for the reports of the model that is used; one's own is trained again.

    >>> print(reports(Using(TUNINGS["tags-full"], "recorded", "recorded: tags-full")))
    tuning.RecordedRun.read('tags-full').reports
    """
    name = used.tuning.name
    if used.whose == "recorded":
        return f"tuning.RecordedRun.read({name!r}).reports"
    return f"(report for report, weights in tuning.training(tuning.TUNINGS[{name!r}], {used.seed}))"


def opening(used: Using) -> str:
    """Return the lines of Python that open the model that is used, as `model`; one's own is trained again.

    >>> print(opening(Using(TUNINGS["tags-full"], "recorded", "recorded: tags-full")))
    import core.serving.engine
    <BLANKLINE>
    model = core.serving.engine.default().open('recorded: tags-full')
    """
    if used.whose != "yours":
        return f"import core.serving.engine\n\nmodel = core.serving.engine.default().open({used.model or BEFORE!r})"
    name = used.tuning.name
    return (
        f"from core.training.finetune import tuning\n\njob = tuning.TUNINGS[{name!r}]\n*_, (_, weights) = tuning.training(job, {used.seed}, longest=600.0)\n"
        "model = tuning.model(job, weights, 'mine')"
    )
