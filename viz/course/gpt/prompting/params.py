"""What can be set on the exhibit on prompting."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.gpt.prompting.maths import TASKS, Written
from viz.course.shared.maths.prompts import ASKED, Toy
from viz.widgets.knobs import Knobs, knob, pills, seed_input, segmented, sentence

SLUG, TINY, MODEL = "prompting.", "prompt-tiny", "gpt-mini"
STRINGS = ("hello", "stressed", "Atlas", "aha", "abcdefghijkl")
LONGEST = 14


@dataclass(frozen=True)
class Params(Knobs):
    """What the visitor chose: the string, the draw of many, the described task, and the task with examples."""

    string: str = knob(STRINGS[0], sentence("Letters", STRINGS, placeholder="Type letters, a to z"))
    draw: int = knob(0, seed_input(99, next_label="Other strings"))
    asked: int = knob(
        2, pills("Prompt", range(len(ASKED)), lambda i: f"{i + 1} {ASKED[i].template}", quiet=True)
    )
    task: str = knob("opposites", segmented("Task", tuple(TASKS), quiet=True))


@dataclass(frozen=True, eq=False)
class Data:
    """The string under each prompt word, and what the model wrote."""

    asked: tuple[Toy, ...]
    answers: tuple[Written, ...]
