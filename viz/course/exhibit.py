"""Exhibits: a page of the course declares its steps, and `Exhibit.page` draws title, steps, controls and folds; nothing reveals an
answer before the guess.

A folder of a chapter is an exhibit. It has these files:

    text.md       title, claim, sources, and for each step its text, reading hints and suggestions
    data.py       the computation, without a screen (in older exhibits maths.py)
    exhibit.py    Params (viz.widgets.knobs), compute(params), the steps, and EXHIBIT = Exhibit(...) that joins them
    charts.py     its own pictures

A step is a function of (params, data) that returns a View (viz.course.kit.step): its question, table, chart and sentence. Older ones draw
them themselves, from top to bottom, and return the contents of the folds. text.md begins with TOML between two lines of +++, then each step is a section:

    ## Spread
    The text of the step.
    ### Look
    Hints for reading the picture.
    ### Try
    Suggestions for experiments.
    ### Code
    The lines of Python that compute the same numbers, between two lines of ```.

### Look, ### Try and ### Code before the first step hold for every step that has none of its own; in a step's own lines {lines}
is replaced by those. {p.FIELD}, {data} and what the step gives by name are filled in. An exhibit that is no build-up has no ## and one Step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.kit import equation_view
from viz.course.kit.step import LATER, View
from viz.course.sheets.kinds import KINDS, exercise_kinds_of_page
from viz.exhibit_text import Text, read
from viz.labels import SHEET, formulas
from viz.languages import _, mark
from viz.shell import errors, links
from viz.widgets import engine_client, exhibit_parts, page_parts
from viz.widgets.knobs import Knobs

P = TypeVar("P", bound=Knobs)
D = TypeVar("D")
CHANGE = mark("Change it")


@dataclass(frozen=True)
class Folds:
    """Contents of the folds below a step. Nothing is shown before `revealed`: until then the step's question is open.

    equations: keys of viz.course.equations, each with this run's values of its symbols; latex: lines with this run's numbers.
    more: function that draws below the equations. look: values for the placeholders of text.md's reading hints.
    note_below: function that draws below the reading hints, such as a link to another page.
    change: function that draws further controls in the fold "Change it", where their options depend on the data. extra_folds: folds
    after that one, each a title, a word for its key and the function that draws it.
    table, arrays: a table (or its columns) and arrays by name, or a function that makes them when their fold is opened. code: values
    for the placeholders of text.md's code. Where look or code is a text, it replaces that of text.md.
    """

    table: Mapping[str, Any] | pd.DataFrame | Callable[[], pd.DataFrame]
    arrays: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    code: str | Mapping[str, Any] = field(default_factory=dict)
    revealed: bool = True
    equations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    latex: Sequence[str] = ()
    more: Callable[[], object] | None = None
    look: str | Mapping[str, Any] = ""
    note_below: Callable[[], object] | None = None
    change: Callable[[], object] | None = None
    extra_folds: Sequence[tuple[str, str, Callable[[], object]]] = ()


@dataclass(frozen=True)
class Step(Generic[P, D]):
    """A step: the function that draws it, the fields of Params whose controls are below it, and those in the fold "Change it".

    texts: fields whose controls are below it, too, but hidden in present mode: the boxes of the texts that it reads. without_data: it reads
    nothing of the exhibit's data, and is drawn even where computing them fails. Which controls there are may depend on what is
    chosen: then `controls` is a function of the params.

    promises: the claims of the step's sentences about the run, each a condition on params and data under the claim's own words, as
    {"the diagonal has a rank correlation of at least 0.8": lambda params, data: ...}. They must hold at the opening and at every preset:
    tests/viz/test_promises.py computes them, so that neither a training nor a new preset can make the page untrue.
    """

    draw: Callable[[P, D], Folds | View]
    controls: Sequence[str] | Callable[[P], Sequence[str]] = ()
    change: Sequence[str] = ()
    texts: Sequence[str] = ()
    without_data: bool = False
    promises: Mapping[str, Callable[[P, D], bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class Exhibit(Generic[P, D]):
    """An exhibit: `file` (its exhibit.py says __file__), what can be set, what is computed of it, the steps in the order of text.md.

    compute_fields: the fields of Params that `compute` reads, by default all: pages that agree in these share one result. cost: of `compute`,
    in the scheduler's units, about 50 a millisecond (core.serving.engine); 0 computes it at once, again for each run of the page.
    controls: fields whose controls are below every step; in present mode they are hidden. tells: records in viz.instruments.kit.origin which run the numbers are from.
    arrive: called first, to convert the settings of old links.
    presets: the states that the exhibit offers besides its opening, each the fields that it changes; the promises of its steps hold there, too.
    """

    file: str
    params: type[P]
    compute: Callable[[P], D]
    steps: Sequence[Step[P, D]]
    compute_fields: Sequence[str] | None = None
    cost: float | Callable[[P], float] = 0
    controls: Sequence[str] = ()
    tells: Callable[[P, D], object] = lambda params, data: None
    arrive: Callable[[], object] = lambda: None
    presets: Sequence[Mapping[str, Any]] = ()

    @property
    def slug(self) -> str:
        """Return the name of its folder: the address of the page and the prefix of its settings in the link."""
        return Path(self.file).parent.name

    @property
    def text(self) -> Text:
        """Return the parsed text.md."""
        return read(Path(self.file).with_name("text.md"))

    def data(self, params: P) -> D:
        """Return the computed data for these params; visitors with the same params share one result."""
        if not self.cost:
            return self.compute(params)
        names = params._fields() if self.compute_fields is None else self.compute_fields
        cost = self.cost(params) if callable(self.cost) else self.cost
        return engine_client.submit(
            (self.slug, *(getattr(params, name) for name in names)), lambda: self.compute(params), cost
        )

    def page(self) -> None:
        """Claim, steps, and of the chosen one: question, picture, sentence, controls; everything else folded."""
        self.arrive()
        page_parts.title(self.text.info)
        named = [exhibit_parts.Step(one.name, one.says) for one in self.text.steps if one.name]
        index = exhibit_parts.steps(named, f"{self.slug}.") if named else 0
        step, params, folds = self.steps[index], self.params.read(self.slug), None
        with errors.guard(), st.container(key=f"{self.slug}-picture-{index}"):
            data: Any = None if step.without_data else self.data(params)
            if not step.without_data:
                self.tells(params, data)
            drawn = step.draw(params, data)
            folds = (
                folds_of(drawn, drawn.show(self.slug, step.draw.__name__))
                if isinstance(drawn, View)
                else drawn
            )
        own = step.controls(params) if callable(step.controls) else step.controls
        if shown := [
            *own,
            *(
                name
                for name in (*step.texts, *self.controls)
                if name not in own and not exhibit_parts.presenting()
            ),
        ]:
            with st.container(key=f"{self.slug}-controls"):
                params.show(self.slug, *shown)
        with errors.guard():
            if folds is not None:
                self._folds(index, params, data, folds)

    def _folds(self, index: int, params: P, data: Any, folds: Folds) -> None:
        """Draw the folds below a step: more controls, equation, reading hints, sources with errata, table and export."""
        slug, revealed, said = self.slug, folds.revealed, self.text.steps[index]
        if self.steps[index].change or folds.change:
            with page_parts.fold(CHANGE, f"{slug}.change.{index}") as opened:
                if opened.open:
                    params.show(slug, *self.steps[index].change)
                    if folds.change:
                        folds.change()
        for name, key, draw in folds.extra_folds:
            with page_parts.fold(name, f"{slug}.{key}") as opened:
                if opened.open:
                    draw()
        with page_parts.fold(page_parts.EQUATION, f"{slug}.equation") as opened:
            if opened.open and not revealed:
                st.text(_(LATER))
            elif opened.open:
                for key, values in folds.equations.items():
                    equation_view.show(key, f"{slug}.", values=values)
                for line in folds.latex:
                    page_parts.equation(line)
                if folds.more:
                    folds.more()
        with page_parts.fold(page_parts.LOOKING, f"{slug}.looking") as opened:
            if opened.open:
                look = fill_in(said.look, folds.look, params, data) if folds.look else said.look
                st.markdown(formulas(look, is_markdown=True))
                if said.tries:
                    st.markdown(formulas(said.tries, is_markdown=True))
                if folds.note_below:
                    folds.note_below()
        page_parts.sources_fold(self.text.info, lambda: self._sources(said.errata, revealed))
        table, arrays = (folds.table, folds.arrays) if revealed else ({"": [_(LATER)]}, {})
        page_parts.table_fold(table if callable(table) else lambda: pd.DataFrame(table), slug)
        page_parts.export_fold(
            lambda: {
                name: np.asarray(value) for name, value in (arrays() if callable(arrays) else arrays).items()
            },
            fill_in(said.code, folds.code, params, data),
            key=slug,
        )
        if kinds := exercise_kinds_of_page(slug):
            with page_parts.fold(SHEET, f"{slug}.sheet") as opened:
                if opened.open:
                    st.text(
                        _(
                            "{kinds}: to work through by hand, computed as this exhibit computes; the solutions are a sheet of their own.",
                            kinds=". ".join(KINDS[kind].title for kind in kinds),
                        )
                    )
                    links.page_link(
                        "homework",
                        _("Make a sheet"),
                        icon=":material/print:",
                        **{"homework.group": SHEET, "homework.kinds": ",".join(kinds)},
                    )

    def _sources(self, errata: Sequence[str], revealed: bool) -> None:
        """Return the contents of the folds that a view implies."""
        if self.text.sources:
            st.markdown(formulas(self.text.sources, is_markdown=True))
        if revealed:
            from viz.course.kit import erratum_card  # the book of errata is long: only an open fold reads it

            erratum_card.show(*errata)
        elif errata:
            st.text(_(LATER))


def folds_of(view: View, revealed: bool) -> Folds:
    """Return what a view leaves for the folds."""
    return Folds(
        lambda: view.rows,
        view.columns,
        view.code,
        revealed,
        view.equations,
        view.latex,
        view.more,
        view.look,
    )


def fill_in(words: str, values: str | Mapping[str, Any], params: Any, data: Any = None) -> str:
    """Fill the placeholders of a text of text.md: {p} is the params, {data} the data, others are in `values`; values that are a text replace it.

    >>> fill_in("print(f({p.real}, {layer}))", {"layer": 3}, 2.5)
    'print(f(2.5, 3))'
    """
    return values if isinstance(values, str) else words.format(p=params, data=data, **values)
