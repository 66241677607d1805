"""Errata on recurrent models with attention: the state of the query, the purpose of a window, the direction of attention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np
import torch
from torch import Tensor

from core import masks
from core.layers.attention import MultiHeadAttention
from core.layers.recurrent.alignment import gaussian
from core.trace import Recorder
from viz.course.errata._draws import filled, normal, tensor
from viz.course.errata.entry import Array, Evidence, Panel, erratum
from viz.course.shared.masks import softmax
from viz.languages import _
from viz.number_text import number, small_difference

BAHDANAU = {"α_t": {"s_{t−1}", "h"}, "c_t": {"α_t", "h"}, "s_t": {"s_{t−1}", "y_{t−1}", "c_t"}}
PRINTED = BAHDANAU | {"α_t": {"s_t", "h"}}
LUONG = {"s_t": {"s_{t−1}", "y_{t−1}"}, "α_t": {"s_t", "h"}, "c_t": {"α_t", "h"}, "s̃_t": {"c_t", "s_t"}}
"""Inputs of each quantity of a step."""


def _order(needs: Mapping[str, set[str]]) -> tuple[list[str], list[str]]:
    """Return the order in which a step can be computed, or the circular dependency that prevents it."""
    try:
        return [name for name in TopologicalSorter(needs).static_order() if name in needs], []
    except CycleError as error:
        return [], list(reversed(error.args[1]))


@erratum("E27")
def which_state() -> Evidence:
    ours, luong = _order(BAHDANAU)[0], _order(LUONG)[0]
    none, circle = _order(PRINTED)
    numbers = {
        "bahdanau": float(len(ours)),
        "printed": float(len(none)),
        "circle": float(max(0, len(circle) - 1)),
        "luong": float(len(luong)),
    }
    sentence = _(
        "A step put in order by what needs what. With s_{{t−1}}: {ours}. With s_t in the same recursion there is no order, {last} quantities wait for each other: {circle}. Luong's: {luong}.",
        ours=", ".join(ours),
        last=len(circle) - 1,
        circle=" → ".join(circle),
        luong=", ".join(luong),
    )
    return Evidence(numbers, sentence)


@erratum("E28")
def words_and_letters() -> Evidence:
    d, p = 6, 3
    x, vector, matrix = normal(d), normal(d, start=1), normal(d, p, start=2)
    printed, right = np.shape(vector @ x), np.shape(matrix.T @ x)
    scores = normal(5, start=3)
    numbers = {
        "axes_printed": float(len(printed)),
        "axes_right": float(len(right)),
        "size_right": float(right[0]),
        "scores": float(scores.sum()),
        "weights": float(softmax(scores).sum()),
    }
    sentence = _(
        "A vector w_q of {d} numbers gives a query of shape {printed}, one number; a matrix {shape} gives {right}. {n_scores} scores sum to {total}, their weights to {weights}: they are not the same thing.",
        d=d,
        printed=printed,
        shape=matrix.shape,
        right=right,
        n_scores=len(scores),
        total=number(scores.sum(), 2, grouped=True),
        weights=number(softmax(scores).sum(), 2, grouped=True),
    )
    return Evidence(numbers, sentence)


@erratum("E29")
def no_window() -> Evidence:
    n, d, p_t = 20, 2, 8.3
    places = torch.arange(1, n + 1, dtype=torch.float64)
    scores, factor = normal(n), gaussian(places, torch.tensor(p_t, dtype=torch.float64), d / 2).numpy()
    near = (places.numpy() >= p_t - d) & (places.numpy() <= p_t + d)
    printed = softmax(scores) * factor
    right = softmax(np.where(near, scores, -np.inf)) * factor
    steep = 30.0
    low, high = (n / (1 + math.exp(-x)) for x in (-steep, steep))
    numbers = {
        "printed": float(printed.sum()),
        "right": float(right.sum()),
        "low": low,
        "high": high,
        "n": float(n),
        "before_first": -math.log(n - 1),
    }
    sentence = _(
        "{n} words, p_t = {p_t}, scores drawn once: without a window the weights sum to {total:.3f}, with D = {d} to {inside:.3f}. p_t never reaches its ends: an argument of {deep} gives {low}, one of {steep:.0f} stays {rest} below {n}. Words count from {begin:.0f}, so an argument below {edge} points before the first.",
        n=n,
        p_t=p_t,
        total=printed.sum(),
        d=d,
        inside=right.sum(),
        deep=number(-steep, 0, grouped=True),
        low=small_difference(low),
        steep=steep,
        rest=small_difference(n - high),
        begin=places[0],
        edge=number(-math.log(n - 1), 2, grouped=True),
    )
    names = tuple(str(int(place)) for place in places)
    chosen = slice(4, 13)
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Weights around pₜ"),
                np.array([printed, right])[:, chosen],
                (_("no window"), f"D = {d}"),
                names[chosen],
                "weights",
            ),
        ),
    )


@erratum("E35")
def across() -> Evidence:
    words, parts = 4, 9
    caption, image = tensor(1, words, 8), tensor(1, parts, 8, start=1)
    pattern, own = (_pattern(asking, image) for asking in (caption, image))
    rows, columns = pattern.shape
    numbers = {
        "rows": float(rows),
        "columns": float(columns),
        "own_rows": float(own.shape[0]),
        "own_columns": float(own.shape[1]),
    }
    sentence = _(
        "A caption of {words} words over {parts} parts of an image, in one attention layer: the weights are {rows} × {columns}. The same layer as self-attention on the image has {own_rows} × {own_columns}.",
        words=words,
        parts=parts,
        rows=rows,
        columns=columns,
        own_rows=own.shape[0],
        own_columns=own.shape[1],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Words attend to parts"),
                pattern,
                tuple(_("word {i}", i=i + 1) for i in range(words)),
                tuple(_("part {i}", i=i + 1) for i in range(parts)),
                "weights",
            ),
        ),
    )


def _pattern(asking: Tensor, image: Tensor) -> Array:
    """Return the attention to the parts of the image, (query, key), in one random layer of one head."""
    tap = Recorder()
    filled(MultiHeadAttention(8, 1))(asking, image, masks.full(asking.shape[1], image.shape[1]), tap)
    return tap.close()["pattern"][0, 0].numpy()


@erratum("E42")
def two_lengths() -> Evidence:
    source, target = ("You", "are", "welcome"), ("De", "nada")
    numbers = {"n": float(len(source)), "m": float(len(target))}
    sentence = _(
        "The slides' own pair: “{source}” has {n_source} words, “{target}” {n_target}, so the weights are {n_target} × {n_source}.",
        source=" ".join(source),
        n_source=len(source),
        target=" ".join(target),
        n_target=len(target),
    )
    return Evidence(numbers, sentence)
