"""The lines from a score to a weight: the mask, and the softmax over the row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.arithmetic.digits import Array
from core.analysis.arithmetic.lines import Citation, Line, expression_line, sum_line
from core.layers.score_terms import SLIDES, SURVEY, Term
from core.wording import TOKENS, _

EQUATION_8: tuple[Citation, ...] = (
    (SURVEY, "2.4.2", "Eq. (8)"),
    (SLIDES, "query-retrieval modeling", "Eq. (8)"),
    ("vaswani2017", "3.2.1", "Eq. (1)"),
)
EQUATION_5: tuple[Citation, ...] = (
    (SURVEY, "2.3", "Eq. (5)"),
    (SLIDES, "sequence-to-sequence model with attention", "Eq. (5)"),
    ("bahdanau2015", "3.1", "Eq. (6)"),
)
MASK: tuple[Citation, ...] = (
    (SURVEY, "3.3.1", "Eqs. (28), (29)"),
    (SLIDES, "masked multihead attention with self-attention", "Eqs. (27), (28)"),
)


@dataclass(frozen=True)
class Cell:
    """One cell of one head, and how to get at the tensors of that head."""

    query: int
    key: int
    keys: tuple[str, ...]
    part: Callable[[str], Array]
    paths: Callable[[str], str]
    score: float
    allowed: Array


def mask_line(cell: Cell) -> Line:
    """Return the line in which the mask is added to the score."""
    may, n = bool(cell.allowed[cell.key]), int(cell.allowed.sum())
    counts = {"n": n, "all": len(cell.allowed)}
    words = (
        _(
            "The mask lets {query} attend to {key}; {n} of {all} keys are not masked in this row.",
            **counts,
            **TOKENS,
        )
        if may
        else _(
            "{key} is masked for {query}, whatever the score: e to the −∞ is 0. {n} of {all} keys are not masked in this row.",
            **counts,
            **TOKENS,
        )
    )
    return expression_line(
        "mask",
        _("the mask"),
        words,
        "s_{ij} + M_{ij}",
        MASK,
        form="{} + 0" if may else "{} − ∞",
        formula=lambda s: s if may else -math.inf,
        values=[cell.score],
        reads=[cell.paths("scores"), cell.paths("allowed")],
    )


def softmax_lines(
    cell: Cell, leaf: str, cites: tuple[Citation, ...], columns: Sequence[Term] = ()
) -> list[Line]:
    """Return the lines of numerator, denominator and weight. `leaf` is the recorded softmax; `columns` are scores besides those of the keys."""
    open_keys = np.flatnonzero(cell.allowed)
    recorded = float(cell.part(leaf)[cell.query, cell.key])
    below = " + ".join(["Σ_{k} e^{s_{ik}}", *(term.equation for term in columns)])
    equation, ends = (
        "a_{ij} = e^{s_{ij}} / " + (f"({below})" if columns else below),
        {"path": cell.paths(leaf), "reads": [cell.paths("scores"), cell.paths("allowed")]},
    )
    if not len(open_keys):
        words = _(
            "Every key of this row is masked. Here such a row is all 0; other programs give NaN or equal weights."
        )
        return [
            expression_line(
                "weight",
                _("the weight"),
                words,
                equation,
                cites,
                form="{}",
                formula=lambda x: x,
                values=[0.0],
                recorded=recorded,
                **ends,
            )
        ]
    scores = cell.part("scores")[cell.query][open_keys]
    scores = np.append(scores, [cell.part(term.leaf)[cell.query, 0] for term in columns]).astype(np.float64)
    largest = int(np.argmax(scores))
    top, place = np.full(len(scores), scores[largest]), np.flatnonzero(open_keys == cell.key)
    off = _(
        "The largest unmasked score of the row is subtracted from every score first: all weights stay the same, and no e to the s can grow too large."
    )
    lines = []
    if len(place):
        lines.append(
            expression_line(
                "numerator",
                _("e to the score"),
                off,
                "e^{s_{ij} − max_{k} s_{ik}}",
                (*cites, ("lifei2022", "practical considerations", "overflow, underflow")),
                form="e^({} − {})",
                formula=lambda s, m: math.exp(s - m),
                values=[cell.score, float(top[0])],
                reads=[cell.paths("scores")],
            )
        )
    shut = len(cell.allowed) - len(open_keys)
    words = (
        _("The same for every unmasked key of the row, added; the {n} masked ones add exactly 0.", n=shut)
        if shut
        else _("The same for every unmasked key of the row, added.")
    )
    words = " ".join([words, *(_(term.words) for term in columns)])
    chosen = int(place[0]) if len(place) else None
    below = sum_line(
        "denominator",
        _("the sum over the row"),
        words,
        "Σ_{k} e^{s_{ik} − max}",
        cites,
        columns={"s": scores, "max": top},
        form="e^({} − {})",
        axis="key",
        labels=(*cell.keys, *(_(term.title) for term in columns)),
        label_indices=np.append(open_keys, len(cell.keys) + np.arange(len(columns))),
        selected_index=chosen,
        shared=True,
        reads=[cell.paths(leaf) for leaf in ("scores", "allowed", *(term.leaf for term in columns))],
    )
    share = (
        _("The share of {key} in the row: its weight.")
        if len(place)
        else _("Masked: its weight in the row is exactly 0.")
    )
    share = " ".join([share, *(_(term.note) for term in columns)])
    over = lines[0].value if lines else 0.0
    return [
        *lines,
        below,
        expression_line(
            "weight",
            _("the weight"),
            share,
            equation,
            cites,
            form="{} / {}",
            formula=lambda a, b: a / b,
            values=[over, below.value],
            recorded=recorded,
            **ends,
        ),
    ]
