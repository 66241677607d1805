"""The arithmetic of one row and of one cell of attention, from the tensors of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.analysis.arithmetic.digits import Array
from core.analysis.arithmetic.lines import CellArithmetic, Line
from core.analysis.arithmetic.scores import (
    LEARNED,
    SCORE_LINES,
    Pair,
    learned_query_lines,
    term_lines,
)
from core.analysis.arithmetic.softmax import EQUATION_5, EQUATION_8, Cell, mask_line, softmax_lines
from core.analysis.arithmetic.weighted_sum import (
    CONTEXT,
    MIXED,
    Stream,
    attentional_lines,
    mixing_lines,
    projection_lines,
)
from core.analysis.arithmetic.window import gaussian_lines, window_lines
from core.errors import InputError
from core.layers.score_terms import Terms, columns, compose, leaves, steps
from core.run import Run


@dataclass(frozen=True)
class AttentionRow:
    """One query's row in one head, by key (tokens): dot products, scores, exponentials, weights.

    `dots` = q . k, `scores` what the `terms` of the attention make of it with all that is `added_scores`, by the leaf it is recorded as,
    `exps` = e^(score - largest score) and 0 where forbidden, `total` their sum, `weights` = exps / total, which is the recorded
    pattern (checked by `residue`). In the alignment of a recurrent decoder a small network compares: there are no `terms`,
    `dots` is None and `scores` are those of the run.
    Local attention multiplies the weights by `gaussian`. `sink_weight` is the weight of a learned sink, which counts in `total`.
    """

    query: str
    keys: tuple[str, ...]
    d_head: int
    dots: Array | None
    terms: Terms
    added_scores: Mapping[str, Array]
    scores: Array
    allowed: Array
    exps: Array
    total: float
    gaussian: Array | None
    weights: Array
    residue: float
    sink_weight: float = 0.0


def row_paths(run: Run, kind: str, layer: int) -> tuple[str, ...]:
    """Return the paths that `attention_row` reads, for `keep`."""
    found = run.model.spec.kind(kind)
    wanted = ["scores", "allowed", "pattern"]
    if found.layered:
        wanted = ["q", "k", *wanted, *leaves(found.terms(run.model.network, layer))]
    elif getattr(run.model.config, "attention", "") == "luong-local-p":
        wanted.append("gaussian")
    return tuple(found.path(layer, leaf) for leaf in wanted)


def attention_row(run: Run, kind: str, layer: int, head: int, query: int) -> AttentionRow:
    """Return the row of `query` (a token index) in one head; needs the paths of `row_paths` in the trace.

    scores = q k^T / sqrt(d_head), or what the attention says; weights = softmax of the allowed scores (Vaswani et al. 2017,
    Eq. 1; Ghojogh and Ghodsi 2020, Eqs. (8) and (10)).
    """
    found = run.model.spec.kind(kind)
    row = {path.rpartition(".")[2]: run.trace[path][head] for path in row_paths(run, kind, layer)}
    keys, queries = run.axis(found.keys), run.axis(found.queries)
    recorded = row["scores"][query].astype(np.float64)
    dots = row["k"].astype(np.float64) @ row["q"][query].astype(np.float64) if "q" in row else None
    terms = found.terms(run.model.network, layer)
    added = {term.leaf: row[term.leaf][query].astype(np.float64) for term in steps(terms) if term.leaf}
    own = recorded if dots is None else compose(terms, dots, added)
    may = row["allowed"][query]
    largest = own[may].max() if may.any() else 0.0
    exps = np.where(may, np.exp(np.where(may, own - largest, 0.0)), 0.0)
    beside = (
        sum(float(np.exp(row[term.leaf][query, 0] - largest)) for term in columns(terms))
        if may.any()
        else 0.0
    )
    total = float(exps.sum()) + beside
    gaussian = row["gaussian"][query].astype(np.float64) if "gaussian" in row else None
    weights = (exps / total if total else exps) * (1.0 if gaussian is None else gaussian)
    residue = float(max(np.abs(weights - row["pattern"][query]).max(), np.abs(own - recorded).max()))
    return AttentionRow(
        queries.tokens[query],
        keys.tokens,
        run.model.config.d_head,
        dots,
        terms,
        added,
        own,
        may,
        exps,
        total,
        gaussian,
        weights,
        residue,
        beside / total if total else 0.0,
    )


def cell_paths(run: Run, kind: str, layer: int) -> tuple[str, ...]:
    """Return the paths that `cell_arithmetic` reads, for `keep`."""
    found, config = run.model.spec.kind(kind), run.model.config
    wanted = ["q", "k", "v", "scores", "allowed", "pattern", "heads"]
    if found.layered:
        added = (
            (found.path(layer, "out"), *_stream_paths(run, kind, layer))
            if found.module(run.model.network, layer).has_output_projection
            else ()
        )
        wanted += leaves(found.terms(run.model.network, layer))
        return (*(found.path(layer, leaf) for leaf in wanted), *added)
    if found.has_learned_queries:
        return tuple(found.path(layer, leaf) for leaf in wanted)
    name = getattr(config, "attention", "")  # a speller has one kind alone
    wanted += (["centre"] if name.startswith("luong-local") else []) + (
        ["align", "gaussian"] if name == "luong-local-p" else []
    )
    return (*(found.path(layer, leaf) for leaf in wanted), *_decoder_paths(run, kind).values())


def cell_arithmetic(
    run: Run, kind: str, layer: int, head: int, query: int, key: int, *, element: int | None = None
) -> CellArithmetic:
    """Return how the weight of one cell is computed and what it does, line by line; needs the paths of `cell_paths`.

    `query` and `key` count tokens; `element` is the number of the head's output to follow, None for the largest.
    Raises InputError for a cell that is not there, KeyError naming a path that the run did not keep.
    """
    found = run.model.spec.kind(kind)
    keys, queries = run.axis(found.keys), run.axis(found.queries)
    pattern = run.trace[found.path(layer, "pattern")]
    for name, index, size in zip(("head", "query", "key"), (head, query, key), pattern.shape, strict=True):
        if not 0 <= index < size:
            raise InputError(
                "There is no {name} {index} in {kind}.",
                "It has {size}, counted from 0.",
                "Choose 0 to {most}.",
                name=name,
                index=index,
                kind=kind,
                size=size,
                most=size - 1,
            )

    def paths(leaf: str) -> str:
        return found.path(layer, leaf)

    def part(leaf: str) -> Array:
        return run.trace[paths(leaf)][head]

    cell = Cell(
        query, key, keys.tokens, part, paths, float(part("scores")[query, key]), part("allowed")[query]
    )
    q_at, k = part("q")[query], part("k")[key]
    pair = Pair(q_at, k, key, cell.score, paths("q"), paths("k"), paths("scores"))
    if found.layered:
        module = found.module(run.model.network, layer)
        terms = module.score_terms()
        added = {term.leaf: float(part(term.leaf)[query, key]) for term in steps(terms) if term.leaf}
        lines = term_lines(pair, terms, added, {leaf: paths(leaf) for leaf in added})
        lines += [mask_line(cell), *softmax_lines(cell, "pattern", EQUATION_8, columns(terms))]
        heads = run.trace[paths("heads")][:, query]
        lines += mixing_lines(
            pattern[head, query], part("v"), heads[head], key, keys.tokens, element, paths, MIXED, ("v", "z")
        )
        if (
            module.has_output_projection
        ):  # where heads stand side by side, what the head gives is what the layer gives
            before, after, *normed = _stream_paths(run, kind, layer)
            behind = replace(found, leaf=POST_NORM).module(run.model.network, layer) if normed else None
            stream = Stream(
                run.trace[before][query],
                run.trace[after][query],
                before,
                after,
                behind,
                normed[0] if normed else "",
            )
            lines += projection_lines(module, head, heads, run.trace[paths("out")][query], stream, paths)
    elif found.has_learned_queries:
        lines = _learned_query_lines(cell, pair, element, found.module(run.model.network, layer))
    else:
        lines = _recurrent_lines(run, cell, pair, element)
    return CellArithmetic(
        kind,
        layer,
        head,
        query,
        key,
        queries.tokens[query],
        keys.tokens[key],
        float(pattern[head, query, key]),
        tuple(lines),
    )


def _recurrent_lines(run: Run, cell: Cell, pair: Pair, element: int | None) -> list[Line]:
    """Return the lines of a recurrent decoder's alignment, by its score function and kind of attention."""
    attend = run.model.network.decoder.attend
    lines = SCORE_LINES[type(attend.score)](pair, attend.score)
    local = hasattr(attend, "window")
    weights, paths = cell.part("pattern")[cell.query], cell.paths
    n_real = (run.source or run.side).n_real
    centre = float(cell.part("centre")[cell.query]) if local else 0.0
    lines += (
        window_lines(attend, pair.q, cell.query, cell.key, n_real, centre, paths)
        if local
        else [mask_line(cell)]
    )
    predicted = local and attend.to_centre is not None
    lines += softmax_lines(cell, "align" if predicted else "pattern", EQUATION_5)
    if predicted:
        align, factor = (float(cell.part(leaf)[cell.query, cell.key]) for leaf in ("align", "gaussian"))
        lines += gaussian_lines(attend, cell.key, centre, align, factor, float(weights[cell.key]), paths)
    context = cell.part("heads")[cell.query]
    lines += mixing_lines(
        weights, cell.part("v"), context, cell.key, cell.keys, element, paths, CONTEXT, ("h", "c")
    )
    beside = _decoder_paths(run, "alignment")
    state, mixed = (run.trace[path][cell.query] for path in beside.values())
    return lines + attentional_lines(
        run.model.network.decoder.mix, context, state, mixed, {**beside, "heads": paths("heads")}
    )


def _learned_query_lines(cell: Cell, pair: Pair, element: int | None, summary: Any) -> list[Line]:
    """Return the lines of an attention whose query is a learned vector (core/layers/summary.py)."""
    weights, paths = cell.part("pattern")[cell.query], cell.paths
    return [
        *learned_query_lines(pair, summary, cell.part("v")[cell.key], paths("v")),
        mask_line(cell),
        *softmax_lines(cell, "pattern", LEARNED),
        *mixing_lines(
            weights,
            cell.part("v"),
            cell.part("heads")[cell.query],
            cell.key,
            cell.keys,
            element,
            paths,
            LEARNED,
            ("h", "s"),
        ),
    ]


POST_NORM = "after1"
"""The norm of what an attention gives, in blocks that have one there (Gemma 2 and 3)."""


def _stream_paths(run: Run, kind: str, layer: int) -> tuple[str, ...]:
    """Return the paths of the residual stream before and after this attention, both before any post-norm; then, where
    the output of the attention is normed before it is added, the path of that.
    """
    found = run.model.spec.kind(kind)
    block = found.path(layer, "").removesuffix(f"{found.leaf}.")
    if found.leaf == "cross_attn":
        return block + (
            "norm1.out" if run.model.config.order == "post" else "resid_mid"
        ), f"{block}resid_cross"
    normed = f"{block}{POST_NORM}.out"
    return (
        f"{block}resid_in",
        f"{block}resid_mid",
        *((normed,) if getattr(run.model.network, "norms_behind", False) else ()),
    )


def _decoder_paths(run: Run, kind: str) -> dict[str, str]:
    """Return the paths of the decoder's top state and of what it and the context are mixed into."""
    stack = run.model.spec.kind(kind).stack
    return {"state": f"{stack}.layer.{run.model.config.n_layers - 1}.hidden", "mixed": f"{stack}.mixed"}
