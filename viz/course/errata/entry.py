"""Entry of the errata: the printed claim, the correct one, and a function that computes the evidence."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.languages import mark

Array = NDArray[np.float64]
Kind = Literal["W", "D", "L", "A"]
Form = Literal["weights", "bars", "table"]

KINDS: dict[Kind, str] = {
    "W": mark("Wrong as printed"),
    "D": mark("The sources differ"),
    "L": mark("Loosely worded"),
    "A": mark("Names and credits"),
}


@dataclass(frozen=True)
class Where:
    """A place in a document: its key (the same as in the list of sources), the section, the equation or figure."""

    document: str
    section: str
    item: str = ""


@dataclass(frozen=True, eq=False)
class Panel:
    """Numbers of the evidence with a name for every row and column, and how they are meant to be drawn.

    `weights` is a heatmap from 0 to 1, `bars` one group of bars a row, `table` plain numbers with `places` decimals.
    Shapes: values (row, column).

    >>> Panel("weights", [[0.25, 0.75]], ("it",), ("a", "b"), "weights").values.shape
    (1, 2)
    """

    title: str
    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    form: Form = "table"
    places: int = 3

    def __init__(
        self,
        title: str,
        values: ArrayLike,
        rows: Iterable[str],
        columns: Iterable[str],
        form: Form = "table",
        places: int = 3,
    ) -> None:
        numbers = np.asarray(values, dtype=np.float64)
        names = tuple(rows), tuple(columns)
        if numbers.shape != tuple(map(len, names)):
            raise ValueError(
                f"panel {title!r}: values {numbers.shape} for {len(names[0])} rows and {len(names[1])} columns"
            )
        for name, value in zip(
            ("title", "values", "rows", "columns", "form", "places"),
            (title, numbers, *names, form, places),
            strict=True,
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Evidence:
    """Result of a computation: the numbers by name, a sentence made from them, and small pictures.

    `computed` is False where nothing can be computed, only looked up: a name, a year, a wording.
    """

    numbers: Mapping[str, float]
    sentence: str
    panels: tuple[Panel, ...] = ()
    computed: bool = True


@dataclass(frozen=True)
class Erratum:
    """Entry of the errata. `says` is the printed claim, `right` the correct one, `note` advice for the reader.

    `evidence()` computes; `cost` is about how many milliseconds that takes.
    """

    id: str
    kind: Kind
    title: str
    where: tuple[Where, ...]
    says: str
    right: str
    note: str
    evidence: Callable[[], Evidence] = field(repr=False)
    cost: float = 20.0

    @property
    def number(self) -> int:
        """Return the entry's number in the list.

        >>> from viz.course.errata import find
        >>> find("E2").number
        2
        """
        return int(self.id.removeprefix("E"))


_WORDS = tomllib.loads(Path(__file__).with_name("errata.toml").read_text("utf-8"))


def erratum(id: str, cost: float = 20.0) -> Callable[[Callable[[], Evidence]], Erratum]:
    """Make the function below it the evidence of an entry, whose words stand in `errata.toml`."""
    words = dict(_WORDS[id])
    where = tuple(Where(*place) for place in words.pop("where"))
    return lambda evidence: Erratum(id, where=where, evidence=evidence, cost=cost, **words)
