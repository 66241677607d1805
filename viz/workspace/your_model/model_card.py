"""One model that was brought: what was found in it, what its heads do, and the ways to the pages that show it."""

from __future__ import annotations

import streamlit as st

from core.analysis.heads.habits import HABIT_NAMES, NOT_NAMED, HeadHabits
from core.errors import in_reader_language
from core.model import Model
from core.reading.surveys import SurveyProgress
from viz.charts.marks import PICKED
from viz.instruments.kit import origin
from viz.labels import head_name, literal
from viz.languages import _, mark
from viz.shell import errors, links, state
from viz.shell.selection import Selection
from viz.widgets import page_parts
from viz.workspace.shared import needs, tasks
from viz.workspace.shared.attention_kinds import KINDS
from viz.workspace.your_model import charts, data, naming

BEAT = 1.0
"""Seconds between two looks at a survey that runs."""
LARGEST = 6
"""Heads that are named, the clearest of each habit."""
CLEAR = ("mixed", "spread")
ONWARD = {
    "look": (mark("Look"), "visibility"),
    "what_if": (mark("What if"), "tune"),
    "inside": (mark("Inside"), "layers"),
    "decode": (mark("Decode"), "edit"),
    "importance": (mark("What matters"), "leaderboard"),
    "find": (mark("Find heads"), "search"),
}
"""Pages that can show a model of one's own, with their names and icons."""


def card(model: Model, facts: tuple[tuple[str, str], ...], text: str) -> None:
    """Draw the facts, in one frame, and below them where to go on."""
    origin.tell(model=model.name)
    with st.container(border=True, key="your_model.card"):
        st.header(literal(model.name), anchor=False)
        with st.container(horizontal=True, gap="medium"):
            for name, value in facts:
                words, told = literal(in_reader_language(name)), literal(in_reader_language(value))
                st.markdown(f":gray[:small[{words}]]  \n{told}", width="content")
        _onward(model, text)


def _onward(model: Model, text: str) -> None:
    """Draw links to the pages that can show this model, with it and the sentence in view."""
    with st.container(horizontal=True, gap="medium", key="your_model.onward"):
        for slug, (label, icon) in ONWARD.items():
            if not needs.lacks(slug, model):
                links.page_link(slug, _(label), icon=f":material/{icon}:", model=model.name, text=text)
    if lack := _(model.lacks("answer")):
        st.caption(literal(f"{lack[:1].upper()}{lack[1:]}"))


def survey(name: str, model: Model, text: str) -> None:
    """Draw the survey of all heads: its progress while it runs, then their habits."""
    standing = data.survey(model, data.folder_of(name))
    st.fragment(_survey, run_every=None if standing.over else BEAT)(name, model, text, standing.over)


def _survey(name: str, model: Model, text: str, over: bool) -> None:
    with errors.guard():
        if not data.can_be_opened(name):
            st.rerun()
        standing = data.survey(model, data.folder_of(name))
        if standing.over and not over:
            st.rerun()
        _standing(model, standing, text)


def _standing(model: Model, standing: SurveyProgress, text: str) -> None:
    st.header(_("What its heads do"), anchor=False)
    if standing.problem:
        st.text(_("The heads could not be measured: {problem}", problem=in_reader_language(standing.problem)))
    elif not standing.over:
        share = standing.done / max(standing.total, 1)
        st.progress(
            share,
            _(
                "Reading the texts of the survey: {n} of {total}",
                n=standing.done,
                total=standing.total or "…",
            ),
        )
    else:
        _heads(model, standing, text)


def _heads(model: Model, standing: SurveyProgress, text: str) -> None:
    kinds = [kind for kind in standing.heads if standing.heads[kind].shape != (1, 1)] or list(standing.heads)
    kind = kinds[0]
    if len(kinds) > 1:
        key = "your_model.kind"
        kind = st.segmented_control(
            _("Which attention"),
            kinds,
            default=kind,
            required=True,
            format_func=lambda kind: _(KINDS[kind]),
            key=key,
        )
    heads = standing.heads[str(kind)]
    cells = data.cells(heads)
    drawn = charts.habits(
        [(cell.layer, cell.head, _(cell.word), cell.score) for cell in cells],
        [_(name) for name in (*HABIT_NAMES.values(), NOT_NAMED)],
    )
    told = naming.unread(model, standing) or sentence(model, heads, standing)
    page_parts.show(
        drawn,
        f"your_model.heads.{kind}",
        _("What each head does. {sentence}", sentence=told),
        on_pick=lambda: None,
    )
    page_parts.summary(told)
    _ways(Selection(model.name, text, kind=str(kind)), heads)


def sentence(model: Model, heads: HeadHabits, standing: SurveyProgress) -> str:
    """Return how many heads have a clear habit, on how many texts, and where the survey is kept."""
    places = [(layer, head) for layer in range(heads.shape[0]) for head in range(heads.shape[1])]
    clear = sum(heads.habit(*place) not in CLEAR for place in places)
    if standing.texts:
        on = _("{n} texts of yours; kept for this visit", n=heads.n)
    elif standing.saved:
        on = _("{n} texts of ours; kept beside the weights", n=heads.n)
    else:
        on = _("{n} texts of ours; kept until the model is let go", n=heads.n)
    said = _(
        "{n} of the {total} heads of {model} have a clear habit on {texts}.",
        n=clear,
        total=len(places),
        model=model.name,
        texts=on,
    )
    if not standing.left_out:
        return said
    less = _(
        "{n} texts were left out: its tokens do not show their words one by one, or they are longer than it reads.",
        n=standing.left_out,
    )
    return f"{said} {less}"


def _ways(selection: Selection, heads: HeadHabits) -> None:
    """Draw the clicked head, and the clearest head of each habit, as links to Look."""
    picked = page_parts.clicked_mark(f"your_model.heads.{selection.kind}", PICKED)
    best = {place: habit for habit, place in heads.best_head_by_habit().items() if habit not in CLEAR}
    named = {(int(picked["place"]), int(picked["at"])): ""} if picked else {}
    named |= {place: HABIT_NAMES[habit] for place, habit in list(best.items())[:LARGEST]}
    with st.container(horizontal=True, gap="medium", key="your_model.clearest"):
        for (layer, head), habit in named.items():
            links.page_link(
                "look",
                f"{head_name(layer, head)} {_(habit or heads.label(layer, head))}",
                icon=":material/grid_on:",
                **{"model": selection.model, "text": selection.text, "kind": selection.kind},
                **{"layer": layer, "head": head, "view": "full"},
            )


def opening(model: Model) -> str:
    """Return the sentence on screen if it is the visitor's, else the one that this model's task opens with."""
    return state.user_text() or tasks.opening_with(model).text
