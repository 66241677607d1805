"""The first four steps on [CLS]: what it says, what it reads, its arithmetic, where the gradient arrives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.charts.tuned import shares, terms
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import maths, read
from viz.course.bert.cls_and_pairs.params import ALL_HEADS, CLASSES, SINGLE, SLUG, Models, Params
from viz.course.bert.tuning_live import BEFORE, Using
from viz.course.lesson import Folds
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, percent, shorten, visible
from viz.shell import room
from viz.widgets import compute, controls, lesson, parts

SHOWN = 8
"""Terms of the score that have a bar of their own."""
MARKS = ("[CLS]", "[SEP]")


def one_vector(params: Params, models: Models) -> Folds:
    """What the head says of the sentence, before it was tuned and after."""
    used = models["opinions"]
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return tuning_live.missing(SINGLE, SLUG, "bert.class")
    data = _read(params, used)
    chances, first = data.said.chances, data.untaught
    best, at = CLASSES[data.said.best], data.said.best
    told = lesson.predict(
        SLUG + "class",
        f"“{shorten(params.text, 70)}” BERT was tuned to tell good from bad, "
        "and says it from the vector of [CLS] alone. Which?",
        dict(zip(CLASSES, chances, strict=True)),
        best,
        f"{_listed(chances)}. Is it right? On texts it never read, {percent(used.reports[-1].right)} are.",
    )
    named = {"Before: a new head": first, "After tuning": chances if told else None}
    for column, (name, found) in zip(st.columns(2, gap="medium"), named.items(), strict=True):
        with column:
            if found is None:
                covered(name, tall(150, 250))
                continue
            picture = shares(CLASSES, found.tolist(), title=name, height=tall(150, 250))
            parts.show(picture, f"{SLUG}said.{name[:5]}", f"{name}: {_listed(found)}.")
    n, d = len(data.tokens), len(data.said.hidden)
    parts.numbers(
        f"{n} tokens, {n} vectors of {d} numbers; the head reads one of them. "
        f"It is {data.said.weight.size:,} weights and {len(CLASSES)} biases."
        + (f" “{best}” went from {percent(first[at])} to {percent(chances[at])}." if told else "")
    )
    return Folds(
        lambda: pd.DataFrame({"class": CLASSES, "before": first, "after": chances}),
        lambda: {"before": first, "after": chances},
        _code(params, used, "print(first_token.said(run).chances)"),
        told,
        {"bert.class": {}},
        [rf"P(\text{{{name}}}) = {chance:.6f}" for name, chance in zip(CLASSES, chances, strict=True)],
    )


def what_it_reads(params: Params, models: Models) -> Folds:
    """How [CLS] spreads its look in every layer, before the tuning and after."""
    used = models["opinions"]
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return tuning_live.missing(SINGLE, SLUG, "bert.class")
    data = _read(params, used)
    n_layers, n_heads, _ = data.after.shape
    head = params.head if params.head < n_heads else ALL_HEADS
    before, after = (
        found.mean(1) if head == ALL_HEADS else found[:, head] for found in (data.before, data.after)
    )
    names, gain = distinct(data.tokens), after[-1] - before[-1]
    most = int(gain.argmax())
    word = visible(names[most])
    offered = sorted({*np.argsort(-np.abs(gain), kind="stable")[:7].tolist(), most})
    whose = "all heads" if head == ALL_HEADS else f"head {head}"
    told = lesson.predict(
        SLUG + "gains",
        f"In the last layer ({whose}): which token does [CLS] read much more after tuning?",
        {visible(names[i]): float(gain[i]) for i in offered},
        word,
        f"“{word}” went from {percent(before[-1, most], 2)} to {percent(after[-1, most], 2)} "
        "of the attention of [CLS].",
    )
    maps = {"Before tuning": (BEFORE, before), "After tuning": (used.model, after)}
    with room.wide():
        for column, (name, (model, found)) in zip(st.columns(2, gap="medium"), maps.items(), strict=True):
            with column:
                if found is after and not told:
                    covered(name, tall(260, 230))
                    continue
                origin.tell(model=model, text=params.text, kind="self", changed=whose)
                heatmap(
                    found,
                    [f"layer {i}" for i in range(n_layers)],
                    names,
                    key=f"{SLUG}reads.{name[:5]}",
                    axis=("layer", "read by [CLS]"),
                    title=name,
                    height=tall(260, 150),
                    group=SLUG + "reads",
                    margins=False,
                )
    words = [i for i, token in enumerate(data.tokens) if token not in MARKS]
    a, b = float(before[-1, words].sum()), float(after[-1, words].sum())
    present = lesson.presenting()
    all_heads = "all heads, mean" if present else "all, mean"
    choose = controls.select if present else controls.pills
    told_beside(
        f"In the last layer [CLS] gives the words {percent(a)} of its attention before tuning"
        + (f" and {percent(b)} after" if told else "")
        + "; the rest goes to [CLS] and [SEP]."
        + (f" “{word}” gained most." if told else ""),
        lambda: choose(
            "Heads",
            range(ALL_HEADS, n_heads),
            SLUG + "head",
            ALL_HEADS,
            lambda h: all_heads if h == ALL_HEADS else f"H{h}",
            quiet=present,
        ),
    )
    return Folds(
        lambda: pd.DataFrame({"token": names, "before": before[-1], "after": after[-1]}),
        lambda: {"before": data.before, "after": data.after},
        _code(params, used, "print(first_token.reads(run).mean(1).round(3))  # (layer, key)"),
        told,
        {"self.weights": {}},
        (rf"\text{{words before }} {a:.4f}, \quad \text{{after }} {b:.4f}",),
    )


def arithmetic(params: Params, models: Models) -> Folds:
    """The terms of one class's score, and both scores through the softmax."""
    used = models["opinions"]
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return tuning_live.missing(SINGLE, SLUG, "bert.class")
    said = _read(params, used).said
    label = params.label if 0 <= params.label < len(CLASSES) else said.best
    other, name = 1 - label, CLASSES[label]
    z, chance = said.scores, f"{said.chances[label]:.4f}"
    mine, theirs = number(z[label], 3), number(z[other], 3)
    added = said.terms(label)
    n, speak = len(added), int((added > 0).sum())
    told = lesson.predict_number(
        SLUG + "speak",
        f"{n} products and a bias add up to the score {mine} of “{name}”. "
        "How many of the products are above 0, so speak for it?",
        0,
        n,
        speak,
        f"{speak} of {n}: together {number(float(added[added > 0].sum()), 3)}, "
        f"the others {number(float(added[added <= 0].sum()), 3)}. The score of “{CLASSES[other]}” is "
        f"{theirs}; "
        f"only the difference counts: 1 / (1 + e^{number(z[other] - z[label], 3)}) = {chance}.",
        n / 20,
    )
    few = np.argsort(-np.abs(added), kind="stable")[: tall(SHOWN, SHOWN // 2)].tolist()
    rest = float(added.sum() - added[few].sum())
    rows = {f"h{i} · W{i}": float(added[i]) for i in few}
    rows |= {f"{n - len(few)} more": rest, "bias b": float(said.bias[label])}
    parts.show(
        terms(
            list(rows), list(rows.values()), title=f"added to the score of “{name}”", height=tall(290, 320)
        ),
        SLUG + "terms",
        f"The terms of the score of {name}: "
        + ", ".join(f"{row} {value:+.3f}" for row, value in rows.items())
        + f"; together {z[label]:.3f}.",
    )
    i = few[0]
    h, w, product = (number(float(value), 3) for value in (said.hidden[i], said.weight[label, i], added[i]))
    parts.numbers(
        f"The largest: h{i} · W{i} = {h} · {w} = {product}. All {n} and the bias: {mine}."
        + (f" softmax: e^{mine} / (e^{mine} + e^{theirs}) = {chance}." if told else "")
    )
    controls.segmented("Score of", range(len(CLASSES)), SLUG + "label", said.best, CLASSES.__getitem__)
    powers = np.exp(z - z.max())
    chances = ", ".join(f"{p:.4f}" for p in said.chances)
    above = ", ".join(f"{power:.4f}" for power in powers)
    symbols = {
        "h_cls": f"{number(said.hidden[0], 3)}, …",
        "b": ", ".join(number(value, 3) for value in said.bias),
        "p_cls": chances,
    }
    return Folds(
        lambda: pd.DataFrame(
            {"h": said.hidden, **{f"h · W, {c}": said.terms(k) for k, c in enumerate(CLASSES)}}
        ),
        lambda: {"h": said.hidden, "W": said.weight, "b": said.bias, "z": z},
        _code(
            params,
            used,
            "said = first_token.said(run)\n"
            "print(said.hidden @ said.weight.T + said.bias, said.scores, first_token.softmax(said.scores))",
        ),
        told,
        {"bert.class": symbols},
        (
            rf"z = ({', '.join(f'{value:.4f}' for value in z)})",
            rf"\frac{{({above})}}{{{powers.sum():.4f}}} = ({chances})",
        ),
    )


def gradient(params: Params, models: Models) -> Folds:
    """Where the gradient of the loss arrives, layer by layer."""
    used = models["opinions"]
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return tuning_live.missing(SINGLE, SLUG, "bert.class")
    data, model = _read(params, used), used.model
    unsaid = 1 - data.said.best
    label = params.label if 0 <= params.label < len(CLASSES) else unsaid
    found = compute.submit(
        ("cls_and_pairs.arrives", params.text, model, label),
        lambda: maths.arrives(read.ran(model, params.text), label),
        120 * max(1, len(params.text)),
    )
    n_layers, n = len(found) - 1, found.shape[1]
    count, below = int((found[-1] > 0).sum()), int((found[-2] > 0).sum())
    told = lesson.predict(
        SLUG + "arrives",
        "In training the loss sends its gradient back. "
        f"The last layer gives {n} vectors: at how many of them does it arrive?",
        [str(k) for k in sorted({0, 1, n - 1, n, count})],
        str(count),
        f"At {count}: the head reads no other vector. "
        f"One layer below it arrives at {below} of {n}: [CLS] has read them there.",
    )
    rows = [f"into layer {i}" for i in range(n_layers)] + ["out of the last"]
    share = found / np.maximum(found.sum(1, keepdims=True), 1e-30)
    names = distinct(data.tokens)
    if told:
        heatmap(
            share[::-1],
            rows[::-1],
            names,
            key=SLUG + "arrives.map",
            allowed=found[::-1] > 0,
            axis=("where", "token"),
            title="Share of the gradient; hatched: exactly 0",
            height=tall(300, 200),
        )
    else:
        covered("The gradient, layer by layer", tall(300, 330))
    top = int(found[0].argmax())
    told_beside(
        f"Out of the last layer: {count} of {n} positions. Into it: {below} of {n}, "
        f"[CLS] has {percent(share[-2, 0])} of it. "
        f"Where words enter, “{visible(names[top])}” gets most, {percent(share[0, top])}."
        if told
        else f"The loss asks for “{CLASSES[label]}”, and the model gives it "
        f"{percent(data.said.chances[label], 2)}.",
        lambda: controls.segmented(
            "The right class is", range(len(CLASSES)), SLUG + "label", unsaid, CLASSES.__getitem__
        ),
    )
    return Folds(
        lambda: pd.DataFrame(found, index=rows, columns=names),
        lambda: {"arrives": found},
        _code(params, used, f"print(first_token.arrives(run, {label}).round(6))  # (layer + 1, place)"),
        told,
        {"bert.class": {}},
        (
            r"\frac{\partial L}{\partial h_i} = 0 \text{ for } i \neq \text{cls}, "
            r"\quad \frac{\partial L}{\partial h_{cls}} = W^\top (p - y)",
            rf"\lVert \partial L / \partial h_{{cls}} \rVert = {found[-1, 0]:.6g}",
        ),
    )


def covered(name: str, height: int) -> None:
    """A place that waits for the guess."""
    with st.container(border=True, height=height, vertical_alignment="center", horizontal_alignment="center"):
        st.markdown(f"**{name}**  \n:gray[Guess first, then it is drawn.]", text_alignment="center")


def tall(page: int, before_a_room: int) -> int:
    """A height, or a number of rows: on the page, and in Present."""
    return before_a_room if lesson.presenting() else page


def told_beside(text: str, control: Callable[[], object]) -> None:
    """The sentence of numbers and the one control: below it, or beside it before a room, to save height."""
    if not lesson.presenting():
        parts.numbers(text)
        control()
        return
    left, right = st.columns([2, 1], vertical_alignment="top", gap="medium")
    with left:
        parts.numbers(text)
    with right:
        control()


def _read(params: Params, used: Using) -> read.Read:
    key, cost = ("cls_and_pairs", params.text, used.model, used.seed), 60 * max(1, len(params.text))
    return compute.submit(key, lambda: read.read(params.text, used.model, used.seed), cost)


def _listed(chances: np.ndarray) -> str:
    return ", ".join(f"{name} {percent(chance)}" for name, chance in zip(CLASSES, chances, strict=True))


def _code(params: Params, used: Using, last: str) -> str:
    return (
        f"{tuning_live.opening(used)}\nfrom viz.course.bert.cls_and_pairs import maths as first_token\n\n"
        f"run = model.run({params.text!r}, keep=first_token.KEEP)\n{last}"
    )
