"""Homework: questions of the sources and ours, each checked against the library's result at that moment; and exercises to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.errors import InputError
from viz.course.homework.form import HomeworkQuestion, answer_text, right
from viz.course.homework.questions import DOCUMENTS, GROUPS, QUESTIONS
from viz.course.pages.homework import to_print
from viz.labels import SHEET, literal
from viz.languages import _, mark
from viz.shell import errors, links, pages, state
from viz.shell.pages import Cite, Page
from viz.widgets import controls, engine_client, page_parts

PAGE = Page(
    title="Homework",
    order=80,
    menu="course",
    claim="Answer first. Then the page computes the answer and compares.",
    cites=(Cite("beigy2024", "introduction", "the two homework questions"),),
)
SLUG = "homework."
HINTS = {"number": mark("A number: 0.5, 1/2 or 50%"), "expression": mark("An expression, such as 2*n^2")}


@dataclass(frozen=True)
class Params:
    """Settings: the displayed group of questions."""

    group: str = DOCUMENTS


def compute(params: Params = Params()) -> tuple[tuple[HomeworkQuestion, Any], ...]:
    """Return the group's questions, each with its computed answer."""
    return tuple((question, question.truth()) for question in QUESTIONS if question.group == params.group)


def page() -> None:
    """Choose a group, or the sheets to print; each question with its answer box, the verdict below, and the page that shows it."""
    page_parts.title(PAGE)
    start = Params()
    group = controls.pills(
        _("Questions"),
        (*GROUPS, SHEET),
        f"{SLUG}group",
        start.group,
        lambda group: _("From the slides") if group == DOCUMENTS else _(group),
        quiet=True,
    )
    if group == SHEET:
        with errors.guard():
            to_print.show(SLUG)
        return
    answers = engine_client.submit(("homework", group), lambda: compute(Params(group)), 300)
    counted = st.container()
    known = {entry.slug: entry.info.title for entry in pages.discover()}
    done = [_question(number, question, truth, known) for number, (question, truth) in enumerate(answers, 1)]
    with counted:
        page_parts.summary(_("{right} of {n} right.", right=sum(done), n=len(done)))
    page_parts.sources_fold(PAGE)


def _question(number: int, question: HomeworkQuestion, truth: Any, titles: dict[str, str]) -> bool:
    """Draw one card; return whether the answer in it is right."""
    name = f"{SLUG}{question.key}"
    with st.container(border=True, gap="small", key=f"homework-{question.key}"):
        st.markdown(f"**{number}.** {literal(_(question.text))}")
        if question.kind == "choice":
            answer = (
                controls.pills(
                    _(question.text), question.options, name, None, lambda option: _(option or ""), quiet=True
                )
                or ""
            )
        else:
            answer = controls.text(
                _(question.text), name, "", quiet=True, placeholder=_(HINTS[question.kind])
            ).strip()
        verdict, correct = _verdict(question, answer, truth)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(verdict)
            if answer and question.page in titles:
                links.page_link(question.page, _("See it: {title}", title=literal(titles[question.page])))
        if answer and not correct and state.read(f"{name}.shown", False, state.yes_or_no):
            st.text(answer_text(question, truth))
        elif answer and not correct:
            st.button(
                _("Show what is computed"),
                key=f"show:{name}",
                on_click=state.write,
                kwargs={f"{name}.shown": True},
            )
    return correct


def _verdict(question: HomeworkQuestion, answer: str, truth: Any) -> tuple[str, bool]:
    if not answer:
        return _("Not answered yet."), False
    try:
        correct = right(question, answer, truth)
    except InputError as error:
        return str(error), False
    return (
        (_("Right. {answer}", answer=answer_text(question, truth)), True)
        if correct
        else (_("Not yet: that is not what comes out."), False)
    )
