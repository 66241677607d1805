"""The pages of the workspace that belong to a chapter, each with a small picture of a real run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from core.analysis.attribution.target_token import blank_rows
from core.analysis.heads.head_file import read_heads
from core.checkpoints.manifest import shipped_folder
from core.maths import log_softmax
from core.run import Run
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.labels import shorten, visible
from viz.languages import mark
from viz.shell.pages import Chapter
from viz.workspace.shared import head_ref, head_survey, model_run
from viz.workspace.shared.tasks import CONTINUE, FILL, TRANSLATE

BARS = 5
RECURRENT = "bahdanau-en-es"


@dataclass(frozen=True)
class PageCard:
    """A page of the workspace as the course links to it: its title there, its link, the function that draws its picture (none: a plain link)."""

    slug: str
    title: str
    link: Mapping[str, str] = field(default_factory=dict)
    draw: Callable[[], str] | None = None


def _run(model: str, text: str, *keep: str) -> Run:
    return default().run(RunRequest(model, text, keep=keep))


def _opening_head(model: str) -> head_ref.HeadRef:
    """Return the head that Look opens with, from the habits that ship with the model; of a recurrent translator its one alignment."""
    measured = read_heads(shipped_folder() / model)
    found = head_survey.clearest_heads(measured.trained) if measured else {}
    return next(iter(found), head_ref.HeadRef(model_run.open_model(model).spec.kinds[-1].name, 0, 0))


def looking(model: str = TRANSLATE.model) -> str:
    """Draw the most telling head of a translator on the opening sentence: where each written word attends."""
    run, place = _run(model, TRANSLATE.text, "*.pattern"), _opening_head(model)
    attention = run.attention(place.kind, by="word", writing=True)
    words = (attention.queries, attention.keys)
    rows, columns = (
        [i for i in range(len(names)) if i not in marks]
        for names, marks in zip(words, attention.special_positions, strict=True)
    )
    return thumbs.links(
        attention.weights[place.layer, place.head][np.ix_(rows, columns)],
        [attention.keys[i].strip() for i in columns],
        [attention.queries[i].strip() for i in rows],
    )


def next_word() -> str:
    """Draw the predictions of gpt-mini for the last word of its opening sentence."""
    run = _run(CONTINUE.model, CONTINUE.text.rpartition(" ")[0])
    return _expected(run, len(run.tokens) - 1)


def blank() -> str:
    """Draw the predictions of bert-mini for the blank."""
    run = _run(FILL.model, FILL.text)
    return _expected(run, blank_rows(run)[0])


def _expected(run: Run, row: int) -> str:
    chances = np.exp(log_softmax(run.logits[row].astype(np.float64)))
    best = np.argsort(-chances)[:BARS]
    return thumbs.bars(
        chances[best],
        [shorten(visible(run.model.tokenizer.token(int(i)).strip()), 9) for i in best],
        marked=0,
    )


def past() -> str:
    """Draw a head of gpt-mini: every word attends to itself and back, never ahead."""
    run = _run(CONTINUE.model, CONTINUE.text, "*.pattern")
    place = _opening_head(CONTINUE.model)
    attention = run.attention(place.kind)
    return thumbs.cells(
        attention.weights[place.layer, place.head], attention.allowed[place.layer, place.head]
    )


PAGES: Mapping[Chapter, tuple[PageCard, ...]] = {
    Chapter.WHY_ATTENTION: (
        PageCard(
            "look",
            mark("A translator with attention"),
            {"model": RECURRENT, "text": TRANSLATE.text},
            lambda: looking(RECURRENT),
        ),
    ),
    Chapter.LOOK_UP: (),
    Chapter.SELF_ATTENTION: (
        PageCard("be_the_head", mark("Be the head"), {}, past),
        PageCard("what_if", mark("What if")),
        PageCard("find", mark("Find heads")),
    ),
    Chapter.TRANSFORMER: (
        PageCard("look", mark("Look"), {"model": TRANSLATE.model, "text": TRANSLATE.text}, looking),
        PageCard("compare", mark("Compare")),
        PageCard("importance", mark("What matters")),
    ),
    Chapter.BERT: (PageCard("look", mark("Fill a blank"), {"model": FILL.model, "text": FILL.text}, blank),),
    Chapter.GPT: (
        PageCard("decode", mark("Decode"), {"model": CONTINUE.model}, next_word),
        PageCard("inside", mark("Inside")),
        PageCard("growth", mark("While learning")),
    ),
    Chapter.VISION: (),
}
"""Those with a picture of their own stand as tiles, the others as a line of links."""
