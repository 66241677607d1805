"""Lines of arithmetic: a sentence, the equation and its source, the values put in, the result.

What a page shows of a line is text made here, so that a test can read the same text and calculate again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.arithmetic import digits
from core.analysis.arithmetic.digits import Array, Formula, RoundedNumbers
from core.analysis.one_line import OneLine

if TYPE_CHECKING:
    from jaxtyping import Float, Int


Citation = tuple[str, str, str]
"""Document (a key of the list of sources), section, equation: as the pages' `cites`."""

SHOWN_TERMS = 6
"""Terms that a folded line shows, if it has at least two more."""
ROUNDING = 1e-4
"""Differences up to this share of the summed sizes of all terms are rounding of the run; above, an edit made them."""


@dataclass(frozen=True)
class Term:
    """One term as shown: the element, key or head it belongs to, its factors, its value."""

    label: str
    factors: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class Line:
    """One step. `words` is a sentence with {query} and {key} for the two tokens; `equation` writes a_{ij} and x^{2}.

    A line is a sum (`terms`, each `form` filled with its factors, named by what `axis` counts), or one expression
    (`expression`), or a vector whose elements stand side by side (`terms`, but no `result`). The terms are kept as columns:
    the shown `factors` and what they make, `values`; their names are those of `labels` at the places `label_indices` (None: at all
    of them; no labels: their numbers). `shared` says that every key of the query has these same terms. `path` is the tensor of the run
    that holds the result ("" where the run does not keep it), `reads` those that were put in. `value` is the result
    unrounded, `residue` how far the run's own number is from what is calculated here, `replacement` the run's number where an
    edit put another one in the place of this result.
    """

    name: str
    title: str
    words: str
    equation: str
    cites: tuple[Citation, ...]
    result: str = ""
    value: float = 0.0
    expression: str = ""
    form: str = "{}"
    axis: str = "element"
    columns: tuple[str, ...] = ()
    factors: tuple[RoundedNumbers, ...] = ()
    values: RoundedNumbers | None = None
    labels: tuple[str, ...] = ()
    label_indices: Array | None = None
    shared: bool = False
    selected_index: int | None = None
    path: str = ""
    reads: tuple[str, ...] = ()
    residue: float = 0.0
    replacement: str = ""

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms one by one, as texts."""
        if self.values is None:
            return ()
        count = range(len(self.values)) if self.label_indices is None else self.label_indices.tolist()
        names = (self.labels[i] if self.labels else str(i) for i in count)
        return tuple(
            Term(*each) for each in zip(names, zip(*self.factors, strict=True), self.values, strict=True)
        )

    def term_text(self, term: Term) -> str:
        """Return a term as it is calculated: its factors in the line's form."""
        return "".join(self.term_cells(term))

    def term_cells(self, term: Term) -> tuple[str, ...]:
        """Return a term as table cells, one per factor, each with its part of the line's form."""
        return cells(self.form, term.factors)

    def leading_terms(self, limit: int = SHOWN_TERMS) -> tuple[int, ...]:
        """Return the indices of the terms to show first: the `limit` largest in absolute value, then the selected one if it is not among them.

        All indices, in their order, if there are at most `limit` + 1 terms.

        >>> Line("a", "", "", "", (), values=RoundedNumbers.from_values(np.array([0.1, -3.0, 2.0, 0.5, 0.0]), 1), selected_index=4).leading_terms(2)
        (1, 2, 4)
        """
        if self.values is None or len(self.values) <= limit + 1:
            return tuple(range(len(self.values or ())))
        first = self.values.order()[:limit].tolist()
        return tuple(
            first
            if self.selected_index is None or self.selected_index in first
            else [*first, self.selected_index]
        )

    def remainder(self, shown_indices: Sequence[int]) -> str:
        """Return the exact sum of the terms that are not among `shown_indices`, as it would be displayed."""
        if self.values is None:
            return digits.exact_sum([])
        left = np.ones(len(self.values), dtype=bool)
        left[list(shown_indices)] = False
        return self.values.sum(np.flatnonzero(left).tolist())


@dataclass(frozen=True, repr=False)
class CellArithmetic(OneLine):
    """The computation of one cell of a pattern: which cell, its weight, and the steps in the order of the computation."""

    kind: str
    layer: int
    head: int
    query: int
    key: int
    query_word: str
    key_word: str
    weight: float
    lines: tuple[Line, ...]

    @property
    def residue(self) -> float:
        """Return the largest difference between a number of the run and what is calculated here in double precision."""
        return max((line.residue for line in self.lines), default=0.0)

    def __getitem__(self, name: str) -> Line:
        """Return the line of that name. Raises KeyError listing the names there are."""
        for line in self.lines:
            if line.name == name:
                return line
        raise KeyError(f"There is no line '{name}'; there are {', '.join(line.name for line in self.lines)}.")

    def __contains__(self, name: object) -> bool:
        return any(line.name == name for line in self.lines)


def _number(*factors: Array) -> Array:
    return factors[0]


FORMS: dict[str, Formula] = {
    "{}": _number,
    "{} · {}": np.multiply,
    "{}²": np.square,
    "e^({} − {})": lambda a, b: np.exp(a - b),
    "{} · tanh({} + {})": lambda v, a, b: v * np.tanh(a + b),
    "{} · tanh({})": lambda v, a: v * np.tanh(a),
}
"""How the factors of a term are written, and what they make."""


def cells(form: str, factors: Sequence[str]) -> tuple[str, ...]:
    """Return a formula with its numbers filled in, cut into one piece per number; a negative number gets brackets where its sign could be misread.

    >>> cells("e^({} − {})", ["−1.5", "−0.5"]), "".join(cells("{}²", ["−2"])), "".join(cells("{} · {}", ["2", "−0.5"]))
    (('e^(−1.5', ' − (−0.5))'), '(−2)²', '2 · −0.5')
    """
    before, *ends = form.split("{}")
    pieces: list[str] = []
    for i, (factor, end) in enumerate(zip(factors, ends, strict=True)):
        left, space, right = (end, "", "") if i == len(factors) - 1 else end.partition(" ")
        misread = factor[0] == "−" and (before.endswith((" − ", " + ")) or left.startswith("²"))
        pieces.append(before + (f"({factor})" if misread else factor) + left)
        before = space + right
    return tuple(pieces)


def sum_line(
    name: str,
    title: str,
    words: str,
    equation: str,
    cites: Sequence[Citation],
    *,
    columns: dict[str, Float[Array, " item"]],
    labels: Sequence[str] = (),
    label_indices: Int[Array, " item"] | None = None,
    form: str = "{} · {}",
    recorded: float | None = None,
    axis: str = "element",
    selected_index: int | None = None,
    path: str = "",
    reads: Sequence[str] = (),
    shared: bool = False,
) -> Line:
    """Return a line whose result is the sum of its terms; `recorded` is the run's own number for it, where it has one."""
    values = [np.asarray(column, dtype=np.float64) for column in columns.values()]
    with np.errstate(all="ignore"):
        terms = np.asarray(FORMS[form](*values))
        own, size = float(terms.sum()), float(np.abs(terms).sum())
    result, residue, used = _compare_with_run(own, recorded, size)
    text = digits.round_sum(values, FORMS[form], result)
    return Line(
        name,
        title,
        words,
        equation,
        tuple(cites),
        text.result,
        result,
        form=form,
        axis=axis,
        columns=tuple(columns),
        factors=text.factors,
        values=text.terms,
        labels=tuple(labels),
        label_indices=label_indices,
        shared=shared,
        selected_index=selected_index,
        path=path,
        reads=tuple(reads),
        residue=residue,
        replacement=used,
    )


def vector_line(line: Line) -> Line:
    """Return the same terms as the elements of a vector, not added."""
    return replace(line, result="", value=0.0, residue=0.0, replacement="")


def expression_line(
    name: str,
    title: str,
    words: str,
    equation: str,
    cites: Sequence[Citation],
    *,
    form: str,
    formula: Callable[..., float],
    values: Sequence[float],
    recorded: float | None = None,
    size: float = 0.0,
    path: str = "",
    reads: Sequence[str] = (),
) -> Line:
    """Return a line with one expression: `form` with the values in it, and the result of `formula`.

    `size` is that of the terms behind the values: the run's rounding goes by it, however small their sum is.
    """
    try:
        own = float(formula(*values))
    except ZeroDivisionError:
        own = float("nan")
    result, residue, used = _compare_with_run(own, recorded, max(size, abs(own)))
    texts, answer = digits.round_expression(formula, values, result)
    return Line(
        name,
        title,
        words,
        equation,
        tuple(cites),
        answer,
        result,
        "".join(cells(form, texts)),
        path=path,
        reads=tuple(reads),
        residue=residue,
        replacement=used,
    )


def _compare_with_run(computed_value: float, recorded: float | None, size: float) -> tuple[float, float, str]:
    """Return the result to show, its distance from the run, and the run's number as text where an edit replaced the result."""
    if recorded is None:
        return computed_value, 0.0, ""
    away = abs(computed_value - recorded)
    if away <= ROUNDING * size + 1e-6:
        return recorded, away, ""
    return computed_value, 0.0, digits.format_number(recorded, digits.result_decimals(recorded))
