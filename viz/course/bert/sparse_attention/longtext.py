"""The step on a long text: one head of bigbird-mini, in blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.layers.block_sparse import PARTS
from viz.course.bert.sparse_attention import read
from viz.course.bert.sparse_attention.maths import Mask
from viz.course.bert.sparse_attention.params import SLUG, Params
from viz.course.exhibit import Folds
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import percent
from viz.widgets import exhibit_parts, page_parts, quiz

EQUATION = "bert.sparse"


def reads(params: Params, _: Mask) -> Folds:
    """Ask for the share of attention in the window, then draw one head by blocks, and its predictions of masked words with
    either mask."""
    found = read.reading(params.own, params.layer, params.head)
    origin.tell(model=found.model, text=params.own, kind="self", layer=params.layer, head=params.head)
    if found.n_tokens + 2 > found.n:
        st.caption(f"The text has {found.n_tokens:,} tokens. The first {found.n - 2:,} are read.")
    where = f"L{params.layer}.H{params.head}"
    near, n_blocks = found.attention_by_part["window"], len(found.names)
    many = f"{n_blocks} block{'s' if n_blocks != 1 else ''}"
    known = quiz.predict_share(
        SLUG + "near",
        f"{where} of {found.model} reads {found.n:,} tokens in {many} of {found.block}. What share of its attention stays within the window?",
        round(near, 3),
        ", ".join(f"{name} {percent(found.attention_by_part[name], 1)}" for name in PARTS)
        + " of all its attention.",
    )
    if known:
        heatmap(
            found.blocks,
            found.names,
            found.names,
            allowed=found.allowed,
            title=f"{where}: attention by blocks",
            shut="masked",
            height=exhibit_parts.by_mode(420, 230),
            key=SLUG + "blocks",
        )
    share = float(found.allowed.mean())
    guessed = read.guesses(params.own)
    page_parts.summary(
        f"{found.n:,} tokens in {many}, {percent(share, 2)} of the pairs of blocks are read. Of {guessed.n} masked tokens it predicts {guessed.blocks} correctly with the blocks and {guessed.full} with all pairs; "
        f"{guessed.same} predictions are the same."
        if known
        else f"{found.n:,} tokens in {many} of {found.block}."
    )
    columns = {"share of the attention": [percent(found.attention_by_part[name], 2) for name in PARTS]}
    config = read.model().config
    values = {"n": f"{found.n:,}", "b": f"{found.block}", "w": f"{config.window}", "g": f"{config.n_global}"}
    return Folds(
        lambda: pd.DataFrame(columns, index=list(PARTS)),
        lambda: {
            "blocks": found.blocks,
            "allowed": found.allowed,
            "held": np.array([*found.attention_by_part.values()]),
        },
        revealed=known,
        equations={EQUATION: values | {"r": f"{config.n_random}"}},
    )
