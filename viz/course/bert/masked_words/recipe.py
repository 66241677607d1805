"""The last step of the exhibit on masked words: the numbers of BERT's training to play with, and those of bert-mini."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import Training, read_training
from core.training.loop.optim import schedule
from core.training.recipes import bert_mini
from viz.charts.curves import tiny
from viz.charts.training import learning
from viz.course.bert.masked_words.blanks import MODEL, SLUG
from viz.course.bert.maths import masking
from viz.course.shared.shown import Shown
from viz.labels import percent
from viz.widgets import controls, parts

WARM_UPS = (0, 1_000, 10_000, 100_000, 300_000)
STEPS = (100_000, 500_000, 1_000_000, 2_000_000)
SEQUENCES = (16, 32, 64, 128, 256, 512)
LENGTHS = (64, 128, 256, 512)
PEAK, CORPUS = 1e-4, 3.3e9


@cache
def record() -> Training | None:
    """How bert-mini was trained, where the record is here."""
    return read_training(shipped_folder() / MODEL)


def own_rate(step: int) -> float:
    """bert-mini's learning rate of tables and vectors: up over its warm-up, then a cosine to 0."""
    recipe = bert_mini.RECIPE
    return recipe.lr * schedule(step / recipe.steps, step, recipe.warm_up)


def recipe(params: Any, text: Any) -> Shown:
    """The learning rate over the steps with the visitor's numbers, and bert-mini's own."""
    warm_up, steps = min(params.warm_up, params.steps), params.steps
    corners = sorted({0, warm_up, (warm_up + steps) // 2, steps})
    rates = [(t, masking.rate(t, PEAK, warm_up, steps)) for t in corners]
    own = bert_mini.RECIPE
    ours = [(t, own_rate(t)) for t in sorted({0, own.warm_up, *np.linspace(0, own.steps, 13).astype(int).tolist()})]
    left, right = st.columns(2, gap="medium")
    with left:
        parts.show(learning({"BERT: learning rate": rates}).update_yaxes(tickvals=[0, PEAK / 2, PEAK], ticktext=["0", tiny(PEAK / 2), tiny(PEAK)]), SLUG + "rate", f"The learning rate rises to {PEAK:g} at step {warm_up:,} and falls in a line to 0 at step {steps:,}.")
    with right:
        parts.show(learning({"bert-mini: learning rate": ours}), SLUG + "own", f"bert-mini's learning rate rises to {own.lr:g} at step {own.warm_up} and falls as a cosine to 0 at step {own.steps:,}.")
    a_step = masking.tokens_a_step(params.sequences, params.length)
    half = (warm_up + steps) // 2
    parts.numbers(
        f"{params.sequences} × {params.length} = {a_step:,} tokens a step. {steps:,} steps over {CORPUS / 1e9:.1f} billion words: {masking.epochs(a_step, steps, CORPUS):.1f} epochs. "
        f"The rate is {tiny(masking.rate(warm_up / 2, PEAK, warm_up, steps))} at step {warm_up // 2:,}, {tiny(masking.rate(warm_up, PEAK, warm_up, steps))} at {warm_up:,}, {tiny(masking.rate(half, PEAK, warm_up, steps))} at {half:,}, 0 at {steps:,}."
    )  # fmt: skip
    one, two, three, four = st.columns(4, gap="medium")
    with one:
        controls.stops("Warm-up", WARM_UPS, SLUG + "warm_up", 10_000, lambda n: f"{n:,}")
    with two:
        controls.stops("Steps", STEPS, SLUG + "steps", 1_000_000, lambda n: f"{n:,}")
    with three:
        controls.stops("Sequences a step", SEQUENCES, SLUG + "sequences", 256)
    with four:
        controls.stops("Tokens a sequence", LENGTHS, SLUG + "length", 512)
    kept = record()
    read = f"{kept.tokens:,} tokens in {kept.steps:,} steps, {kept.tokens / kept.steps:,.0f} a step, {kept.minutes:.0f} minutes" if kept else f"{own.steps:,} steps"
    rows = [
        ("steps", "1,000,000", f"{own.steps:,}"), ("tokens a step", "131,072", f"{kept.tokens / kept.steps:,.0f}" if kept else "–"), ("warm-up", "10,000 steps", f"{own.warm_up} steps"),
        ("then", "a straight line to 0", "a cosine to 0"), ("highest rate", "0.0001", f"{own.lr:g} (tables, vectors), {own.matrix_lr:g} (matrices)"), ("optimiser", "Adam, 0.9, 0.999", "Muon for matrices, AdamW for the rest"),
        ("weight decay", "0.01", f"{own.weight_decay:g}"), ("dropout", "0.1", f"{own.config.dropout:g}"), ("activation", "gelu", own.config.activation),
        ("tokens chosen", "15 %", f"{percent(bert_mini.HIDDEN)} at first, {percent(bert_mini.mix(kept.steps if kept else own.steps).share)} at the end"), ("longest text", "512", f"{own.config.n_ctx}"),
    ]  # fmt: skip
    return Shown(
        {"bert.rate": {}}, (rf"{params.sequences} \times {params.length} = {a_step}, \quad \frac{{{a_step} \times {steps}}}{{3.3 \times 10^9}} = {masking.epochs(a_step, steps, CORPUS):.2f}",),
        f"Left, the recipe of the paper with your numbers; right, bert-mini's recipe: {read}; the cosine of that run followed the clock. An epoch here counts words of the corpus as if each were one token, as the quotation does; in tokens the corpus is longer. "
        "Fine-tuning takes far less: batches of 16 or 32, a rate of 5e-5, 3e-5 or 2e-5, 2 to 4 epochs.",
        lambda: pd.DataFrame(rows, columns=["", "BERT, 2019", "bert-mini"]),
        {"step": np.array([t for t, _ in rates]), "rate": np.array([r for _, r in rates])},
        f"from viz.course.bert.maths import masking\n\nprint([masking.rate(t, {PEAK}, {warm_up}, {steps}) for t in {corners}])\nprint(masking.tokens_a_step({params.sequences}, {params.length}), masking.epochs({a_step}, {steps}))",
    )  # fmt: skip
