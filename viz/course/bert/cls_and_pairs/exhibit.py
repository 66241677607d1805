"""A class from [CLS]: bert-mini tuned to say one thing of a sentence, or of a pair, from a single vector."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.serving.resolve import RECORDED
from core.training.finetune import tuning
from viz.charts import thumbs
from viz.course.bert import tuning_live as live
from viz.course.bert.cls_and_pairs import link, pairs, steps, wrong
from viz.course.shared.shown import folds as show
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="A class from [CLS]", chapter=Chapter.BERT, order=35, minutes=12,
    claim="One vector stands for the whole text. A small new head reads it and says a class, of a sentence or of a pair.",
    cites=(
        Cite("beigy2024", "BERT, single sentence classification", "softmax(h^cls W^cls)", step=3),
        Cite("beigy2021", "BERT, outputs", "only the first position, [CLS]", step=1),
        Cite("beigy2024", "BERT, sentence pair classification", step=5),
        Cite("devlin2019", "section 4.1; Figure 4", "one new layer on [CLS]", step=6),
    ),
)  # fmt: skip
SLUG = link.SLUG
STEPS = (
    lesson.Step("One vector", "[CLS] stands before the sentence. Its last vector is all that the head reads."),
    lesson.Step("What it reads", "To say it, [CLS] has to gather it: from which words, before tuning and after?"),
    lesson.Step("Arithmetic", "Each number of the vector times a weight, all added: a score for each class. Softmax makes them probabilities."),
    lesson.Step("Gradient", "What does training reach? The loss hangs on one vector of the last layer."),
    lesson.Step("Pairs", "[CLS] A [SEP] B [SEP]: the same head with three classes. Does B follow from A?"),
    lesson.Step("Train it", "Train it here. Then: what does it get wrong?"),
)
SHOWN = (steps.one_vector, steps.what_it_reads, steps.arithmetic, steps.gradient, pairs.pairs, wrong.trained)
EXAMPLES = ("The soup was not awful.", "The story was dull at first, but it was exciting in the end.", "The garden on the hill was lovely.", "Nobody called the captain rude.")
TRY = (
    "**Try.** Put “not” into a sentence, or take it out. Then a sentence that is about nothing good or bad: it must say one of the two.",
    "**Try.** Choose one head after the other: which of them found the word that judges?",
    "**Try.** Choose the other class: for two classes, is each bar turned round?",
    "**Try.** Choose the class that the model is sure of: the shares stay much the same, the lengths become tiny.",
    "**Try.** Type the same sentence twice; then put “no” before the second. Switch the segment vectors off, then swap.",
    "**Try.** Another random seed. Then go back to step 1: the page uses your model.",
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: a sentence, two sentences, whether segments are told apart, a head, a class, what is trained."""

    text: str = EXAMPLES[0]
    first: str = pairs.PAIRS[0][0]
    second: str = pairs.PAIRS[0][1]
    segments: bool = True
    head: int = steps.ALL_HEADS
    label: int = -1
    goal: str = "opinions"


def compute(params: Params = Params()) -> steps.Read:
    """The sentence through bert-mini before and after its recorded tuning; where there is none, with a new head only."""
    there = link.SINGLE in tuning.Recorded.names()
    return steps.read(params.text, RECORDED + link.SINGLE if there else None, tuning.Recorded.read(link.SINGLE).seed if there else 0)


def thumbnail() -> str:
    """What [CLS] reads in each layer after tuning."""
    return thumbs.cells(compute().after.mean(1))


def chosen() -> Params:
    """The visitor's choices."""
    start = Params()
    reads = {"first": state.typed, "second": state.typed, "segments": state.flag, "head": state.whole(steps.ALL_HEADS, 63), "label": state.whole(-1, 1), "goal": state.one_of(tuple(wrong.NAMES), start.goal)}
    return Params(text=state.read("text", start.text), **state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, the question, one picture, one sentence of numbers, its control; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen()
    shown = None
    with errors.guard(), st.container(key=f"cls-picture-{step}"):
        shown = SHOWN[step](params)
    with st.container():
        if step < 4 and not lesson.presenting():
            controls.text("Sentence", "text", Params.text, placeholder="Type a sentence", of=live.BEFORE, most=f"up to {link.LONGEST} tokens")
            controls.preset_row(EXAMPLES, "text", Params.text)
        if step == 4 and not lesson.presenting():
            pairs.texts()
        for name in (link.SINGLE, link.PAIRED) if step < 5 else ():
            live.watch(name)
    with errors.guard():
        if shown:
            show(EXHIBIT, SLUG.rstrip("."), str(step), shown, lambda: st.markdown(TRY[step]), lambda: lesson.errata("E23"))
