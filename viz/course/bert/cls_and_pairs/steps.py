"""The first three steps on [CLS]: its class, its attention, the computation of the class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts import marks
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import read
from viz.course.bert.cls_and_pairs.params import ALL_HEADS, CLASSES, SLUG, Params
from viz.course.bert.tuning_live import BEFORE, Using
from viz.course.exhibit import Folds
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, list_values, percent, shorten, visible
from viz.number_text import number, row_of_numbers
from viz.shell import present_layout
from viz.widgets import controls, exhibit_parts, page_parts

N_TERMS = 8
"""Terms of the score that have a bar of their own."""
MARKS = ("[CLS]", "[SEP]")


@tuning_live.needs("opinions", SLUG, "bert.class")
def one_vector(params: Params, used: Using) -> Folds:
    """Ask for the class of the sentence, then draw its probabilities before the tuning and after."""
    origin.tell(model=used.model or "", text=params.text)
    data = read.read_sentence(params, used)
    chances, first = data.classification.chances, data.untaught
    best, at = CLASSES[data.classification.best], data.classification.best
    told = exhibit_parts.predict(
        SLUG + "class",
        f"“{shorten(params.text, 70)}” BERT was tuned to classify good and bad "
        "from the vector of [CLS] alone. Which class has the higher probability?",
        dict(zip(CLASSES, chances, strict=True)),
        best,
        f"{_listed(chances)}. Of synthetic texts that were not in its training, it classifies {percent(used.reports[-1].right)} correctly.",
    )
    named = {"Before: a new head": first, "After tuning": chances if told else None}
    draw_side_by_side(named, CLASSES, f"{SLUG}said", 5, exhibit_parts.by_mode(150, 400))
    n, d = len(data.tokens), len(data.classification.hidden)
    page_parts.summary(
        f"{n} tokens, {n} vectors of {d} numbers; the head reads one of them. "
        f"It is {data.classification.weight.size:,} weights and {len(CLASSES)} biases."
        + (f" “{best}” went from {percent(first[at])} to {percent(chances[at])}." if told else "")
    )
    return Folds(
        {"class": CLASSES, "before": first, "after": chances},
        {"before": first, "after": chances},
        {"model": tuning_live.opening(used)},
        told,
        {"bert.class": {}},
        [rf"P(\text{{{name}}}) = {chance:.6f}" for name, chance in zip(CLASSES, chances, strict=True)],
    )


@tuning_live.needs("opinions", SLUG, "bert.class")
def what_it_reads(params: Params, used: Using) -> Folds:
    """Ask which token gains attention, then draw the attention of [CLS] in every layer, before the tuning and after."""
    origin.tell(model=used.model or "", text=params.text)
    data = read.read_sentence(params, used)
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
    told = exhibit_parts.predict(
        SLUG + "gains",
        f"In the last layer ({whose}): which token gets more attention from [CLS] after tuning?",
        {visible(names[i]): float(gain[i]) for i in offered},
        word,
        f"“{word}” went from {percent(before[-1, most], 2)} to {percent(after[-1, most], 2)} "
        "of the attention of [CLS].",
    )
    maps = {"Before tuning": (BEFORE, before), "After tuning": (used.model, after)}
    with present_layout.full_width():
        for column, (name, (model, found)) in zip(st.columns(2, gap="medium"), maps.items(), strict=True):
            with column:
                if found is after and not told:
                    covered(name, exhibit_parts.by_mode(260, 230))
                    continue
                origin.tell(model=model, text=params.text, kind="self", changed=whose)
                heatmap(
                    found,
                    [f"layer {i}" for i in range(n_layers)],
                    names,
                    key=f"{SLUG}reads.{name[:5]}",
                    axis=("layer", "read by [CLS]"),
                    title=name,
                    height=exhibit_parts.by_mode(260, 150),
                    group=SLUG + "reads",
                    margins=False,
                )
    words = [i for i, token in enumerate(data.tokens) if token not in MARKS]
    a, b = float(before[-1, words].sum()), float(after[-1, words].sum())
    present = exhibit_parts.presenting()
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
        {"token": names, "before": before[-1], "after": after[-1]},
        {"before": data.before, "after": data.after},
        {"model": tuning_live.opening(used)},
        told,
        {"self.weights": {}},
        (rf"\text{{words before }} {a:.4f}, \quad \text{{after }} {b:.4f}",),
    )


@tuning_live.needs("opinions", SLUG, "bert.class")
def arithmetic(params: Params, used: Using) -> Folds:
    """Draw the terms of one class's score, and both scores through the softmax."""
    origin.tell(model=used.model or "", text=params.text)
    said = read.read_sentence(params, used).classification
    label = params.label if 0 <= params.label < len(CLASSES) else said.best
    other, name = 1 - label, CLASSES[label]
    z, chance = said.scores, f"{said.chances[label]:.4f}"
    mine, theirs = number(z[label], 3), number(z[other], 3)
    added = said.terms(label)
    n, speak = len(added), int((added > 0).sum())
    told = exhibit_parts.predict_number(
        SLUG + "speak",
        f"{n} products and a bias add up to the score {mine} of “{name}”. "
        "How many of the products are above 0 (evidence for it)?",
        0,
        n,
        speak,
        f"{speak} of {n}: together {number(float(added[added > 0].sum()), 3)}, the others "
        f"{number(float(added[added <= 0].sum()), 3)}. The score of “{CLASSES[other]}” is {theirs}; only the "
        f"difference counts: 1 / (1 + e^{number(z[other] - z[label], 3)}) = {chance}.",
        n / 20,
    )
    few = np.argsort(-np.abs(added), kind="stable")[: exhibit_parts.by_mode(N_TERMS, N_TERMS // 2)].tolist()
    rest = float(added.sum() - added[few].sum())
    rows = {f"h{i} · W{i}": float(added[i]) for i in few}
    rows |= {f"{n - len(few)} more": rest, "bias b": float(said.bias[label])}
    page_parts.show(
        marks.bars(
            pd.Series(rows),
            "{:+.3f}",
            title=f"added to the score of “{name}”",
            row=exhibit_parts.by_mode(290, 320) / len(rows),
        ),
        SLUG + "terms",
        f"The terms of the score of {name}: " + list_values(rows, "{:+.3f}") + f"; together {z[label]:.3f}.",
    )
    i = few[0]
    h, w, product = (number(float(value), 3) for value in (said.hidden[i], said.weight[label, i], added[i]))
    page_parts.summary(
        f"The largest: h{i} · W{i} = {h} · {w} = {product}. All {n} and the bias: {mine}."
        + (f" softmax: e^{mine} / (e^{mine} + e^{theirs}) = {chance}." if told else "")
    )
    controls.segmented("Score of", range(len(CLASSES)), SLUG + "label", said.best, CLASSES.__getitem__)
    powers = np.exp(z - z.max())
    chances = row_of_numbers(said.chances, 4)
    above = row_of_numbers(powers, 4)
    symbols = {
        "h_cls": f"{number(said.hidden[0], 3)}, …",
        "b": row_of_numbers(said.bias, 3),
        "p_cls": chances,
    }
    return Folds(
        lambda: pd.DataFrame(
            {"h": said.hidden, **{f"h · W, {c}": said.terms(k) for k, c in enumerate(CLASSES)}}
        ),
        {"h": said.hidden, "W": said.weight, "b": said.bias, "z": z},
        {"model": tuning_live.opening(used)},
        told,
        {"bert.class": symbols},
        (
            rf"z = ({', '.join(f'{value:.4f}' for value in z)})",
            rf"\frac{{({above})}}{{{powers.sum():.4f}}} = ({chances})",
        ),
    )


def draw_side_by_side(
    pictures: Mapping[Any, np.ndarray | None], classes: Sequence[str], key: str, letters: int, height: int
) -> None:
    """Draw the probabilities of classes side by side, by the names of the pictures; None is covered until the guess."""
    for column, (name, found) in zip(st.columns(2, gap="medium"), pictures.items(), strict=True):
        with column:
            if found is None:
                covered(name, height)
                continue
            picture = marks.bars(pd.Series(found, list(classes)), percent, title=name, end=1.0)
            said = list_values(zip(classes, found, strict=True))
            page_parts.show(picture, f"{key}.{name[:letters]}", f"{name}: {said}.")


def covered(name: str, height: int) -> None:
    """Draw a container that is covered until the guess."""
    with st.container(border=True, height=height, vertical_alignment="center", horizontal_alignment="center"):
        st.markdown(f"**{name}**  \n:gray[Shown after your guess.]", text_alignment="center")


def told_beside(text: str, control: Callable[[], object]) -> None:
    """Write the sentence of numbers and draw the one control: below it, or beside it in present mode, to save height."""
    if not exhibit_parts.presenting():
        page_parts.summary(text)
        control()
        return
    left, right = st.columns([2, 1], vertical_alignment="top", gap="medium")
    with left:
        page_parts.summary(text)
    with right:
        control()


def _listed(chances: np.ndarray) -> str:
    return list_values(zip(CLASSES, chances, strict=True))
