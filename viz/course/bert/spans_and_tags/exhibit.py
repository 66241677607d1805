"""Answers and tags: bert-mini tuned to say something of every token, where an answer starts and ends, and which part of speech a word is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.serving.engine import default
from core.training.finetune import tuning
from viz.charts import thumbs
from viz.course.bert import tuning_live as live
from viz.course.bert.spans_and_tags import answers, looks, tags, train
from viz.course.bert.spans_and_tags import maths as read_answers
from viz.course.shared.shown import folds as show
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Answers and tags", chapter=Chapter.BERT, order=40, minutes=12,
    claim="A small new head asks every token: does the answer start here, does it end here? Which part of speech is this?",
    cites=(
        Cite("beigy2024", "BERT, question answering", "start and end, W_s and W_e", step=1),
        Cite("beigy2024", "BERT, page after question answering", "the fourth task", step=3),
        Cite("lifei2022", "BERT, quotation from the paper"),
        Cite("devlin2019", "section 4.2", "start and end vectors", step=2),
        Cite("devlin2019", "section 5.3; Figure 4", "a tag for each token", step=3),
    ),
)  # fmt: skip
SLUG = "spans_and_tags."
STEPS = (
    lesson.Step("Mark it", "A question and a text. Each word gets two numbers: how likely the answer starts here, and ends here."),
    lesson.Step("All pairs", "An answer is a pair: a start and an end not before it. All pairs get a score, the greatest wins."),
    lesson.Step("Tags", "The same idea with other labels: each token gets a distribution over parts of speech."),
    lesson.Step("What it reads", "Tuning moved attention, too. The same head on the same text, before and after."),
    lesson.Step("Train it", "It learns here, from our own labelled texts, and the page then uses your model."),
)  # fmt: skip
ANSWERING = (0, 1, 3)
"""The steps in which the model answers questions."""
LONGEST = 64


@dataclass(frozen=True)
class Params:
    """What the visitor chose: question, passage, what is marked in it, a push on one score; a sentence and a word; head and token; which tuning."""

    question: str = "What did Ruth hide on Wednesday?"
    passage: str = "Peter hid a blue hat in the barn on Friday. Ruth hid a red hat outside the church on Wednesday. Rosa hid a grey hat at the market on Sunday."
    mark: str = ""
    push: float = 0.0
    text: str = tags.SENTENCES[0]
    word: int = -1
    layer: int = -1
    head: int = -1
    token: int = -1
    body: str = "full"
    goal: str = "answers"


def compute(params: Params = Params(), model: str = "recorded: answers-full") -> read_answers.Answer:
    """Where a tuned model says that the answer stands. Errors: InputError for no words, too many, or a model that is not there."""
    return read_answers.answer(default().open(model), params.question, params.passage, LONGEST)


def thumbnail() -> str:
    """Where the answer starts and ends in the opening text; a sign where there is no recorded run."""
    if "answers-full" not in tuning.Recorded.names():
        return thumbs.plain("?")
    found = compute().found
    return thumbs.bars(np.maximum(found.start, found.end))


def chosen() -> Params:
    """The visitor's choices."""
    start = Params()
    reads = {
        "question": state.typed, "passage": state.typed, "mark": state.typed, "push": state.real(0, answers.FURTHEST), "word": state.whole(-1, 63), "layer": state.whole(-1, 63),
        "head": state.whole(-1, 63), "token": state.whole(-1, 511), "body": state.one_of(tuple(train.BODIES), start.body), "goal": state.one_of(tuple(train.GOALS), start.goal),
    }  # fmt: skip
    return Params(text=state.read("text", start.text), **state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the texts; everything else folded."""
    parts.title(EXHIBIT)
    params, first_line = chosen(), st.empty()
    step = lesson.steps(STEPS, SLUG)
    if step in ANSWERING and (told := answers.measured(live.using(f"answers-{params.body}", SLUG))):
        first_line.text(told)
    for goal in train.GOALS:
        if step != train.STEP or goal != params.goal:
            live.watch(f"{goal}-{params.body}")
    with errors.guard():
        with st.container(key=f"spans-picture-{step}"):
            shown = (answers.marking, answers.pairs, tags.tagging, looks.looked, train.trained)[step](params)
        show(EXHIBIT, "spans_and_tags", str(step), shown, lambda: st.markdown(train.TRY[step]), lambda: lesson.errata("E22", "E23"))
    with st.container():
        if lesson.presenting():
            return
        if step in ANSWERING:
            drops = tuple(SLUG + name for name in ("mark", "push", "token"))
            controls.text("Question", SLUG + "question", Params.question, placeholder="Who …?", drops=drops, of=live.BEFORE, most="a question")
            controls.text("Text", SLUG + "passage", Params.passage, placeholder="A few sentences", drops=drops, of=live.BEFORE, most=f"up to {LONGEST} tokens")
        elif step == 2:
            controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", drops=(SLUG + "word",), of=live.BEFORE, most=f"up to {LONGEST} tokens")
            controls.preset_row(tags.SENTENCES, "text", Params.text)
