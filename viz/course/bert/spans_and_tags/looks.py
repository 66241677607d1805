"""Answers and tags, the fourth step: what one head looks at before the tuning and after it, on the same text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.run import Run
from viz.course.bert import tuning_live as live
from viz.course.bert.spans_and_tags.answers import SLUG, asked, glued, missing
from viz.course.bert.spans_and_tags.maths import moved_heads
from viz.course.shared.shown import Shown, later
from viz.instruments import heatmap, marked, picked
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import head_name, percent, visible
from viz.shell import room, state
from viz.widgets import compute as ask
from viz.widgets import lesson, parts

NAMES = ("before", "after")
NONE = "none: it stayed as it was"
SMALL = 1e-9


def _take(key: str, n: int) -> None:
    at = picked(key, n)
    if at is not None:
        state.write(**{SLUG + "token": at[0]})


def surface(run: Run) -> list[str]:
    """The tokens as they stand in their text, marks by name."""
    texts = (run.side.text, run.side.pair or "")
    return [texts[segment][slice(*place)] if place else token for token, place, segment in zip(run.tokens, run.spans, run.segments, strict=True)]


def looked(params: Any) -> Shown:
    """How far each head moved; and one head from one token, its shares before above the words and after below."""
    used = live.using(f"answers-{params.body}", SLUG)
    if used.model is None:
        return missing(params, "answers")
    one = asked(params, used)
    runs = [ask.run(name, params.question, pair=params.passage, keep=("*.pattern",)) for name in (live.BEFORE, used.model)]
    origin.tell_run(runs[1], "self", changed=f"beside {live.BEFORE}, before the tuning")
    before, after = (run.attention().weights for run in runs)
    moved = moved_heads(before, after)
    layers, heads = moved.shape
    by_layer = moved.mean(1)
    half = layers // 2
    halves = {f"layers 0 to {half - 1}": float(by_layer[:half].mean()), f"layers {half} to {layers - 1}": float(by_layer[half:].mean())}
    answer = NONE if by_layer.max() < SMALL else max(halves, key=lambda name: halves[name])
    told = lesson.predict(SLUG + "layer", f"Tuned for answers: in which half of bert-mini’s {layers} layers did attention move more?", halves | {NONE: 0.0}, answer,
                          f"Over all heads and tokens {percent(by_layer.max(), 2)} of the attention went elsewhere in layer {int(by_layer.argmax())}, {percent(by_layer.min(), 2)} in layer {int(by_layer.argmin())}.")  # fmt: skip
    most = np.unravel_index(int(moved.argmax()), moved.shape)
    tokens = surface(runs[0])
    n, key = len(tokens), SLUG + "looks"
    at = params.token if 0 <= params.token < n else one.first + one.found.best[0]
    grid = np.where(told, moved, 0.0)
    opening = (params.layer, params.head) if 0 <= params.layer < layers and 0 <= params.head < heads else (int(most[0]), int(most[1])) if told else (0, 0)
    with room.wide():
        left, right = (st.container(), st.container()) if lesson.presenting() else st.columns([2, 5], gap="medium")
        with left:
            layer, head = opening if lesson.presenting() else _grid(grid, opening, told)
        with right:
            marked(tokens, key=key, on_pick=partial(_take, key, n), glued=_glued(runs[0]), quiet=[k for k, place in enumerate(runs[0].spans) if place is None],
                   above=before[layer, head, at], below=after[layer, head, at] if told else None, names=NAMES, most=float(max(0.05, before[layer, head, at].max(), after[layer, head, at].max() if told else 0)),
                   span=(at, at), pick="word", title=f"{head_name(layer, head)}: what “{visible(tokens[at])}” reads", hint="Touch a word to see what it reads.", python=lines(params, used, layer, head, at) + drawing("marked", f"model.run({params.question!r}, pair={params.passage!r}).tokens, above=rows[0], below=rows[1], names={NAMES}, most=max(*rows[0], *rows[1])", replace(origin.now(), layer=layer, head=head)))  # fmt: skip
    rows = before[layer, head, at], after[layer, head, at]
    went = [max(range(n), key=row.__getitem__) for row in rows]
    parts.numbers(
        f"{head_name(layer, head)} from “{visible(tokens[at])}”: before most at “{visible(tokens[went[0]])}” ({percent(rows[0][went[0]])}), after at “{visible(tokens[went[1]])}” ({percent(rows[1][went[1]])})."
        + ("" if lesson.presenting() else f" Over all tokens {percent(moved[layer, head])} of this head's attention went elsewhere, {percent(moved.mean())} over all {moved.size} heads.") if told
        else f"{head_name(layer, head)} before the tuning: “{visible(tokens[at])}” looks most at “{visible(tokens[went[0]])}”, {percent(rows[0][went[0]])}."
    )  # fmt: skip
    return Shown(
        {"self.weights": {}}, (rf"\tfrac{{1}}{{2}} \sum_j |a_{{ij}} - b_{{ij}}| = {0.5 * np.abs(rows[0] - rows[1]).sum():.4f} \text{{ for this token}}",) if told else (),
        "Blue above a word: how much of its attention the head gave to it before the tuning; orange below: after. The grid has for every head the share of its attention that went elsewhere, mean over all tokens. "
        "If only the head on top was tuned (frozen), not one weight below it changed, and attention is the same to the last bit. What a head looks at is not yet what it is for: see *What matters*.",
        lambda: pd.DataFrame({"token": tokens, "before": rows[0], "after": rows[1]}).round(5) if told else later(),
        {"moved": moved, "before": rows[0], "after": rows[1]} if told else {},
        lines(params, used, layer, head, at),
    )  # fmt: skip


def _grid(moved: np.ndarray, opening: tuple[int, int], told: bool) -> tuple[int, int]:
    """How far each head moved; the head that is touched."""
    layers, heads = moved.shape
    cell = heatmap(moved, [f"layer {i}" for i in range(layers)], [f"H{i}" for i in range(heads)], key=SLUG + "grid", selected=opening, axis=("layer", "head"),
                   title="How far each head moved" if told else "Guess first", numbers=told, height=250).cell or opening  # fmt: skip
    if cell != opening:
        state.write(**{SLUG + "layer": cell[0], SLUG + "head": cell[1]})
    return cell


def _glued(run: Run) -> list[int]:
    return [at for at in glued(run.spans) if run.segments[at] == run.segments[at - 1]]


def lines(params: Any, used: live.Using, layer: int, head: int, at: int) -> str:
    """The lines that make the same rows."""
    return (f"{live.opening(used)}\n\nfrom viz.course.bert.spans_and_tags.maths import moved_heads\nfrom core.training.finetune import tuning\n\nfound = [one.run({params.question!r},\n    pair={params.passage!r}).attention().weights\n"
            f"    for one in (tuning.body(), model)]\nprint(moved_heads(*found).round(3))\nrows = [weights[{layer}, {head}, {at}] for weights in found]\nprint(rows)\n")  # fmt: skip
