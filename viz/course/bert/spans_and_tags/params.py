"""Settings of the exhibit on answers and tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.text.tokenizer import readable_part
from viz.course.bert import tuning_live
from viz.course.bert.tuning_live import BEFORE
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, segmented, sentence, url_only

SLUG = "spans_and_tags."
LONGEST, FURTHEST = 64, 40.0
GOALS = {"answers": "answers in a text", "tags": "tags of words"}
BODIES = {"full": "all layers learn", "frozen": "only the head learns"}
Models = Mapping[str, tuning_live.Using]
"""The models of both tunings that the page uses, by their goal."""
SENTENCES: list[str] = data(__file__)["sentences"]
DROPS = ("mark", "push", "token")


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: question, passage, mark, push; sentence, word; head, token; which
    tuning."""

    question: str = knob(
        "Who left the blue ring?",
        sentence("Question", model=BEFORE, most="a question", drops=DROPS, placeholder="Who …?"),
    )
    passage: str = knob(
        "Peter left a black ring in the kitchen on Monday. Rosa left a blue ring in the barn on Thursday. "
        "Clara left a green ring at the market on Tuesday.",
        sentence(
            "Text", model=BEFORE, most=f"up to {LONGEST} tokens", drops=DROPS, placeholder="A few sentences"
        ),
    )
    mark: str = knob("", url_only(readable_part))
    push: float = knob(0.0, url_only(state.real_number(0, FURTHEST)))
    text: str = knob(
        SENTENCES[0],
        sentence("Sentence", SENTENCES, model=BEFORE, most=f"up to {LONGEST} tokens", drops=("word",)),
        link="text",
    )
    word: int = knob(-1, url_only(state.whole_number(-1, 63)))
    layer: int = knob(-1, url_only(state.whole_number(-1, 63)))
    head: int = knob(-1, url_only(state.whole_number(-1, 63)))
    token: int = knob(-1, url_only(state.whole_number(-1, 511)))
    goal: str = knob(
        "answers", segmented("What it learns", tuple(GOALS), GOALS.__getitem__, quiet=True, width=1)
    )
    body: str = knob(
        "full", segmented("Which weights learn", tuple(BODIES), BODIES.__getitem__, quiet=True, width=1)
    )
