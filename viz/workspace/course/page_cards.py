"""Which pages of the workspace belong to a chapter, each with a small picture of a real run."""

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
from viz.shell.pages import Chapter
from viz.workspace.shared import head_ref, head_survey, model_run
from viz.workspace.shared.tasks import CONTINUE, FILL, TRANSLATE

BARS = 5
RECURRENT = "bahdanau-en-es"


@dataclass(frozen=True)
class Beside:
    """A page of the workspace as the course names it: what it shows there, its link, how its picture is made (none: a sign)."""

    slug: str
    title: str
    link: Mapping[str, str] = field(default_factory=dict)
    draw: Callable[[], str] | None = None


def _run(model: str, text: str, *keep: str) -> Run:
    return default().run(RunRequest(model, text, keep=keep))


def _telling(model: str) -> head_ref.HeadRef:
    """The head that Look opens with, from the habits that ship with the model; of a recurrent translator its one alignment."""
    measured = read_heads(shipped_folder() / model)
    found = head_survey.clearest_heads(measured.trained) if measured else {}
    return next(iter(found), head_ref.HeadRef(model_run.open_model(model).spec.kinds[-1].name, 0, 0))


def looking(model: str = TRANSLATE.model) -> str:
    """The most telling head of a translator on the opening sentence: what each written word looks at."""
    run, place = _run(model, TRANSLATE.text, "*.pattern"), _telling(model)
    attention = run.attention(place.kind, by="word", writing=True)
    words = (attention.queries, attention.keys)
    rows, columns = (
        [i for i in range(len(names)) if i not in marks]
        for names, marks in zip(words, attention.marks, strict=True)
    )
    return thumbs.links(
        attention.weights[place.layer, place.head][np.ix_(rows, columns)],
        [attention.keys[i].strip() for i in columns],
        [attention.queries[i].strip() for i in rows],
    )


def next_word() -> str:
    """What gpt-mini expects after the opening sentence without its last word."""
    run = _run(CONTINUE.model, CONTINUE.text.rpartition(" ")[0])
    return _expected(run, len(run.tokens) - 1)


def blank() -> str:
    """What bert-mini would write in the blank."""
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
    """A head of gpt-mini: every word looks at itself and back, never ahead."""
    run = _run(CONTINUE.model, CONTINUE.text, "*.pattern")
    place = _telling(CONTINUE.model)
    attention = run.attention(place.kind)
    return thumbs.cells(
        attention.weights[place.layer, place.head], attention.allowed[place.layer, place.head]
    )


PAGES: Mapping[Chapter, tuple[Beside, ...]] = {
    Chapter.WHY: (
        Beside(
            "look",
            "A translator with attention",
            {"model": RECURRENT, "text": TRANSLATE.text},
            lambda: looking(RECURRENT),
        ),
    ),
    Chapter.LOOK_UP: (),
    Chapter.SELF_ATTENTION: (
        Beside("be_the_head", "Be the head", {}, past),
        Beside("what_if", "What if"),
        Beside("find", "Find heads"),
    ),
    Chapter.TRANSFORMER: (
        Beside("look", "Look", {"model": TRANSLATE.model, "text": TRANSLATE.text}, looking),
        Beside("compare", "Compare"),
        Beside("importance", "What matters"),
    ),
    Chapter.BERT: (Beside("look", "Fill a blank", {"model": FILL.model, "text": FILL.text}, blank),),
    Chapter.GPT: (
        Beside("decode", "Decode", {"model": CONTINUE.model}, next_word),
        Beside("inside", "Inside"),
        Beside("growth", "While learning"),
    ),
    Chapter.VISION: (),
}
"""Those with a picture of their own stand as tiles, the others as a line of links."""
