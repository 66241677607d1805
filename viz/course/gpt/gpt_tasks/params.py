"""Settings of the exhibit on tuned GPTs: a task, its texts, the right label, lambda, a layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, SIMILARITY, TASKS
from core.errors import InputError
from core.training.finetune import gpt_tuning
from core.training.finetune.gpt_finetune_tasks import GOALS
from core.training.finetune.gpt_tuning import LAMBDAS
from viz.course.gpt.gpt_tasks.maths import LONGEST
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts
from viz.widgets.knobs import Control, Knobs, knob, segmented, select_slider, sentence, url_only

SLUG = "gpt_tasks."
PAPER = 0.5
"""Lambda in the paper."""
MOST = 6
TITLES = {
    CLASSIFICATION: "Classification",
    ENTAILMENT: "Entailment",
    SIMILARITY: "Similarity",
    CHOICE: "Multiple choice",
}
TEXTS = {
    CLASSIFICATION: ("The soup at the inn was not awful.", ""),
    ENTAILMENT: ("The soup at the inn was not awful.", "The soup was delicious."),
    SIMILARITY: ("The soup at the inn was not awful.", "The teacher was kind."),
    CHOICE: ("The soup at the inn was not awful.", "sour, delicious, bitter, bad"),
}
RIGHT = {CLASSIFICATION: 0, ENTAILMENT: 0, SIMILARITY: 0, CHOICE: 1}
"""The label that is right for the texts with which a task opens."""
EXAMPLES = (
    "The soup at the inn was not awful.",
    "My uncle's old songs were dull at first, but that did not last.",
    "The nurse was kind.",
)


@dataclass(frozen=True)
class Example:
    """Example of a task: its texts (of a choice the answers with commas between), and the index of the right label."""

    task: str = CHOICE
    first: str = TEXTS[CHOICE][0]
    second: str = TEXTS[CHOICE][1]
    right_index: int = RIGHT[CHOICE]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts of the task. Raises InputError for too many answers, or for one."""
        if self.task == CLASSIFICATION:
            return (self.first,)
        if self.task != CHOICE:
            return self.first, self.second
        answers = [answer.strip() for answer in self.second.split(",") if answer.strip()]
        if not 2 <= len(answers) <= MOST:
            raise InputError(
                f"{len(answers)} answers.",
                f"From 2 to {MOST} answers, with commas between them, can be chosen from here.",
                "Type some more, or fewer.",
            )
        return self.first, *(f" {answer}" for answer in answers)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels that the head chooses from: the classes, or the answers."""
        return GOALS[self.task].labels or tuple(answer.strip() for answer in self.texts[1:])

    @property
    def right(self) -> int:
        """Return the index of the right label; the last one if there are fewer."""
        return min(self.right_index, len(self.labels) - 1)


def _first(task: str, label: str, *examples: str) -> Any:
    """Return the setting of the first text of a task."""
    return knob(TEXTS[task][0], _box(label, *examples), link=f"{SLUG}{task}.first")


def _second(task: str, label: str) -> Any:
    """Return the setting of the second text of a task."""
    return knob(TEXTS[task][1], _box(label), link=f"{SLUG}{task}.second")


def _box(label: str, *examples: str) -> Control:
    return sentence(
        label,
        examples,
        model=gpt_tuning.BODY,
        most=f"up to {LONGEST} tokens, all boxes together",
        placeholder="Type here",
        quiet=lambda params: exhibit_parts.presenting(),
        width=0 if examples else "stretch",
    )


def _right(task: str) -> Any:
    """Return the setting of the right label in a task; its control is drawn once the texts can be read."""

    def draw(name: str, opening: int, params: Params, names: Callable[[str], str]) -> None:
        try:
            labels = params.example(task).labels
        except InputError:  # the step says what is wrong
            return
        controls.segmented("Right label", range(len(labels)), name, opening, lambda at: labels[at])

    control = Control(draw, lambda opening: state.whole_number(0, MOST - 1), 1)
    return knob(RIGHT[task], control, link=f"{SLUG}{task}.right")


def _layers() -> range:
    return range(engine_client.open(gpt_tuning.BODY).config.n_layers)


def _layer(raw: str) -> int:
    return state.one_of(_layers(), _layers()[-1])(raw)


def _pick_layer(name: str, opening: int, params: Params, names: Callable[[str], str]) -> None:
    controls.segmented("Layer", _layers(), name, _layers()[-1], lambda at: f"L{at}", quiet=True)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings: the displayed task, the trained one; texts; lambda, a layer."""

    task: str = knob(CHOICE, segmented("Task", TASKS, TITLES.__getitem__, quiet=True, width=1))
    tuned: str = knob(CLASSIFICATION, url_only(state.one_of(TASKS, CLASSIFICATION)))
    weight: float = knob(PAPER, select_slider("λ, weight of the text", LAMBDAS, "{:g}".format, width=260))
    layer: int = knob(-1, Control(_pick_layer, lambda opening: _layer, 1))
    classification_first: str = _first(CLASSIFICATION, "Text", *EXAMPLES)
    entailment_first: str = _first(ENTAILMENT, "Premise")
    entailment_second: str = _second(ENTAILMENT, "Hypothesis")
    similarity_first: str = _first(SIMILARITY, "First text")
    similarity_second: str = _second(SIMILARITY, "Second text")
    choice_first: str = _first(CHOICE, "Context")
    choice_second: str = _second(CHOICE, "Answers, with commas")
    classification_right: int = _right(CLASSIFICATION)
    entailment_right: int = _right(ENTAILMENT)
    similarity_right: int = _right(SIMILARITY)
    choice_right: int = _right(CHOICE)

    def example(self, task: str) -> Example:
        """Return the example of a task."""
        texts = [getattr(self, name) for name in boxes(task)]
        return Example(task, texts[0], texts[-1] if len(texts) > 1 else "", getattr(self, f"{task}_right"))


def boxes(task: str) -> tuple[str, ...]:
    """Return the names of the fields that hold the texts of a task."""
    return tuple(f"{task}_{name}" for name in ("first", "second")[: 1 if task == CLASSIFICATION else 2])
