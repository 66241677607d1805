"""An exhibit declares, and this draws: its title and steps, the controls, the folds, and nothing that tells before the guess.

A folder of a chapter is an exhibit. Beside each other lie in it

    text.md       title, claim, documents, and of each step what is said, what one looks at, what to try
    data.py       what is computed, without a screen (in older exhibits maths.py)
    exhibit.py    Params (viz.widgets.knobs), compute(params), the steps, and EXHIBIT = Exhibit(...) that joins them
    charts.py     its own pictures

A step is a function of (params, data) that returns a View (viz.course.kit.step): its question, table, chart and sentence. Older ones draw
them themselves, from top to bottom, and return what belongs in the folds. text.md begins with TOML between two lines of +++, then each step is a section:

    ## Spread
    What is said at the step.
    ### Look
    What one looks at.
    ### Try
    What to try.
    ### Code
    The lines of Python that make the same numbers, between two lines of ```.

### Look, ### Try and ### Code before the first step hold for every step that has none of its own; in a step's own lines {lines}
stands for those. {p.FIELD}, {data} and what the step gives by name are filled in. An exhibit that is no build-up has no ## and one Step.
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
    """What a step leaves for the folds. Nothing of it is told before `known`: that the question, if there is one, has been answered.

    equations: keys of viz.course.equations, each with this run's values of its symbols; latex: lines with this run's numbers.
    more: draws what else belongs below the equations. look: what is filled into text.md's, where it has numbers of the run.
    aside: draws what stands below the words on what one looks at, such as a link to another page.
    change: draws what else can be changed, where its options depend on the data, in the fold "Change it". own: folds of its own behind
    that one, each a name, a word for its key and what draws it.
    table, arrays: a table (or its columns) and arrays by name, or what makes them when their fold is opened. code: what is filled into text.md's lines that make the same numbers in a notebook.
    Where look or code is a text, it stands in place of text.md's.
    """

    table: Mapping[str, Any] | pd.DataFrame | Callable[[], pd.DataFrame]
    arrays: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    code: str | Mapping[str, Any] = field(default_factory=dict)
    known: bool = True
    equations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    latex: Sequence[str] = ()
    more: Callable[[], object] | None = None
    look: str | Mapping[str, Any] = ""
    aside: Callable[[], object] | None = None
    change: Callable[[], object] | None = None
    own: Sequence[tuple[str, str, Callable[[], object]]] = ()


@dataclass(frozen=True)
class Step(Generic[P, D]):
    """A step: the function that draws it, the fields of Params whose controls are below it, and those in the fold "Change it".

    texts: fields whose controls are below it, too, but hidden in present mode: the boxes of the texts that it reads. alone: it reads
    nothing of what is computed for the others, and is drawn where that cannot be. Which controls there are may depend on what is
    chosen: then `controls` is a function of the params.

    promises: what the step's sentences claim of the run, each a condition on params and data under the claim's own words, as
    {"the diagonal has a rank correlation of at least 0.8": lambda params, data: ...}. They must hold at the opening and at every preset:
    tests/viz/test_promises.py computes them, so that neither a training nor a new preset can make the page untrue.
    """

    draw: Callable[[P, D], Folds | View]
    controls: Sequence[str] | Callable[[P], Sequence[str]] = ()
    change: Sequence[str] = ()
    texts: Sequence[str] = ()
    alone: bool = False
    promises: Mapping[str, Callable[[P, D], bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class Exhibit(Generic[P, D]):
    """An exhibit: `file` (its exhibit.py says __file__), what can be set, what is computed of it, the steps in the order of text.md.

    compute_fields: the fields of Params that `compute` reads, by default all: pages that agree in these share one result. cost: of `compute`,
    in the scheduler's units, about 50 a millisecond (core.serving.engine); 0 computes it at once, again for each run of the page.
    controls: fields whose controls are below every step; in present mode they are hidden. tells: says to viz.instruments.kit.origin whose numbers these are.
    arrive: called first, where a link of yesterday needs to be read in today's words.
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
        """Its folder's name: its address, and the prefix of its own names in the link."""
        return Path(self.file).parent.name

    @property
    def text(self) -> Text:
        """What text.md says."""
        return read(Path(self.file).with_name("text.md"))

    def data(self, params: P) -> D:
        """What is computed of the params, once for whoever asks for the same."""
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
        at = exhibit_parts.steps(named, f"{self.slug}.") if named else 0
        step, params, folds = self.steps[at], self.params.read(self.slug), None
        with errors.guard(), st.container(key=f"{self.slug}-picture-{at}"):
            data: Any = None if step.alone else self.data(params)
            if not step.alone:
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
                self._folds(at, params, data, folds)

    def _folds(self, at: int, params: P, data: Any, folds: Folds) -> None:
        """More to change, the equation, what one looks at, the documents with their errata, the table, and what to take along."""
        slug, known, said = self.slug, folds.known, self.text.steps[at]
        if self.steps[at].change or folds.change:
            with page_parts.fold(CHANGE, f"{slug}.change.{at}") as opened:
                if opened.open:
                    params.show(slug, *self.steps[at].change)
                    if folds.change:
                        folds.change()
        for name, key, draw in folds.own:
            with page_parts.fold(name, f"{slug}.{key}") as opened:
                if opened.open:
                    draw()
        with page_parts.fold(page_parts.EQUATION, f"{slug}.equation") as opened:
            if opened.open and not known:
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
                look = filled(said.look, folds.look, params, data) if folds.look else said.look
                st.markdown(formulas(look, is_markdown=True))
                if said.tries:
                    st.markdown(formulas(said.tries, is_markdown=True))
                if folds.aside:
                    folds.aside()
        page_parts.sources_fold(self.text.info, lambda: self._sources(said.errata, known))
        table, arrays = (folds.table, folds.arrays) if known else ({"": [_(LATER)]}, {})
        page_parts.table_fold(table if callable(table) else lambda: pd.DataFrame(table), slug)
        page_parts.export_fold(
            lambda: {
                name: np.asarray(value) for name, value in (arrays() if callable(arrays) else arrays).items()
            },
            filled(said.code, folds.code, params, data),
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

    def _sources(self, errata: Sequence[str], known: bool) -> None:
        """What is ours and what the documents', and their errata."""
        if self.text.sources:
            st.markdown(formulas(self.text.sources, is_markdown=True))
        if known:
            from viz.course.kit import erratum_card  # the book of errata is long: only an open fold reads it

            erratum_card.show(*errata)
        elif errata:
            st.text(_(LATER))


def folds_of(view: View, known: bool) -> Folds:
    """Return what a view leaves for the folds."""
    return Folds(
        lambda: view.rows,
        view.columns,
        view.code,
        known,
        view.equations,
        view.latex,
        view.more,
        view.look,
    )


def filled(words: str, given: str | Mapping[str, Any], params: Any, data: Any = None) -> str:
    """Words of text.md with the visitor's choice as {p}, {data} and what a step gives; or the step's own text in their place.

    >>> filled("print(f({p.real}, {layer}))", {"layer": 3}, 2.5)
    'print(f(2.5, 3))'
    """
    return given if isinstance(given, str) else words.format(p=params, data=data, **given)
