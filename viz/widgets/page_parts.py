"""The parts of a page, always in the same order: title, picture, numbers, then the closed folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st
from altair.utils import schemapi
from plotly.basedatatypes import BaseFigure
from streamlit.delta_generator import DeltaGenerator

from core import glossary
from core.reading import provenance
from core.serving.engine import default
from viz import theme
from viz.instruments.kit import origin, picture_listener
from viz.labels import SHEET, formulas, has_index, literal
from viz.languages import ENGLISH, _, current, mark, using
from viz.memo import remembered
from viz.number_text import trimmed
from viz.platform import run_context, static_files
from viz.shell import links, notices, present_layout, state
from viz.shell.page_buttons import draw_page_buttons
from viz.shell.pages import Entry, ExhibitInfo, Page, translate
from viz.widgets import chart_table, export

EQUATION, LOOKING = mark("The equation with these numbers"), mark("What am I looking at")
DOCUMENTS, TABLE, TAKE = mark("Sources"), mark("As a table"), mark("Export")
MORE, BEHIND_MORE = mark("More"), (EQUATION, LOOKING, DOCUMENTS, TABLE, TAKE, SHEET)
_TOOLS: dict[str, Any] = {"responsive": True, "displaylogo": False, "modeBarButtons": [["toImage"]]}
"""Of Plotly's own buttons the one that saves the picture, drawn by the browser, seen while the mouse is over it."""
Factory = Callable[[], Any]
"""A function that makes a value when its fold is opened."""


def title(info: Page | ExhibitInfo, *, lesson_only: bool = False, no_buttons: bool = False) -> None:
    """Draw heading, claim and the buttons of the page: `lesson_only` for one that has nothing to restore; `no_buttons` for none."""
    if isinstance(info, Page):
        info = translate(info)
    origin.begin(info.title, tuple(dict.fromkeys(cite.document for cite in info.cites)))
    with present_layout.head_area():
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="atlas-title"
        ):
            st.title(info.title, width="content", anchor=False)
            if not (no_buttons or state.embedded()):
                draw_page_buttons(lesson_only)
        with st.container(key="atlas-claim"):
            st.markdown(f":gray[{info.claim}]")
    notices.reserve_notice_area()


def show(
    figure: go.Figure | alt.TopLevelMixin,
    key: str,
    alt: str,
    on_pick: Callable[[], None] | None = None,
    present_height: int | None = None,
) -> None:
    """Draw a Plotly or Altair figure in the visitor's theme; `alt` is what a screen reader says instead, and the title when it is saved.

    `on_pick` is called before the run that answers a click: on a point of a Plotly figure, or on a mark of an Altair
    chart that has selections; `picked` tells which mark. In present mode the figure is `present_height` pixels high, if that is given.
    """
    # the lines go above a saved picture, see pictures.js
    alt = "\n".join((" ".join(alt.split()), *origin.now().heading()))
    tree = _tree(figure, _Look(_dark(), state.presenting(), present_height if state.presenting() else None))
    if isinstance(tree, _PlotlyTree):
        static_files.note_plotly()
        picture_listener.notify(key, None)
        chosen: dict[str, Any] = {"on_select": on_pick, "selection_mode": "points"} if on_pick else {}
        st.plotly_chart(
            tree,
            key=key,
            theme=None,
            config=_TOOLS | {"toImageButtonOptions": {"format": "png", "scale": 3, "filename": key}},
            alt=alt,
            **chosen,
        )
    else:
        if picture_listener.has_listener():  # each who looks on has his own colours, and no room's large type
            picture_listener.notify(key, picture_listener.Chart(_tree(figure, _Look()), alt))
        st.vega_lite_chart(
            tree | {"usermeta": origin.now().fields()},
            key=key,
            theme=None,
            width="stretch",
            alt=alt,
            on_select=on_pick or "ignore",
        )


def show_large(figure: go.Figure | alt.TopLevelMixin, key: str, alt: str, present_height: int) -> None:
    """Draw a figure, in Present `room` pixels high, so that question, picture and sentence fit on one screen."""
    show(figure, key, alt, present_height=present_height)


class _Look(NamedTuple):
    """The colours and the size of a figure: those of the theme, of Present, and there a height in pixels."""

    dark: bool = False
    presenting: bool = False
    height: int | None = None


class _PlotlyTree(BaseFigure):
    """The tree of a Plotly figure as a figure: Plotly copies a real one entirely each time, and Streamlit asks with every run."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    def to_dict(self) -> dict[str, Any]:
        return self._tree


def _tree(figure: go.Figure | alt.TopLevelMixin, look: _Look) -> Any:
    """Return a figure as it is sent, the same object for the same figure and look."""
    return remembered(
        figure,
        look,
        lambda: _in_plotly(figure, look) if isinstance(figure, go.Figure) else _in_vega(figure, look),
    )


def _in_plotly(figure: go.Figure, look: _Look) -> _PlotlyTree:
    layout: Any = figure.layout
    ours = layout.template.layout.font.family == theme.FONT  # to copy a figure takes longer than to draw it
    drawn = figure if ours else go.Figure(figure).update_layout(template=theme.template())
    tree = drawn.to_dict()
    if look.height:
        tree["layout"]["height"] = look.height
    if marks := current().of_charts:
        tree["layout"]["separators"] = marks["decimal"] + marks["thousands"]
    tree = _dressed(tree, look)
    if look.presenting and (tree["layout"].get("height") or 0) > present_layout.MAX_HEIGHT:
        tree["layout"]["height"] = present_layout.MAX_HEIGHT
    return _PlotlyTree(tree)


def _in_vega(figure: alt.TopLevelMixin, look: _Look) -> dict[str, Any]:
    figure = figure.properties(height=look.height) if look.height else figure
    tree = figure.to_dict(validate=schemapi.DEBUG_MODE)
    tree["config"] = theme.altair_config() | tree.get("config", {})
    if marks := current().of_charts:
        tree["config"]["locale"] = {"number": marks}
    tree = chart_table.attach_table(_dressed(tree, look))
    tree["datasets"] = {name: _as_sent(rows) for name, rows in tree["datasets"].items()}
    return tree


def _as_sent(rows: Any) -> pa.Table:
    """Return data in the form in which they are sent: Streamlit would make it again with every run."""
    return pa.ipc.open_stream(run_context.arrow_bytes(rows)).read_all()


def _dark() -> bool:
    return st.context.theme.type == "dark"


def _dressed(tree: dict[str, Any], look: _Look) -> dict[str, Any]:
    """Return a tree in the colours of the theme, in Present in large type."""
    tree = theme.in_dark(tree) if look.dark else tree
    return theme.for_present_mode(tree) if look.presenting else tree


def clicked_mark(key: str, name: str) -> Mapping[str, Any] | None:
    """Return the fields of the mark that was clicked last in the Altair figure `key`, by its selection `name`; None before any click."""
    event = st.session_state.get(key)
    found = event["selection"].get(name) if event else None
    return found[0] if found else None


@dataclass(frozen=True)
class Fold:
    """A closed fold. `with fold(...) as f:` and then `if f.open:`, so that a closed one computes nothing."""

    open: bool
    """Whether the visitor has it open, so whether to compute its content."""


@dataclass
class _Line:
    """The folds of one container: a line of words, the entries of "More" where that is open, and the open fold."""

    words: DeltaGenerator
    entries: DeltaGenerator
    below: DeltaGenerator
    names: list[str] = field(default_factory=list)
    more_open: bool | None = None
    """Whether the entries of "More" are in sight; None where the line has no "More" yet."""


@contextmanager
def fold(name: str, key: str) -> Iterator[Fold]:
    """Draw a fold below the picture: a word in the line of its container's folds, of which one opens at a time. There are none in present mode and in a frame of another site.

    The usual ones (BEHIND_MORE) are entries of one word, "More".
    """
    if state.presenting() or state.embedded():
        yield Fold(False)
        return
    line, named = _line(key), f"fold:{key}"
    line.names.append(named)
    opened = bool(st.session_state.get(named))
    if name not in BEHIND_MORE:
        _word(line.words, name, f"word:{named}", opened, _turn, named, line.names)
    elif _more(line, key):
        _word(line.entries, name, f"word:{named}", opened, _turn, named, line.names)
    with line.below.container(border=True) if opened else line.below:
        yield Fold(opened)


def _line(key: str) -> _Line:
    """Return the line of folds of the current container in this run, made on first use: the page's, or that of a part that is drawn again."""
    at, run = run_context.container(), run_context.identity()
    known, line = vars(at).get("_folds", (None, None))
    if line is None or known is not run:
        words, entries = (
            st.container(horizontal=True, gap="medium", key=f"{name}-{key}") for name in ("folds", "entries")
        )
        line = _Line(words, entries, st.container())
        vars(at)["_folds"] = run, line
    return line


def _more(line: _Line, first: str) -> bool:
    """Return whether the entries of "More" are in sight; draw the word once in a line, named by the key of its first entry."""
    if line.more_open is None:
        named = f"more:{first}"
        line.more_open = bool(st.session_state.get(named))
        _word(line.words, MORE, f"word:{named}", line.more_open, _turn, named, line.names)
    return line.more_open


def _word(
    row: DeltaGenerator, name: str, key: str, opened: bool, turn: Callable[..., None], *args: Any
) -> None:
    row.button(
        _(name),
        key=key,
        type="tertiary",
        icon=f":material/keyboard_arrow_{'up' if opened else 'down'}:",
        icon_position="right",
        on_click=turn,
        args=args,
    )


def _turn(key: str, line: list[str]) -> None:
    """Open or close a fold or "More", and close the folds of its line."""
    opened = not st.session_state.get(key)
    st.session_state.update(dict.fromkeys(line, False) | {key: opened})


def equation(latex: str) -> None:
    """Draw one displayed equation."""
    st.latex(latex)


def summary(text: str, *terms: str) -> None:
    """Draw one plain sentence of numbers made from the run; taken literally, it may hold visitors' words, but a letter with an index or a power is mathematics.

    The glossary's terms in it, and `terms` by their names there, are explained behind a question mark.
    """
    help = glossary_help(text, *terms)
    st.markdown("  \n".join(map(formulas, text.split("\n"))), help=help) if has_index(text) else st.text(
        text, help=help
    )


def glossary_help(text: str, *terms: str) -> str | None:
    """Return the glossary's sentences on the measures and methods in a text, and on `terms`, as a tooltip; None for none, and in present mode.

    >>> glossary_help("The head looks at “car”.") is None
    True
    """
    found = dict.fromkeys(
        (*map(glossary.term, terms), *glossary.mentioned_terms(text, lambda term: _(term.word)))
    )
    if not found or state.presenting():
        return None
    entries = [(_(term.word), _(term.sentence)) for term in found]
    return "\n\n".join(f"**{word[0].upper()}{word[1:]}**: {sentence}" for word, sentence in entries)


def sources_fold(info: Page | ExhibitInfo, erratum: str | Callable[[], None] | None = None) -> None:
    """Draw the fold "Sources": the cited places, and the erratum with its evidence (our text, or a function that draws it)."""
    with fold(DOCUMENTS, f"{info.title}.documents") as opened:
        if not opened.open:
            return
        for cite in info.cites:
            st.markdown(f"**{formulas(cite.place())}**  \n:gray[{literal(cite.source.reference())}]")
        if callable(erratum):
            erratum()
        elif erratum:
            st.markdown(_("**Erratum.** {text}", text=formulas(erratum, is_markdown=True)))


def dataframe(frame: pd.DataFrame, **more: Any) -> None:
    """Draw a table in which a column of numbers has equally many digits in each row; `more` is what `st.dataframe` takes."""
    digits = {
        str(name): st.column_config.NumberColumn(format=_digits(column))
        for name, column in frame.items()
        if column.dtype.kind == "f"
    }
    st.dataframe(frame, column_config=digits | more.pop("column_config", {}), **more)


def _digits(column: pd.Series) -> str:
    """Return the format of a column: four digits after the point or as many as its numbers need, more where all are small.

    >>> _digits(pd.Series([0.826, 1, 8.341, -1.067])), _digits(pd.Series([1.0, 2.0])), _digits(pd.Series([2e-5, 0.0]))
    ('%.3f', '%.0f', '%.1e')
    """
    found = [float(value) for value in column if np.isfinite(value)]
    if 0 < max(map(abs, found), default=0) < 0.001:
        return "%.1e"
    with using(ENGLISH.code):
        return f"%.{max((len(trimmed(value).partition('.')[2]) for value in found), default=0)}f"


def table_fold(frame: pd.DataFrame | Factory, key: str) -> None:
    """Draw the fold "As a table", also for screen readers; give a function and a closed fold computes nothing."""
    with fold(TABLE, f"{key}.table") as opened:
        if opened.open:
            dataframe(frame() if callable(frame) else frame, key=f"{key}.dataframe")


def export_fold(
    data: export.Arrays | Factory,
    code: str,
    png: bytes | Factory | None = None,
    key: str = "take",
    archives: Mapping[str, Callable[[], bytes]] | None = None,
) -> None:
    """Draw the fold "Export": the link and its QR code (drawn here), the frame for a page of another site, the data, the picture, .zip files by name, the Python lines."""
    with fold(TAKE, f"{key}.take") as opened:
        if not opened.open:
            return
        arrays = dict(data() if callable(data) else data)
        left, right = st.columns([1, 3], gap="medium", vertical_alignment="top")
        link = export.link(st.context.url, state.query())
        picture = export.qr(link)
        with left:
            if picture:
                st.image(picture, width=170, alt=_("QR code of the link to this view"))
        with right:
            st.code(link, language=None, wrap_lines=True)
            st.caption(_("In a frame, for a page of another site:"))
            st.code(
                export.frame(link, origin.now().page or "Attention Atlas"), language="html", wrap_lines=True
            )
            if state.unlinkable_names():
                st.caption(
                    _("The text is longer than {most:,} letters and is not in the link.", most=state.LONGEST)
                )
            with st.container(horizontal=True):
                files = [
                    (
                        _("Data, NPZ"),
                        export.npz({**origin.now().arrays(), **arrays}),
                        "npz",
                        "application/octet-stream",
                    ),
                    (_("Data, CSV"), export.csv(arrays), "csv", "text/csv"),
                ]
                if png is not None:
                    files.append((_("Picture, PNG"), png() if callable(png) else png, "png", "image/png"))
                files += [(name, make(), "zip", "application/zip") for name, make in (archives or {}).items()]
                for name, held, kind, mime in files:
                    file = f"{key}.{kind}"
                    st.download_button(name, held, file, mime, on_click="ignore", key=file)
        st.code(code, language="python")
        if hint := foreign_model_hint(code):
            st.caption(literal(hint))


def foreign_model_hint(code: str) -> str:
    """Return the hint for lines of Python, `code`, that open an uploaded or downloaded model; "" where they open shipped models only.

    >>> foreign_model_hint("model = core.open_model('gpt-mini')")
    ''
    """
    names = dict.fromkeys([state.peek("model") or "", *(one.name for one in default().models())])
    brought = [name for name in names if name and provenance.is_foreign(name) and repr(name) in code]
    if not brought:
        return ""
    which = brought[0] if len(brought) == 1 else _("{n} of these models", n=len(brought))
    return _(
        "{model} did not ship with the app. Start Python with ATLAS_MODELS set to the folder in which "
        "it is, or give core.open_model the path of its own folder.",
        model=which,
    )


def step_params(slug: str, step: int) -> dict[str, Any]:
    """Return the parameters of a link to one step of an exhibit; none for 0, the whole exhibit."""
    return {f"{slug}.step": step} if step else {}


def page_row(entry: Entry, text: str, remark: str = "", step: int = 0) -> None:
    """Draw a page's name as a link (to one step of it), a short remark at the right, and a sentence below."""
    with st.container(gap=None):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            links.page_link(
                entry.slug,
                f"**{entry.info.title}**" + (f", step {step}" if step else ""),
                icon=":material/arrow_forward:",
                **step_params(entry.slug, step),
            )
            if remark:
                st.markdown(f":gray[:small[{remark}]]", width="content")
        with st.container(horizontal=True, gap=None, wrap=False):
            st.space(30)  # below the link's text
            st.markdown(text)
