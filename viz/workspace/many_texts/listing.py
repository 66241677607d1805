"""The texts of a data set as points and as a list, and beside them the text that is chosen, token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from core.data.text_lines import TextLine
from core.errors import InputError, in_reader_language
from core.model import Model
from core.reading.data_set_jobs import TOKENS
from core.scoring.data_set import DIVERGENCE, DataSetResults, scored_tokens
from viz.charts.marks import PICKED
from viz.labels import literal, visible
from viz.languages import _, mark
from viz.memo import remembered
from viz.number_text import number
from viz.shell import links, state
from viz.widgets import engine_client, page_parts
from viz.workspace.many_texts import charts, data
from viz.workspace.many_texts.data import HEAD, TextView

CHART, LIST = "many_texts.chart", "many_texts.list"
SHADE = "rgba(91, 106, 222, {:.2f})"
"""The ground of a token, more opaque the larger its loss; readable under the type of both themes."""
DEEP, FAINT = 0.62, 0.08
CERTAIN = 10.0
"""Nats from which on a token is as dark as it can be."""
IN_THE_BOX = mark("in the box")
LIST_ROW, LIST_HEIGHT, IN_A_ROOM = 33, 320, 250


def show(view: TextView, order: Sequence[int]) -> None:
    """Draw the points, the list, and the text in view."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        points(view)
        if not state.presenting():
            _list(view, order)
    with right:
        show_text(view)


def points(view: TextView) -> None:
    """Draw all texts as points; a click chooses one."""
    label, lines = view.key.label(view.results), view.results.lines
    known = [
        (value, data.group_name(line.group), line.text, line.line)
        for value, line in zip(view.key.values(view.results).tolist(), lines, strict=True)
        if np.isfinite(value)
    ]
    if not view.is_in_set and np.isfinite(view.value):
        known.append(
            (view.value, _(IN_THE_BOX) if any(line.group for line in lines) else "", view.line.text, 0)
        )
    values, groups, texts, numbers = zip(*known, strict=True) if known else ((), (), (), ())
    chart = charts.strip(values, groups, texts, numbers, label, view.line.line)
    page_parts.show(
        chart,
        CHART,
        _("{n} texts as points: {label}", n=len(known), label=label),
        on_pick=partial(_pick_point, {line.line: line for line in lines}, view.model),
        present_height=IN_A_ROOM,
    )


def _pick_point(lines: Mapping[int, TextLine], model: Model) -> None:
    mark = page_parts.clicked_mark(CHART, PICKED)
    if mark and int(mark["line"]) in lines:
        _choose(lines[int(mark["line"])], model)


def _choose(line: TextLine, model: Model) -> None:
    """Put a text of the data set into the box, with its translation where it has one."""
    state.write(text=line.text, target=(line.target or None) if model.spec.writes else None)


def _list(view: TextView, order: Sequence[int]) -> None:
    """Draw all texts as a table, sorted; a click on a row chooses it."""
    results, key = view.results, view.key
    frame = remembered(results, ("list", key, tuple(order)), lambda: data.table(results, key, order).round(3))
    name = f"{LIST}.{hash((results.model, key, tuple(order))) % 10**8}"
    page_parts.dataframe(
        frame,
        key=name,
        hide_index=True,
        height=min(LIST_HEIGHT, LIST_ROW * (len(frame) + 1) + 3),
        on_select=partial(_pick_row, name, [results.lines[place] for place in order], view.model),
        selection_mode="single-row",
        column_config={
            _("line"): st.column_config.NumberColumn(width=45),
            _("group"): st.column_config.TextColumn(width=110),
            _("text"): st.column_config.TextColumn(width=290),
            _("tokens"): st.column_config.NumberColumn(width=60),
        },
    )
    st.download_button(
        _("Save as CSV"),
        partial(data.csv, results, key, tuple(order)),
        "many_texts.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
        key="many_texts.save",
    )


def _pick_row(name: str, lines: Sequence[TextLine], model: Model) -> None:
    rows = st.session_state[name]["selection"]["rows"]
    if rows:
        _choose(lines[rows[0]], model)


def show_text(view: TextView) -> None:
    """Draw the text in view with its numbers, its tokens shaded by their loss, and the link to Look."""
    model, line, key = view.model, view.line, view.key
    group = f" :gray[{literal(data.group_name(line.group))}]" if line.group else ""
    title = _("Text {n}", n=line.line) + group if view.is_in_set else _("The text in the box")
    with st.container(border=True, key="many_texts.text"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"## {title}", width="content")
            links.page_link(
                "look",
                _("Open in Look"),
                icon=":material/visibility:",
                model=model.name,
                text=line.text,
                **({"target": line.target} if line.target and model.spec.writes else {}),
                **({"kind": key.kind, "layer": key.layer, "head": key.head} if key.by == HEAD else {}),
            )
        st.markdown(_tokens(view))
        st.markdown(_numbers(view))
        if view.is_cut:
            st.caption(
                _("The first {n} tokens are read. Split the text to have all of it measured.", n=TOKENS)
            )
        if view.line_results is not None and view.line_results.notes[view.place]:
            st.text(in_reader_language(view.line_results.notes[view.place]))


def _tokens(view: TextView) -> str:
    """Return the tokens in Markdown, each shaded by its loss; the text as it is where no token has one."""
    model, line = view.model, view.line
    if view.line_results is None or not view.line_results.tokens[view.place]:
        return literal(line.text)
    try:
        pairs = engine_client.submit(
            ("data_set.tokens", model.name, line.text, line.target),
            partial(_scored, model, line),
            4.0 * len(line.text),
        )
    except InputError:
        return literal(line.text)
    if all(np.isnan(loss) for _, loss in pairs):
        return literal(line.text)
    return " ".join(_chip(token, loss) for token, loss in pairs)


def _scored(model: Model, line: TextLine) -> list[tuple[str, float]]:
    target = line.target if line.target and model.spec.has_source and model.head is None else None
    return scored_tokens(model.run(line.text, target=target, keep=()), line)


def _chip(token: str, loss: float) -> str:
    word = literal(visible(token.strip(" ")) or "␣")
    if np.isnan(loss):
        return f":gray[{word}]"
    share = DEEP * min(1.0, loss / CERTAIN)
    return f':color[{word}]{{background="{SHADE.format(share)}"}}' if share >= FAINT else word


def _numbers(view: TextView) -> str:
    """Return the numbers of a text as lines of Markdown."""
    results, place, key = view.line_results, view.place, view.key
    if results is None:
        return f":gray[{_('This text could not be measured.')}]"
    unit = data.loss_unit(results)
    numbers = [
        (_("loss"), results.loss[place], unit),
        (_("loss of {model}", model=results.other), results.other_loss[place], unit),
        (_("disagreement"), results.disagreement[place], _unit(results)),
        (_("entropy of its classes"), results.entropy[place], "bits"),
    ]
    if key.by == HEAD:
        numbers.append((key.label(results), view.value, ""))
    phrases = [
        f"{literal(name)} **{number(float(value), 3)}** {unit}".strip()
        for name, value, unit in numbers
        if np.isfinite(value)
    ]
    phrases.append(_("tokens **{n}**", n=int(results.tokens[place])))
    if results.predicted[place]:
        phrases.append(_("predicted **{words}**", words=literal(results.predicted[place])))
    if view.line.target:
        phrases.append(_("given {words}", words=literal(view.line.target)))
    lines = [" · ".join(phrases)]
    values = key.values(view.results)
    values = values[np.isfinite(values)]
    if np.isfinite(view.value) and len(values) > 1:
        below = int((values < view.value).sum())
        name = key.label(view.results) if key.by == HEAD else data.sort_names(view.results)[key.by]
        higher = _(
            "{number}: higher than {below} of the {n} texts.",
            number=literal(name),
            below=below,
            n=len(values),
        )
        lines.append(f":gray[:small[{higher}]]")
    if np.isfinite(results.loss[place]) and not results.predicted[place]:
        lines.append(f":gray[:small[{_('The stronger the colour of a token, the larger its loss.')}]]")
    return "  \n".join(lines)


def _unit(results: DataSetResults) -> str:
    return _("bits (maximum 1)") if results.disagrees_by == DIVERGENCE else _("nats per character")
