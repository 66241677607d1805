"""The last steps of the exhibit on freezing: the change of the body's weights, and its attention before and after."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.training.finetune.tuning import BODY
from viz.charts import marks
from viz.course.bert.frozen_or_full import read
from viz.course.bert.frozen_or_full.params import FROZEN, FULL, NAMES, SLUG, TWO, WAYS, Params
from viz.course.bert.frozen_or_full.steps import listed, missing
from viz.course.exhibit import Folds
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import percent
from viz.shell import present_layout
from viz.widgets import controls, exhibit_parts, page_parts


def how_far(params: Params, task: read.Task) -> Folds:
    """Ask which part of the body changed most, then draw the relative change of each."""
    if not task.is_complete:
        return missing(params)
    went = {way: read.far(task.ways[way]) for way in WAYS}
    names = ["embeddings", *(f"layer {i}" for i in range(len(went[FULL].layers)))]
    shares = {way: [went[way].embeddings, *went[way].layers] for way in WAYS}
    by_name = dict(zip(names, shares[FULL], strict=True))
    most, least = max(names, key=lambda name: by_name[name]), min(names, key=lambda name: by_name[name])
    body = percent(went[FULL].body, 2)
    told = exhibit_parts.predict(
        SLUG + "far",
        f"{task.title}, fully fine-tuned: in which part of the body did the weights change most, relative to their length?",
        by_name,
        most,
        f"{most.capitalize()} by {percent(by_name[most], 2)}, {least} least by {percent(by_name[least], 2)}; "
        f"the whole body by {body}.",
    )
    table, label = pd.DataFrame(shares, names).iloc[::-1], partial(percent, places=2)
    if not told:
        table[FULL] = np.nan
    page_parts.show(
        marks.bars(table, label, title="|W − W₀| / |W₀|", row=48),
        SLUG + "far.picture",
        listed(table, label),
    )
    stays = went[FROZEN].body
    same = "the same in every bit" if stays == 0 else f"moved by {percent(stays, 2)}"
    page_parts.summary(
        f"Frozen: the body is {same}. "
        + (
            f"With full fine-tuning it moved by {body} of its length."
            if told
            else "And with full fine-tuning?"
        )
    )
    return Folds(
        {"part": names, **shares},
        {NAMES[way]: shares[way] for way in WAYS} | {"whole_body": [went[way].body for way in WAYS]},
        {"body": BODY},
        told,
        {"tuning.full": {}},
        (
            r"\frac{\lVert W - W_0 \rVert}{\lVert W_0 \rVert} = "
            rf"{went[FULL].body:.4f}\ \text{{full fine-tuning}}, \quad {stays:g}\ \text{{frozen}}",
        ),
    )


def attention(params: Params, task: read.Task) -> Folds:
    """Ask in how many heads attention changed, then draw one head over the visitor's text: before, frozen, fully fine-tuned."""
    if not task.is_complete:
        return missing(params)
    first, second = params.texts
    data = read.texts(task, first, second)
    change = data.changes[FULL]
    n_layers, n_heads = change.shape
    many = (change > 0.5).sum(1)
    by_layer = ", ".join(f"L{i} {n}" for i, n in enumerate(many))
    told = exhibit_parts.predict_number(
        SLUG + "heads",
        f"{task.title}, fully fine-tuned: in how many of the {change.size} heads did some attention "
        "weight change by more than one half, on this text?",
        0,
        change.size,
        int(many.sum()),
        f"{many.sum()} of {change.size}; layer by layer {by_layer} of {n_heads}. Frozen: in none.",
        change.size / 12,
    )
    layer, head = (params.layer, params.head) if params.head >= 0 else data.most if told else (0, 0)
    head = min(head, n_heads - 1)
    with present_layout.full_width():
        columns = st.columns(3, gap="small")
    height = exhibit_parts.by_mode(300, 180)
    for column, way in zip(columns, (read.BEFORE, *WAYS), strict=True):
        with column:
            if way == FULL and not told:
                with st.container(border=True, height=height):
                    st.text(f"{FULL}: comes after your guess.")
                continue
            model = BODY if way == read.BEFORE else str(task.ways[way].model)
            origin.tell(model=model, text=first, second_text=second, kind="self", layer=layer, head=head)
            heatmap(
                data.weights[way][layer, head],
                data.tokens,
                data.tokens,
                key=f"{SLUG}pattern.{way[:3]}",
                title=f"{way}, L{layer}.H{head}",
                height=height,
                group=SLUG + "pattern",
            )
    frozen = float(data.changes[FROZEN].max())
    stay = "all weights of all heads are the same in every bit"
    if frozen:
        stay = f"weights changed by up to {frozen:.2g}"
    moved = f" Full fine-tuning: a weight of L{data.most[0]}.H{data.most[1]} changed by {change.max():.2f}; "
    page_parts.summary(
        f"Frozen: {stay}; output “{data.outputs[FROZEN]}”."
        + (f"{moved}output “{_differing(data)}”." if told else "")
    )
    with st.container(
        horizontal=True, gap="medium", vertical_alignment="bottom"
    ):  # opens with what moved most
        controls.select("Layer", range(n_layers), "layer", layer, lambda i: f"L{i}")
        controls.select("Head", range(n_heads), "head", head, lambda i: f"H{i}")
    pair = f", pair={second!r}" if task.name in TWO else ""
    return Folds(
        lambda: pd.DataFrame(
            np.round(change, 4),
            index=[f"L{i}" for i in range(n_layers)],
            columns=[f"H{i}" for i in range(n_heads)],
        ),
        {NAMES.get(way, way): found for way, found in data.weights.items()},
        {"body": BODY, "text": f"{first!r}{pair}"},
        told,
        {"self.weights": {}},
    )


def _differing(data: read.Read) -> str:
    """Return the output of the fully fine-tuned model; of tags only those that differ from the frozen one's."""
    frozen, full = (data.outputs[way].split(", ") for way in WAYS)
    if not len(full) == len(frozen) > 2:
        return data.outputs[FULL]
    other = [tag for tag, was in zip(full, frozen, strict=True) if tag != was]
    return ", ".join(other) or data.outputs[FULL]
