"""The folds of the exhibit on the encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.shared.maths import sizes
from viz.widgets import lesson, parts

LOOKING = (
    "The cosine says how alike two vectors point: 1 the same way, 0 at right angles. A heat picture shows a word a row, blue numbers above 0, orange below. A map has a "
    "row for each word that looks, a column for each that is looked at; each row adds up to 1. L0 is the first layer. The translator has the norm before each sub-layer "
    "and one more above the stack; BERT has it after each sum, as the paper of 2017. **Try** a sentence with one word twice: the two begin "
    "alike but for their positions, and part."
)


def show(info: Any, params: Any, data: Any) -> None:
    """The five usual folds."""
    with parts.fold(parts.EQUATION, "encoder.equation") as opened:
        if opened.open:
            _equation(data)
    with parts.fold(parts.LOOKING, "encoder.looking") as opened:
        if opened.open:
            st.markdown(LOOKING)
    parts.documents(info, lambda: lesson.errata("E10", "E15", "E16"))
    parts.as_table(lambda: table(data), "encoder")
    parts.take_away(lambda: {"states": data.states, "kept": data.depth.kept, "others": data.depth.others, "weights": data.weights}, code(params), key="encoder")


def _equation(data: Any) -> None:
    for key in ("residual.first", "norm.apply", "ffn.residual", "ffn.inside"):
        lesson.equation(key, "encoder")
    parts.equation(r"\mathrm{layer} = \underbrace{4(d^2 + d)}_{\text{attention}} + \underbrace{2 d d_{ff} + d + d_{ff}}_{\text{network}} + \underbrace{4 d}_{\text{two norms}}")
    cfg = data.run.model.config
    each, base = sizes.encoder_layer(cfg.d_model, cfg.d_ff), sizes.encoder_layer(512, 2048)
    parts.numbers(
        f"d = {cfg.d_model}, d_ff = {cfg.d_ff:,}: {sizes.attention(cfg.d_model):,} + {sizes.feed_forward(cfg.d_model, cfg.d_ff):,} + {2 * sizes.norm(cfg.d_model):,} = {each:,}; "
        f"{cfg.n_layers} layers {cfg.n_layers * each:,}.\nThe base of 2017: {base:,} a layer, six of them {6 * base:,}; with 512 inner units only {sizes.encoder_layer(512, 512):,}."
    )


def table(data: Any) -> pd.DataFrame:
    """Each word by layer: cosine with itself before any layer, mean cosine with the others."""
    names = ["before any", *(f"after L{i}" for i in range(len(data.states) - 1))]
    kept = pd.DataFrame(np.round(data.depth.kept, 4), index=[f"itself, {name}" for name in names], columns=list(data.words))
    others = pd.DataFrame(np.round(data.depth.others, 4), index=[f"others, {name}" for name in names], columns=list(data.words))
    return pd.concat([kept, others])


def code(params: Any) -> str:
    """Lines that make the numbers again."""
    return (
        f"import core\nfrom viz.course.transformer.encoder import maths as depth\n\nmodel = core.open_model({params.model!r})\nrun = model.run({params.text!r})\n"
        "states = depth.hidden(run)  # (layer + 1, word, d)\nfound = depth.over_depth(states)\nprint(found.kept.round(3))\n"
        "looped, off = depth.as_loop(run)\nprint(off, depth.counted(model), sum(depth.counted(model).values()))"
    )
