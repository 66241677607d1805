"""Settings of the exhibit on [CLS]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.training.finetune.finetune_tasks import GOALS
from viz.course.bert import tuning_live
from viz.course.bert.tuning_live import BEFORE
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, segmented, sentence, toggle, url_only

SLUG = "cls_and_pairs."
SINGLE, PAIRED = "opinions-full", "pairs-full"
TUNED = {"opinions": SINGLE, "pairs": PAIRED}
"""The tuning of each goal."""
Models = Mapping[str, tuning_live.Using]
"""The models of both tunings that the page uses, by their goal."""
CLASSES = GOALS["opinions"].labels
SAYS = {"entailment": "follows", "contradiction": "contradicts", "neutral": "neither"}
"""The relation of the second sentence, in the order of the bars; by the labels of the task."""
LONGEST = 40
ALL_HEADS = -1
EXAMPLES: list[str] = data(__file__)["sentences"]
PAIRS: list[list[str]] = data(__file__)["pairs"]
BOTH = f"up to {LONGEST} tokens, both together"
GOALS_SAID = {"opinions": "one sentence", "pairs": "a pair"}


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: a sentence, two sentences, segments; head, class, the goal of the
    training."""

    text: str = knob(
        EXAMPLES[0],
        sentence("Sentence", EXAMPLES, model=BEFORE, most=f"up to {LONGEST} tokens"),
        link="text",
    )
    first: str = knob(PAIRS[0][0], sentence("A", model=BEFORE, most=BOTH, width="stretch"))
    second: str = knob(
        PAIRS[0][1], sentence("B", model=BEFORE, most=BOTH, placeholder="Type a second one", width="stretch")
    )
    segments: bool = knob(True, toggle("Segment embeddings", width=1))
    head: int = knob(ALL_HEADS, url_only(state.whole_number(ALL_HEADS, 63)))
    label: int = knob(-1, url_only(state.whole_number(-1, 1)))
    goal: str = knob(
        "opinions", segmented("What it learns", tuple(TUNED), GOALS_SAID.__getitem__, quiet=True)
    )
