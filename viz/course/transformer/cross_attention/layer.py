"""The last steps of the exhibit on cross-attention: padding in a batch, and the decoder layer with its two maps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.shared import cross_shapes, masks_batch
from viz.course.transformer.cross_attention.maths import Data
from viz.course.transformer.cross_attention.params import Params
from viz.course.transformer.cross_attention.steps import SLUG, choose
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, query_and_key
from viz.widgets import engine_client, exhibit_parts, page_parts


def padding(params: Params, data: Data) -> Folds:
    """Draw the masks of a padded batch, with evidence that other content on padded positions changes nothing."""
    first, second, lot = params.first, params.second, params.draw
    _, proof = masks_batch.draw(first, second, SLUG + "batch", lot, across=4, height=220).split("\n")
    page_parts.summary(proof)
    masks, change = masks_batch.masks_and_change(first, second, lot)
    arrays = {leaf: getattr(masks, leaf) for leaf in ("source_padding", "target_padding", "causal", "union")}
    changes = {"change_with_masks": change.with_mask, "change_without_masks": change.without_mask}
    return Folds(
        lambda: pd.DataFrame(
            masks.source_padding.astype(int), index=distinct(masks.targets), columns=distinct(masks.sources)
        ),
        lambda: arrays | changes,
        equations={"masked.matrix": {}},
        latex=(
            rf"e^{{0}} = 1, \quad e^{{-\infty}} = 0: \qquad {change.with_mask:.1f} \text{{ with the masks, "
            rf"}} {change.without_mask:.2f} \text{{ without}}",
        ),
    )


def layer(params: Params, data: Data) -> Folds:
    """Draw both maps of one decoder layer, and count the parameters of its three sub-layers."""
    ours, base = engine_client.submit(
        ("cross_attention.counts", data.run.model.name),
        lambda: (cross_shapes.counts(data.run.model), cross_shapes.counts()),
        50,
    )
    told = exhibit_parts.predict(
        SLUG + "less",
        "Take cross-attention and its norm out of a decoder layer. How many parameters are left, compared "
        "with an encoder layer?",
        ("fewer", "exactly as many", "more"),
        _compare_with_encoder(ours),
        f"{ours.decoder:,} − {ours.parts['cross-attention']:,} − {ours.parts['its norm']:,} = "
        f"{ours.without_cross:,}; the encoder layer has {ours.encoder:,}. The mask of the other "
        "self-attention has nothing to learn.",
    )
    own = data.run.attention("causal")
    pattern, allowed = own.weights[data.layer, data.head], own.allowed[data.layer, data.head]
    tokens = distinct(word.removeprefix(" ") or word for word in own.queries)
    n, m = len(data.source_tokens), len(data.target_tokens)
    left, right = st.columns(2, gap=exhibit_parts.column_gap("large"))
    with left:
        origin.tell_run(data.run, "causal", data.layer, data.head)
        heatmap(
            pattern,
            tokens,
            tokens,
            key=SLUG + "layer.own",
            allowed=allowed,
            title=f"1  masked self-attention, {m} × {m}",
            numbers=m <= 9,
            height=260,
            axis=query_and_key("token"),
        )
    with right:
        origin.tell_run(data.run, "cross", data.layer, data.head)
        heatmap(
            data.pattern,
            tokens,
            distinct(data.source_tokens),
            key=SLUG + "layer.cross",
            title=f"2  cross-attention, {m} × {n}",
            numbers=m <= 9,
            height=260,
            axis=query_and_key("token", across=True),
        )
    heads, less = data.weights.shape[1], base.decoder - base.without_cross
    says = (
        f"Layer L{data.layer} has two maps in each of its {heads} heads, {m} × {m} and {m} × {n}; shown is "
        f"H{data.head}. The third sub-layer is the feed-forward network. "
    )
    if told and not exhibit_parts.presenting():
        says += (
            f"A decoder layer has {ours.decoder:,} parameters; without cross-attention and its norm "
            f"{ours.without_cross:,}, an encoder layer {ours.encoder:,}. "
        )
    st.text(
        says
        + (f"In the paper's model: {base.decoder:,} − {less:,} = {base.without_cross:,}." if told else "")
    )
    choose()
    both = {"this model": ours, "the paper's": base}
    line = rf"{base.decoder:,} - {less:,} = {base.without_cross:,}".replace(",", r"\,")
    return Folds(
        lambda: pd.DataFrame(
            {
                name: each.parts | {"decoder layer": each.decoder, "encoder layer": each.encoder}
                for name, each in both.items()
            }
        ),
        {"self": np.asarray(pattern), "cross": data.pattern},
        revealed=told,
        equations={"masked.matrix": {}, "cross.matrix": {}},
        latex=(line,),
    )


def _compare_with_encoder(counts: cross_shapes.Counts) -> str:
    if counts.without_cross == counts.encoder:
        return "exactly as many"
    return "fewer" if counts.without_cross < counts.encoder else "more"
