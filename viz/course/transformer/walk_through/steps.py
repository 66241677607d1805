"""Steps of the map: the drawing on it, and the column beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.diagram_nodes import tensor_at
from viz.course.exhibit import Folds
from viz.course.shared import sizes, transformer_map
from viz.course.transformer.walk_through import inside
from viz.course.transformer.walk_through.charts.residual_trip import trip
from viz.course.transformer.walk_through.charts.shifted_targets import shifted
from viz.course.transformer.walk_through.folds import StepState, folds
from viz.course.transformer.walk_through.maths import journey, looked_at, name
from viz.course.transformer.walk_through.params import SLUG, Data, Params
from viz.instruments import diagram
from viz.instruments.diagram.diagram import picked_box
from viz.labels import distinct, formulas, literal, percent
from viz.memo import remembered
from viz.shell import present_layout, state
from viz.widgets import controls, exhibit_parts, page_parts

MAP = f"{SLUG}map"
GUESS, FEED, OPEN, COUNT, WALK = range(5)
FIRST = {
    GUESS: "encoder.self",
    FEED: "decoder.embed",
    OPEN: "encoder.self",
    COUNT: "encoder.ffn",
    WALK: "encoder.embed",
}
CHOICES = 4


def step_state(step: int, params: Params, data: Data) -> StepState:
    """Return the state of a step: the chosen box, the row of the decoder and its stations."""
    layer = min(params.layer, data.run.model.config.n_layers - 1)
    asked = remembered(data.run, f"{SLUG}asked", lambda: telling(data))
    row = (
        state.read(f"{SLUG}word", asked, state.whole_number(0, len(data.run.tokens) - 1))
        if step == WALK
        else asked
    )
    way = remembered(data.run, (f"{SLUG}way", row), lambda: journey(data.run, row))
    roles = tuple(dict.fromkeys(map(transformer_map.role, data.boxes)))
    role = state.read(f"{SLUG}box", FIRST[step], state.one_of(roles))
    box = next(
        box for box in transformer_map.layer_boxes(data.boxes, layer) if transformer_map.role(box) == role
    )
    return StepState(step, layer, box, row, way, sizes_of(data))


def sides(step: int) -> tuple[Any, Any]:
    """Return the containers of the map and of the column beside it. In present mode a question has its picture below it, so that the map
    keeps its width.
    """
    if exhibit_parts.presenting() and step in (GUESS, COUNT):
        return st.container(), present_layout.side_area()
    left, right = st.columns([11, 9], gap="medium")
    return left, right


CLEAR = 0.7
"""The probability from which on one word comes next by far."""


def telling(data: Data) -> int:
    """Return the row to ask about: one word comes next by far, and the next choice is as probable as it gets there.

    Where two translations are as good (coche, auto) no row is asked about; never END or a punctuation mark.
    """
    chances, written = tensor_at(data.run, "probabilities"), data.run.side.next_tokens()
    rows = [
        row
        for row, token in enumerate(written.tokens)
        if any(map(str.isalpha, token)) and row not in written.special_positions
    ] or [0]
    best = {row: np.sort(chances[row])[::-1] for row in rows}
    clear = [row for row in rows if best[row][0] >= CLEAR] or rows
    return max(clear, key=lambda row: float(best[row][1]))


def sizes_of(data: Data) -> sizes.Sizes:
    """Return the sizes of the network that runs."""
    cfg = data.run.model.config
    return sizes.Sizes(cfg.n_layers, cfg.d_model, cfg.n_heads, cfg.d_ff, cfg.n_vocab)


def _map(step: StepState, data: Data, place: Any, **options: Any) -> None:
    """Draw the map; a click selects the box, and opens the step that explains it."""
    here = transformer_map.plan(data.run, data.boxes, step.layer, **options)
    names = [node.name for node in here["nodes"]]

    def pick() -> None:
        role = picked_box(MAP, names)
        if role is None:
            return
        if step.step == WALK:
            at = next(
                i
                for i, box in enumerate(data.boxes)
                if transformer_map.role(box) == role and box.layer in (None, step.layer)
            )
            state.write(**{f"{SLUG}station": at + 1})
        else:
            state.write(
                **{f"{SLUG}box": role} | ({f"{SLUG}step": OPEN + 1} if step.step in (GUESS, FEED) else {})
            )

    selected = "" if step.step == GUESS else transformer_map.role(step.box)
    with place:
        diagram(**here, key=MAP, on_pick=pick, selected=selected, row=exhibit_parts.by_mode(30, 27))


def guess(params: Params, data: Data) -> Folds:
    """Draw the question for the next word; until the guess the decoder's rows up to here, and nothing of what follows."""
    told, (left, right) = step_state(GUESS, params, data), sides(GUESS)
    run, row = data.run, told.row
    chances = tensor_at(run, "probabilities")[row]
    best = np.argsort(-chances, kind="stable")[:CHOICES]
    labels = distinct(name(run, int(i)) for i in best)
    so_far = (
        " ".join(transformer_map.without_space(token) for token in run.tokens[1 : row + 1]) or "(nothing)"
    )
    with right:
        known = exhibit_parts.predict(
            f"{SLUG}next",
            f"The encoder has read “{run.source.text.strip()}”; the decoder has written “{so_far}”. Which token comes next?",
            dict(sorted(zip(labels, chances[best].tolist(), strict=True))),
            labels[0],
            explanation=f"The model gives {percent(chances[best[0]])} to “{labels[0]}” and {percent(chances[best[1]])} to “{labels[1]}”; the other {len(chances) - 2:,} tokens share the rest.",
        )
        with st.container(key="walk-minute"):
            st.markdown(
                ""
                if exhibit_parts.presenting()
                else "**Left, the encoder:** every word attends to every word, layer after layer. It reads the sentence once.  \n"
                "**Right, the decoder:** attends to what is written so far, then to the output of the encoder.  \n"
                "**Top:** one probability for each token of the vocabulary. The most probable token is written and becomes the next input at the bottom."
            )
        n, m = len(run.source.tokens), len(run.tokens)
        page_parts.summary(
            f"{n} tokens in, {len(data.boxes)} boxes, {data.total:,} parameters."
            + (f" Written: {m - 1} tokens and END, {m} passes of the decoder." if known else "")
        )
    _map(told, data, left, upto=None if known else row + 1)
    return folds(data, told, known)


def feed(params: Params, data: Data) -> Folds:
    """Draw target and decoder input as two rows; embedding and positions as tensors."""
    told, (left, right) = step_state(FEED, params, data), sides(FEED)
    run, in_room = data.run, exhibit_parts.presenting()
    target = distinct(transformer_map.without_space(token) for token in run.tokens[1:])
    _map(told, data, left)
    with right:
        shift, upright = params.shift, in_room and len(target) <= 8
        page_parts.show(
            shifted(
                target,
                shift=shift,
                upright=upright,
                height=50 + 34 * len(target) if upright else 150 if in_room else 180,
            ),
            f"{SLUG}shifted",
            "The target and what the decoder reads, with arrows from each word to its position.",
        )
        m = len(target) + 1
        page_parts.summary(
            f"Position t reads y_(t−1) and should predict y_t: {m} positions, START in front, END to be written last."
            if shift
            else f"Without the shift all {m} positions read the very word that they should predict: copying would be enough."
        )
        params.show(SLUG.rstrip("."), "shift")
        words = distinct(transformer_map.without_space(token) for token in run.tokens)
        found = [
            inside.Panel(title, tensor_at(run, f"decoder.embed.{leaf}"), words)
            for title, leaf in (
                ("word (m × d), from the table", "token"),
                ("+ position (m × d)", "position"),
                ("= what goes in (m × d)", "out"),
            )
        ]
        if not in_room:
            page_parts.show(
                inside.tensors(found, height=300),
                f"{SLUG}embedded",
                "Word vectors, position vectors and their sums, as heatmaps.",
            )
            inside.link(told.box)
    return folds(data, told)


def open_box(params: Params, data: Data) -> Folds:
    """Draw the chosen box of the chosen layer."""
    told, (left, right) = step_state(OPEN, params, data), sides(OPEN)
    with right:
        controls.segmented(
            "Layer", range(data.run.model.config.n_layers), "layer", 0, lambda i: f"Layer L{i}", quiet=True
        )
        station = next(station for station in told.way if station.box == told.box)
        row = looked_at(data.run, told.row) if told.box.side == "encoder" else told.row
        inside.show(data.run, station, row, data.total, SLUG, height=exhibit_parts.by_mode(320, 300))
    _map(told, data, left)
    return folds(data, told)


def chosen_sizes(start: sizes.Sizes) -> sizes.Sizes:
    """Draw the five sliders, which open with the sizes of the network that runs, and return the sizes."""
    first, second, third = (
        (*st.columns(2, gap="small"), st.container())
        if exhibit_parts.presenting()
        else st.columns(3, gap="small")
    )
    with first:
        n = controls.slider("N, layers", 1, 24, f"{SLUG}N", start.n_layers)
        d = controls.select_slider(
            "d, a word",
            with_own((64, 128, 256, 512, 768, 1024, 2048), start.d_model),
            f"{SLUG}d",
            start.d_model,
        )
    with second:
        h = controls.select_slider(
            "h, heads", with_own((1, 2, 4, 8, 16, 32), start.n_heads), f"{SLUG}h", start.n_heads
        )
        f = controls.select_slider(
            "$d_{ff}$, inside",
            with_own((64, 256, 512, 1024, 2048, 3072, 4096, 8192), start.d_ff),
            f"{SLUG}f",
            start.d_ff,
            "{:,}".format,
        )
    with third:
        v = controls.select_slider(
            "V, words",
            with_own((1000, 8000, 30000, 37000, 50000), start.n_vocab),
            f"{SLUG}V",
            start.n_vocab,
            "{:,}".format,
        )
    return sizes.Sizes(n, d, h, f, v)


def with_own(stops: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return round stops with the size of the network that runs."""
    return tuple(sorted({*stops, size}))


def count(params: Params, data: Data) -> Folds:
    """Draw sliders of sizes: every box shows its parameters for them. The tensors stay those of the shipped network."""
    told, (left, right) = step_state(COUNT, params, data), sides(COUNT)
    start = sizes_of(data)
    with right:
        above = st.container()
        chosen = chosen_sizes(start)
        by = sizes.parameter_counts(chosen)
        total, most = sum(by.values()), max(by, key=lambda part: by[part])
        with above:
            known = exhibit_parts.predict(
                f"{SLUG}most",
                "Which part has the most parameters?",
                {part: by[part] for part in (sizes.TABLE, sizes.SELF, sizes.CROSS, sizes.NETWORK)},
                most,
                explanation=lambda: (
                    f"The {most} has {by[most]:,} of {total:,}, {percent(by[most] / total)}; both kinds of attention together {percent((by[sizes.SELF] + by[sizes.CROSS]) / total)}."
                ),
            )
        counts = transformer_map.parameter_counts(data.boxes, chosen)
        one = counts[told.box.name]
        box = (
            f"{inside.heading(told.box)}: {inside.FORMULA[told.box.kind]} = {one:,}."
            if one
            else f"{inside.heading(told.box)}: {inside.NOTHING[told.box.kind]}."
        )
        own = (
            "as in the network that runs"
            if chosen == start
            else "counts only: the tensors stay those of the shipped network"
        )
        if known and exhibit_parts.presenting():  # each box says its count
            page_parts.summary(box)
        else:
            page_parts.summary(
                f"{total:,} parameters: {', '.join(f'{part} {count:,}' for part, count in by.items())}.\n"
                f"{box} h = {chosen.n_heads} heads of {chosen.d_head} numbers: h changes no count, the heads share d. Sizes {own}."
                if known
                else f"Sizes {own}. Guess first, then every box shows its count."
            )
    _map(told, data, left, pictures=False, counts=counts if known else None, times=chosen.n_layers)
    return folds(data, replace(told, sizes=chosen), known)


def walk(params: Params, data: Data) -> Folds:
    """Draw all boxes in order for one word of each side; the length of its vector along the way."""
    told, (left, right) = step_state(WALK, params, data), sides(WALK)
    run, way = data.run, told.way
    words = distinct(transformer_map.without_space(token) for token in run.side.next_tokens().tokens)
    with right:
        row = told.row
        at = controls.slider("Box", 1, len(way), f"{SLUG}station", 1) - 1
        station = way[at]
        here = looked_at(run, row) if station.box.side == "encoder" else row
        st.markdown(
            f"**{at + 1} of {len(way)}: {literal(inside.heading(station.box))}**"
            + ("" if exhibit_parts.presenting() else f"  \n{formulas(inside.DOES[inside.kind(station.box)])}")
        )
        page_parts.summary(inside.describe(run, station, here))
        keep = [i for i, each in enumerate(way) if each.box.kind not in ("linear", "softmax", "norm")]
        stretch = [
            (i, "encoder" if way[k].box.side == "encoder" else "decoder")
            for i, k in enumerate(keep)
            if way[k].box.kind == "embed"
        ]
        near = max(i for i, k in enumerate(keep) if k <= max(at, 0))
        page_parts.show(
            trip(
                np.array([way[k].size for k in keep]),
                [inside.heading(way[k].box) for k in keep],
                [way[k].stream for k in keep],
                near,
                stretch,
                exhibit_parts.by_mode(220, 160),
            ),
            f"{SLUG}trip",
            "The length of the word's vector after each box on its way.",
        )
        controls.pills(
            "Written word", range(len(words)), f"{SLUG}word", telling(data), lambda i: words[i], quiet=True
        )
        source, word = transformer_map.without_space(run.source.tokens[looked_at(run, row)]), words[row]
        page_parts.summary(
            f"In at the left: “{source}”, which “{word}” attends to most. Through {len(way)} boxes to “{word}”, {percent(way[-1].guess[1])}."
            if way[-1].guess
            else ""
        )
        if not exhibit_parts.presenting():
            inside.link(station.box)
    layer = next(
        (
            each.box.layer
            for each in reversed(way[: at + 1])
            if each.box.side == station.box.side and each.box.layer is not None
        ),
        0,
    )
    told = replace(told, box=station.box, layer=layer)
    _map(told, data, left)
    return folds(data, told)
