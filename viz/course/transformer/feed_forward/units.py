"""The last two steps of the exhibit on the feed-forward network: the output of one unit, and the number of parameters."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts import marks
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.exhibit import Folds
from viz.course.transformer.feed_forward import maths
from viz.course.transformer.feed_forward.maths import Inner
from viz.course.transformer.feed_forward.params import Params
from viz.course.transformer.feed_forward.steps import SLUG, code_values, pick_model
from viz.course.transformer.one_word import names_of
from viz.labels import list_values, percent, visible
from viz.number_text import number
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

BASE = 512
STRONGEST = 6


def one_unit(params: Params, data: Inner) -> Folds:
    """Draw one of the word's strongest units: its activation for each word, and the words that its output vector points to."""
    word, names = params.at_word(data.tokens), names_of(data.tokens)
    top = [int(unit) for unit in (-data.act[word]).argsort(kind="stable")[:STRONGEST]]
    unit = state.read(SLUG + "unit", top[0], state.one_of(top, top[0]))
    model = default().open(params.model)
    layer, lot = params.at_layer, params.draw
    key = ("feed_forward.unit", params.text, params.model, layer, unit, lot)
    found = engine_client.submit(key, lambda: maths.unit_output(model, layer, data, unit, lot=lot), 20_000)
    written = [visible(model.tokenizer.decode([row]).strip()) for row, _ in found.nearest]
    cosines = [max(cosine, 0.0) for _, cosine in found.nearest]
    rows = pd.Series([*cosines, found.chance], [*written, "best by chance"])
    left, right = st.columns([3, 2], gap="medium")
    tall = exhibit_parts.by_mode(340, 250)
    low, high = min(0.0, float(found.share.min())), float(found.share.max())
    with left:
        lane = Lane(
            f"Unit {unit}: how strongly it fires for each word",
            found.share,
            0,
            (1.15 * low - 1e-6, 1.15 * max(high, 1e-6)),
            marked=frozenset([word]),
        )
        page_parts.show(
            bar_lanes([lane], labels=names, height=tall),
            SLUG + "unit.fires",
            f"The activation of unit {unit} for each word.",
        )
    with right:
        st.markdown("Tokens nearest to its output vector (cosine)")
        nearest = ", ".join(f"{say} {cosine:.2f}" for say, cosine in rows.items())
        page_parts.show(
            marks.bars(rows, "{:.2f}", highlighted=written),
            SLUG + "unit.writes",
            f"The tokens nearest to the unit's output vector: {nearest}.",
        )
    on = int((data.pre[:, unit] > 0).sum())
    clear = found.nearest[0][1] > found.chance + 0.05
    page_parts.summary(
        f"Unit {unit} fires for {on} of {len(names)} words, most for “{names[int(found.share.argmax())]}” "
        f"({number(high)}). Its output vector is nearest to “{written[0]}”, cosine "
        f"{number(found.nearest[0][1])}; a random direction reaches {number(found.chance)} by chance"
        + ("." if clear else ", so this means nothing: not every unit can be interpreted by words.")
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width="content"):
            controls.pills(f"The {STRONGEST} strongest units of “{names[word]}”", top, SLUG + "unit", top[0])
        with st.container(width="content"):  # beside the units, whose pills depend on the word
            params.show("feed_forward", "draw")
    return Folds(
        lambda: pd.DataFrame(
            {"token": written, "cosine": [round(cosine, 4) for _, cosine in found.nearest]}
        ).rename_axis("place"),
        {
            "share": found.share,
            "vector": found.vector,
            "cosines": [cosine for _, cosine in found.nearest],
            "chance": found.chance,
        },
        code_values(params, data) | {"unit": unit},
        equations={"ffn.inside": {}},
        latex=(
            rf"\mathrm{{FFN}}(x) = b_2 + \sum_u a_u w_u, \quad a_{{{unit}}} = "
            rf"{number(float(found.share[word]), 4)}, \quad \lVert w_{{{unit}}} \rVert = "
            rf"{number(float((found.vector**2).sum() ** 0.5), 4)}",
        ),
        change=lambda: pick_model(params, data),
    )


def base_layer(d_ff: int) -> dict[str, int]:
    """Count the parameters of an encoder layer of the paper's base model with another hidden width.

    >>> sum(base_layer(2048).values()), sum(base_layer(512).values())
    (3152384, 1577984)
    """
    return {
        "attention": 4 * (BASE * BASE + BASE),
        "network": maths.closed_form(BASE, d_ff),
        "norms": 4 * BASE,
    }


def count(params: Params, data: Inner) -> Folds:
    """Draw the parameters of one layer: of the shipped model, counted, and of the base model for a chosen hidden width."""
    model = default().open(params.model)
    d, d_ff = model.config.d_model, model.config.d_ff
    counted, closed = maths.n_parameters(model, params.at_layer), maths.closed_form(d, d_ff)
    base = base_layer(params.d_ff)
    rows = [f"{params.model}\n{d} → {d_ff:,} → {d}", f"base model\n{BASE} → {params.d_ff:,} → {BASE}"]
    table = pd.DataFrame([counted, base], rows)[["attention", "network", "norms"]]
    told = list_values(counted, "{:,}")
    page_parts.show(
        marks.bars(table, stacked=True, row=exhibit_parts.by_mode(90, 120)),
        SLUG + "count",
        f"Parameters of one layer, by part: {told}.",
    )
    total = sum(counted.values())
    page_parts.summary(
        f"{params.model}: 2 · {d} · {d_ff:,} + {d_ff:,} + {d} = {closed:,}; counted in the network: "
        f"{counted['network']:,}, {percent(counted['network'] / total)} of its layer. An encoder layer of "
        f"the base model has {sum(base.values()):,} with d_ff = {params.d_ff:,}."
    )
    return Folds(
        lambda: table.rename(lambda row: row.replace("\n", ": ")).rename_axis("one layer"),
        {part: table[part].to_numpy() for part in table.columns}
        | {"share_of_network": (table["network"] / table.sum(axis=1)).to_numpy()},
        code_values(params, data) | {"d": d, "d_ff": d_ff},
        equations={"ffn.inside": {}},
        latex=(
            r"W_1: d_{ff} \times d, \quad b_1: d_{ff}, \quad W_2: d \times d_{ff}, \quad b_2: d \qquad 2\, "
            r"d\, d_{ff} + d_{ff} + d",
            rf"2 \cdot {d} \cdot {d_ff} + {d_ff} + {d} = {closed}",
            rf"2 \cdot {BASE} \cdot {params.d_ff} + {params.d_ff} + {BASE} = {base['network']}",
        ),
    )
