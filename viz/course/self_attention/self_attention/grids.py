"""The grids of the exhibit on self-attention: each matrix in the visitor's convention, each cell with its arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from viz.course.kit.equation_view import COLUMNS
from viz.course.self_attention.self_attention.params import Data
from viz.instruments.board.board import Grid
from viz.labels import distinct
from viz.languages import _, mark
from viz.number_text import number, trimmed

Array = np.ndarray[Any, np.dtype[np.float64]]
CALLED = {"Q": mark("Query"), "K": mark("Key"), "V": mark("Value")}
LINES = {"row": mark("row"), "column": mark("column")}


def inside(value: float, places: int | None = None) -> str:
    """Return a number as a factor, in brackets where it is negative."""
    text = trimmed(value) if places is None else number(value, places)
    return f"({text})" if text.startswith("−") else text


def products(one: Array, other: Array, places: int | None = None) -> str:
    """Return a dot product as text, the first factors with `places` decimals.

    >>> products(np.array([1.0, -1.0]), np.array([2.0, 3.0]))
    '1·2 + (−1)·3'
    """
    return " + ".join(f"{inside(a, places)}·{inside(b)}" for a, b in zip(one, other, strict=True))


class Grids:
    """The matrices of one run on the board: `data` has words and `attention`; `marked` is the index of the marked word."""

    def __init__(self, data: Data, marked: int, convention: str, covered: bool = False) -> None:
        self.found, self.at, self.turned, self.covered = (
            data.attention,
            marked,
            convention != COLUMNS,
            covered,
        )
        self.names = distinct(data.words)
        self.n = len(self.names)

    # ------------------------------------------------------------------ words and weights

    def x(self) -> Grid:
        """Return the grid of all words."""
        return self._of_words("X", self.found.x, "d")

    def weights(self, name: str, editable: bool = True, short: bool = False) -> Grid:
        """Return W_Q, W_K or W_V: the same in both conventions; `short`: its shape in numbers alone."""
        values = getattr(self.found, name.lower())
        d, size = values.shape
        shape = ("" if short else f"d × {'r' if name == 'W_V' else 'p'} = ") + f"{d} × {size}"
        return Grid(name, values, shape, edit=editable, places=_places(values))

    def projected(self, name: str, single: bool = False) -> Grid:
        """Return Q, K or V, of all words or (`single`) of the marked one."""
        values, weights = getattr(self.found, name.lower()), getattr(self.found, f"w_{name.lower()}")
        explanations = [
            [
                _(
                    "{vector} of “{word}”, number {n}: the word times column {n} of W_{letter}: {products} = {value}",
                    vector=_(CALLED[name]),
                    word=self.names[i],
                    n=c + 1,
                    letter=name,
                    products=products(self.found.x[i], weights[:, c]),
                    value=trimmed(values[i, c]),
                )
                for c in range(values.shape[1])
            ]
            for i in range(self.n)
        ]
        line, other = ("row", "column") if self.turned else ("column", "row")
        uses = (("X", line, line), (f"W_{name}", "column", other))
        return self._of_words(
            name, values, "r" if name == "V" else "p", explanations=explanations, uses=uses, single=single
        )

    # ------------------------------------------------------------------ scores and shares

    def scores(self) -> Grid:
        """Return S, a row for each query."""
        q, k, p = self.found.q, self.found.k, self.found.q.shape[1]

        def explain(i: int, j: int) -> str:
            return _(
                "Score of “{key}” for “{query}”: query · key = {products} = {dot}, divided by √{p} = {root:.3f}: {score}",
                key=self.names[j],
                query=self.names[i],
                products=products(q[i], k[j]),
                dot=trimmed(self.found.dots[i, j]),
                p=p,
                root=math.sqrt(p),
                score=number(self.found.scores[i, j]),
            )

        line = "row" if self.turned else "column"
        uses = (("Q", line, "row"), ("K", line, "column"))
        return self._square("S", self.found.scores, explain, uses, limit=4.0)

    def shares(self, sums: Sequence[str] = ("row",), line: str = "row") -> Grid:
        """Return A, each row the softmax of a row of S."""
        powers = np.where(self.found.allowed, np.exp(self.found.scores), 0.0)

        def explain(i: int, j: int) -> str:
            parts = " + ".join(
                number(power) for power, may in zip(powers[i], self.found.allowed[i], strict=True) if may
            )
            return _(
                "Share of “{key}” for “{query}”: exp({score}) = {power}, out of {parts} = {total}: {share}",
                key=self.names[j],
                query=self.names[i],
                score=inside(self.found.scores[i, j], 3),
                power=number(powers[i, j]),
                parts=parts,
                total=number(powers[i].sum()),
                share=number(self.found.weights[i, j], 3),
            )

        return self._square(
            "A", self.found.weights, explain, (("S", "row", "row"),), scale="weights", sums=sums, line=line
        )

    # ------------------------------------------------------------------ the mix

    def mix(self, name: str = "Z") -> Grid:
        """Return Z: each word as a weighted sum of all values."""
        return self._made(name, self.found.z, self.found.weights, "row")

    def printed(self, z: Array) -> Grid:
        """Return the result as printed: word j is computed with column j of A."""
        return self._made("Z_printed", z, self.found.weights.T, "column")

    def off(self, z: Array) -> Grid:
        """Return the error of the printed result."""
        return self._of_words("Z_printed − Z", z - self.found.z, "r", covered=self.covered)

    def _made(self, name: str, z: Array, weights: Array, line: str) -> Grid:
        """Return each word as a weighted sum by its row or its column of A."""
        shares, values = ("A", line, "row" if self.turned else "column"), ("V", "row", "row")
        uses = (shares, ("V", "column", "column")) if self.turned else (values, shares)
        explanations = [
            [
                _(
                    "“{word}” after attention, number {n}, made of the values by its {line} of A: {products} = {value}",
                    word=self.names[i],
                    n=c + 1,
                    line=_(LINES[line]),
                    products=products(weights[i], self.found.v[:, c], 4),
                    value=number(z[i, c], 3),
                )
                for c in range(z.shape[1])
            ]
            for i in range(self.n)
        ]
        return self._of_words(name, z, "r", explanations=explanations, uses=uses, covered=self.covered)

    # ------------------------------------------------------------------ orientation

    def _square(
        self,
        name: str,
        values: Array,
        explain: Callable[[int, int], str],
        uses: Any,
        line: str = "row",
        **more: Any,
    ) -> Grid:
        texts = [[explain(i, j) for j in range(self.n)] for i in range(self.n)]
        more |= {"rows": self.names, "columns": self.names, "words": ("row",), "marked": ((line, self.at),)}
        more |= {"explanations": texts, "uses": uses, "shut": ~self.found.allowed, "covered": self.covered}
        return Grid(name, values, f"n × n = {self.n} × {self.n}", places=2, **more)

    def _of_words(
        self,
        name: str,
        values: Array,
        letter: str,
        explanations: Any = (),
        uses: Any = (),
        covered: bool = False,
        single: bool = False,
    ) -> Grid:
        """Return a matrix with one word per row (n, k), as a row or a column of the board."""
        keep = [self.at] if single else list(range(self.n))
        side = "row" if self.turned else "column"
        seen, texts = values[keep], [explanations[i] for i in keep] if explanations else []
        n, k = seen.shape
        shape = (f"n × {letter} = {n} × {k}" if self.turned else f"{letter} × n = {k} × {n}").split(" = ")
        names = [self.names[i] for i in keep]
        return Grid(
            name.lower() if single else name,
            seen if self.turned else seen.T,
            shape[1] if single else " = ".join(shape),
            rows=names if self.turned else (),
            columns=() if self.turned else names,
            words=() if single else (side,),
            places=_places(seen),
            marked=() if single else ((side, self.at),),
            explanations=texts if self.turned else [list(column) for column in zip(*texts, strict=True)],
            uses=[(name, line, self.at if single and by == side else by) for name, line, by in uses],
            covered=covered,
        )


def _places(values: Array) -> int:
    return 0 if bool((values == np.round(values)).all()) else 2
