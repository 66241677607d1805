"""The steps on the mask itself: its parts, the pairs that it allows, and the path from one word to another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from core.layers.block_sparse import PARTS
from viz.charts.over_length import over_length
from viz.course.bert.sparse_attention import charts, maths
from viz.course.bert.sparse_attention.maths import DRAWN_PARTS, Mask
from viz.course.bert.sparse_attention.params import NAMES, SLUG, Params
from viz.course.exhibit import Folds
from viz.labels import percent
from viz.number_text import with_unit
from viz.widgets import exhibit_parts, page_parts, quiz

MIB = 2**20
EQUATION = "bert.sparse"


def equation(params: Params, n: int | None = None) -> dict[str, dict[str, str]]:
    """Return the equation with the numbers of the mask."""
    shape = params.shape if n is None else replace(params.shape, n=n)
    values = {"n": f"{shape.n:,}", "w": f"{shape.window}", "g": f"{shape.n_global}", "r": f"{shape.n_random}"}
    return {EQUATION: {**values, "b": f"{shape.block}"}}


def parts(params: Params, data: Mask) -> Folds:
    """Ask for the share of allowed pairs, then draw the mask in three colours, or one of its parts."""
    shape, kept, counts = params.shape, data.union(), data.counts()
    total, n_blocks = int(kept.sum()), shape.n_blocks
    known = quiz.predict_share(
        SLUG + "share",
        f"{shape.n:,} tokens in {n_blocks} blocks of {shape.block}: what share of all pairs of blocks does one head "
        f"read with w = {shape.window}, g = {shape.n_global}, r = {shape.n_random}?",
        round(float(kept.mean()), 3),
        f"{total:,} of {kept.size:,} pairs of blocks: {percent(float(kept.mean()), 2)}. An ordinary row reads "
        f"{int(np.median(kept.sum(1)))} of {n_blocks} blocks, a global one all {n_blocks}.",
    )
    drawn = {name: data.parts[name] for name in DRAWN_PARTS[params.shown]}
    said = ", ".join(f"{name} {counts[name]:,}" for name in PARTS)
    height = exhibit_parts.by_mode(380, 300)
    page_parts.show(
        charts.mask(drawn, shape.block, height=height),
        SLUG + "mask.picture",
        f"The mask over {n_blocks} × {n_blocks} blocks, drawn: {NAMES[params.shown]}."
        + (f" Blocks: {said}." if known else ""),
    )
    page_parts.summary(
        f"Pairs of blocks: {said}; together {total:,} of {kept.size:,}, {percent(float(kept.mean()), 2)}."
        if known
        else f"{n_blocks} × {n_blocks} blocks; one square is {shape.block} × {shape.block} pairs of tokens."
    )
    columns = {
        "pairs of blocks": [*counts.values(), total, kept.size],
        "share": [percent(count / kept.size, 2) for count in (*counts.values(), total, kept.size)],
    }
    return Folds(
        lambda: pd.DataFrame(columns, index=[*counts, "together", "all pairs"]),
        lambda: {**data.parts, "together": kept},
        revealed=known,
        equations=equation(params),
    )


def share(params: Params, data: Mask) -> Folds:
    """Ask for the growth of the scores, then draw their memory over the length: all pairs, and the allowed ones."""
    shape, lengths = params.shape, maths.LENGTHS
    kept = maths.shares(shape, lengths)
    last, before = lengths[-1], lengths[-2]
    bytes_full = [maths.score_bytes(n) for n in lengths]
    bytes_kept = [maths.score_bytes(n, part) for n, part in zip(lengths, kept, strict=True)]
    grows = bytes_kept[-1] / bytes_kept[-2]
    ordinary = params.window + params.n_global + params.n_random
    known = quiz.predict_number(
        SLUG + "double",
        f"The text grows from {before:,} to {last:,} tokens. By which factor does the number of kept scores grow?",
        1.0,
        5.0,
        round(grows, 2),
        f"{grows:.2f}; for all pairs {bytes_full[-1] / bytes_full[-2]:.0f}. There are twice as many rows, and each reads about {ordinary} blocks"
        + (
            f": at {before:,} tokens there are only {before // params.block}, so the rows are nearly full there."
            if ordinary > before // params.block // 2
            else "."
        ),
        near=0.25,
    )
    page_parts.show_large(
        over_length(
            {"kept": bytes_kept, "all pairs": bytes_full},
            lengths,
            title="bytes of scores",
            x="n, tokens",
            unit="bytes",
            scale="log2",
            covered=not known,
            height=280,
        ),
        SLUG + "share.picture",
        "Bytes of the scores of a layer over the length of the text"
        + (
            f": at {last:,} tokens {with_unit(bytes_full[-1])}B for all pairs, {with_unit(bytes_kept[-1])}B kept."
            if known
            else "."
        ),
        290,
    )
    page_parts.summary(
        f"{maths.HEADS} heads, float32, n = {last:,}: {bytes_full[-1] / MIB:,.0f} MiB for all pairs, "
        f"{bytes_kept[-1] / MIB:,.0f} MiB kept ({percent(kept[-1], 2)}). n = 512: {maths.score_bytes(512) / MIB:.0f} MiB "
        "for all pairs."
        if known
        else f"{maths.HEADS} heads, a score in float32 has {maths.NUMBER} bytes."
    )
    columns = {
        "scores per head, all pairs": [f"{n * n:,}" for n in lengths],
        "MiB, all pairs": [f"{value / MIB:,.2f}" for value in bytes_full],
        "share kept": [percent(part, 2) for part in kept],
        "MiB, kept": [f"{value / MIB:,.2f}" for value in bytes_kept],
    }
    return Folds(
        lambda: pd.DataFrame(columns, index=[f"n = {n:,}" for n in lengths]),
        {"n": lengths, "share": kept, "bytes": bytes_kept},
        revealed=known,
        equations=equation(params, last),
    )


def path(params: Params, data: Mask) -> Folds:
    """Ask for the number of layers, then draw the shortest path from one position to another, layer by layer."""
    source, target, allowed = params.source, params.target, DRAWN_PARTS[params.allowed]
    found = maths.way(data, source, target, allowed)
    gap, radius = abs(target - source), params.window // 2
    if source == target:
        far = f"Both words are in block {source}, whose tokens read each other: move one of the sliders."
    elif allowed == ("window",):
        far = f"The window passes information on by {radius} block{'s' if radius != 1 else ''} per layer; the two are {gap} blocks apart."
    elif found.steps is None:
        far = f"No path through these blocks leads from block {source} to block {target}."
    else:
        far = f"Blocks {', '.join(map(str, found.path))}, by {', '.join(dict.fromkeys(found.parts)) or 'nothing'}."
    answer = "never" if found.steps is None else f"{found.steps}"
    options = list(dict.fromkeys(("1", "2", str(max(3, gap // max(1, radius))), "never", answer)))
    known = source == target or quiz.predict(
        SLUG + f"path.{params.allowed}",
        f"A word stands in block {source}. After how many layers can block {target} have received anything from it, with this part of the mask only: "
        f"{NAMES[params.allowed]}?",
        tuple(options),
        answer,
        far,
    )
    shown = found if found.steps is not None else replace(found, path=(), parts=())
    page_parts.show_large(
        charts.way(shown.reached, shown.path, shown.parts, source, target, covered=not known, height=330),
        SLUG + "path.picture",
        f"From block {source} to block {target}" + (f": {answer} layers. {far}" if known else "."),
        270,
    )
    rows = {
        name: maths.far(data, parts)
        for name, parts in (
            ("window", PARTS[:1]),
            ("window + random", (PARTS[0], PARTS[2])),
            ("window + global", PARTS[:2]),
            ("all three", PARTS),
        )
    }
    page_parts.summary(
        (f"{far} " if source == target else "")
        + "Longest path between two blocks, in layers: "
        + ", ".join(f"{name} {_layers(row)}" for name, row in rows.items())
        + "."
        if known
        else f"{params.shape.n_blocks} blocks of {params.block} tokens."
    )
    columns = {
        "mean, layers": [f"{row.mean:.2f}" for row in rows.values()],
        "longest, layers": [row.most for row in rows.values()],
        "pairs without a path": [row.n_unreachable for row in rows.values()],
    }
    return Folds(
        lambda: pd.DataFrame(columns, index=list(rows)),
        lambda: {"path": found.path, "distances": maths.distances(data.union(allowed))},
        revealed=known,
        equations=equation(params),
    )


def _layers(row: maths.Far) -> str:
    return f"{row.most}" + (f" ({row.n_unreachable:,} pairs have no path)" if row.n_unreachable else "")
