"""The steps of the exhibit on the encoder: each draws its question, its picture and its sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts import marks
from viz.charts.tensors import Panel, tensors
from viz.course.exhibit import Folds
from viz.course.shared import sizes
from viz.course.transformer.encoder import maths
from viz.course.transformer.encoder.maths import Data
from viz.course.transformer.encoder.params import Params
from viz.instruments import grid, heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent
from viz.number_text import number, or_exactly_zero
from viz.shell import present_layout, state
from viz.widgets import controls, exhibit_parts, page_parts

SLUG = "encoder."


def word_positions(data: Data) -> list[int]:
    """Return the positions of the words, without those of special tokens and punctuation."""
    marks = set(data.run.model.tokenizer.special_tokens)
    return [
        i
        for i, word in enumerate(data.words)
        if any(letter.isalpha() for letter in word) and word not in marks and not word.startswith("[")
    ] or [0]


def example_word(data: Data) -> int:
    """Return the position of the example word: the one that changes most."""
    return min(word_positions(data), key=lambda i: float(data.depth.with_input[-1, i]))


def nearest(cosines: np.ndarray, word: int) -> int:
    """Return the other word with the largest cosine; the word itself where it is alone.

    >>> nearest(np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.1], [0.4, 0.1, 1.0]]), 0)
    1
    """
    others = [i for i in range(len(cosines)) if i != word]
    return max(others, key=lambda i: float(cosines[word, i]), default=word)


def drawn_to(first: np.ndarray, last: np.ndarray, rows: Sequence[int]) -> int:
    """Return the word to ask about: its nearest word is another one after the layers, and clearly nearest.

    Rank first by that change, then by whether the nearest is among `rows` too, then by its lead over the next.
    Shapes: first and last (word, word), cosines.

    >>> last = np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.1], [0.4, 0.1, 1.0]])
    >>> drawn_to(last, last, (0, 1, 2)), drawn_to(last[:, [0, 2, 1]], last, (0, 1))
    (1, 1)
    """
    if len(last) < 2:
        return 0
    others = np.sort(np.where(np.eye(len(last), dtype=bool), -1.0, last), axis=1)

    def rank(word: int) -> tuple[bool, float]:
        after = nearest(last, word)
        return after in rows and after != nearest(first, word), float(others[word, -1] - others[word, -2])

    return max(rows, key=rank)


def word_of(data: Data) -> int:
    """Return the position of the word of the link, or of the example word."""
    return state.read(f"{SLUG}word", example_word(data), state.whole_number(0, len(data.words) - 1))


def _choose_word(data: Data) -> None:
    controls.pills(
        "Word", range(len(data.words)), f"{SLUG}word", example_word(data), lambda i: data.words[i], quiet=True
    )


def _draw_cosines(data: Data, layer: int, key: str, height: int) -> None:
    title = "Before any layer" if layer == 0 else f"After layer L{layer - 1}"
    heatmap(
        maths.cosines(data.states[layer]),
        data.words,
        data.words,
        key=f"{SLUG}{key}",
        scale="score",
        unit="cosine",
        limit=1.0,
        axis=("word", "word"),
        title=title,
        numbers=len(data.words) <= 8,
        height=height,
    )


def guess(params: Params, data: Data) -> Folds:
    """Draw the cosines of the words before any layer and after the last; the second map comes after the guess."""
    first, last = maths.cosines(data.states[0]), maths.cosines(data.states[-1])
    word, said = drawn_to(first, last, word_positions(data)), distinct(data.words)
    others = [i for i in range(len(data.words)) if i != word]
    best, before = nearest(last, word), nearest(first, word)
    names = {said[i]: float(last[word, i]) for i in others} or [said[word]]
    known = exhibit_parts.predict(
        f"{SLUG}alike",
        f"After the last layer, which word's vector is nearest to that of “{said[word]}” (largest cosine)?",
        names,
        said[best],
        explanation=f"The cosine of “{said[word]}” and “{said[best]}” goes from {number(float(first[word, best]))} to "
        f"{number(float(last[word, best]))}."
        + (f" Before any layer the nearest was “{said[before]}”." if before != best else "")
        + f" The cosine of “{said[word]}” with its own vector before any layer is {number(float(data.depth.with_input[-1, word]))}.",
    )
    height = exhibit_parts.by_mode(300, 170)
    with present_layout.full_width():
        left, right = st.columns(2, gap="medium")
    with left:
        _draw_cosines(data, 0, "before", height)
    with right:
        if known:
            _draw_cosines(data, len(data.states) - 1, "after", height)
        else:
            st.markdown(
                f":gray[The same words after {len(data.states) - 1} layers are shown here after your guess.]"
            )
    n = len(data.words)
    if n == 1:
        page_parts.summary(
            "This sentence has one word, and no other that it could resemble. Type a longer sentence."
        )
        return _folds(data, known)
    page_parts.summary(
        f"{n} words, {len(data.states) - 1} layers. The mean cosine between two words is {number(float(np.nanmean(data.depth.others[0])))} before any layer"
        + (f", {number(float(np.nanmean(data.depth.others[-1])))} after the last." if known else ".")
    )
    return _folds(data, known)


def layer(params: Params, data: Data) -> Folds:
    """Draw the vector of one word after each part of one layer."""
    word = word_of(data)
    layers = range(len(data.states) - 1)  # those of this model, so the step draws their control
    layer = controls.segmented("Layer", layers, "layer", 0, lambda i: f"Layer L{i}", quiet=True)
    found = maths.stages(data.run, layer, word)
    lengths = {stage.name: float(np.linalg.norm(stage.vector)) for stage in found}
    rows = [f"{name}: {length:.1f}" for name, length in lengths.items()]
    room = exhibit_parts.presenting()
    values = np.stack([stage.vector for stage in found])
    limit = float(np.quantile(np.abs(values), 0.995))
    title = f"“{data.words[word]}” in layer L{layer}: length, {values.shape[1]} numbers"
    picture = tensors([Panel(title, values, rows, limit=limit, keep_spaces=True)], height=300, room=room)
    page_parts.show(
        picture, f"{SLUG}stages", "The vector of one word after each part of the layer, as a heatmap."
    )
    by = {stage.name: stage.vector for stage in found}
    gap = float(np.abs(by["x, the word"] + by["attention"] - by["x + attention"]).max())
    page_parts.summary(
        f"“{data.words[word]}” comes in with length {lengths['x, the word']:.2f}. Attention "
        f"adds a vector of length {lengths['attention']:.2f}, the feed-forward network one of {lengths['feed-forward']:.2f}; it leaves with {lengths[found[-1].name]:.2f}."
    )
    _choose_word(data)
    return _folds(
        data,
        checks=f"x + attention and the recorded sum differ by {or_exactly_zero(gap, f'{gap:.0e}')}.",
        also={"lengths": np.array(list(lengths.values()))},
    )


def stack(params: Params, data: Data) -> Folds:
    """Draw the states of all words after N layers, and their cosines there."""
    n = len(data.states) - 1
    at = state.read(f"{SLUG}N", n, state.whole_number(0, n))
    room, values = exhibit_parts.presenting(), data.states[at]
    left, right = st.columns(2, gap="medium")
    with left:
        when = "before any layer" if at == 0 else f"after {at} of {n} layers"
        limit = float(np.quantile(np.abs(values), 0.995))
        panel = Panel(
            f"The {len(data.words)} × {values.shape[1]} numbers {when}", values, data.words, limit=limit
        )
        picture = tensors([panel], height=300, room=room)
        page_parts.show(picture, f"{SLUG}states", "The states of all words as a heatmap.")
    with right:
        _draw_cosines(data, at, "stack", 170 if room else 250)
    page_parts.summary(
        f"After {at} layers a word's cosine with its own vector before any layer is "
        f"{number(float(data.depth.with_input[at].mean()))} on average."
    )
    controls.slider("N, number of layers applied", 0, n, f"{SLUG}N", n)  # up to the layers of this model
    return _folds(
        data,
        checks=f"x ← layer(x), {n} times in a plain loop, and the run differ by {or_exactly_zero(data.off, f'{data.off:.0e}')}.",
    )


def maps(params: Params, data: Data) -> Folds:
    """Draw the maps of all heads, and the chosen one."""
    layers, heads = data.weights.shape[:2]
    left, right = st.columns([3, 2], gap="medium")
    layer, head = layers - 1, 0
    with left:
        origin.tell_run(data.run, "self")
        title = f"{layers} layers of {heads} heads"
        chosen = grid(
            data.weights,
            key=f"{SLUG}grid",
            selected=(layer, head),
            title=title,
            queries=data.words,
            keys=data.words,
        )
        layer, head = chosen.head or (layer, head)
    found = data.weights[layer, head]
    origin.tell_run(data.run, "self", layer, head)
    with right:
        heatmap(found, data.words, data.words, key=f"{SLUG}map", title=head_name(layer, head), height=300)
    query, key = (int(place) for place in np.unravel_index(int(found.argmax()), found.shape))
    page_parts.summary(
        f"{layers} × {heads} = {layers * heads} maps of {found.shape[0]} × {found.shape[1]} weights. In "
        f"{head_name(layer, head)} the largest is {percent(found.max())}: “{data.words[query]}” attends to "
        f"“{data.words[key]}”."
    )
    return _folds(data)


def depth(params: Params, data: Data) -> Folds:
    """Draw each word's cosine with its input and with the other words, over the layers."""
    word, found = word_of(data), data.depth
    curves = [("with itself before any layer", found.with_input)]
    if len(data.words) > 1:
        curves.append(("with the other words, mean", found.others))
    names = ["before any", *(f"after L{i}" for i in range(len(found.with_input) - 1))]
    lines = {
        (hue, f"{name}: {each}"): values[:, at]
        for hue, (name, values) in enumerate(curves)
        for at, each in enumerate(distinct(data.words))
    }
    picture = marks.lines(
        pd.DataFrame({name: values for (_, name), values in lines.items()}, names),
        x="",
        title="cosine",
        ends=(min(0.0, *(float(np.nanmin(values)) for values in lines.values())) - 0.05, 1.05),
        hues=[hue for hue, _ in lines],
        highlighted=[f"{name}: {distinct(data.words)[word]}" for name, _ in curves],
        height=exhibit_parts.by_mode(330, 400),
    )
    page_parts.show(picture, f"{SLUG}depth", "Cosine of each word with itself and with the others, by layer.")
    told = "; ".join(
        f"{name} {number(float(kept[word]))} and {number(float(others[word]))}"
        for name, kept, others in zip(names, found.with_input, found.others, strict=True)
    )
    page_parts.summary(f"“{data.words[word]}”, with itself and with the others: {told}.")
    _choose_word(data)
    return _folds(data)


def count(params: Params, data: Data) -> Folds:
    """Draw the parameters of one layer, matrix by matrix."""
    cfg, own = data.run.model.config, params.shape == "own"
    shapes = {"own": (cfg.d_model, cfg.d_ff, cfg.n_layers), "base": (512, 2048, 6), "printed": (512, 512, 6)}
    d, f, n = shapes[params.shape]
    matrices = maths.count_parameters(data.run.model) if own else maths.by_formula(d, f)
    figure = marks.bars(pd.Series(matrices), title=f"One layer: d = {d}, {f:,} inner units")
    page_parts.show_large(figure, f"{SLUG}count", "Parameters of one layer, matrix by matrix.", 400)
    total, formula = sum(matrices.values()), sizes.encoder_layer(d, f)
    page_parts.summary(
        f"One layer, {'counted in the network' if own else 'by the formula'}: {total:,}. 4(d² + d) + 2 d "
        f"d_ff + d + d_ff + 4 d = {formula:,}. {n} layers: {n * total:,}."
    )
    return _folds(data)


def _folds(
    data: Data, revealed: bool = True, checks: str = "", also: Mapping[str, np.ndarray] | None = None
) -> Folds:
    return Folds(
        lambda: table(data),
        {
            "states": data.states,
            "kept": data.depth.with_input,
            "others": data.depth.others,
            "weights": data.weights,
            **(also or {}),
        },
        revealed=revealed,
        equations={"residual.first": {}, "norm.apply": {}, "ffn.residual": {}, "ffn.inside": {}},
        latex=(
            r"\mathrm{layer} = \underbrace{4(d^2 + d)}_{\text{attention}} + \underbrace{2 d d_{ff} + d + "
            r"d_{ff}}_{\text{network}} + \underbrace{4 d}_{\text{two norms}}",
        ),
        more=lambda: _counted(data, checks),
    )


def _counted(data: Data, checks: str) -> None:
    if checks:
        page_parts.summary(checks)
    cfg = data.run.model.config
    each, base = sizes.encoder_layer(cfg.d_model, cfg.d_ff), sizes.encoder_layer(512, 2048)
    page_parts.summary(
        f"d = {cfg.d_model}, d_ff = {cfg.d_ff:,}: {sizes.attention(cfg.d_model):,} + "
        f"{sizes.feed_forward(cfg.d_model, cfg.d_ff):,} + {2 * sizes.norm(cfg.d_model):,} = {each:,}; "
        f"{cfg.n_layers} layers {cfg.n_layers * each:,}.\n"
        f"The base of 2017: {base:,} per layer, six of them {6 * base:,}; with 512 inner units only "
        f"{sizes.encoder_layer(512, 512):,}."
    )


def table(data: Data) -> pd.DataFrame:
    """Return a table of each word by layer: cosine with itself before any layer, mean cosine with the others."""
    names = ["before any", *(f"after L{i}" for i in range(len(data.states) - 1))]
    kept = pd.DataFrame(
        np.round(data.depth.with_input, 4),
        index=[f"itself, {name}" for name in names],
        columns=list(data.words),
    )
    others = pd.DataFrame(
        np.round(data.depth.others, 4), index=[f"others, {name}" for name in names], columns=list(data.words)
    )
    return pd.concat([kept, others])
