"""A step of an exhibit as a table: a function of its controls and data that returns a `View`.

    def by_part(p: Params, data: Data) -> View:
        counts = data.counts[p.model]
        most = max(counts, key=counts.__getitem__)
        return View(
            Choice("most", "Which part has most parameters?", counts, most, f"{most} has {counts[most]:,}."),
            table := pd.DataFrame({"parameters": counts}),
            lambda revealed: marks.bars(table["parameters"], covered=not revealed),
            caption=f"Parameters of {p.model} by part",
            summary=f"{sum(counts.values()):,} parameters.",
        )

A view draws nothing, so a test reads one without a page. `View.show` asks the question first; while it is open, neither the table nor the
arrays, the equation, the summary or the numbers for a screen reader reach the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.run import Run
from viz.course.kit.question import StepQuestion
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import literal
from viz.languages import _, mark
from viz.number_text import signed
from viz.widgets import exhibit_parts, page_parts

COVERED = mark("Comes after your guess.")
LATER = mark("Guess first: the numbers would give the answer away.")


@dataclass(frozen=True, eq=False)
class View:
    """The content of a step for one state of its controls.

    question: asked first; None for none. table: the numbers, a row each, or what makes them once they are asked for.
    chart: draws the picture, given whether the question is answered. summary: sentences with numbers of the table; preview: in their
    place before the guess. caption: the picture in words; numbers: its numbers in words, those of the table's first column of numbers if not given.
    present_height: pixels of the chart in Present.
    picture: draws a picture that is not one chart, given whether the question is answered. controls: draws controls of its own below
    the sentence. layout: draws the whole view, given what asks the question and what draws the sentence.
    arrays: to take along; the table's columns of numbers if not given. The others are those of viz.course.exhibit.Folds.
    """

    question: StepQuestion | None
    table: pd.DataFrame | Callable[[], pd.DataFrame]
    chart: Callable[[bool], alt.TopLevelMixin] | None = None
    caption: str = ""
    summary: str = ""
    preview: str = ""
    numbers: str | Callable[[], str] | None = None
    present_height: int | None = None
    picture: Callable[[bool], object] | None = None
    controls: Callable[[], object] | None = None
    layout: Callable[[Callable[[], bool], Callable[[], None]], object] | None = None
    arrays: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None
    code: str | Mapping[str, Any] = field(default_factory=dict)
    look: str | Mapping[str, Any] = ""
    equations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    latex: Sequence[str] = ()
    more: Callable[[], object] | None = None

    @property
    def rows(self) -> pd.DataFrame:
        """Return the table."""
        return self.table() if callable(self.table) else self.table

    @property
    def answer(self) -> Any:
        """Return the right answer of the question; None where nothing is asked."""
        return getattr(self.question, "answer", None)

    def columns(self) -> Mapping[str, Any]:
        """Return the arrays to take along."""
        if self.arrays is not None:
            return self.arrays() if callable(self.arrays) else self.arrays
        return {str(name): each.to_numpy() for name, each in self.rows.items() if each.dtype.kind in "biuf"}

    def show(self, slug: str, name: str) -> bool:
        """Draw the view as a step of an exhibit, `name` in its chart's key; return whether its question, if there is one, is answered."""
        revealed = False

        def ask() -> bool:
            nonlocal revealed
            revealed = self.question is None or self.question.ask(slug)
            return revealed

        def say() -> None:
            if text := self.summary if revealed else self.preview:
                page_parts.summary(text)

        if self.layout:
            self.layout(ask, say)
            return revealed
        ask()
        if self.picture:
            self.picture(revealed)
        elif self.chart:
            numbers = self.numbers if self.numbers is not None else lambda: describe(self.rows)
            show_chart(
                self.chart(revealed),
                f"{slug}.{name}",
                self.caption,
                numbers if revealed else None,
                self.present_height,
            )
        say()
        if self.controls:
            self.controls()
        return revealed


def show_chart(
    chart: alt.TopLevelMixin,
    key: str,
    caption: str,
    numbers: str | Callable[[], str] | None,
    present_height: int | None = None,
) -> None:
    """Draw a chart with its caption and numbers for a screen reader; without numbers they are covered."""
    told = numbers() if callable(numbers) else numbers
    words = _("{caption}; covered until you guess", caption=caption) if told is None else f"{caption}: {told}"
    page_parts.show(chart, key, words, present_height=present_height)


def show_heatmap(
    slug: str,
    name: str,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    revealed: bool = True,
    run: Run | None = None,
    kind: str = "",
    layer: int | None = None,
    head: int | None = None,
    changed: str = "",
    **look: Any,
) -> None:
    """Draw a matrix as a heatmap of an exhibit, or a cover with its title up to a colon while it is not revealed.

    run, kind, layer, head, changed: whose numbers these are, see viz.instruments.kit.origin. look: what `heatmap` takes.
    """
    if not revealed:
        show_cover(slug, title.partition(":")[0])
        return
    if run is not None:
        origin.tell_run(run, kind, layer, head, changed=changed)
    heatmap(values, rows, columns, key=f"{slug}.{name}", title=title, **look)


def show_cover(slug: str, title: str, height: int = 300) -> None:
    """Draw an empty frame in place of a picture that comes after the guess."""
    name = "".join(letter for letter in title.lower() if letter.isalnum())
    with (
        st.container(key=f"{slug}-covered-{name}"),
        st.container(border=True, height=height, vertical_alignment="center", horizontal_alignment="center"),
    ):
        st.markdown(f"**{literal(title)}**  \n:gray[{_(COVERED)}]", text_alignment="center")


def columns(widths: int | Sequence[int], in_present: int | None = None) -> list[DeltaGenerator]:
    """Return columns side by side; in Present only the first `in_present` of them, where that is given."""
    widths = [1] * widths if isinstance(widths, int) else list(widths)
    shown = widths[:in_present] if exhibit_parts.presenting() else widths
    return st.columns(shown, gap=exhibit_parts.column_gap("medium"))


def describe(table: pd.DataFrame) -> str:
    """Return the first column of numbers with the names of its rows.

    >>> describe(pd.DataFrame({"kind": ["x", "y"], "parts": [1200, 3]}, index=["a", "b"]))
    'a 1,200, b 3'
    """
    column = next(values for _name, values in table.items() if values.dtype.kind in "biuf")
    form = "," if column.dtype.kind in "iu" else ".3g"
    return ", ".join(f"{name} {signed(value, form)}" for name, value in column.items())
