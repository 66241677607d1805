"""The steps of the exhibit on many heads: each draws its question, its grids, the shapes so far, its sentence, its control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz.charts.curves import number
from viz.course.self_attention.charts.bar_pairs import bar_pairs
from viz.course.self_attention.charts.head_grids import head_grid, per_head
from viz.course.self_attention.many_heads import folds
from viz.course.self_attention.many_heads import maths as lessons
from viz.course.self_attention.many_heads.maths import Stage
from viz.course.shared.shown import Shown
from viz.labels import percent
from viz.widgets import controls, lesson, parts

SLUG = "many_heads."
LOW = 200
"""Pixels of the rows before a room, below a question and its answer."""
WORDS = ("we", "saw", "her", "big", "red", "cat")
CHOICES = {"b": ("Sentences, B", 1, 4), "n": ("Words, n", 2, len(WORDS)), "d": ("Numbers a word, d", 2, 16), "h": ("Heads, h", 1, 8)}
ROOM = {"b": 216, "n": 188, "d": 204, "h": 188}
"""Pixels of each choice with its name before a room; below 184 its buttons would go."""
WANTED = (2, 3, 4, 6)
BARS = 5
"""The step whose picture has bars: beside a question there is room for them before a room, for grids there is not."""
TALL = 340
"""Pixels that the rows of the tallest grid of a step may take together."""


def sizes(start: Any) -> None:
    """B, n, d, h and the draw; there whatever they say. Before a room all of them in one row."""
    room = lesson.presenting()
    with st.container(horizontal=True, gap="xsmall" if room else "small", vertical_alignment="bottom", key="many-heads-sizes"):
        for name, (label, low, high) in CHOICES.items():
            with st.container(width=ROOM[name] if room else 165):
                controls.number(label.replace(" a word", "") if room else label, low, high, SLUG + name, getattr(start, name))
        controls.draw(SLUG + "draw", start.lot, 99, again="Again" if room else "Draw again")


def called(shape: Sequence[int]) -> str:
    """(2, 4, 8)"""
    return f"({', '.join(map(str, shape))})"


def shapes(found: Sequence[Stage], now: Sequence[str], upto: int | None = None) -> None:
    """The shape at every step, those in the picture in strong type; behind `upto` nothing is said yet. Before a room in one line: from one step before the picture to one behind it."""
    at = [place for place, stage in enumerate(found) if stage.name in now]
    first, behind = (max(0, at[0] - 1), at[-1] + 2) if lesson.presenting() else (0, len(found))
    told = [f"{'**' * (s.name in now)}{s.name.replace('_', chr(92) + '_')}{'**' * (s.name in now)} `{called(s.shape).replace(chr(32), chr(160))}`" for s in found[first:min(behind, len(found) if upto is None else upto)]]
    with st.container(key="many-heads-shapes"):
        st.markdown(" → ".join([*(["…"] if first else []), *told, *([] if upto is None else ["?"]), *(["…"] if upto is None and behind < len(found) else [])]))


def _heads(count: int) -> str:
    return f"{count} heads" if count > 1 else "One head"


def grids(key: str, shown: Sequence[Stage], *, values: bool = False, covered: Sequence[str] = (), note: str = "", asked: bool = True) -> None:
    """The first sentence at these steps, side by side (below each other on a phone); low before a room where a question was asked."""
    rows = max(int(np.prod(s.shape[1:-1])) + (s.shape[1] if _stacked(s) else 1) for s in shown)
    pixels = max(8.0, min(34.0, (TALL if not lesson.presenting() else LOW if asked else TALL - 40) / rows))
    with st.container(key=f"many-heads-{key}"):
        for column, stage in zip(st.columns([_width(s) for s in shown], gap="small"), shown, strict=True):
            with column:
                written = np.array([number(float(x), 1) for x in stage.value[0].ravel()] if values else [WORDS[w] for w in stage.word_of[0].ravel()])
                figure = head_grid(
                    stage.head_of[0], written.reshape(stage.shape[1:]), WORDS[: _rows(stage)], title=stage.name, shape=called(stage.shape), code=stage.code,
                    stacked=_stacked(stage), pixels=pixels, covered=stage.name in covered, room=lesson.presenting(),
                )  # fmt: skip
                parts.show(figure, f"{SLUG}{key}.{stage.name}{note}", f"{stage.name}, shape {called(stage.shape)}, each number in the colour of its head.")


def _stacked(stage: Stage) -> bool:
    """Whether the first sentence is a sheet a head and not a row of heads a word."""
    return len(stage.shape) == 4 and bool((stage.word_of[0, 0] != stage.word_of[0, 0].flat[0]).any())


def _rows(stage: Stage) -> int:
    return stage.shape[-2] if _stacked(stage) else stage.shape[1]


def _width(stage: Stage) -> float:
    """Columns, the names of rows beside them."""
    return max(3.6, 1.6 + (stage.shape[-1] if _stacked(stage) else stage.value[0, 0].size))


def _named(found: Sequence[Stage], *names: str) -> list[Stage]:
    return [stage for stage in found if stage.name in names]


def read(params: Any, data: Any) -> Shown:
    """How much of a word does a head read? All of it: it is projected first and cut then."""
    size, found = params.sizes, lessons.stages(data.way)
    whole, piece = f"All {size.d} numbers", f"Its own piece, {size.p} of {size.d}" if size.h > 1 else "None of them"
    told = lesson.predict(
        f"{SLUG}first", f"A word is {size.d} numbers. {_heads(size.h)} will work on it. How much of it does head 1 read?",
        (piece, whole, "The mean of the others" if size.h > 1 else "Half of them"), whole if data.chunk > 1e-9 or size.h == 1 else piece,
        f"Each of its {size.p} numbers is a sum over all {size.d}; made from the first {size.p} alone it would be off by up to {number(data.chunk)}.",
    )  # fmt: skip
    grids("read", _named(found, "x", "project"), values=True, covered=() if told else ("project",))
    parts.numbers(
        f"x has {' × '.join(map(str, found[0].shape))} = {found[0].value.size} numbers. One matrix, {size.d} × {size.d}, makes the queries of all heads at once: columns 1 to {size.p} are head 1's."
        if told else (f"{size.batch} sentences of {size.n} words; the first is drawn." if size.batch > 1 else f"One sentence of {size.n} words.") + " Guess first, then its queries are shown."
    )
    shapes(found, ("x", "project"), None if told else 1)
    return folds.of_reading(params, data, told)


def split(params: Any, data: Any) -> Shown:
    """View, swap: nothing is computed."""
    size, found = params.sizes, lessons.stages(data.way)
    names = ("project", "view", "swap")
    grids("split", _named(found, *names), asked=False)
    stays = int((data.way.q.ravel() == data.way.project.ravel()).sum())
    parts.numbers(
        f"All {data.way.q.size} numbers are still there, unchanged. The view cuts each word's {size.d} into {size.h} × {size.p}; the transpose brings the heads to the front. "
        f"Read one after the other, {stays} of {data.way.q.size} stand where they stood."
    )
    shapes(found, names)
    return folds.of_splitting(params, data)


def attend(params: Any, data: Any) -> Shown:
    """Scores, softmax, out: each head on its own."""
    size, found, way = params.sizes, lessons.stages(data.way), data.way
    names = ("swap", "scores", "softmax", "out")
    grids("attend", _named(found, *names), values=True, asked=False)
    looks = [int(way.pattern[0, k, 0].argmax()) for k in range(size.h)]
    parts.numbers(
        f"Reading “{WORDS[0]}”, " + ", ".join(f"head {k + 1} looks most at “{WORDS[j]}” ({percent(way.pattern[0, k, 0, j])})" for k, j in list(enumerate(looks))[:4])
        + f". {size.h} × {size.n} rows of weights, each adding up to {way.pattern[0].sum(-1).mean():.2f}; the scores of different heads never meet."
    )
    shapes(found, names)
    return folds.of_attending(params, data)


def merge(params: Any, data: Any) -> Shown:
    """Swap back, flatten, W_O; and without the swap."""
    size = params.sizes
    every, right = size.n * size.d, lessons.in_place(size)
    told = lesson.predict_number(
        f"{SLUG}merge", f"Flatten without transposing back: how many of the {every} numbers are at the right index?", 0, every, right,
        "One head is one slice: there the transpose moves nothing." if size.h == 1 else
        f"Row “{WORDS[0]}” holds {'head 1 alone' if size.n >= size.h else f'heads 1 to {-(-size.h // size.n)}'}, from word after word. The output is off by up to {number(data.way.off)}, without an error.",
        max(1.0, every / 16),
    )  # fmt: skip
    room, pictures = lesson.presenting(), st.container()
    said, switch = st.columns([4, 1], vertical_alignment="center") if room else (st.container(), None)
    below = st.container()
    forgot = False
    if told:
        with switch or st.container():
            forgot = controls.toggle("Forget the transpose", SLUG + "forgot", False)
    found, names = lessons.stages(data.way, not forgot), ("out", "transpose back", "flatten", "W_O")[: 3 if room else 4]
    with pictures:
        grids("merge", _named(found, *names), note=str(forgot))
    off = number(data.way.off)
    with said:
        if forgot:
            parts.numbers(f"Without the transpose {right} of {every} are at the right index; the output is off by up to {off}." if room
                          else f"Without the transpose {right} of {every} numbers are at the right index; after W_O the output is off by up to {off}.")  # fmt: skip
        else:
            parts.numbers(f"Each row is one word again, {size.h} pieces of {size.p} side by side. W_O, {size.d} × {size.d}, mixes them" + ("." if room else ": from here on no number belongs to one head."))
    with below:
        shapes(found, names)
    return folds.of_merging(params, data, told)


def redraw(params: Any, data: Any) -> Shown:
    """Head 1 gets other weights: what of the others changes?"""
    size, moved = params.sizes, lessons.changed(data.way, data.anew)
    rest = float(moved[1:].max(initial=0))
    options = ("Nothing, to the last bit", "A little, in head 2 alone", "All heads after it")
    answer = options[0] if rest == 0 else options[1] if not moved[2:].any() else options[2]
    told = lesson.predict(
        f"{SLUG}redraw", f"Head 1 of {size.h} gets new weights. What changes in the outputs of the other heads?", options, answer,
        f"Head 1 changes by up to {number(float(moved[0]))}, the others by {rest:g}. What builds on what came before is a layer, not a head.",
    )  # fmt: skip
    before, after = ({stage.name: stage for stage in lessons.stages(way)}["out"] for way in (data.way, data.anew))
    named = [Stage(title, code, stage.value, stage.head_of, stage.word_of) for title, code, stage in (("before", "weights @ v", before), ("head 1 re-initialised", "weights @ v", after))]
    rows = size.h * (size.n + 1)
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with left:
        grids("redraw", named, values=True, covered=() if told else ("head 1 re-initialised",))
    with right:
        figure = per_head(moved if told else np.zeros(size.h), [f"head {k + 1}" for k in range(size.h)], title="largest change of an output", number="{:.2f}" if told else "?")
        parts.show(figure, f"{SLUG}redraw.bars", "How much the output of each head changes, a bar a head." if told else "Covered until you guess.")
    out = float(np.abs(data.way.out - data.anew.out).max())
    parts.numbers(
        f"Of {rows - size.h} rows the {size.n} of head 1 are new{'' if lesson.presenting() else '; the others are the same to the last bit'}. After W_O every word has changed, by up to {number(out)}"
        + ("." if lesson.presenting() else ": W_O mixes all heads.")
        if told else f"{size.h} head{'s' * (size.h > 1)}, {size.n} words, {size.p} numbers each."
    )
    controls.draw(SLUG + "redrawn", 1, 99, first=1, label="Draw, head 1", again="Re-initialise head 1", strong=True)
    return folds.of_redrawing(params, data, told)


def several(params: Any, data: Any) -> Shown:
    """What one head cannot do; the parameters do not depend on h."""
    size, k = params.sizes, params.wanted
    weights = {h: sum(weight.numel() for weight in lessons.layer(lessons.Sizes(1, size.n, size.d, h)).parameters()) for h in (1, size.h)}
    heads = list(range(1, k + 1))
    values = np.array([[lessons.lost(k, m), lessons.measured_loss(k, m, params.lot)] for m in heads])
    told = lesson.predict_number(
        f"{SLUG}several", f"A word needs {k} things, each from another word, and one head looks at one of them only. What share of what is needed does it miss?", 0.0, 1.0, float(values[0, 0]),
        f"Wherever it looks, it keeps at most the worth of one part in {k}. Measured on 4,000 random words: {percent(values[0, 1], 2)}.", 0.05, "%",
    )  # fmt: skip
    room = lesson.presenting()
    figure = bar_pairs(values, [f"{m} head{'s' * (m > 1)}" for m in heads], ["closed form: (k − heads) / k", "measured, least squares"], f"What is lost of {k} parts", places=3, covered=not told,
                       height=min(94 + 52 * k, 302) if room else 0)  # fmt: skip
    parts.show(figure, f"{SLUG}several.picture", "The share that is lost with 1 head, 2 heads and so on." if told else "Covered until you guess.")
    parts.numbers(
        (f"One head loses {percent(values[0, 0])}, {k} heads {percent(values[-1, 0])}. " if told and not room else "")
        + f"With d = {size.d} one head of {size.d} has 4 (d² + d) = {weights[1]} weights, {size.h} heads of {size.p} have {weights[size.h]}" + ("." if room else f"; with d = 512 both have {lessons.parameters(512):,}.")
    )
    controls.segmented("From how many words a word should be made, k", WANTED, SLUG + "wanted", 4)
    return folds.of_several(params, values, told)


SHOWN: tuple[Callable[[Any, Any], Shown], ...] = (read, split, attend, merge, redraw, several)
