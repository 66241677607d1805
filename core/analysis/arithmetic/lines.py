"""Lines of arithmetic: words, the equation and its source, the numbers put in, the result.

What a page shows of a line is text made here, so that a test can read the same text and calculate again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from core.analysis.arithmetic import digits
from core.analysis.arithmetic.digits import Array, Figures, Formula

Citation = tuple[str, str, str]
"""Document (a key of the list of sources), section, equation: as the pages' `cites`."""

FEW = 6
"""Terms that a folded line shows, if it has at least two more."""
SAME = 1e-4
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
    (`put`), or a vector whose elements stand side by side (`terms`, but no `result`). The terms are kept as columns:
    the shown `factors` and what they make, `values`; their names are those of `labels` at the places `at` (None: at all
    of them; no labels: their numbers). `shared` says that every key of the query has these same terms. `path` is the tensor of the run
    that holds the result ("" where the run does not keep it), `reads` those that were put in. `value` is the result
    unrounded, `residue` how far the run's own number is from what is calculated here, `used` the run's number where an
    edit put another one in the place of this result.
    """

    name: str
    title: str
    words: str
    equation: str
    cites: tuple[Citation, ...]
    result: str = ""
    value: float = 0.0
    put: str = ""
    form: str = "{}"
    axis: str = "element"
    columns: tuple[str, ...] = ()
    factors: tuple[Figures, ...] = ()
    values: Figures | None = None
    labels: tuple[str, ...] = ()
    at: Array | None = None
    shared: bool = False
    chosen: int | None = None
    path: str = ""
    reads: tuple[str, ...] = ()
    residue: float = 0.0
    used: str = ""

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms one by one, as texts."""
        if self.values is None:
            return ()
        count = range(len(self.values)) if self.at is None else self.at.tolist()
        names = (self.labels[i] if self.labels else str(i) for i in count)
        return tuple(
            Term(*each) for each in zip(names, zip(*self.factors, strict=True), self.values, strict=True)
        )

    def written(self, term: Term) -> str:
        """A term as it is calculated: its factors in the line's form."""
        return "".join(self.cells(term))

    def cells(self, term: Term) -> tuple[str, ...]:
        """The same, a piece a factor: the columns of a table."""
        return cells(self.form, term.factors)

    def few(self, most: int = FEW) -> tuple[int, ...]:
        """The terms to show first: the largest, the largest of all first, and the chosen one; all where that saves nothing.

        >>> Line("a", "", "", "", (), values=Figures.of(np.array([0.1, -3.0, 2.0, 0.5, 0.0]), 1), chosen=4).few(2)
        (1, 2, 4)
        """
        if self.values is None or len(self.values) <= most + 1:
            return tuple(range(len(self.values or ())))
        first = self.values.order()[:most].tolist()
        return tuple(first if self.chosen is None or self.chosen in first else [*first, self.chosen])

    def rest(self, few: Sequence[int]) -> str:
        """The exact sum of the terms that `few` leaves out, as they would be shown."""
        if self.values is None:
            return digits.total([])
        left = np.ones(len(self.values), dtype=bool)
        left[list(few)] = False
        return self.values.sum(np.flatnonzero(left).tolist())


@dataclass(frozen=True)
class Lines:
    """How one cell is computed: which one it is, its weight, and the steps in the order of the computation."""

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
        """The largest difference between a number of the run and what is calculated here in double precision."""
        return max((line.residue for line in self.lines), default=0.0)

    def __getitem__(self, name: str) -> Line:
        """The line of that name. Raises KeyError naming those that there are."""
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
    """A form with numbers in it, a piece for each number; a negative one gets brackets where a sign would be misread.

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


def adds(
    name: str,
    title: str,
    words: str,
    equation: str,
    cites: Sequence[Citation],
    *,
    columns: dict[str, Array],
    labels: Sequence[str] = (),
    at: Array | None = None,
    form: str = "{} · {}",
    recorded: float | None = None,
    axis: str = "element",
    chosen: int | None = None,
    path: str = "",
    reads: Sequence[str] = (),
    shared: bool = False,
) -> Line:
    """A line whose result is the sum of its terms; `recorded` is the run's own number for it, where it has one."""
    values = [np.asarray(column, dtype=np.float64) for column in columns.values()]
    with np.errstate(all="ignore"):
        terms = np.asarray(FORMS[form](*values))
        own, size = float(terms.sum()), float(np.abs(terms).sum())
    result, residue, used = _settled(own, recorded, size)
    text = digits.added(values, FORMS[form], result)
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
        at=at,
        shared=shared,
        chosen=chosen,
        path=path,
        reads=tuple(reads),
        residue=residue,
        used=used,
    )


def beside(line: Line) -> Line:
    """The same terms as a vector: side by side, not added."""
    return replace(line, result="", value=0.0, residue=0.0, used="")


def puts(
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
    """A line with one expression: `form` with the values in it, what `formula` makes of them.

    `size` is that of the terms behind the values: the run's rounding goes by it, however small their sum is.
    """
    try:
        own = float(formula(*values))
    except ZeroDivisionError:
        own = float("nan")
    result, residue, used = _settled(own, recorded, max(size, abs(own)))
    texts, answer = digits.put_in(formula, values, result)
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
        used=used,
    )


def _settled(own: float, recorded: float | None, size: float) -> tuple[float, float, str]:
    """The result to show, how far the run is from it, and the run's number as text where an edit replaced it."""
    if recorded is None:
        return own, 0.0, ""
    away = abs(own - recorded)
    if away <= SAME * size + 1e-6:
        return recorded, away, ""
    return own, 0.0, digits.shown(recorded, digits.places(recorded))
