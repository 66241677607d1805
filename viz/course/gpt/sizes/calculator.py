"""The last step of the exhibit on sizes: any shape, its parts, the rule 12 L d², and the memory it takes."""

from __future__ import annotations

import streamlit as st

from viz.course.gpt.sizes import charts, maths, steps
from viz.course.gpt.sizes.params import SLUG, Data, Params
from viz.course.lesson import Folds
from viz.labels import list_values, percent
from viz.widgets import exhibit_parts, page_parts


def calculator(params: Params, data: Data) -> Folds:
    """The parts of the shape beside the memory it takes."""
    shape, found = data.shape, data.own
    total, rule = sum(found.values()), maths.blocks(shape)
    told = exhibit_parts.predict_number(
        SLUG + "rule",
        f"12·L·d² = 12·{shape.n_layers}·{shape.d_model:,}² = {rule:,}. What share of all parameters of this model is that?",
        0,
        1,
        rule / total,
        f"{rule:,} / {total:,} = {percent(rule / total, 2)}. The token embeddings alone have {found[maths.WORDS]:,}, {percent(found[maths.WORDS] / total, 2)}.",
        near=0.05,
        unit="%",
    )
    held = maths.memory(total)
    left, right = (st.container(), None) if exhibit_parts.presenting() else st.columns([3, 2], gap="medium")
    rows = [charts.Bar(part, n, f"{n:,}", steps.HUES[part]) for part, n in found.items()]
    with left:
        page_parts.show(
            charts.bars(rows, "Parameters by part", covered=not told, row=34),
            SLUG + "own",
            "Parameters by part: " + list_values(found, "{:,}")
            if told
            else "The parts, covered until you guess",
        )
    if right is not None:
        memory = [charts.Bar(name.replace(", ", "\n"), gb, _bytes(gb), 2) for name, gb in held.items()]
        with right:
            page_parts.show(
                charts.bars(memory, "Memory of the weights", covered=not told, row=56),
                SLUG + "memory",
                "Memory: " + ", ".join(f"{name} {_bytes(gb)}" for name, gb in held.items())
                if told
                else "Memory, covered until you guess",
            )
    first, second, _ = held.values()
    st.text(
        f"{total:,} parameters: {_bytes(first)} in float32, {_bytes(second)} in float16. {shape.n_heads} heads of {shape.d_model // shape.n_heads} numbers; the number of heads does not change the count."
        if told
        else f"{shape.n_layers} layers of width {shape.d_model:,}, {shape.n_heads} heads, {shape.n_vocab:,} tokens, {shape.n_ctx:,} positions."
    )
    key, values = steps.formula(shape)
    return Folds(
        {"parameters": found},
        {"parameters": list(found.values())},
        known=told,
        equations={
            key: values | {"P": f"{total:,}"},
            "sizes.blocks": steps.blocks(shape),
        },
    )


def _bytes(gigabytes: float) -> str:
    return f"{gigabytes:,.1f} GB" if gigabytes >= 1 else f"{1000 * gigabytes:,.1f} MB"
