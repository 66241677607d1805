"""The last two steps of the exhibit on the feed-forward network: what one unit writes, and how many numbers were learned."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.charts.curves import number
from viz.charts.scores import bars
from viz.course.shared.shown import Shown
from viz.course.transformer.feed_forward import maths as inner_layer
from viz.course.transformer.feed_forward.charts import shares
from viz.course.transformer.feed_forward.steps import (
    SLUG,
    height,
    layer_of,
    lines,
    names_of,
    pick_model,
    pick_word,
    word_of,
)
from viz.labels import percent, visible
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, parts

WIDTHS = (512, 1024, 2048, 4096)
BASE = 512
STRONGEST = 6
TRY = (
    "**Try** a short common word against a rare one, and gpt-mini under “Change it”: its first layer switches on several times as many.",
    "**Try** 0, −1 and −3: where does gelu come nearest to relu again? Its lowest point is near −0.75.",
    "**Try** the layers one after the other, and a longer sentence: the quiet part shrinks.",
    "**Try** gpt-mini under “Change it”: in its attention earlier words cannot notice either.",
    "**Try** the other units. Most have no such clear neighbours: the grey bar says what chance alone gives.",
    "**Try** 512: with the hidden layer as narrow as the words, a layer has half of its parameters.",
)


def one_unit(params: Any, data: Any) -> Shown:
    """One of the word's strongest units: for which words it fires, and which words its output vector points to."""
    word, names = word_of(params, data), names_of(data)
    top = [int(unit) for unit in (-data.act[word]).argsort(kind="stable")[:STRONGEST]]
    unit = state.read(SLUG + "unit", top[0], state.one_of(top, top[0]))
    model = default().open(params.model)
    lot = state.read(SLUG + "draw", 0, state.whole(0, 99))
    key = ("feed_forward.unit", params.text, params.model, layer_of(params), unit, lot)
    found = ask.submit(key, lambda: inner_layer.written(model, layer_of(params), data, unit, lot=lot), 20_000)
    written = [visible(model.tokenizer.decode([row]).strip()) for row, _ in found.nearest]
    rows = [(say, max(cosine, 0.0), True) for say, (_, cosine) in zip(written, found.nearest, strict=True)] + [("best by chance", found.chance, False)]
    left, right = st.columns([3, 2], gap="medium")
    tall = height(340, 250)
    low, high = min(0.0, float(found.share.min())), float(found.share.max())
    with left:
        lane = Lane(f"Unit {unit}: how strongly it fires for each word", found.share, 0, (1.15 * low - 1e-6, 1.15 * max(high, 1e-6)), marked=frozenset([word]))
        parts.show(bar_lanes([lane], labels=names, height=tall), SLUG + "unit.fires", f"The activation of unit {unit} for each word.")
    with right:
        st.markdown("It writes towards these words (cosine)")
        parts.show(bars(rows, "{:.2f}"), SLUG + "unit.writes", "The tokens nearest to what the unit writes: " + ", ".join(f"{say} {cosine:.2f}" for say, cosine, _ in rows) + ".")
    on = int((data.pre[:, unit] > 0).sum())
    clear = found.nearest[0][1] > found.chance + 0.05
    parts.numbers(
        f"Unit {unit} fires for {on} of {len(names)} words, most for “{names[int(found.share.argmax())]}” ({number(high)}). What it writes is nearest to “{written[0]}”, cosine {number(found.nearest[0][1])}; "
        f"a random direction reaches {number(found.chance)} by chance" + ("." if clear else ", so this says nothing: not every unit speaks in words.")
    )  # fmt: skip
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width="content"):
            controls.pills(f"The {STRONGEST} strongest units of “{names[word]}”", top, SLUG + "unit", top[0])
        controls.draw(SLUG + "draw", 0, 99, again="Other directions")

    def change() -> None:
        pick_word(params, data)
        pick_model(params)

    return Shown(
        {"ffn.inside": {}}, (rf"\mathrm{{FFN}}(x) = b_2 + \sum_u a_u w_u, \quad a_{{{unit}}} = {number(float(found.share[word]), 4)}, \quad \lVert w_{{{unit}}} \rVert = {number(float((found.vector**2).sum() ** 0.5), 4)}",),
        "What comes out is a sum over units: each adds its own column of W_2, as much as it fires. Left, the activation of the chosen unit for each word. Right, the tokens of the table whose vectors have "
        "the largest cosine with that column, and the best that a random direction reaches, the mean of 20. That a direction lies near a word's vector does not mean that later layers read it so.",
        lambda: pd.DataFrame({"token": written, "cosine": [round(cosine, 4) for _, cosine in found.nearest]}).rename_axis("place"),
        {"share": found.share, "vector": found.vector}, lines(params) + f"unit = inner_layer.written(model, {layer_of(params)}, found, {unit}, lot={lot})\nprint([(model.tokenizer.decode([row]), cosine) for row, cosine in unit.nearest], unit.chance)",
        change,
    )  # fmt: skip


def base_layer(d_ff: int) -> dict[str, int]:
    """The numbers in an encoder layer of the paper's base model with another hidden width.

    >>> sum(base_layer(2048).values()), sum(base_layer(512).values())
    (3152384, 1577984)
    """
    return {"attention": 4 * (BASE * BASE + BASE), "network": inner_layer.closed_form(BASE, d_ff), "norms": 4 * BASE}


def count(params: Any, data: Any) -> Shown:
    """The parameters of one layer: of the shipped model, counted, and of the base model for a chosen hidden width."""
    model = default().open(params.model)
    d, d_ff = model.config.d_model, model.config.d_ff
    counted, closed = inner_layer.n_parameters(model, layer_of(params)), inner_layer.closed_form(d, d_ff)
    base = base_layer(params.d_ff)
    rows = [f"{params.model}\n{d} → {d_ff:,} → {d}", f"base model\n{BASE} → {params.d_ff:,} → {BASE}"]
    pieces = [(name, [counted[name], base[name]], hue) for name, hue in (("attention", 0), ("network", 1), ("norms", 2))]
    parts.show(shares(rows, pieces, height=height(300, 230)), SLUG + "count", "Parameters of one layer, by part: " + ", ".join(f"{name} {value:,}" for name, value in counted.items()) + ".")
    total = sum(counted.values())
    parts.numbers(
        f"{params.model}: 2 · {d} · {d_ff:,} + {d_ff:,} + {d} = {closed:,}; counted in the network: {counted['network']:,}, {percent(counted['network'] / total)} of its layer. "
        f"An encoder layer of the base model has {sum(base.values()):,} with d_ff = {params.d_ff:,}."
    )  # fmt: skip
    controls.stops("Hidden width of the base model, $d_{ff}$ (its words have d = 512)", WIDTHS, SLUG + "d_ff", 2048, lambda width: f"{width:,}")
    table = {"attention": [counted["attention"], base["attention"]], "network": [counted["network"], base["network"]], "norms": [counted["norms"], base["norms"]]}
    return Shown(
        {"ffn.inside": {}},
        (r"W_1: d_{ff} \times d, \quad b_1: d_{ff}, \quad W_2: d \times d_{ff}, \quad b_2: d \qquad 2\, d\, d_{ff} + d_{ff} + d",
         rf"2 \cdot {d} \cdot {d_ff} + {d_ff} + {d} = {closed}", rf"2 \cdot {BASE} \cdot {params.d_ff} + {params.d_ff} + {BASE} = {base['network']}"),
        "A bar is one layer, its parts are parameters. Attention has four square matrices with biases, 4 (d² + d); the network two long ones. “512 hidden units in the fully connected "
        "network”, as Ghojogh and Ghodsi 2020 and the slides of 2023 say, is the width of the words: the hidden layer has 2,048.",
        lambda: pd.DataFrame(table, index=[rows[0].replace("\n", ": "), rows[1].replace("\n", ": ")]).rename_axis("one layer"), dict(table),
        lines(params) + f"print(inner_layer.n_parameters(model, {layer_of(params)}), inner_layer.closed_form({d}, {d_ff}))",
    )  # fmt: skip
