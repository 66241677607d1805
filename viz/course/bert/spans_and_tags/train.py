"""Answers and tags, the last step: train it now, or look at the recorded run; and what to try in each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.training.finetune import tuning
from core.training.finetune.tuning import TUNINGS
from viz.course.bert import tuning_live as live
from viz.course.bert.spans_and_tags.answers import SLUG
from viz.course.shared.shown import Shown
from viz.widgets import controls

STEP = 4
GOALS = {"answers": "answers in a text", "tags": "tags of words"}
BODIES = {"full": "all layers learn", "frozen": "only the head learns"}
TRY = (
    "**Try.** Ask about another person of the text, then something that the text does not say: it always gives an answer. Ask in words that our grammar has not.",
    "**Try.** Move the slider on until the pushed word wins altogether: then the answer starts there, too.",
    "**Try.** *They light the lamp*: in its lessons *light* was never a verb. Does it see it from the position? Type a word of your own that is cut into tokens.",
    "**Try.** Touch the question word, then the person asked about. Choose *only the head learns* in the last step and come back: nothing moved.",
    "**Try.** Only the head learns: how much of it did bert-mini know before? Another random seed: how much of it was luck?",
)


def trained(params: Any) -> Shown:
    """What is to be learnt, the run with its curves, and the button."""
    left, right = st.columns(2, gap="medium")
    with left:
        goal = controls.segmented("What it learns", list(GOALS), SLUG + "goal", params.goal, GOALS.__getitem__, quiet=True)
    with right:
        body = controls.segmented("What moves", list(BODIES), SLUG + "body", params.body, BODIES.__getitem__, quiet=True)
    name = f"{goal}-{body}"
    live.panel(name, SLUG)
    run = live.using(name, SLUG)
    job = TUNINGS[name]
    return Shown(
        {}, (),
        f"{job.taught.says} {job.n_texts:,} texts of our own small grammar to learn from, {job.n_rows} in each step; it is measured on {tuning.CHECKED} others, which never come among them. "
        "An answer is right if both its ends are. These texts are simple, and alike: of other English the numbers say little. The other steps of this page use the model that is chosen here.",
        lambda: pd.DataFrame([{"step": one.step, "loss": one.loss, "right": one.right, "seconds": one.seconds} for one in run.reports] or [{"step": "nothing yet"}]),
        {"step": np.array([one.step for one in run.reports]), "right": np.array([one.right for one in run.reports]), "loss": np.array([one.loss for one in run.reports])},
        f"from core.training.finetune import tuning\n\njob = tuning.TUNINGS[{name!r}]\nfor report, weights in tuning.training(job, {run.seed}, steps=2):\n    print(report)",
    )  # fmt: skip
