"""Steps of the exhibit on cross-attention: the map, the sources of Q, K and V, the effect of a swapped word, the cache."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.shared import cross_shapes, luong
from viz.course.transformer.cross_attention import charts, maths
from viz.course.transformer.cross_attention.maths import Data
from viz.course.transformer.cross_attention.params import MODEL, SIDES, Params
from viz.instruments import SILENT, heatmap, words_view
from viz.labels import distinct, head_name, literal, percent, query_and_key
from viz.number_text import number, or_exactly_zero
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

SLUG = "cross_attention."
LEAVES = ("Q", "K", "V")


def two_axes(params: Params, data: Data) -> Folds:
    """Draw the map of one head; before the guess only the two sentences."""
    n, m, names = (
        len(data.source_tokens),
        len(data.target_tokens),
        (distinct(data.source_tokens), distinct(data.target_tokens)),
    )
    told = exhibit_parts.predict(
        SLUG + "shape",
        f"{n} English tokens are read and {m} Spanish tokens written, END included. How many rows and columns does this head's map have?",
        maths.sizes(m, n),
        f"{m} × {n}",
        f"Each of the {m} Spanish positions has a query, so it is a row; each of the {n} English tokens has a key, so it is a column: {m * n} weights per head, in {data.weights.shape[0]} × {data.weights.shape[1]} heads.",
    )
    if exhibit_parts.presenting() and not told:  # the sentences need the width that the map does not take yet
        left, right = st.container(), st.container()
    else:
        left, right = st.columns([1, 1], gap=exhibit_parts.column_gap("large"))
    pattern = data.pattern
    with left:
        words_view(
            pattern,
            data.target_tokens,
            data.source_tokens,
            key=f"{SLUG}words.{told}",
            targets=[(word, i if told else -1) for i, word in enumerate(data.target_tokens)],
            allowed=None if told else np.zeros_like(pattern, dtype=bool),
            special=((m - 1,), ()),
            names=("read", "written"),
            say=None if told else SILENT,
        )
    with right:
        if told:
            title = f"{head_name(data.layer, data.head)}, {m} × {n}"
            heatmap(
                pattern,
                names[1],
                names[0],
                key=SLUG + "map",
                axis=query_and_key("token", across=True),
                title=title,
                numbers=n <= 12,
                height=260,
            )
        else:
            st.text("The map comes after your guess.")
    sharp = luong.crossing(pattern)
    most = f"gives {percent(pattern[sharp].max())} of its attention to “{data.source_tokens[int(pattern[sharp].argmax())]}”"
    st.text(
        f"Writing “{data.target_tokens[sharp]}”, {head_name(data.layer, data.head)} {most}. {m} × {n} = {m * n} "
        "weights; each row sums to 1."
        if told
        else f"{n} English tokens were read and {m} Spanish ones written"
        + (": two languages, two lengths." if n != m else ". That both numbers are equal is chance.")
    )
    choose()
    return Folds(
        lambda: pd.DataFrame(np.round(pattern, 4), index=names[1], columns=names[0]),
        {"weights": pattern},
        revealed=told,
        equations={"cross.matrix": {"p": str(data.run.model.config.d_head)}},
    )


def who_asks(params: Params, data: Data) -> Folds:
    """Draw the sources of Q, K and V as boxes with the shapes of this run."""
    config, n, m = data.run.model.config, len(data.source_tokens), len(data.target_tokens)
    path = f"decoder.layer.{data.layer}.cross_attn"
    shapes = {
        leaf: data.run.trace[f"{path}.{leaf}"].shape
        for leaf in ("q", "k", "v", "scores", "pattern", "heads", "out")
    }
    picture = charts.flow(n, m, config.d_model, config.n_heads, config.d_head, height=360)
    said = (
        f"Q {shapes['q']} from the decoder, K {shapes['k']} and V {shapes['v']} from the encoder, weights "
        f"{shapes['pattern']}, output {shapes['out']}."
    )
    page_parts.show(picture, SLUG + "flow", said)
    page_parts.summary(
        f"{m} queries meet {n} keys: {config.n_heads} heads × {m} × {n} = {config.n_heads * m * n} scores, "
        f"each divided by √{config.d_head} = {number(float(np.sqrt(config.d_head)))}. Out come {m} × "
        f"{config.d_model} numbers again, one row for each Spanish position."
    )
    rows = {
        "tensor": [f"{path}.{leaf}" for leaf in shapes],
        "shape": [" × ".join(map(str, shape)) for shape in shapes.values()],
        "made of": ["decoder", "encoder", "encoder", "both", "both", "both", "both"],
    }
    return Folds(
        lambda: pd.DataFrame(rows),
        {leaf: data.run.trace[f"{path}.{leaf}"] for leaf in ("q", "k", "v")},
        equations={"cross.matrix": {"p": str(config.d_head)}},
        change=choose,
    )


def swap(params: Params, data: Data) -> Folds:
    """Exchange one word on one side and draw the change of Q, K and V, layer by layer."""
    side = params.side
    change, before, after = engine_client.submit(
        ("cross_attention.swap", data.texts[0], side),
        lambda: maths.measure_exchange(data, side),
        40 * len(data.source_tokens),
    )
    still = [name for name, value in zip(LEAVES, change[0], strict=True) if value == 0]
    answers = ("Q only", "K and V", "Q, K and V", "none of them")
    answer = {0: answers[2], 1: answers[1] if still == ["Q"] else answers[2], 2: answers[0], 3: answers[3]}[
        len(still)
    ]
    told = exhibit_parts.predict(
        SLUG + "moves",
        f"“{before}” becomes “{after}”, the other sentence stays as it is. Which of Q, K and V change in layer 0 of the decoder?",
        answers,
        answer,
        f"Measured, the largest change of any number: {_each(change[0])}.",
    )
    rows = [f"layer {i}" for i in range(len(change))]
    title = f"Largest change in Q, K and V after {SIDES[side]} was exchanged"
    with st.container():
        if told:
            picture = marks.bars(pd.DataFrame(change, rows, list(LEAVES)), "{:,.2f}", title=title)
            page_parts.show(picture, SLUG + "swap.picture", title)
        else:
            _sentences(data, side)
    by_layer = "; ".join(f"L{i}: {_each(row)}" for i, row in enumerate(change))
    st.text(
        f"Layer by layer: {by_layer}."
        if told
        else f"“{data.texts[0]}” and “{data.texts[1]}”; only “{before}” is exchanged."
    )
    source, target, *_ = maths.exchange_token(data, side)
    return Folds(
        lambda: pd.DataFrame(change, index=rows, columns=list(LEAVES)).round(4),
        {"change": change},
        {"source": source, "target": target},
        told,
        {"cross.matrix": {}},
    )


def _each(change: np.ndarray) -> str:
    return ", ".join(
        f"{name} {or_exactly_zero(value, number(float(value)))}"
        for name, value in zip(LEAVES, change, strict=True)
    )


def _sentences(data: Data, side: str) -> None:
    """Draw both sentences, each with its version after the exchange below."""
    source, target, _, _ = maths.exchange_token(data, side)
    now = (("read", data.texts[0], source), ("written", data.texts[1], target))
    for column, (label, before, after) in zip(st.columns(2, gap="small"), now, strict=True):
        with column, st.container(border=True, gap=None, height="stretch"):
            st.markdown(f":gray[{label}]")
            st.markdown(f"## {literal(before)}")
            st.markdown(f":gray[{'then' if before != after else 'unchanged'}]")
            st.markdown(f"## {literal(after)}")


def once(params: Params, data: Data) -> Folds:
    """Draw the rows of keys that each decoding step computes, and the saving by the cache."""
    found = engine_client.submit(
        ("cross_attention.once", data.texts[0]),
        lambda: cross_shapes.decode_with_cache(data.run),
        60 * len(data.target_tokens),
    )
    n, m = len(data.source_tokens), len(data.target_tokens)
    told = exhibit_parts.predict_number(
        SLUG + "rows",
        f"{m} tokens are written, {n} were read. How many rows of keys does cross-attention compute in one "
        f"layer, over all {m} steps?",
        0,
        n * m,
        sum(found.source),
        f"{n}, at the first step; the same arrays serve the other {m - 1}. Without the cache it would be {m} × {n} = {n * m}.",
        max(1, n // 4),
    )
    source, anew = (found.source, found.uncached_rows) if told else ((0,) * m, ())
    said = "Rows of the decoder's own words that each step computes; those of the source are shown after the guess."
    picture = charts.computed(
        found.own_rows, source, anew, distinct(data.target_tokens), height=exhibit_parts.by_mode(330, 410)
    )
    page_parts.show(
        picture, SLUG + "once.picture", "Rows of keys and values computed at each step." if told else said
    )
    total = sum(found.own_rows) + sum(found.source)
    st.text(
        f"{sum(found.own_rows)} rows for its own words and {sum(found.source)} for the source, {total} together; without the cache {sum(found.uncached_rows)}. The source's arrays were {'the same' if found.source_cached else 'others'} at "
        "every step."
        if told
        else "For its own words the decoder computes one new row per step. How many rows for the source?"
    )
    rows = {
        "written": distinct(data.target_tokens),
        "own": found.own_rows,
        "source": found.source,
        "without the cache": found.uncached_rows,
    }
    return Folds(
        lambda: pd.DataFrame(rows),
        {"own": found.own_rows, "source": found.source},
        revealed=told,
        equations={"cross.matrix": {}},
        latex=(
            rf"{m} \cdot 1 + {n} = {total} \quad \text{{of}} \quad {sum(found.uncached_rows)}",
            rf"\text{{logits, with the cache and in one pass: }} \max |z - z'| = {found.gap:.1e}",
        ),
    )


def choose() -> None:
    """Draw the controls of layer and head; they open with the best aligner."""
    config, best = (
        default().open(MODEL).config,
        engine_client.submit("cross_attention.opening", maths.opening, 800),
    )
    with st.container(horizontal=True, gap="medium"):
        with st.container(width="content"):
            controls.pills("Layer", range(config.n_layers), "layer", best[0])
        with st.container(width="content"):
            controls.pills("Head", range(config.n_heads), "head", best[1])
