"""The first steps of the exhibit on training and inference: the shift, all positions at once, one position
after the other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.engine import default
from viz.charts.curves import number, tiny
from viz.course.lesson import Folds
from viz.course.shared.shown import show
from viz.course.transformer.training_and_inference.charts import taught, teaching
from viz.course.transformer.training_and_inference.charts.teaching import named, word
from viz.course.transformer.training_and_inference.maths.at_once import AtOnce, by_torch, losses
from viz.course.transformer.training_and_inference.params import MODEL, SLUG, Params
from viz.labels import percent
from viz.shell import links, room
from viz.widgets import controls, lesson, parts


def shift(params: Params, data: AtOnce) -> Folds:
    """The two rows; before the guess the lower one is covered."""
    read, wanted, m = named(data.read), named(data.wanted), len(data.wanted)
    at = min(1, m - 1)
    answer = read[at]
    told = lesson.predict(
        SLUG + "shift",
        f"At one position the decoder should predict “{wanted[at]}”. What does it read there?",
        tuple(dict.fromkeys((*read[:4], wanted[at]))),
        answer,
        f"The target shifted one position to the right: at the position of “{wanted[at]}” stands "
        f"“{answer}”. So each position learns: after this word, predict that one.",
    )
    given = list(read if params.shift else wanted)
    shown = given if told else [given[0] if params.shift else None] + [None] * (m - 1)
    says = f" It reads {', '.join(given)}." if told else ""
    show(
        teaching.rows(wanted, shown, arrows=params.shift, chosen=at),
        SLUG + "shift.picture",
        f"Two rows of {m} tokens: the target, and what the decoder reads.{says}",
        260 if m <= teaching.WRAPPED else room.LARGEST,
    )
    parts.numbers(
        _shift_numbers(data, params.shift)
        if told
        else f"The target has {m} tokens, END among them. The decoder reads as many."
    )
    d = default().open(MODEL).config.d_model
    return Folds(
        lambda: pd.DataFrame({"target": wanted, "decoder input": given}, index=range(1, m + 1)).rename_axis(
            "place"
        ),
        lambda: {"target": data.ids},
        _code(params),
        told,
        {"training.loss": {"m": str(m)}},
        (
            r"\mathrm{input}_1 = \mathrm{START}, \qquad \mathrm{input}_t = y_{t-1}, \quad t = 2, "
            rf"\ldots, {m}",
        ),
        look="The upper row is the target, token by token, with END. The lower row is what the decoder is "
        "given: the same, shifted one position to the right, START in front. A position reads what "
        "stands below it and everything to its left (the rest is masked), and should predict what "
        f"stands above it. Each token enters as its row of the token table, {d} numbers, times √{d}, "
        "plus its position; the same table, transposed, makes the logits at the end.",
    )


def _shift_numbers(data: AtOnce, moved: bool) -> str:
    if moved:
        return (
            f"{len(data.wanted)} positions, {len(data.wanted)} predictions: the mean loss is "
            f"{number(data.losses.mean(), 3)} nats per token."
        )
    return (
        "Now each position reads the very word that it should predict: copying would be enough, and "
        "nothing about translating would be learnt. This decoder learnt with the shift; fed like this its "
        f"loss is {number(data.unshifted.mean(), 2)} nats per token instead of "
        f"{number(data.losses.mean(), 3)}."
    )


def all_at_once(params: Params, data: AtOnce) -> Folds:
    """The loss of every place, covered until the guess."""
    wanted, m = named(data.wanted), len(data.wanted)
    places = [f"{i + 1}: {token}" for i, token in enumerate(wanted)]
    values, most, least = data.losses, int(data.losses.argmax()), int(data.losses.argmin())
    told = lesson.predict(
        SLUG + "most",
        "The model gave each wanted token a probability. Which one has the largest loss?",
        dict(zip(places, values.tolist(), strict=True)),
        places[most],
        f"It gave “{wanted[most]}” {percent(np.exp(-values[most]))}, so the loss there is "
        f"{number(values[most], 3)}; “{wanted[least]}” got {percent(np.exp(-values[least]))}.",
    )
    each = (
        ": " + ", ".join(f"{place} {loss:.3f}" for place, loss in zip(places, values, strict=True))
        if told
        else ", still covered"
    )
    show(
        taught.losses(named(data.read), wanted, values if told else None),
        SLUG + "once.picture",
        f"The loss of each position{each}.",
        260,
    )
    n_vocab, mean = data.logits.shape[1], number(values.mean(), 4)
    one_pass = f"One pass gives {m} × {n_vocab:,} logits"
    parts.numbers(
        f"{one_pass}. The mean of the {m} losses is {mean}; torch's cross_entropy says "
        f"{number(by_torch(data), 4)}."
        if told
        else f"{one_pass}: for every position, every token of the vocabulary."
    )
    rows = {
        "reads": named(data.read),
        "target": wanted,
        "probability": np.exp(-values).round(5),
        "loss": values.round(5),
    }
    sums = " + ".join(number(value, 3) for value in values)
    return Folds(
        lambda: pd.DataFrame(rows, index=range(1, m + 1)),
        lambda: {"losses": values},
        _code(params),
        told,
        {"training.loss": {"m": str(m), "L": mean}},
        (rf"L = \tfrac{{1}}{{{m}}} ({sums}) = {mean}",),
        look="A bar is one position of the decoder: left of the arrow what it reads, right of it what it "
        "should predict. The loss is −ln of the probability that the model gave the wanted token: 0 "
        f"if it was sure, ln {n_vocab:,} = {np.log(n_vocab):.2f} if it had no idea. The mean of the "
        "bars is what training lowers. All bars come from one pass: the right words are given "
        "(teacher forcing), so no position has to wait for another.",
    )


def step_by_step(params: Params, data: AtOnce) -> Folds:
    """Pass after pass, and the same probability from the one pass."""
    m = len(data.wanted)
    one, step = np.exp(-data.losses), np.exp(-losses(data.stepwise, data.ids))
    picture, sentence = st.container(), st.container()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=320):
            upto = controls.slider("Passes", 1, m, SLUG + "passes", m)  # as many as the target has tokens
        links.to(
            "decode",
            "Watch it write in Decode",
            icon=":material/arrow_forward:",
            model=MODEL,
            text=params.text,
            **{"decode.show": "Training and inference"},
        )
    with picture:
        show(
            teaching.passes(named(data.read), named(data.wanted), one, step, upto),
            SLUG + "passes.picture",
            f"{upto} of {m} passes; after each the probability of the wanted token, from one pass and step "
            "by step.",
            290 if m <= teaching.WRAPPED else 370,
        )
    free = data.forcing.free
    own = "".join(place.next for place in free if place.next != "END").strip()
    same = "the same" if data.forcing.parts is None else "something else"
    with sentence:
        parts.numbers(
            f"Training: 1 pass. Inference: {m} passes. The {m} × {data.logits.shape[1]:,} logits differ by "
            f"{tiny(float(data.differences.max()))} at most. Left to itself the model writes “{own}”, "
            f"{same}."
        )
    rows = {
        "reads": named(data.read),
        "P, one pass": one.round(6),
        "P, step by step": step.round(6),
        "largest difference of a logit": data.differences,
    }
    return Folds(
        lambda: pd.DataFrame(rows, index=range(1, m + 1)),
        lambda: {"one pass": one, "step by step": step, "difference": data.differences},
        _code(params),
        equations={"decoding.greedy": {"y_t": word(free[0].next)}},
        latex=(rf"\max_{{t, v}} |z_{{t v}} - z'_{{t v}}| = {data.differences.max():.1e}",),
    )


def _code(params: Params) -> str:
    return (
        "import core\nfrom viz.course.transformer.training_and_inference.maths.at_once import at_once\n\n"
        f"model = core.open_model({MODEL!r})\nfound = at_once(model, {params.text!r}, {params.wanted!r})\n"
        "print(found.read, found.wanted)\nprint(found.losses, found.losses.mean())\n"
        "print(found.differences.max())"
    )
