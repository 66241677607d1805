"""Settings of the exhibit on freezing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.text.tokenizer import readable_part
from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import BODY
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, segmented, url_only

SLUG = "frozen_or_full."
FROZEN, FULL = WAYS = ("frozen", "full fine-tuning")
TASKS = tuple(GOALS)
NAMES = {FROZEN: "frozen", FULL: "full"}
IN_FULL = "in full"
"""Full fine-tuning, as links name it."""
TRAINED = {FROZEN: "frozen", IN_FULL: "full"}
LONGEST = 24
LAYERS, HEADS = 6, 8
TWO = ("pairs", "answers")
EXAMPLES = {
    "opinions": ("The soup was not awful.", ""),
    "pairs": ("A small dog slept at noon.", "No animal slept at noon."),
    "answers": ("Who found a key?", "Anna found a key. Tom lost a ring."),
    "tags": ("Her walk in the light was light.", ""),
}
"""The texts that a task opens with; the question first, its passage second."""


def _box(number: int) -> Control:
    """Return the control of the first or the second text of the task, if it has one."""

    def draw(name: str, opening: str | None, params: Params, names: Callable[[str], str]) -> None:
        asks = params.task == "answers"
        label = (("Sentence", "Question"), ("Second sentence", "Text"))[number][asks]
        if number == 0 or params.task in TWO:
            text, most = EXAMPLES[params.task][number], f"up to {LONGEST} tokens"
            controls.text(label, name, text, model=BODY, most=most)

    return Control(draw, lambda opening: readable_part)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: task, axis, the way to train, texts, head (-1: the one that changed
    most)."""

    task: str = knob(TASKS[0], segmented("Task", TASKS, lambda name: GOALS[name].title, width=1))
    over: str = knob("steps", segmented("Over", ("steps", "seconds"), quiet=True, width=1))
    train: str = knob(
        FROZEN,
        segmented(
            "Train",
            tuple(TRAINED),
            {FROZEN: "train only the head", IN_FULL: FULL}.__getitem__,
            quiet=True,
            width=1,
        ),
    )
    text: str | None = knob(None, _box(0), link="text")
    second: str | None = knob(None, _box(1))
    layer: int = knob(-1, url_only(state.whole_number(0, LAYERS - 1)), link="layer")
    head: int = knob(-1, url_only(state.whole_number(0, HEADS - 1)), link="head")

    @property
    def texts(self) -> tuple[str, str]:
        """Return both texts; those of the task where none was typed."""
        first, second = EXAMPLES[self.task]
        return first if self.text is None else self.text, second if self.second is None else self.second
