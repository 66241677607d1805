"""The last steps of the exhibit on cross-attention: padding in a batch, and the decoder layer with its two maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.shared import masks_batch as batch
from viz.course.shared.maths import across
from viz.course.shared.shown import Shown
from viz.course.transformer.cross_attention import steps
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, head_name
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "cross_attention."
PADDING = 4
FIRST, SECOND = "The red house on the hill is very old.", "She has a white car."
LOOKING_PADDING = (
    "A batch is one rectangle of tokens, so the shorter sentence is filled up with PAD; these are the masks of the shorter one. A row is a target word, a column what it may look at; hatched is masked. **Source padding** is the mask of "
    "cross-attention: its columns are source words. **Target padding** and **causal** are joined (what either masks is masked) for the decoder's self-attention. Rows of padding are computed and never read: the loss leaves them out."
)
LOOKING_LAYER = (
    "Left, masked self-attention: both axes are the Spanish words as they were read, and the future is hatched. Right, cross-attention: a row for each of the same positions, a column for each English token. The third sub-layer, the "
    "feed-forward network, has no map: it works on each position by itself. The target enters at the bottom of the stack, the encoder's output enters in every layer."
)


def padding(data: Any) -> Shown:
    """The masks of a padded batch, and that other content on padded places changes nothing."""
    top = st.container()
    left, right = st.columns(2, gap="large")
    with left:
        first = controls.text("The longer sentence", SLUG + "first", FIRST, of=batch.TRANSLATOR)
    with right:
        second = controls.text("The shorter one, filled up with PAD", SLUG + "second", SECOND, of=batch.TRANSLATOR)
    controls.draw(SLUG + "draw", 0, 99, again="Other tokens on the padding")
    lot = state.read(SLUG + "draw", 0, state.whole(0, 99))
    with top:
        use, proof = batch.draw(first, second, SLUG + "batch", lot, across=4, height=220).split("\n")
        parts.numbers(proof)
    code = (
        f"import core\nfrom viz.course.shared.maths.padded_batch import batch_masks, padded_content, run_batch\n\nruns = run_batch(core.open_model({data.run.model.name!r}), ({first!r}, {second!r}))\n"
        f"shorter = batch_masks(min(runs, key=lambda run: run.source.n_real))\nprint(shorter.source_padding, shorter.union)\nchange = padded_content(runs, {lot})\nprint(change)"
    )  # fmt: skip
    masks, change = batch.found(first, second, lot)
    table = pd.DataFrame(masks.source_padding.astype(int), index=distinct(masks.targets), columns=distinct(masks.sources))
    return Shown({"masked.matrix": {}}, (rf"e^{{0}} = 1, \quad e^{{-\infty}} = 0: \qquad {change.with_mask:.1f} \text{{ with the masks, }} {change.without:.2f} \text{{ without}}",), LOOKING_PADDING + "\n\n" + use,
                 lambda: table, {"source_padding": masks.source_padding, "target_padding": masks.target_padding, "causal": masks.causal, "union": masks.union}, code)  # fmt: skip


def layer(data: Any) -> Shown:
    """Two maps of one decoder layer, and what its three sub-layers have learned in numbers."""
    ours, base = ask.submit(("cross_attention.counts", data.run.model.name), lambda: (across.counts(data.run.model), across.counts()), 50)
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict(
            SLUG + "less", "Take cross-attention and its norm out of a decoder layer. How many parameters are left, compared with an encoder layer?", ("fewer", "exactly as many", "more"), _beside(ours),
            f"{ours.decoder:,} − {ours.parts['cross-attention']:,} − {ours.parts['its norm']:,} = {ours.without_cross:,}; the encoder layer has {ours.encoder:,}. The mask of the other self-attention has nothing to learn.",
        )  # fmt: skip
    own = data.run.attention("causal")
    tokens = distinct(word.removeprefix(" ") or word for word in own.queries)
    n, m = len(data.read), len(data.written)
    left, right = picture.columns(2, gap="small" if lesson.presenting() else "large")
    with left:
        origin.tell_run(data.run, "causal", data.layer, data.head)
        heatmap(own.weights[data.layer, data.head], tokens, tokens, key=SLUG + "layer.own", allowed=own.allowed[data.layer, data.head], title=f"1  masked self-attention, {m} × {m}", numbers=m <= 9, height=260,
                axis=("target", "target"))  # fmt: skip
    with right:
        origin.tell_run(data.run, "cross", data.layer, data.head)
        heatmap(data.pattern, tokens, distinct(data.read), key=SLUG + "layer.cross", title=f"2  cross-attention, {m} × {n}", numbers=m <= 9, height=260, axis=("target", "source"))
    shape = f"{data.weights.shape[1]} × {m} × {m} and {data.weights.shape[1]} × {m} × {n}"
    picture.text(f"Layer {data.layer} of {data.weights.shape[0]}, {head_name(data.layer, data.head)}: two map tensors, {shape}; then 3, the feed-forward network. " + (
        ("" if lesson.presenting() else f"A decoder layer has {ours.decoder:,} parameters; without cross-attention and its norm {ours.without_cross:,}, an encoder layer {ours.encoder:,}. ") +
        f"In the paper's model: {base.decoder:,} − "
        f"{base.decoder - base.without_cross:,} = {base.without_cross:,}." if told else ""))  # fmt: skip
    steps._choose()
    table = pd.DataFrame({"this model": ours.parts | {"decoder layer": ours.decoder, "encoder layer": ours.encoder}, "the paper's": base.parts | {"decoder layer": base.decoder, "encoder layer": base.encoder}})
    code = f"{steps._code(data)}\nfrom viz.course.shared.maths.across import counts\n\nfor each in (counts(model), counts()):\n    print(each.decoder, each.without_cross, each.encoder)"
    return Shown({"masked.matrix": {}, "cross.matrix": {}}, (rf"{base.decoder:,} - {base.decoder - base.without_cross:,} = {base.without_cross:,}".replace(",", r"\,") if told else r"\dots",), LOOKING_LAYER,
                 lambda: table if told else steps.GUESS, {"self": np.asarray(own.weights[data.layer, data.head]), "cross": data.pattern}, code)  # fmt: skip


def _beside(found: across.Counts) -> str:
    if found.without_cross == found.encoder:
        return "exactly as many"
    return "fewer" if found.without_cross < found.encoder else "more"
