"""The first four steps of the exhibit on the feed-forward network: through it, its bend, a sentence in it, one word alone in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.layers.feedforward import ACTIVATIONS
from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.charts.curves import number
from viz.course.shared.shown import Shown
from viz.course.transformer.feed_forward import maths as inner_layer
from viz.course.transformer.feed_forward.charts import Curve, Tile
from viz.course.transformer.feed_forward.charts import activations as drawn_activations
from viz.course.transformer.feed_forward.charts import through as drawn_through
from viz.labels import distinct, percent, visible
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "feed_forward."
GUESS = "Guess first: then the numbers are here."
LATER = pd.DataFrame({"": [GUESS]})
CURVES = {"relu": ("relu", 0), "gelu": ("gelu", 1), "gelu_tanh": ("gelu, tanh form", 2)}
END = 3.0
HIGHEST = 2.2
"""Ends of the curves' axes."""
HOW_MANY = ("one: its own", "every one", "some, but not every one", "none")


def height(wanted: int, low: int) -> int:
    """The height of a picture: lower before a room, where the sentence and the control have to fit below it."""
    return low if lesson.presenting() else wanted


def names_of(data: Any) -> list[str]:
    """The pieces of the sentence as labels, repeated ones told apart."""
    return distinct([visible(token.strip() or token) for token in data.tokens])


def word_of(params: Any, data: Any) -> int:
    """The place of the word that was chosen, in a sentence that may be shorter."""
    return min(params.word, len(data.tokens) - 1)


def layer_of(params: Any) -> int:
    """The layer that was chosen, in a model that may be shallower."""
    return min(params.layer, default().open(params.model).config.n_layers - 1)


def pick_word(params: Any, data: Any) -> None:
    """Pills with the pieces of the sentence."""
    names = names_of(data)
    controls.pills("Word", range(len(names)), SLUG + "word", word_of(params, data), lambda i: names[i])


def pick_layer(params: Any) -> None:
    """Pills with the layers of the model."""
    controls.pills("Layer", range(default().open(params.model).config.n_layers), SLUG + "layer", layer_of(params))


def pick_model(params: Any, layers: bool = True) -> None:
    """Which trained model, and, where the step has no pills for it, which of its layers."""
    from viz.course.transformer.feed_forward import exhibit

    names = exhibit.offered()
    controls.segmented("Model", names, SLUG + "model", names[0])
    if layers:
        pick_layer(params)


def lines(params: Any) -> str:
    """The first lines of Python of every step."""
    more = ", target='.'" if default().open(params.model).spec.has_source else ""
    return (f"import core\nfrom viz.course.transformer.feed_forward import maths as inner_layer\n\nmodel = core.open_model({params.model!r})\n"
            f"found = inner_layer.inner(model.run({params.text!r}{more}, keep=inner_layer.KEEP), {layer_of(params)})\n")  # fmt: skip


def through(params: Any, data: Any) -> Shown:
    """x, the hidden layer and what comes out, as tiles of one word; covered behind x until one guessed how many units fire."""
    word = word_of(params, data)
    into, act, out = data.into[word], data.act[word], data.out[word]
    d, d_ff, token = len(into), len(act), names_of(data)[word]
    on, top = int(data.fires[word].sum()), int(act.argmax())
    told = lesson.predict_number(
        SLUG + "on", f"“{token}” meets {d_ff:,} hidden units ({params.model}, layer {layer_of(params)}). How many does it switch on?", 0.0, 1.0, round(on / d_ff, 3),
        f"{on} of {d_ff:,} units have more than 0 before the activation. With weights drawn around 0 in place of the learned ones half of them would be, about {d_ff // 2:,}.", 0.05, "%",
    )  # fmt: skip
    rows = math.ceil(d_ff / 32)
    tiles = [Tile(f"x\n{d}", into, math.ceil(d / rows)), Tile(f"hidden layer\n{d_ff:,}", act if told else None, 32, top if told else None, "unit"),
             Tile(f"out\n{d}", out if told else None, math.ceil(d / rows))]  # fmt: skip
    parts.show(drawn_through(tiles, height=height(340, 250)), SLUG + "through", f"One word as {d} numbers" + (f", its {d_ff} hidden units and the {d} numbers that come out." if told else "; the rest is covered."))
    parts.numbers(
        f"“{token}”: {d} → {d_ff:,} → {d}. {on} units are on ({percent(on / d_ff, 2)}); the strongest, number {top}, has {number(float(act[top]))} and is framed. "
        f"What comes out is {number(float(np.linalg.norm(out)))} long and is added to the word." if told else f"“{token}” is {d} numbers here. Guess, and the hidden layer opens."
    )  # fmt: skip
    pick_word(params, data)
    made = (
        rf"\text{{unit {top}: }} w \cdot x + b = {number(float(data.pre[word, top]), 4)} \ \to\ {number(float(act[top]), 4)}",
        rf"\text{{number 1 of what comes out: }} {number(float(out[0]), 4)}",
    )
    return Shown(
        {"ffn.inside": {}, "ffn.residual": {}}, made if told else (),
        f"Three vectors of one word, each folded into {rows} rows; pale is 0, blue above, orange below, each tile on its own scale. The network is that of layer {layer_of(params)} of "
        f"{params.model} ({CURVES[own_of(params)][0]}); in a translator, of its encoder. A unit counts as on where its pre-activation is above 0.",
        lambda: pd.DataFrame({"before the activation": data.pre[word], "after it": act}).rename_axis("unit") if told else LATER,
        {"into": into} | ({"pre": data.pre[word], "act": act, "out": out} if told else {}), lines(params) + f"print(found.fires[{word}].sum(), found.act[{word}].argmax(), found.out[{word}][:4])",
        lambda: pick_model(params),
    )  # fmt: skip


def own_of(params: Any) -> str:
    """The activation that the model was trained with."""
    return str(default().open(params.model).config.activation)


def at_point(x: float) -> dict[str, float]:
    """What each activation makes of one number.

    >>> {name: round(value, 6) for name, value in at_point(-1.0).items()}
    {'relu': 0.0, 'gelu': -0.158655, 'gelu_tanh': -0.158808}
    """
    return {name: float(ACTIVATIONS[name](torch.tensor(x, dtype=torch.float64))) for name in CURVES}


def activations(params: Any, data: Any) -> Shown:
    """The three curves with the word's own units on the model's, and one number of the visitor on all."""
    word, own = word_of(params, data), own_of(params)
    x = np.linspace(-END, END, 241)
    curves = [Curve(f"{say}{', this model' if name == own else ''}", x, ACTIVATIONS[name](torch.from_numpy(x)).numpy(), hue, name == own) for name, (say, hue) in CURVES.items()]
    told, pre, act = at_point(params.at), data.pre[word], data.act[word]
    picture = drawn_activations(curves, pre, act, params.at, list(told.values()), highest=HIGHEST, height=height(420, 270))
    parts.show(picture, SLUG + "curves", f"Relu and gelu over their input, with {len(pre)} units of one word.")
    beyond = int(((np.abs(pre) > END) | (act > HIGHEST)).sum())
    parts.numbers(
        f"At {number(params.at, 1)}: relu {number(told['relu'], 6)}, gelu {number(told['gelu'], 6)}, its tanh form {number(told['gelu_tanh'], 6)}. Of the {len(pre):,} units of “{names_of(data)[word]}” "
        f"{percent((pre > 0).mean(), 2)} get more than 0" + (f" ({beyond} lie outside the picture)." if beyond else ".")
    )  # fmt: skip
    controls.slider("The number that goes in", -END, 2.0, SLUG + "at", -1.0, 0.1)

    def change() -> None:
        pick_word(params, data)
        pick_model(params)

    return Shown(
        {"ffn.inside": {}},
        (r"\mathrm{relu}(x) = \max(0, x), \qquad \mathrm{gelu}(x) = x\, \Phi(x) \approx \tfrac{x}{2} \left(1 + \tanh\left(\sqrt{2 / \pi}\, (x + 0.044715\, x^3)\right)\right)",
         rf"\mathrm{{relu}}({number(params.at, 1)}) = {number(told['relu'], 6)}, \quad \mathrm{{gelu}} = {number(told['gelu'], 6)}, \quad \text{{tanh form }} {number(told['gelu_tanh'], 6)}"),
        "The thick curve is the activation that this model was trained with, the dotted ones are others. Each dark dot is one hidden unit of the word, the bars below count them: strong where the unit is on. "
        "The original Transformer uses relu, BERT gelu, GPT-2 its tanh form. Gelu lets a little through below 0, so a unit that is off can still learn.",
        lambda: pd.DataFrame({name: curve.y for name, curve in zip(CURVES, curves, strict=True)}, index=x.round(4)).iloc[::12].rename_axis("x"),
        {"x": x, "pre": pre, "act": act} | {name: curve.y for name, curve in zip(CURVES, curves, strict=True)},
        f"import torch\nfrom core.layers.feedforward import ACTIVATIONS\n\nfor name, f in ACTIVATIONS.items():\n    print(name, f(torch.tensor({params.at!r})).item())",
        change,
    )  # fmt: skip


def sentence(params: Any, data: Any) -> Shown:
    """The share of units that each word switches on, and how many units fire for how many words."""
    names, n, d_ff = names_of(data), len(data.tokens), data.pre.shape[1]
    share, counts = 100 * data.fires.mean(1), data.counts
    most, least = int(share.argmax()), int(share.argmin())
    left, right = st.columns([3, 2], gap="medium")
    tall = height(340, 270)
    with left:
        parts.show(bar_lanes([Lane("Units switched on, percent", share, 0, (0, 1.15 * float(share.max()) + 1e-6), marked=frozenset([most]), places=1)], labels=names, height=tall), SLUG + "share",
                   f"The share of units that each word switches on, from {share[least]:.1f} to {share[most]:.1f} percent.")  # fmt: skip
    with right:
        parts.show(bar_lanes([Lane("Units that fire for so many words", counts.astype(float), 1, (0, 1.1 * float(counts.max())), marked=frozenset([0]), places=0)],
                             labels=[str(i) for i in range(n + 1)], height=tall), SLUG + "counts", f"{data.dead} units fire for no word of the sentence.")  # fmt: skip
    parts.numbers(
        f"{d_ff:,} units: “{names[most]}” switches on {share[most]:.1f} %, “{names[least]}” {share[least]:.1f} %. {data.dead} units ({percent(data.dead / d_ff)}) fire for no word of this sentence, "
        f"{int(counts[-1])} for all {n}. Quiet here is not dead for good: another sentence wakes others."
    )  # fmt: skip
    pick_layer(params)
    return Shown(
        {"ffn.inside": {}}, (rf"\text{{on: }} W_1 x + b_1 > 0, \quad \text{{of }} {n} \times {d_ff:,} = {n * d_ff:,} \text{{ pairs of word and unit }} {int(data.fires.sum()):,}".replace(",", "{,}"),),
        "Left, a bar is a word: the percentage of units above 0 before the activation. Right, units sorted by how many words of the sentence they fire for; the strong bar at 0 are those that stay quiet. "
        "With relu a quiet unit gives exactly 0, with gelu a number a little below 0.",
        lambda: pd.DataFrame({"units on": data.fires.sum(1), "percent": share.round(2)}, index=names).rename_axis("word"),
        {"fires": data.fires.astype(float), "counts": counts}, lines(params) + "print(found.fires.mean(1), found.dead, found.counts)", lambda: pick_model(params, layers=False),
    )  # fmt: skip


def alone(params: Any, data: Any) -> Shown:
    """How far each word's output moves when one word's input is turned round: in the network alone, and in the attention."""
    word, names, n = word_of(params, data), names_of(data), len(data.tokens)
    key = ("feed_forward.alone", params.text, params.model, layer_of(params), word)
    far = ask.submit(key, lambda: inner_layer.changed(default().open(params.model), layer_of(params), data, word), 200)
    moved = {"network": int((far.network > 0).sum()), "attention": int((far.attention > 0).sum())}
    answer = HOW_MANY[3] if not moved["network"] else HOW_MANY[0] if moved["network"] == 1 else HOW_MANY[1] if moved["network"] == n else HOW_MANY[2]
    told = lesson.predict(
        SLUG + "alone", f"“{names[word]}” enters the network as −x, the others stay. How many of {n} outputs change?", HOW_MANY, answer,
        f"{moved['network']} of {n}: the network sees one word at a time. In the attention of the same layer {moved['attention']} of {n} change.",
    )  # fmt: skip
    moves = "outputs move by" if lesson.presenting() else "how far each output moves"
    lanes = [Lane(f"network: {moves}", far.network if told else None, 1, marked=frozenset([word]), limits=(0, 1.15 * max(float(far.network.max()), 1e-9))),
             Lane(f"attention: {moves}", far.attention, 0, marked=frozenset([word]), limits=(0, 1.15 * max(float(far.attention.max()), 1e-9)))]  # fmt: skip
    parts.show(bar_lanes(lanes, labels=names, across=lesson.presenting(), height=height(370, 270)), SLUG + "alone", f"How far each word's output moves when “{names[word]}” is turned round.")
    others = {name: float(np.delete(values, word).max(initial=0)) for name, values in (("network", far.network), ("attention", far.attention))}
    parts.numbers(
        f"Turn “{names[word]}” round: in the network the other outputs move by {number(others['network'], 1)}, not by a little but not at all; in the attention by up to {number(others['attention'])}. "
        "So all traffic between words goes through attention." if told else f"In the attention {moved['attention']} of {n} outputs move, the others by up to {number(others['attention'])}. And in the network?"
    )  # fmt: skip
    pick_word(params, data)
    return Shown(
        {"ffn.inside": {}}, (rf"\max_{{i \ne {word + 1}}} \lVert \mathrm{{FFN}}(x'_i) - \mathrm{{FFN}}(x_i) \rVert_\infty = {others['network']:g}",) if told else (),
        "A bar is the largest change of one number of that word's output. Network and attention are those of the same layer, each with the input that it gets in the model; only the vector of the "
        "chosen word is turned round. In a GPT earlier words cannot notice in the attention either: what comes later is masked.",
        lambda: pd.DataFrame({"attention": far.attention} | ({"network": far.network} if told else {}), index=names).rename_axis("word"),
        {"attention": far.attention} | ({"network": far.network} if told else {}), lines(params) + f"print(inner_layer.changed(model, {layer_of(params)}, found, {word}))",
        lambda: pick_model(params),
    )  # fmt: skip
