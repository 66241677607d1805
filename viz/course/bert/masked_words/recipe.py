"""The last step of the exhibit on masked words: the numbers of BERT's training, and those of bert-mini."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import Training, read_training
from core.training.loop.optim import schedule
from core.training.recipes import bert_mini
from viz.charts import marks
from viz.course.bert import masking
from viz.course.bert.hidden_words import Text
from viz.course.bert.masked_words.params import MODEL, SLUG, Params
from viz.course.exhibit import Folds
from viz.labels import percent
from viz.number_text import tiny
from viz.widgets import page_parts

PEAK, CORPUS = 1e-4, 3.3e9


@cache
def record() -> Training | None:
    """Return the record of bert-mini's training, None where it is missing."""
    return read_training(shipped_folder() / MODEL)


def own_rate(step: int) -> float:
    """Return bert-mini's learning rate of tables and vectors: a linear warm-up, then a cosine to 0."""
    recipe = bert_mini.RECIPE
    return recipe.lr * schedule(step / recipe.steps, step, recipe.warm_up)


def recipe(params: Params, text: Text) -> Folds:
    """Draw the learning rate over the steps with the visitor's numbers, and bert-mini's own."""
    steps, own = params.steps, bert_mini.RECIPE
    warm_up = min(params.warm_up, steps)
    half = (warm_up + steps) // 2
    corners = sorted({0, warm_up, half, steps})
    rates = [(t, rate(t, warm_up, steps)) for t in corners]
    moments = sorted({0, own.warm_up, *np.linspace(0, own.steps, 13).astype(int).tolist()})
    left, right = st.columns(2, gap="medium")
    with left:
        page_parts.show(
            marks.lines(pd.DataFrame({"BERT": dict(rates)}), title="BERT: learning rate"),
            SLUG + "rate",
            f"The learning rate rises to {PEAK:g} at step {warm_up:,} and falls in a line to 0 at step "
            f"{steps:,}.",
        )
    with right:
        page_parts.show(
            marks.lines(
                pd.DataFrame({"bert-mini": {t: own_rate(t) for t in moments}}),
                title="bert-mini: learning rate",
            ),
            SLUG + "own",
            f"bert-mini's learning rate rises to {own.lr:g} at step {own.warm_up} "
            f"and falls as a cosine to 0 at step {own.steps:,}.",
        )
    a_step = masking.tokens_a_step(params.sequences, params.length)
    epochs = masking.epochs(a_step, steps, CORPUS)
    page_parts.summary(
        f"{params.sequences} × {params.length} = {a_step:,} tokens per step. {steps:,} steps over "
        f"{CORPUS / 1e9:.1f} billion words: {epochs:.1f} epochs. The rate is "
        f"{tiny(rate(warm_up / 2, warm_up, steps))} at step {warm_up // 2:,}, "
        f"{tiny(rate(warm_up, warm_up, steps))} at {warm_up:,}, {tiny(rate(half, warm_up, steps))} at "
        f"{half:,}, 0 at {steps:,}."
    )
    kept = record()
    took = f"{own.steps:,} steps"
    if kept:
        took = f"{kept.tokens:,} tokens in {kept.steps:,} steps, {kept.tokens / kept.steps:,.0f} per step, {kept.minutes:.0f} minutes"
    quotient = rf"\frac{{{a_step} \times {steps}}}{{3.3 \times 10^9}} = {epochs:.2f}"
    return Folds(
        _comparison_table,
        {"step": [t for t, _ in rates], "rate": [r for _, r in rates], "epochs": epochs},
        {"peak": PEAK, "warm_up": warm_up, "corners": corners, "a_step": a_step},
        equations={"bert.rate": {}},
        latex=(rf"{params.sequences} \times {params.length} = {a_step}, \quad {quotient}",),
        look={"took": took},
    )


def rate(step: float, warm_up: int, steps: int) -> float:
    """Return BERT's learning rate at a step."""
    return masking.rate(step, PEAK, warm_up, steps)


def _comparison_table() -> pd.DataFrame:
    own, kept = bert_mini.RECIPE, record()
    at_the_end = bert_mini.mix(kept.steps if kept else own.steps).share
    rows = [
        ("steps", "1,000,000", f"{own.steps:,}"),
        ("tokens per step", "131,072", f"{kept.tokens / kept.steps:,.0f}" if kept else "–"),
        ("warm-up", "10,000 steps", f"{own.warm_up} steps"),
        ("then", "a straight line to 0", "a cosine to 0"),
        ("highest rate", "0.0001", f"{own.lr:g} (tables, vectors), {own.matrix_lr:g} (matrices)"),
        ("optimiser", "Adam, 0.9, 0.999", "Muon for matrices, AdamW for the rest"),
        ("weight decay", "0.01", f"{own.weight_decay:g}"),
        ("dropout", "0.1", f"{own.config.dropout:g}"),
        ("activation", "gelu", own.config.activation),
        ("tokens chosen", "15%", f"{percent(bert_mini.HIDDEN)} at first, {percent(at_the_end)} at the end"),
        ("longest text", "512", f"{own.config.n_ctx}"),
    ]
    return pd.DataFrame(rows, columns=["", "BERT, 2019", "bert-mini"])
