"""The first four steps of the exhibit on the feed-forward network: its tiles, its nonlinearity, a sentence, one word alone."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.layers.feedforward import ACTIVATIONS
from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.exhibit import Folds
from viz.course.transformer.feed_forward import charts, maths
from viz.course.transformer.feed_forward.charts import Curve, Tile
from viz.course.transformer.feed_forward.maths import Inner
from viz.course.transformer.feed_forward.params import END, Params
from viz.course.transformer.one_word import names_of
from viz.labels import percent
from viz.number_text import number
from viz.widgets import engine_client, exhibit_parts, page_parts

SLUG = "feed_forward."
CURVES = {"relu": ("relu", 0), "gelu": ("gelu", 1), "gelu_tanh": ("gelu, tanh form", 2)}
HIGHEST = 2.2
"""Where the curves end above."""
HOW_MANY = ("one: its own", "every one", "some, but not every one", "none")


def pick_model(params: Params, data: Inner, *, word: bool = True) -> None:
    """Draw the controls of word (where the step has no pills for it), model and layer."""
    if word:
        params.pick_word(SLUG, data.tokens)
    params.show("feed_forward", "model")
    params.pick_layer(SLUG)


def code_values(params: Params, data: Inner) -> dict[str, object]:
    """Return the values for the placeholders in the code of every step."""
    target = ", target='.'" if default().open(params.model).spec.has_source else ""
    return {"target": target, "layer": params.at_layer, "word": params.at_word(data.tokens)}


def word_tiles(params: Params, data: Inner) -> Folds:
    """Draw x, the hidden layer and the output as tiles of one word; everything after x is hidden until the guess of active units."""
    word = params.at_word(data.tokens)
    into, act, out = data.into[word], data.act[word], data.out[word]
    d, d_ff, token = len(into), len(act), names_of(data.tokens)[word]
    on, top, long = int(data.fires[word].sum()), int(act.argmax()), float(np.linalg.norm(out))
    told = exhibit_parts.predict_number(
        SLUG + "on",
        f"“{token}” passes through {d_ff:,} hidden units ({params.model}, L{params.at_layer}). How many of them are on?",
        0.0,
        1.0,
        round(on / d_ff, 3),
        f"{on} of {d_ff:,} units are above 0 before the activation. With random weights about half of them, {d_ff // 2:,}, would be.",
        0.05,
        "%",
    )
    rows = math.ceil(d_ff / 32)
    tiles = [
        Tile(f"x\n{d}", into, math.ceil(d / rows)),
        Tile(f"hidden layer\n{d_ff:,}", act if told else None, 32, top if told else None, "unit"),
        Tile(f"out\n{d}", out if told else None, math.ceil(d / rows)),
    ]
    rest = (
        f", its {d_ff} hidden units and the {d} numbers that come out." if told else "; the rest is covered."
    )
    page_parts.show(
        charts.vectors(tiles, height=exhibit_parts.by_mode(340, 320)),
        SLUG + "through",
        f"One word as {d} numbers" + rest,
    )
    page_parts.summary(
        f"“{token}”: {d} → {d_ff:,} → {d}. {on} units are on ({percent(on / d_ff, 2)}); the strongest, "
        f"number {top}, has {number(float(act[top]))} and is framed. The output has length {number(long)} and is added to the word's vector."
        if told
        else f"“{token}” is {d} numbers here. The hidden layer is shown after your guess."
    )
    params.pick_word(SLUG, data.tokens)
    return Folds(
        lambda: pd.DataFrame({"before the activation": data.pre[word], "after it": act}).rename_axis("unit"),
        {"into": into, "pre": data.pre[word], "act": act, "out": out, "length_of_out": long},
        code_values(params, data),
        told,
        {"ffn.inside": {}, "ffn.residual": {}},
        (
            rf"\text{{unit {top}: }} w \cdot x + b = {number(float(data.pre[word, top]), 4)} "
            rf"\ \to\ {number(float(act[top]), 4)}",
            rf"\text{{number 1 of what comes out: }} {number(float(out[0]), 4)}",
        ),
        look={"rows": rows, "layer": params.at_layer, "activation": CURVES[own_of(params)][0]},
        change=lambda: pick_model(params, data, word=False),
    )


def own_of(params: Params) -> str:
    """Return the name of the activation that the model was trained with."""
    return str(default().open(params.model).config.activation)


def at_point(x: float) -> dict[str, float]:
    """Return the value of each activation at one number.

    >>> {name: round(value, 6) for name, value in at_point(-1.0).items()}
    {'relu': 0.0, 'gelu': -0.158655, 'gelu_tanh': -0.158808}
    """
    return {name: float(ACTIVATIONS[name](torch.tensor(x, dtype=torch.float64))) for name in CURVES}


def activations(params: Params, data: Inner) -> Folds:
    """Draw the three activation curves, with the word's units on the model's curve and the visitor's number on all."""
    word, own = params.at_word(data.tokens), own_of(params)
    x = np.linspace(-END, END, 241)
    curves = [
        Curve(
            f"{say}{', this model' if name == own else ''}",
            x,
            ACTIVATIONS[name](torch.from_numpy(x)).numpy(),
            hue,
            name == own,
        )
        for name, (say, hue) in CURVES.items()
    ]
    told, pre, act = at_point(params.at), data.pre[word], data.act[word]
    picture = charts.activations(
        curves,
        pre,
        act,
        params.at,
        list(told.values()),
        highest=HIGHEST,
        height=exhibit_parts.by_mode(420, 390),
    )
    page_parts.show(
        picture, SLUG + "curves", f"Relu and gelu over their input, with {len(pre)} units of one word."
    )
    beyond = int(((np.abs(pre) > END) | (act > HIGHEST)).sum())
    page_parts.summary(
        f"At {number(params.at, 1)}: relu {number(told['relu'], 6)}, gelu {number(told['gelu'], 6)}, its "
        f"tanh form {number(told['gelu_tanh'], 6)}. Of the {len(pre):,} units of “{names_of(data.tokens)[word]}” "
        f"{percent((pre > 0).mean(), 2)} get more than 0"
        + (f" ({beyond} lie outside the picture)." if beyond else ".")
    )
    drawn = {name: curve.y for name, curve in zip(CURVES, curves, strict=True)}
    return Folds(
        lambda: pd.DataFrame(drawn, index=x.round(4)).iloc[::12].rename_axis("x"),
        {"x": x, "pre": pre, "act": act, "at_the_number": list(told.values())} | drawn,
        equations={"ffn.inside": {}},
        latex=(
            r"\mathrm{relu}(x) = \max(0, x), \qquad \mathrm{gelu}(x) = x\, \Phi(x) \approx \tfrac{x}{2} "
            r"\left(1 + \tanh\left(\sqrt{2 / \pi}\, (x + 0.044715\, x^3)\right)\right)",
            rf"\mathrm{{relu}}({number(params.at, 1)}) = {number(told['relu'], 6)}, \quad \mathrm{{gelu}} "
            rf"= {number(told['gelu'], 6)}, \quad \text{{tanh form }} {number(told['gelu_tanh'], 6)}",
        ),
        change=lambda: pick_model(params, data),
    )


def sentence(params: Params, data: Inner) -> Folds:
    """Draw the share of units that each word activates, and the number of units by how many words they fire for."""
    names, n, d_ff = names_of(data.tokens), len(data.tokens), data.pre.shape[1]
    share, counts = 100 * data.fires.mean(1), data.counts
    most, least = int(share.argmax()), int(share.argmin())
    left, right = st.columns([3, 2], gap="medium")
    tall = exhibit_parts.by_mode(340, 420)
    with left:
        lane = Lane(
            "Units that are on, percent",
            share,
            0,
            (0, 1.15 * float(share.max()) + 1e-6),
            marked=frozenset([most]),
            places=1,
        )
        said = (
            f"The share of units that each word switches on, from {share[least]:.1f} to {share[most]:.1f} "
            "percent."
        )
        page_parts.show(bar_lanes([lane], labels=names, height=tall), SLUG + "share", said)
    with right:
        lane = Lane(
            "Units by the words they fire for",
            counts.astype(float),
            1,
            (0, 1.1 * float(counts.max())),
            marked=frozenset([0]),
            places=0,
        )
        picture = bar_lanes([lane], labels=[str(i) for i in range(n + 1)], height=tall)
        page_parts.show(picture, SLUG + "counts", f"{data.dead} units fire for no word of the sentence.")
    page_parts.summary(
        f"{d_ff:,} units: “{names[most]}” switches on {share[most]:.1f}%, “{names[least]}” "
        f"{share[least]:.1f}%. {data.dead} units ({percent(data.dead / d_ff)}) fire for no word of this "
        f"sentence, {int(counts[-1])} for all {n}. A unit that fires for no word here may fire in another sentence."
    )
    params.pick_layer(SLUG)
    line = (
        rf"\text{{on: }} W_1 x + b_1 > 0, \quad \text{{of }} {n} \times {d_ff:,} = {n * d_ff:,} \text{{ "
        rf"pairs of word and unit }} {int(data.fires.sum()):,}"
    )
    return Folds(
        lambda: pd.DataFrame(
            {"units on": data.fires.sum(1), "percent": share.round(2)}, index=names
        ).rename_axis("word"),
        {"fires": data.fires.astype(float), "counts": counts, "share_of_units": counts / d_ff},
        code_values(params, data),
        equations={"ffn.inside": {}},
        latex=(line.replace(",", "{,}"),),
    )


def one_word_negated(params: Params, data: Inner) -> Folds:
    """Draw the change of each word's output when one word's input is negated: in the network alone, and in the attention."""
    word, names, n = params.at_word(data.tokens), names_of(data.tokens), len(data.tokens)
    key = ("feed_forward.alone", params.text, params.model, params.at_layer, word)
    far = engine_client.submit(
        key, lambda: maths.negate_word(default().open(params.model), params.at_layer, data, word), 200
    )
    moved = {"network": int((far.network > 0).sum()), "attention": int((far.attention > 0).sum())}
    answer = (
        HOW_MANY[3]
        if not moved["network"]
        else HOW_MANY[0]
        if moved["network"] == 1
        else HOW_MANY[1]
        if moved["network"] == n
        else HOW_MANY[2]
    )
    told = exhibit_parts.predict(
        SLUG + "alone",
        f"“{names[word]}” enters the feed-forward network as −x, the others stay. How many of the {n} outputs change?",
        HOW_MANY,
        answer,
        f"{moved['network']} of {n}: the feed-forward network processes one word at a time. In the attention of the same "
        f"layer {moved['attention']} of {n} change.",
    )
    moves = exhibit_parts.by_mode("how far each output moves", "outputs move by")
    shown = {"network": far.network if told else None, "attention": far.attention}
    limits = {
        name: (0, 1.15 * max(float(values.max()), 1e-9))
        for name, values in (("network", far.network), ("attention", far.attention))
    }
    lanes = [
        Lane(f"{name}: {moves}", values, hue, marked=frozenset([word]), limits=limits[name])
        for hue, (name, values) in zip((1, 0), shown.items(), strict=True)
    ]
    picture = bar_lanes(
        lanes, labels=names, across=exhibit_parts.presenting(), height=exhibit_parts.by_mode(370, 350)
    )
    page_parts.show(
        picture, SLUG + "alone", f"How far each word's output moves when “{names[word]}” becomes −x."
    )
    others = {
        name: float(np.delete(values, word).max(initial=0))
        for name, values in (("network", far.network), ("attention", far.attention))
    }
    page_parts.summary(
        f"With −x for “{names[word]}” the other outputs of the feed-forward network move by exactly {number(others['network'], 1)}; those of the attention by up to "
        f"{number(others['attention'])}. So words exchange information only through attention."
        if told
        else f"In the attention {moved['attention']} of {n} outputs move, the others by up to {number(others['attention'])}. What happens in the feed-forward network?"
    )
    params.pick_word(SLUG, data.tokens)
    line = (
        rf"\max_{{i \ne {word + 1}}} \lVert \mathrm{{FFN}}(x'_i) - \mathrm{{FFN}}(x_i) \rVert_\infty = "
        rf"{others['network']:g}"
    )
    return Folds(
        lambda: pd.DataFrame({"attention": far.attention, "network": far.network}, index=names).rename_axis(
            "word"
        ),
        {"attention": far.attention, "network": far.network},
        code_values(params, data),
        told,
        {"ffn.inside": {}},
        (line,),
        change=lambda: pick_model(params, data, word=False),
    )
