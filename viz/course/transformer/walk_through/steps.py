"""The steps of the map: what is drawn on it, and what stands beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.boxes import value
from viz.charts.tensors import Panel, tensors
from viz.course.lesson import Folds
from viz.course.shared import transformer_map
from viz.course.shared.maths import sizes
from viz.course.transformer.walk_through import inside
from viz.course.transformer.walk_through.charts.shifted import shifted
from viz.course.transformer.walk_through.charts.trip import trip
from viz.course.transformer.walk_through.maths import Data, looked_at, name
from viz.course.transformer.walk_through.params import Params
from viz.course.transformer.walk_through.seen import SLUG, draw, folds, seen, telling
from viz.labels import distinct, formulas, literal, percent
from viz.shell import room, state
from viz.widgets import controls, lesson, parts

CHOICES = 4
OPENED = 3
"""The step that tells of a box, counted from 1."""


def minute(params: Params, data: Data) -> Folds:
    """The next word; until the guess the decoder's rows up to here, and nothing of what follows."""
    told, run = seen(data, "encoder.self"), data.run
    left, right = _beside("walk-question", asks=True)
    row, chances = told.row, value(run, "probabilities")[told.row]
    best = np.argsort(-chances, kind="stable")[:CHOICES]
    labels = distinct(name(run, int(i)) for i in best)
    so_far = " ".join(transformer_map.plain(token) for token in run.tokens[1 : row + 1]) or "(nothing)"
    with right:
        known = lesson.predict(
            f"{SLUG}next",
            f"Read: “{run.source.text.strip()}”. Written so far: “{so_far}”. Which token comes next?",
            dict(sorted(zip(labels, chances[best].tolist(), strict=True))),
            labels[0],
            why=f"It gives {percent(chances[best[0]])} to “{labels[0]}” and {percent(chances[best[1]])} to "
            f"“{labels[1]}”; the other {len(chances) - 2:,} tokens share the rest.",
        )
        with st.container(key="walk-minute"):
            st.markdown(
                ""
                if lesson.presenting()
                else "**Left, the encoder:** every word looks at every word, layer upon layer. It reads "
                "once.  \n**Right, the decoder:** looks at what is written so far, then across at what "
                "the encoder found.  \n**Top:** one probability for each word there is. The best is "
                "written, and read again at the bottom."
            )
        n, m = len(run.source.tokens), len(run.tokens)
        parts.numbers(
            f"{n} tokens in, {len(data.boxes)} boxes, {data.total:,} parameters."
            + (f" Written: {m - 1} tokens and END, {m} rounds of the right half." if known else "")
        )
    draw(told, data, left, _leads, lit=False, upto=None if known else row + 1)
    return folds(params, data, told, known)


def feed(params: Params, data: Data) -> Folds:
    """Target and decoder input as two rows; embedding and positions as tensors."""
    told, run, presenting = seen(data, "decoder.embed"), data.run, lesson.presenting()
    left, right = _beside()
    target = distinct(transformer_map.plain(token) for token in run.tokens[1:])
    draw(told, data, left, _leads)
    with right:
        upright = presenting and len(target) <= 8
        height = 50 + 34 * len(target) if upright else 150 if presenting else 180
        picture = shifted(target, shift=params.shift, upright=upright, height=height)
        parts.show(
            picture,
            f"{SLUG}shifted",
            "The target and what the decoder reads, with arrows from each word to its position.",
        )
        m = len(target) + 1
        parts.numbers(
            f"Position t reads y_(t−1) and is to write y_t: {m} positions, START in front, END to be "
            "written last."
            if params.shift
            else f"Without the shift all {m} positions read the very word that they are to write: there is "
            "nothing left to learn."
        )
        params.show("walk_through", "shift")  # at its picture, beside the map
        if not presenting:
            words = distinct(transformer_map.plain(token) for token in run.tokens)
            leaves = {
                "token": "word (m × d), from the table",
                "position": "+ position (m × d)",
                "out": "= what goes in (m × d)",
            }
            panels = [
                Panel(title, value(run, f"decoder.embed.{leaf}"), words) for leaf, title in leaves.items()
            ]
            parts.show(
                tensors(panels, height=300),
                f"{SLUG}embedded",
                "Word vectors, position vectors and their sums, as heat pictures.",
            )
            inside.link(told.box)
    return folds(params, data, told)


def opened(params: Params, data: Data) -> Folds:
    """The chosen box of the chosen layer."""
    told = seen(data, "encoder.self")
    left, right = _beside()
    with right:
        layers = range(data.run.model.config.n_layers)  # its layers, beside the map
        controls.segmented("Layer", layers, "layer", 0, lambda i: f"Layer L{i}", quiet=True)
        station = next(station for station in told.way if station.box == told.box)
        row = looked_at(data.run, told.row) if told.box.side == "encoder" else told.row
        inside.show(data.run, station, row, data.total, SLUG, height=300 if lesson.presenting() else 320)
    draw(told, data, left, _opens)
    return folds(params, data, told)


def chosen_sizes(start: sizes.Sizes) -> sizes.Sizes:
    """The five sliders, which begin at the network that runs."""
    room = lesson.presenting()
    first, second, third = (
        (*st.columns(2, gap="small"), st.container()) if room else st.columns(3, gap="small")
    )
    with first:
        n = controls.slider("N, layers", 1, 24, f"{SLUG}N", start.n_layers)
        d = controls.stops(
            "d, a word",
            with_own((64, 128, 256, 512, 768, 1024, 2048), start.d_model),
            f"{SLUG}d",
            start.d_model,
        )
    with second:
        h = controls.stops(
            "h, heads", with_own((1, 2, 4, 8, 16, 32), start.n_heads), f"{SLUG}h", start.n_heads
        )
        f = controls.stops(
            "$d_{ff}$, inside",
            with_own((64, 256, 512, 1024, 2048, 3072, 4096, 8192), start.d_ff),
            f"{SLUG}f",
            start.d_ff,
            "{:,}".format,
        )
    with third:
        v = controls.stops(
            "V, words",
            with_own((1000, 8000, 30000, 37000, 50000), start.n_vocab),
            f"{SLUG}V",
            start.n_vocab,
            "{:,}".format,
        )
    return sizes.Sizes(n, d, h, f, v)


def with_own(stops: tuple[int, ...], own: int) -> tuple[int, ...]:
    """Round stops and the size of the network that runs."""
    return tuple(sorted({*stops, own}))


def count(params: Params, data: Data) -> Folds:
    """Sliders of sizes: every box counts anew. The tensors stay those of the shipped network."""
    told, start = seen(data, "encoder.ffn"), data.sizes
    left, right = _beside(asks=True)
    with right:
        above = st.container()
        chosen = chosen_sizes(start)
        by = sizes.counted(chosen)
        total, most = sum(by.values()), max(by, key=lambda part: by[part])
        with above:
            known = lesson.predict(
                f"{SLUG}most",
                "Which part has the most parameters?",
                {part: by[part] for part in (sizes.TABLE, sizes.SELF, sizes.CROSS, sizes.NETWORK)},
                most,
                why=lambda: (
                    f"The {most} has {by[most]:,} of {total:,}, {percent(by[most] / total)}; both kinds of "
                    f"attention together {percent((by[sizes.SELF] + by[sizes.CROSS]) / total)}."
                ),
            )
        counts = transformer_map.counted(data.boxes, chosen)
        one = counts[told.box.name]
        box = (
            f"{inside.heading(told.box)}: {inside.FORMULA[told.box.what]} = {one:,}."
            if one
            else f"{inside.heading(told.box)}: {inside.NOTHING[told.box.what]}."
        )
        own = (
            "as in the network that runs"
            if chosen == start
            else "counts only: the tensors stay those of the shipped network"
        )
        if known and lesson.presenting():  # each box says its count
            parts.numbers(box)
        else:
            parts.numbers(
                f"{total:,} parameters: {', '.join(f'{part} {count:,}' for part, count in by.items())}.\n"
                f"{box} h = {chosen.n_heads} heads of {chosen.d_head} numbers: h changes no count, the "
                f"heads share d. Sizes {own}."
                if known
                else f"Sizes {own}. Guess first, then every box says its count."
            )
    draw(told, data, left, _opens, pictures=False, counts=counts if known else None, times=chosen.n_layers)
    return folds(params, data, replace(told, chosen=chosen), known)


def walk(params: Params, data: Data) -> Folds:
    """All boxes in order for one word of each side; the length of its vector along the way."""
    row = state.read(f"{SLUG}word", telling(data), state.whole(0, len(data.run.tokens) - 1))
    told = seen(data, "encoder.embed", row)
    run, way = data.run, told.way
    left, right = _beside()
    words = distinct(transformer_map.plain(token) for token in run.side.written().tokens)
    with right:
        at = controls.slider("Box", 1, len(way), f"{SLUG}station", 1) - 1
        station = way[at]
        here = looked_at(run, row) if station.box.side == "encoder" else row
        st.markdown(
            f"**{at + 1} of {len(way)}: {literal(inside.heading(station.box))}**"
            + ("" if lesson.presenting() else f"  \n{formulas(inside.DOES[inside.kind(station.box)])}")
        )
        parts.numbers(inside.said(run, station, here))
        keep = [i for i, each in enumerate(way) if each.box.what not in ("linear", "softmax", "norm")]
        stretch = [
            (i, "encoder" if way[k].box.side == "encoder" else "decoder")
            for i, k in enumerate(keep)
            if way[k].box.what == "embed"
        ]
        near = max(i for i, k in enumerate(keep) if k <= max(at, 0))
        lengths = np.array([way[k].size for k in keep])
        streams, names = [way[k].stream for k in keep], [inside.heading(way[k].box) for k in keep]
        picture = trip(lengths, names, streams, near, stretch, 160 if lesson.presenting() else 220)
        parts.show(picture, f"{SLUG}trip", "The length of the word's vector after each box on its way.")
        controls.pills(
            "Written word", range(len(words)), f"{SLUG}word", telling(data), lambda i: words[i], quiet=True
        )
        source, word = transformer_map.plain(run.source.tokens[looked_at(run, row)]), words[row]
        parts.numbers(
            f"In at the left: “{source}”, which “{word}” looks at most. Through {len(way)} boxes to "
            f"“{word}”, {percent(way[-1].guess[1])}."
            if way[-1].guess
            else ""
        )
        if not lesson.presenting():
            inside.link(station.box)
    gone = [
        each.box.layer
        for each in way[: at + 1]
        if each.box.side == station.box.side and each.box.layer is not None
    ]
    layer = gone[-1] if gone else 0

    def touch(role: str) -> dict[str, Any]:
        at = next(
            i
            for i, box in enumerate(data.boxes)
            if transformer_map.role(box) == role and box.layer in (None, layer)
        )
        return {f"{SLUG}station": at + 1}

    told = replace(told, box=station.box, layer=layer)
    draw(told, data, left, touch)
    return folds(params, data, told)


def _beside(key: str = "walk-map", *, asks: bool = False) -> tuple[DeltaGenerator, Any]:
    """The place of the map, and what stands beside it: before a room, where a question is asked, at its side,
    so that the map keeps its width."""
    with st.container(key=key):
        if asks and lesson.presenting():
            return st.container(), room.side()
        left, right = st.columns([11, 9], gap="medium")
        return left, right


def _opens(role: str) -> dict[str, Any]:
    return {f"{SLUG}box": role}


def _leads(role: str) -> dict[str, Any]:
    """A touch leads to the step that tells of the box."""
    return _opens(role) | {f"{SLUG}step": OPENED}
