"""The first four steps on [CLS]: what it says, what it reads, how the class is computed, where the gradient arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from core.training.finetune.tuning import TUNINGS
from viz.charts.curves import number
from viz.charts.tuned import shares, terms
from viz.course.bert import tuning_live as live
from viz.course.bert.cls_and_pairs import maths as first_token
from viz.course.bert.cls_and_pairs.link import CLASSES, MARKS, SINGLE, SLUG, covered, missing, ran, tall, told_beside
from viz.course.bert.cls_and_pairs.maths import Said
from viz.course.shared.shown import Shown, later
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, percent, shorten, visible
from viz.shell import room
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SHOWN = 8
"""Terms of the score that have a bar of their own."""
ALL_HEADS = -1


@dataclass(frozen=True, eq=False)
class Read:
    """A sentence as the tuned model read it: its tokens, how its class came about, what [CLS] read before and after (layer, head, key), and what the new head said before it learned."""

    tokens: tuple[str, ...]
    said: Said
    before: np.ndarray
    after: np.ndarray
    untaught: np.ndarray


def read(text: str, model: str | None, seed: int) -> Read:
    """The sentence through the body as it was and through a tuned model; without a model, through the new head as it is drawn."""
    body = default().open(live.BEFORE)
    new = first_token.untaught(TUNINGS[SINGLE], body, seed)
    first = ran(live.BEFORE, text)
    drawn = first_token.said(new.run(text, keep=first_token.KEEP))
    if model is None:
        return Read(first.tokens, drawn, first_token.reads(first), first_token.reads(first), drawn.chances)
    run = ran(model, text)
    return Read(run.tokens, first_token.said(run), first_token.reads(first), first_token.reads(run), drawn.chances)


def _data(params: Any, used: live.Using) -> Read:
    return ask.submit(("cls_and_pairs", params.text, used.model, used.seed), lambda: read(params.text, used.model, used.seed), 60 * max(1, len(params.text)))


def _code(params: Any, used: live.Using, last: str) -> str:
    return f"{live.opening(used)}\nfrom viz.course.bert.cls_and_pairs import maths as first_token\n\nrun = model.run({params.text!r}, keep=first_token.KEEP)\n{last}"


def one_vector(params: Any) -> Shown:
    """What the head says of the sentence, before it was tuned and after."""
    used = live.using(SINGLE, SLUG)
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return missing(SINGLE)
    data = _data(params, used)
    best, chances = CLASSES[data.said.best], data.said.chances
    told = lesson.predict(
        SLUG + "class", f"“{shorten(params.text, 70)}” BERT was tuned to tell good from bad, and says it from the vector of [CLS] alone. Which?", dict(zip(CLASSES, chances, strict=True)), best,
        ", ".join(f"{name} {percent(chance)}" for name, chance in zip(CLASSES, chances, strict=True)) + f". Is it right? On texts it never read, {percent(used.reports[-1].right)} are.",
    )  # fmt: skip
    for column, name, found in zip(st.columns(2, gap="medium"), ("Before: a new head", "After tuning"), (data.untaught, chances if told else None), strict=True):
        with column:
            if found is None:
                covered(name, tall(150, 250))
            else:
                parts.show(shares(CLASSES, found.tolist(), title=name, height=tall(150, 250)), f"{SLUG}said.{name[:5]}", f"{name}: " + ", ".join(f"{label} {percent(chance)}" for label, chance in zip(CLASSES, found, strict=True)) + ".")
    d = len(data.said.hidden)
    parts.numbers(f"{len(data.tokens)} tokens, {len(data.tokens)} vectors of {d} numbers; the head reads one of them. It is {data.said.weight.size:,} weights and {len(CLASSES)} biases."
                  + (f" “{best}” went from {percent(data.untaught[data.said.best])} to {percent(chances[data.said.best])}." if told else ""))  # fmt: skip
    return Shown(
        {"bert.class": {}}, tuple(rf"P(\text{{{name}}}) = {chance:.6f}" for name, chance in zip(CLASSES, chances, strict=True)) if told else (),
        "The sentence goes through all of BERT. Of the vectors that leave the last layer only the first is used, that of [CLS]: one linear map makes a score for each class of it, softmax makes them probabilities. "
        "The head is new, and randomly initialised. Tuned on sentences of our own small grammar, in which no single word gives the answer away: “not awful” is good.",
        lambda: pd.DataFrame({"class": CLASSES, "before": data.untaught, "after": chances}) if told else later(),
        {"before": data.untaught, "after": chances} if told else {}, _code(params, used, "print(first_token.said(run).chances)"),
    )  # fmt: skip


def what_it_reads(params: Any) -> Shown:
    """How [CLS] spreads its look in every layer, before the tuning and after."""
    used = live.using(SINGLE, SLUG)
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return missing(SINGLE)
    data = _data(params, used)
    n_layers, n_heads, _ = data.after.shape
    head = params.head if params.head < n_heads else ALL_HEADS
    before, after = (found.mean(1) if head == ALL_HEADS else found[:, head] for found in (data.before, data.after))
    names, gain = distinct(data.tokens), after[-1] - before[-1]
    most = int(gain.argmax())
    offered = sorted({*np.argsort(-np.abs(gain), kind="stable")[:7].tolist(), most})
    whose = "all heads" if head == ALL_HEADS else f"head {head}"
    told = lesson.predict(
        SLUG + "gains", f"In the last layer ({whose}): which token does [CLS] read much more after tuning?", {visible(names[i]): float(gain[i]) for i in offered}, visible(names[most]),
        f"“{visible(names[most])}” went from {percent(before[-1, most], 2)} to {percent(after[-1, most], 2)} of the attention of [CLS].",
    )  # fmt: skip
    layers = [f"layer {i}" for i in range(n_layers)]
    with room.wide():
        for column, name, found in zip(st.columns(2, gap="medium"), ("Before tuning", "After tuning"), (before, after if told else None), strict=True):
            with column:
                if found is None:
                    covered(name, tall(260, 230))
                else:
                    origin.tell(model=live.BEFORE if found is before else used.model or "", text=params.text, kind="self", changed=whose)
                    heatmap(found, layers, names, key=f"{SLUG}reads.{name[:5]}", axis=("layer", "read by [CLS]"), title=name, height=tall(260, 150), group=SLUG + "reads", margins=False)
    words = [i for i, token in enumerate(data.tokens) if token not in MARKS]
    a, b = float(before[-1, words].sum()), float(after[-1, words].sum())
    choose = controls.select if lesson.presenting() else controls.pills
    told_beside(
        f"In the last layer [CLS] gives the words {percent(a)} of its attention before tuning" + (f" and {percent(b)} after; the rest goes to [CLS] and [SEP]. “{visible(names[most])}” gained most." if told else "; the rest goes to [CLS] and [SEP]."),
        lambda: choose("Heads", (ALL_HEADS, *range(n_heads)), SLUG + "head", ALL_HEADS, lambda h: "all heads, mean" if h == ALL_HEADS and lesson.presenting() else "all, mean" if h == ALL_HEADS else f"H{h}", quiet=lesson.presenting()),
    )  # fmt: skip
    return Shown(
        {"self.weights": {}}, (rf"\text{{words before }} {a:.4f}, \quad \text{{after }} {b:.4f}",) if told else (),
        "A row is a layer, 0 the lowest; a cell is the share of its attention that [CLS] gives to a token there. Left before tuning, right after; the same sentence. "
        "A layer above reads vectors that have already read others: a large share at “.” may carry much that came from elsewhere. And a share is not yet a reason: take the word away in *What if* to see what it does.",
        lambda: pd.DataFrame({"token": names, "before": before[-1], "after": after[-1]}) if told else later(),
        {"before": data.before, "after": data.after} if told else {}, _code(params, used, "print(first_token.reads(run).mean(1).round(3))  # (layer, key)"),
    )  # fmt: skip


def arithmetic(params: Any) -> Shown:
    """The terms of one class's score, and both scores through the softmax."""
    used = live.using(SINGLE, SLUG)
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return missing(SINGLE)
    said = _data(params, used).said
    label = params.label if 0 <= params.label < len(CLASSES) else said.best
    other = 1 - label
    z, name = said.scores, CLASSES[label]
    powers = np.exp(z - z.max())
    added = said.terms(label)
    speak = int((added > 0).sum())
    told = lesson.predict_number(
        SLUG + "speak", f"{len(added)} products and a bias add up to the score {number(z[label], 3)} of “{name}”. How many of the products are above 0, so speak for it?", 0, len(added), speak,
        f"{speak} of {len(added)}: together {number(float(added[added > 0].sum()), 3)}, the others {number(float(added[added <= 0].sum()), 3)}. The score of “{CLASSES[other]}” is {number(z[other], 3)}; only the difference counts: "
        f"1 / (1 + e^{number(z[other] - z[label], 3)}) = {said.chances[label]:.4f}.", len(added) / 20,
    )  # fmt: skip
    few = np.argsort(-np.abs(added), kind="stable")[: tall(SHOWN, SHOWN // 2)].tolist()
    rest = float(added.sum() - added[few].sum())
    rows = [(f"h{i} · W{i}", float(added[i])) for i in few] + [(f"{len(added) - len(few)} more", rest), ("bias b", float(said.bias[label]))]
    parts.show(terms([row for row, _ in rows], [value for _, value in rows], title=f"added to the score of “{name}”", height=tall(290, 320)), SLUG + "terms",
               f"The terms of the score of {name}: " + ", ".join(f"{row} {value:+.3f}" for row, value in rows) + f"; together {z[label]:.3f}.")  # fmt: skip
    i = few[0]
    parts.numbers(
        f"The largest: h{i} · W{i} = {number(float(said.hidden[i]), 3)} · {number(float(said.weight[label, i]), 3)} = {number(float(added[i]), 3)}. All {len(added)} and the bias: {number(z[label], 3)}."
        + (f" softmax: e^{number(z[label], 3)} / (e^{number(z[label], 3)} + e^{number(z[other], 3)}) = {said.chances[label]:.4f}." if told else "")
    )  # fmt: skip
    controls.segmented("Score of", range(len(CLASSES)), SLUG + "label", said.best, CLASSES.__getitem__)
    return Shown(
        {"bert.class": {"h_cls": f"{number(said.hidden[0], 3)}, …", "b": ", ".join(number(value, 3) for value in said.bias), **({"p_cls": ", ".join(f"{p:.4f}" for p in said.chances)} if told else {})}},
        (rf"z = ({', '.join(f'{value:.4f}' for value in z)})", *((rf"\frac{{({', '.join(f'{power:.4f}' for power in powers)})}}{{{powers.sum():.4f}}} = ({', '.join(f'{p:.4f}' for p in said.chances)})",) if told else ())),
        "A bar is one product: a number of the vector of [CLS] times its weight for this class. Blue speaks for the class, orange against it. The largest have a bar of their own, all others are one sum. "
        "Their sum, with the bias, is the score that the run has, up to rounding. The numbers of the vector have no names, and no one of them is “good”: often many small ones decide together.",
        lambda: pd.DataFrame({"h": said.hidden, **{f"h · W, {c}": said.terms(k) for k, c in enumerate(CLASSES)}}) if told else later(),
        {"h": said.hidden, "W": said.weight, "b": said.bias, "z": z}, _code(params, used, "said = first_token.said(run)\nprint(said.hidden @ said.weight.T + said.bias, said.scores, first_token.softmax(said.scores))"),
    )  # fmt: skip


def gradient(params: Any) -> Shown:
    """Where the gradient of the loss arrives, layer by layer."""
    used = live.using(SINGLE, SLUG)
    origin.tell(model=used.model or "", text=params.text)
    if used.model is None:
        return missing(SINGLE)
    data = _data(params, used)
    unsaid = 1 - data.said.best
    label = params.label if 0 <= params.label < len(CLASSES) else unsaid
    model = used.model
    found = ask.submit(("cls_and_pairs.arrives", params.text, model, label), lambda: first_token.arrives(ran(model, params.text), label), 120 * max(1, len(params.text)))
    n_layers, n = len(found) - 1, found.shape[1]
    count, below = int((found[-1] > 0).sum()), int((found[-2] > 0).sum())
    told = lesson.predict(
        SLUG + "arrives", f"In training the loss sends its gradient back. The last layer gives {n} vectors: at how many of them does it arrive?", [str(k) for k in sorted({0, 1, n - 1, n, count})], str(count),
        f"At {count}: the head reads no other vector. One layer below it arrives at {below} of {n}: [CLS] has read them there.",
    )  # fmt: skip
    rows = [f"into layer {i}" for i in range(n_layers)] + ["out of the last"]
    share = found / np.maximum(found.sum(1, keepdims=True), 1e-30)
    names = distinct(data.tokens)
    if told:
        heatmap(share[::-1], rows[::-1], names, key=SLUG + "arrives.map", allowed=found[::-1] > 0, axis=("where", "token"), title="Share of the gradient; hatched: exactly 0", height=tall(300, 200))
    else:
        covered("The gradient, layer by layer", tall(300, 330))
    top = int(found[0].argmax())
    told_beside(
        f"Out of the last layer: {count} of {n} positions. Into it: {below} of {n}, [CLS] has {percent(share[-2, 0])} of it. Where words enter, “{visible(names[top])}” gets most, {percent(share[0, top])}." if told
        else f"The loss asks for “{CLASSES[label]}”, and the model gives it {percent(data.said.chances[label], 2)}.",
        lambda: controls.segmented("The right class is", range(len(CLASSES)), SLUG + "label", unsaid, CLASSES.__getitem__),
    )  # fmt: skip
    line = r"\frac{\partial L}{\partial h_i} = 0 \text{ for } i \neq \text{cls}, \quad \frac{\partial L}{\partial h_{cls}} = W^\top (p - y)"
    return Shown(
        {"bert.class": {}}, (line, rf"\lVert \partial L / \partial h_{{cls}} \rVert = {found[-1, 0]:.6g}") if told else (),
        "The loss is −log p of the class that is called right. A cell is the length of its gradient at one token in one layer, as a share of its row; the uppermost row is what leaves the last layer. There only [CLS] is in the equation. "
        "Every other token learns through attention: it gets its share as far as [CLS], or one that [CLS] reads, has read it.",
        lambda: pd.DataFrame(found, index=rows, columns=names) if told else later(), {"arrives": found} if told else {},
        _code(params, used, f"print(first_token.arrives(run, {label}).round(6))  # (layer + 1, place)"),
    )  # fmt: skip
