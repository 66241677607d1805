"""One optimiser step by button: a private copy of the translator learns the pair, with the effect on each position."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.record import trained
from core.decoding.replay import Replay
from core.serving.engine import default
from viz.course.exhibit import Folds
from viz.course.transformer.training_and_inference.charts import learned_task
from viz.course.transformer.training_and_inference.parallel_decoder import AtOnce
from viz.course.transformer.training_and_inference.params import MODEL, SLUG, Params, as_words
from viz.course.transformer.training_and_inference.teacher_forcing_steps import (
    MOST,
    RATES,
    Taught,
    held_bytes,
    teach,
)
from viz.labels import list_values
from viz.number_text import number
from viz.shell import state
from viz.widgets import engine_client, exhibit_parts, page_parts

LITTLE = 0.2
"""Nats per token below which a pair is as good as learned: no position gains enough to ask which gains most."""


def copies_by_step(params: Params, upto: int) -> tuple[Taught, ...]:
    """Return the copy as shipped and after each step; each is computed once, so a further step costs one step."""
    model = default().open(MODEL)
    key = ("training.taught", MODEL, params.text, params.spanish, params.rule, params.rate)
    cost = 8_000 * (2 if params.rule == "Adam" else 1)

    def begin() -> Replay:
        return Replay(
            lambda: teach(model, params.text, params.spanish, params.rule, params.rate),
            held_bytes(model, params.rule),
        )

    with engine_client.many() as submit:
        return tuple(
            submit((key, step), lambda step=step: default().submit(key, begin, 1).step(step), cost)
            for step in range(upto + 1)
        )


def one_step(params: Params, data: AtOnce) -> Folds:
    """Draw the losses before and now, the training curve and the button; ask a question before the first step."""
    wanted, read = as_words(data.target), as_words(data.read)
    found = copies_by_step(params, params.steps)
    now, first = found[-1], found[0]
    with st.container():
        told = params.steps > 0 or first.loss < LITTLE or _ask_largest_gain(params, wanted)
    row = 46 if len(wanted) < 8 else 36
    left, right = st.columns([3, 2], gap="medium")
    with left:
        page_parts.show_large(
            learned_task.losses(read, wanted, now.losses, first.losses if now.step else None, row=row),
            SLUG + "learn.picture",
            f"The loss of each position after {now.step} steps: "
            + list_values(zip(wanted, now.losses, strict=True), "{:.3f}")
            + ".",
            260,
        )
    with right:
        page_parts.show_large(
            learned_task.curve(
                [each.loss for each in found],
                MOST,
                np.stack([each.losses for each in found]),
                height=8 + row * len(wanted),
            ),
            SLUG + "curve.picture",
            f"The mean loss over the steps: {', '.join(number(each.loss, 3) for each in found)}.",
            260,
        )
    page_parts.summary(_numbers(found, default().open(MODEL).n_parameters))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.button(
            "Take one optimiser step",
            key=SLUG + "go",
            type="primary",
            icon=":material/trending_down:",
            on_click=_go,
            disabled=params.steps >= MOST,
        )
        st.button("Begin again", key=SLUG + "again", on_click=_start_again, disabled=not params.steps)
        params.show(SLUG.rstrip("."), "rule", "rate")
    frame = pd.DataFrame(
        {f"{place + 1}: {name}": [each.losses[place] for each in found] for place, name in enumerate(wanted)}
        | {
            "mean": [each.loss for each in found],
            "other pairs": [each.others for each in found],
            "writes": [each.writes for each in found],
        }
    ).rename_axis("steps")
    eta = RATES[params.rule] * params.rate
    rule = "training.adam" if params.rule == "Adam" else "training.descent"
    return Folds(
        frame,
        {
            "losses": np.stack([each.losses for each in found]),
            "others": np.array([each.others for each in found]),
        },
        {"model": MODEL, "most": MOST},
        told,
        {"training.loss": {"m": str(len(wanted)), "L": number(now.loss, 4)}, rule: {"eta": f"{eta:g}"}},
        look={"steps": trained(MODEL).steps},
    )


def _ask_largest_gain(params: Params, target: list[str]) -> bool:
    before, after = copies_by_step(params, 1)
    gained = before.losses - after.losses
    places = [f"{i + 1}: {token}" for i, token in enumerate(target)]
    best = int(gained.argmax())
    return exhibit_parts.predict(
        SLUG + "gain",
        "The model takes one optimiser step on this pair. At which position does the loss fall most?",
        dict(zip(places, gained.tolist(), strict=True)),
        places[best],
        f"From {number(before.losses[best], 3)} to {number(after.losses[best], 3)} there; the mean falls from {number(before.loss, 3)} to {number(after.loss, 3)}. Press the button to take the step.",
    )


def _numbers(copies: tuple[Taught, ...], n_weights: int) -> str:
    first, now = copies[0], copies[-1]
    if now.step == 0:
        return f"As shipped the model writes “{now.writes}”, and its loss on this pair is {number(now.loss, 3)} nats per token. The model has {n_weights:,} weights; a step changes all of them at once."
    return (
        f"{now.step} step{'s' * (now.step > 1)}: the copy writes “{now.writes}”, its loss went from {number(first.loss, 3)} to {number(now.loss, 3)}, {now.changed:,} weights changed. "
        f"Four other pairs went from {number(first.others, 4)} to {number(now.others, 4)}."
    )


def _go() -> None:
    state.write(**{SLUG + "steps": min(MOST, state.read(SLUG + "steps", 0, state.whole_number(0, MOST)) + 1)})


def _start_again() -> None:
    state.write(**{SLUG + "steps": None})
