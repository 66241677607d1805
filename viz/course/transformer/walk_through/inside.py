"""Details of one box: a sentence, shapes in letters and numbers, the tensors of this run, its parameters, a link to its exhibit."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.analysis.diagram_nodes import Box, parameter_count, tensor_at
from viz.charts.tensors import Panel, side_by_side, tensors
from viz.course.shared.transformer_map import label, without_space
from viz.course.transformer.walk_through.maths import Station
from viz.exhibit_text import data
from viz.labels import distinct, formulas, percent
from viz.shell import links, pages
from viz.widgets import exhibit_parts, page_parts

DOES, FORMULA, NOTHING, EXPLAINED = map(
    data(__file__).__getitem__, ("does", "formula", "nothing", "explained")
)
"""By kind of a box: what it does, its parameters or why there are none, the exhibits that explain it (the first that there is)."""
COLUMNS = 200


def kind(box: Box) -> str:
    """Return the kind of the box, with masked attention as a kind of its own."""
    return "masked" if box.kind == "self" and box.side == "decoder" else box.kind


def heading(box: Box) -> str:
    """Return the name and the stack of the box."""
    name = {"add": "Sum", "position": "Word + position"}.get(box.kind, label(box))
    where = "the end" if box.kind in ("linear", "softmax") else box.side
    return f"{name}, {where}" + (f", L{box.layer}" if box.layer is not None else "")


def letters(run: Any, box: Box) -> str:
    """Return the shapes in letters, then with this run's numbers."""
    cfg, n, m = run.model.config, len(run.source.tokens), len(run.tokens)
    t, size = ("n", n) if box.side == "encoder" else ("m", m)
    d, h, p, f, v = cfg.d_model, cfg.n_heads, cfg.d_head, cfg.d_ff, cfg.n_vocab
    if box.kind in ("self", "cross"):
        key, keys = ("n", n) if box.kind == "cross" else (t, size)
        return (
            f"{t} × d → Q: h × {t} × p, K and V: h × {key} × p → weights h × {t} × {key} → {t} × d.  "
            f"Here {size} × {d} → {h} × {size} × {p}, {h} × {keys} × {p} → {h} × {size} × {keys} → {size} × {d}."
        )
    told = {
        "embed": (f"{t} numbers → {t} × d", f"{size} → {size} × {d}"),
        "ffn": (f"{t} × d → {t} × d_ff → {t} × d", f"{size} × {d} → {size} × {f:,} → {size} × {d}"),
        "add": (f"{t} × d + {t} × d → {t} × d", f"{size} × {d}, all three"),
        "position": (f"{t} × d + {t} × d → {t} × d", f"{size} × {d}, all three"),
        "linear": ("m × d → m × V", f"{m} × {d} → {m} × {v:,}"),
        "softmax": ("m × V → m × V", f"{m} × {v:,}, each row adds up to 1"),
    }.get(box.kind, (f"{t} × d → {t} × d", f"{size} × {d}"))
    return f"{told[0]}.  Here {told[1]}."


def panels(run: Any, box: Box, row: int | None = None) -> list[Panel]:
    """Return the input and output tensors as pictures; the attention weights of all heads side by side."""
    words = distinct(
        without_space(token) for token in (run.source.tokens if box.side == "encoder" else run.tokens)
    )
    read = {path: tensor_at(run, path) for path in box.reads}

    def one(name: str, values: np.ndarray, weights: bool = False) -> Panel:
        return Panel(name, values, words, weights, marked=row)

    gives = tensor_at(run, box.gives)
    if box.kind in ("self", "cross"):
        maps = run.trace[box.gives.removesuffix("out") + "pattern"]
        return [
            one("in", read[box.reads[0]]),
            one(f"weights of the {len(maps)} heads, H0 to H{len(maps) - 1}", side_by_side(maps), True),
            one("out", gives),
        ]
    if box.kind in ("add", "position"):
        names = ("input of the sub-layer", "its output") if box.kind == "add" else ("word", "position")
        return [
            *(one(name, found) for name, found in zip(names, read.values(), strict=True)),
            one("their sum", gives),
        ]
    if box.kind == "ffn":
        return [
            one("in", read[box.reads[0]]),
            one("inside, negative numbers cut to 0", run.trace[box.gives.removesuffix("out") + "act"]),
            one("out", gives),
        ]
    if box.kind in ("linear", "softmax"):
        first = read[box.reads[0]]
        before = first if box.kind == "linear" else pooled(first)
        each = f"the largest of each {-(-gives.shape[1] // COLUMNS)} of the {gives.shape[1]:,} words"
        return [
            one("in" if box.kind == "linear" else f"logits: {each}", before),
            one(
                f"{'logits' if box.kind == 'linear' else 'probabilities'}: {each}",
                pooled(gives),
                box.kind == "softmax",
            ),
        ]
    return [*(one("in", found) for found in list(read.values())[:1]), one("out", gives)]


def pooled(values: np.ndarray) -> np.ndarray:
    """Reduce (row, vocab) to (row, at most 200): the largest of neighbouring columns."""
    return np.stack(
        [part.max(1) for part in np.array_split(values, min(COLUMNS, values.shape[1]), axis=1)], axis=1
    )


def describe(run: Any, station: Station, row: int) -> str:
    """Describe one word in the box by a sentence of numbers."""
    box, source, target = (
        station.box,
        [without_space(t) for t in run.source.tokens],
        [without_space(t) for t in run.tokens],
    )
    word = f"“{(source if box.side == 'encoder' else target)[row]}”"
    if station.looks:
        head, key, weight = station.looks
        seen = source[key] if box.side == "encoder" or box.kind == "cross" else target[key]
        return f"{word} attends most to “{seen}”: {percent(weight)} in head H{head}. The output of attention has length {station.size:.2f}."
    if box.kind == "ffn":
        return f"For {word} {station.alive:,} of {run.model.config.d_ff:,} hidden units are above 0. The vector that is added has length {station.size:.2f}."
    if box.kind == "softmax":
        return (
            f"After {word} the model writes “{station.guess[0]}”, with probability {percent(station.guess[1])}."
            if station.guess
            else ""
        )
    if box.kind == "linear":
        return f"{word} gets {len(station.vector):,} logits; the largest is {station.vector.max():.2f}, the mean {station.vector.mean():.2f}."
    if box.kind in ("norm", "final"):
        before = float(np.linalg.norm(tensor_at(run, box.reads[0])[row]))
        return f"The norm changes the length of the vector of {word} from {before:.2f} to {station.size:.2f}."
    if box.kind in ("add", "position"):
        guess = (
            f" Read out after this box, the most probable token would be “{station.guess[0]}” ({percent(station.guess[1])})."
            if station.guess
            else ""
        )
        return f"The vector of {word} has length {station.size:.2f}; the sum turned it by {np.degrees(np.arccos(np.clip(1 - (station.change or 0), -1, 1))):.0f}°.{guess}"
    ids = run.source.ids if box.side == "encoder" else run.ids
    return f"{word} is number {ids[row]} of {run.model.config.n_vocab:,}; its row, times √d = {np.sqrt(run.model.config.d_model):.0f}, has length {station.size:.2f}."


def owns(run: Any, box: Box, total: int) -> str:
    """Describe the box's parameters, counted in the network, and their share of all."""
    count = parameter_count(run.model, box)
    if not count:
        return f"Parameters: {NOTHING[box.kind]}."
    return f"Parameters: {FORMULA[box.kind]} = {count:,}, {percent(count / total, 2)} of the network's {total:,}."


def show(run: Any, station: Station, row: int, total: int, key: str, *, height: int = 330) -> None:
    """Draw the column beside the map: name, sentence, tensors, shapes, parameters, link."""
    box, room = station.box, exhibit_parts.presenting()
    with st.container(gap="small"):
        st.markdown(f"**{heading(box)}**" + ("" if room else f"  \n{formulas(DOES[kind(box)])}"))
        page_parts.show(
            tensors(panels(run, box, row), height=height, room=room, most=32),
            f"{key}.tensors",
            f"What goes into the box {heading(box)} and what comes out, as heatmaps.",
        )
        page_parts.summary(describe(run, station, row))
        if not room:
            page_parts.summary(f"{letters(run, box)}\n{owns(run, box, total)}")
            link(box)


def link(box: Box) -> None:
    """Draw a link to the exhibit that explains the box."""
    found = explained(box)
    if found:
        links.page_link(
            found.slug, f"{found.info.title}: this box explained", icon=":material/arrow_forward:"
        )


def explained(box: Box) -> pages.Entry | None:
    """Return the page that explains a box: the first of its names that exists."""
    there = {entry.slug: entry for entry in pages.discover()}
    return next((there[slug] for slug in EXPLAINED[kind(box)] if slug in there), None)
