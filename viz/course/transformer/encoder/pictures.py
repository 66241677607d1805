"""One picture a step of the exhibit on the encoder, with its sentence of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz.charts.curves import number
from viz.charts.evidence import bars
from viz.charts.tensors import Panel, tensors
from viz.course.shared.maths import sizes
from viz.course.transformer.encoder import maths as depth
from viz.course.transformer.encoder.charts import over_layers
from viz.instruments import grid, heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "encoder."
BASE = sizes.Sizes()
SHAPES = {"own": "This encoder", "base": "Base of 2017", "printed": "The same with 512 inner units"}


def show(step: int, data: Any) -> None:
    """Draw the step."""
    with st.container(key=f"encoder-picture-{step}"):
        (_guess, _layer, _stack, _maps, _depth, _count)[step](data)


def lettered(data: Any) -> list[int]:
    """The places of the words, those of signs and marks left out."""
    marks = set(data.run.model.tokenizer.special_tokens)
    return [i for i, word in enumerate(data.words) if any(letter.isalpha() for letter in word) and word not in marks and not word.startswith("[")] or [0]


def telling(data: Any) -> int:
    """The word to tell of: the one that changes most."""
    return min(lettered(data), key=lambda i: float(data.depth.kept[-1, i]))


def drawn_to(last: np.ndarray, rows: Sequence[int]) -> int:
    """The word to ask about: the one that is most clearly nearest to another one, by its lead over the next. Shapes: last (word, word), cosines.

    >>> drawn_to(np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.1], [0.4, 0.1, 1.0]]), (0, 1, 2))
    1
    """
    others = np.sort(np.where(np.eye(len(last), dtype=bool), -1.0, last), axis=1)
    return max(rows, key=lambda i: float(others[i, -1] - others[i, -2])) if len(last) > 1 else 0


def word_of(data: Any) -> int:
    """The word of the link, or the telling one."""
    return state.read(f"{SLUG}word", telling(data), state.whole(0, len(data.words) - 1))


def exactly(gap: float) -> str:
    """A difference of floats: nothing at all, or its size."""
    return "exactly 0" if gap == 0 else f"{gap:.0e}"


def _choose_word(data: Any) -> None:
    controls.pills("Word", range(len(data.words)), f"{SLUG}word", telling(data), lambda i: data.words[i], quiet=True)


def _alike(data: Any, layer: int, key: str, height: int) -> None:
    title = "Before any layer" if layer == 0 else f"After layer L{layer - 1}"
    heatmap(depth.cosines(data.states[layer]), data.words, data.words, key=f"{SLUG}{key}", scale="score", unit="cosine", limit=1.0, axis=("word", "word"),
            title=title, numbers=len(data.words) <= 8, height=height)  # fmt: skip


def _guess(data: Any) -> None:
    last = depth.cosines(data.states[-1])
    word, said = drawn_to(last, lettered(data)), distinct(data.words)
    others = [i for i in range(len(data.words)) if i != word]
    best = max(others, key=lambda i: float(last[word, i]), default=word)
    first = depth.cosines(data.states[0])
    names = {said[i]: float(last[word, i]) for i in others} or [said[word]]
    known = lesson.predict(
        f"{SLUG}alike", f"After the last layer, to which word is the vector of “{said[word]}” nearest (largest cosine)?", names, said[best],
        why=f"The cosine of “{data.words[word]}” and “{data.words[best]}” goes from {number(float(first[word, best]))} to {number(float(last[word, best]))}; "
        f"with itself before any layer it is {number(float(data.depth.kept[-1, word]))} by now.",
    )  # fmt: skip
    height = 150 if lesson.presenting() else 300
    left, right = st.columns(2, gap="medium")
    with left:
        _alike(data, 0, "before", height)
    with right:
        if known:
            _alike(data, len(data.states) - 1, "after", height)
        else:
            st.markdown(f":gray[Here, after your guess: the same words after {len(data.states) - 1} layers.]")
    n = len(data.words)
    if n == 1:
        parts.numbers(f"One word, {len(data.states) - 1} layers: there is no other that it could resemble. Type a sentence.")
        return
    parts.numbers(f"{n} words, {len(data.states) - 1} layers. Before any layer the words resemble each other by {number(float(np.nanmean(data.depth.others[0])))} on average"
                  + (f", after the last by {number(float(np.nanmean(data.depth.others[-1])))}." if known else "."))  # fmt: skip


def _layer(data: Any) -> None:
    word = word_of(data)
    layer = controls.segmented("Layer", range(len(data.states) - 1), "layer", 0, lambda i: f"Layer L{i}", quiet=True)
    found = depth.stages(data.run, layer, word)
    rows = [f"{stage.name}: {np.linalg.norm(stage.vector):.1f}" for stage in found]
    room = lesson.presenting()
    values = np.stack([stage.vector for stage in found])
    limit = float(np.quantile(np.abs(values), 0.995))
    parts.show(tensors([Panel(f"“{data.words[word]}” in layer L{layer}: length, {values.shape[1]} numbers", values, rows, limit=limit, ours=True)],
                       height=300, room=room), f"{SLUG}stages", "The vector of one word after each part of the layer, as a heat picture.")  # fmt: skip
    by = {stage.name: stage.vector for stage in found}
    attention, network = by["attention"], by["feed-forward"]
    gap = float(np.abs(by["x, the word"] + attention - by["x + attention"]).max())
    parts.numbers(f"“{data.words[word]}” comes in with length {np.linalg.norm(by['x, the word']):.2f}. Attention adds a vector of length {np.linalg.norm(attention):.2f}, the network one of "
                  f"{np.linalg.norm(network):.2f}; it leaves with {np.linalg.norm(found[-1].vector):.2f}. x + attention and the recorded sum differ by {exactly(gap)}.")  # fmt: skip
    _choose_word(data)


def _stack(data: Any) -> None:
    n = len(data.states) - 1
    picture, sentence = st.container(), st.container()
    at = controls.slider("N: read after so many layers", 0, n, f"{SLUG}N", n)
    with picture:
        left, right = st.columns(2, gap="medium")
        room = lesson.presenting()
        with left:
            name = f"The {len(data.words)} × {data.states.shape[2]} numbers " + ("before any layer" if at == 0 else f"after {at} of {n} layers")
            parts.show(tensors([Panel(name, data.states[at], data.words, limit=float(np.quantile(np.abs(data.states[at]), 0.995)))], height=300, room=room), f"{SLUG}states", "The states of all words as a heat picture.")
        with right:
            _alike(data, at, "stack", 170 if room else 250)
    kept = float(data.depth.kept[at].mean())
    with sentence:
        parts.numbers(f"After {at} layers a word's cosine with what it was before any layer is {number(kept)} on average. "
                      f"x ← layer(x), {n} times in a plain loop, and the run differ by {exactly(data.off)}.")  # fmt: skip


def _maps(data: Any) -> None:
    layers, heads = data.weights.shape[:2]
    left, right = st.columns([3, 2], gap="medium")
    start = (layers - 1, 0)
    with left:
        origin.tell_run(data.run, "self")
        chosen = grid(data.weights, key=f"{SLUG}grid", selected=start, title=f"{layers} layers of {heads} heads", queries=data.words, keys=data.words).head or start
    layer, head = chosen
    found = data.weights[layer, head]
    origin.tell_run(data.run, "self", layer, head)
    with right:
        heatmap(found, data.words, data.words, key=f"{SLUG}map", title=head_name(layer, head), height=300)
    query, key = (int(place) for place in np.unravel_index(int(found.argmax()), found.shape))
    parts.numbers(f"{layers} × {heads} = {layers * heads} maps of {found.shape[0]} × {found.shape[1]} weights. In {head_name(layer, head)} the largest is {percent(found.max())}: "
                  f"“{data.words[query]}” looks at “{data.words[key]}”.")  # fmt: skip


def _depth(data: Any) -> None:
    word, found = word_of(data), data.depth
    curves = [("with itself before any layer", found.kept)] + ([("with the other words, mean", found.others)] if len(data.words) > 1 else [])
    parts.show(over_layers(curves, data.words, word, height=330), f"{SLUG}depth", "Cosine of each word with itself and with the others, by layer.")
    told = "; ".join(f"{'before any' if i == 0 else f'after L{i - 1}'} {number(float(found.kept[i, word]))} and {number(float(found.others[i, word]))}" for i in range(len(found.kept)))
    parts.numbers(f"“{data.words[word]}”, with itself and with the others: {told}.")
    _choose_word(data)


def _count(data: Any) -> None:
    cfg = data.run.model.config
    shape = state.read(f"{SLUG}shape", "own", state.one_of(tuple(SHAPES)))
    d, f, n = {"own": (cfg.d_model, cfg.d_ff, cfg.n_layers), "base": (512, 2048, 6), "printed": (512, 512, 6)}[shape]
    if shape == "own":
        parts_of = depth.counted(data.run.model)
    else:
        each = d * d + d
        parts_of = {**dict.fromkeys(("queries", "keys", "values", "output"), each), "inner (W₁, b₁)": d * f + f, "back (W₂, b₂)": f * d + d, "norm 1": 2 * d, "norm 2": 2 * d}
    figure = bars(np.array([[count] for count in parts_of.values()], float), list(parts_of), ["parameters"], f"One layer: d = {d}, {f:,} inner units", places=0)
    parts.show(figure, f"{SLUG}count", "Parameters of one layer, matrix by matrix.")
    total, formula = sum(parts_of.values()), sizes.encoder_layer(d, f)
    how = "counted in the network" if shape == "own" else "by the formula"
    parts.numbers(f"One layer, {how}: {total:,}. 4(d² + d) + 2 d d_ff + d + d_ff + 4 d = {formula:,}; difference {total - formula}. {n} layers: {n * total:,}.")
    controls.segmented("Sizes", tuple(SHAPES), f"{SLUG}shape", "own", SHAPES.__getitem__, quiet=True)
