"""The first two steps of the exhibit on ALBERT: the table in two factors, and layers that share weights."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial

import numpy as np
import pandas as pd

from core.errors import InputError
from core.serving.engine import default
from viz.charts import marks
from viz.course.bert.albert import charts, maths
from viz.course.bert.albert.params import BERT, MODEL, NAMES, SLUG, Params
from viz.course.exhibit import Folds
from viz.labels import list_values
from viz.widgets import engine_client, exhibit_parts, page_parts

LONGEST = 1000


def factors(params: Params, _: object) -> Folds:
    """Ask for the E at which both tables are equally large, then draw the rectangles to scale and both counts over E."""
    table, sizes = params.table, (params.V, params.E, params.H)
    known = exhibit_parts.predict_number(
        SLUG + "even",
        f"V = {table.V:,}, H = {table.H:,}. Up to which E do V × E and E × H together have fewer numbers than V × H?",
        0.0,
        float(table.H),
        table.even,
        f"E = V·H / (V + H) = {table.even:,.1f}: nearly H, since V is {table.V / table.H:,.1f} times H.",
        0.05 * table.H,
    )
    high = exhibit_parts.by_mode(300, 280)
    page_parts.show(
        charts.tables(*sizes, covered=not known, height=high),
        SLUG + "tables",
        f"V × H has {table.unfactored:,} numbers"
        + (f", V × E and E × H {table.both:,}." if known else ", the others are covered until you guess."),
    )
    if not exhibit_parts.presenting():
        page_parts.show(
            charts.crossing(*sizes, covered=not known),
            SLUG + "crossing",
            f"The two lines cross at E = {table.even:.1f}."
            if known
            else "One line, the other is covered until you guess.",
        )
    ratio = table.unfactored / table.both
    page_parts.summary(
        f"V × H = {table.unfactored:,}; V × E + E × H = {table.factors[0]:,} + {table.factors[1]:,} = {table.both:,}: "
        + (
            f"{ratio:,.2f} times fewer."
            if ratio >= 1
            else f"{1 / ratio:,.2f} times as many: E is above {table.even:,.1f}."
        )
        if known
        else f"V × H = {table.unfactored:,}: a row of {table.H:,} numbers for each of {table.V:,} tokens."
    )
    return Folds(
        {
            "table": ["V × H", "V × E", "E × H", "V × E + E × H"],
            "numbers": [table.unfactored, *table.factors, table.both],
        },
        {
            "sizes": sizes,
            "numbers": [table.unfactored, *table.factors],
            "even": [table.even],
        },
        {},
        known,
        {
            "albert.table": {
                name: f"{value:,}"
                for name, value in (("V", table.V), ("E", table.E), ("H", table.H), ("M", table.both))
            },
            "albert.even": {"E_even": f"{table.even:,.1f}"},
        },
        (rf"E^* = \frac{{{table.V} \cdot {table.H}}}{{{table.V} + {table.H}}} = {table.even:.2f}",),
    )


def sharing(params: Params, _: object) -> Folds:
    """Ask which shared part leaves fewer parameters, then draw the owner of each layer's weights, and the counts of all four
    choices."""
    shared, shape = params.shared, params.shape
    counts = {choice: maths.counted(choice, shape) for choice in NAMES}
    each, n = maths.parts(shape), maths.SHAPES[shape]["n_layers"]
    layers = {choice: count[0] for choice, count in counts.items()}
    halves = {NAMES[one]: layers[one] for one in ("attention", "feed-forward")}
    known = exhibit_parts.predict(
        SLUG + "fewest." + shape,
        f"{shape}: {n} layers with {layers['none']:,} parameters, nothing shared. "
        "If only one part is shared, which choice leaves fewer parameters?",
        halves,
        min(halves, key=halves.__getitem__),
        f"A layer has {each['attention']:,} in attention and {each['feed-forward']:,} in its feed-forward network: "
        f"shared attention leaves {layers['attention']:,}, a shared feed-forward network {layers['feed-forward']:,}.",
    )
    places = maths.addresses(shared, n)
    distinct = len({place.address for place in places})
    page_parts.show(
        charts.owners([astuple(place) for place in places], height=exhibit_parts.by_mode(150, 210)),
        SLUG + "owners",
        f"{n} layers of two parts each; {distinct} different addresses in memory.",
    )
    shown = layers if known else {"none": layers["none"]}
    page_parts.show(
        marks.bars(
            pd.Series(shown).rename(NAMES),
            highlighted=[NAMES[shared]] if known else [],
            end=float(layers["none"]),
        ),
        SLUG + "counts",
        "Parameters of all layers: " + list_values([(NAMES[c], v) for c, v in shown.items()], "{:,}"),
    )
    own = counts[shared]
    met = maths.written_into(shared, n)
    page_parts.summary(
        f"Shared: {NAMES[shared]}. The {2 * n} matrices have {distinct} different memory addresses; a 7 written into layer 0's feed-forward matrix "
        f"appears in {met} of {n} layers. "
        + (
            f"The layers have {own[0]:,} parameters, the whole network {own[1]:,}; a BERT of this shape {own[2]:,}: "
            f"{own[2] / own[1]:.2f} times as many. One word still takes {maths.multiplications(shape):,} multiplications in its "
            "layers: every layer runs."
            if known
            else ""
        )
    )
    return Folds(
        lambda: pd.DataFrame(
            {
                "shared": [NAMES[choice] for choice in counts],
                "layers": [count[0] for count in counts.values()],
                "network": [count[1] for count in counts.values()],
                "BERT / ALBERT": [count[2] / count[1] for count in counts.values()],
            }
        ),
        {"layers": list(layers.values()), "addresses": [place.address for place in places]},
        {"n": n},
        known,
        {"albert.shared": {}},
        (
            rf"{each['attention']:,} + {each['feed-forward']:,} + {each['norms']:,} = {layers['all']:,}".replace(
                ",", r"\,"
            ),
            rf"{own[2]:,} / {own[1]:,} = {own[2] / own[1]:.2f}".replace(",", r"\,"),
        ),
        extra_folds=(("How alike are the layers?", "alike", partial(layers_alike, params)),),
    )


def layers_alike(params: Params) -> None:
    """Draw the cosine between input and output of each layer on the visitor's sentence, for the models that are installed."""
    params.show("albert", "text")
    if len(params.text) > LONGEST:
        raise InputError(
            f"The sentence has {len(params.text):,} letters.",
            f"This page reads up to {LONGEST:,}.",
            "Shorten it.",
        )
    names = available_models()
    rows = [(name, turned(name, params.text)) for name in names]
    page_parts.show(
        marks.lines(
            pd.DataFrame({name: pd.Series(values) for name, values in rows}).rename(str),
            "{:.2f}",
            x="layer",
            title="cosine of in and out",
            height=230,
        ),
        SLUG + "alike.picture",
        "; ".join(
            f"{name}: {list_values([(f'layer {i}', v) for i, v in enumerate(values)], '{:.2f}')}"
            for name, values in rows
        ),
    )
    said = "; ".join(f"{name} {np.mean(values):.3f} on average" for name, values in rows)
    missing = f" {MODEL} is not among the models here." if MODEL not in names else ""
    page_parts.summary(
        f"The cosine of a word's vector before and after each layer, the mean over the words: {said}.{missing} "
        "Lan et al. 2020 (figure 1) found that these change less from layer to layer where all weights are shared."
    )


def available_models() -> tuple[str, ...]:
    """Return those of the two models that are installed."""
    return tuple(name for name in (BERT, MODEL) if (entry := default().entry(name)) and entry.ok)


def turned(name: str, text: str) -> list[float]:
    """Return the cosine between input and output of each layer."""
    run = engine_client.run(name, text, keep=("layer.*.resid_in", "layer.*.resid_out"))
    return maths.steps(run.hidden()).tolist()
