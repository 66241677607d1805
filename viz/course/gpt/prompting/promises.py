"""Conditions that make the sentences of the exhibit on prompting true, step by step."""

from __future__ import annotations

from functools import cache

from core.serving.engine import default
from viz.course.gpt.prompting.few import clear_difference
from viz.course.gpt.prompting.maths import CANDIDATES, MOST, TASKS, scored
from viz.course.gpt.prompting.params import MODEL, TINY, Data, Params
from viz.course.gpt.prompting.steps import TOO_LONG
from viz.course.shared.maths.prompts import ASKED, answers, solved


@cache
def _solved(n: int) -> float:
    return sum((found := solved(default().open(TINY), 12, n, 0)).values()) / len(found)


@cache
def _right() -> tuple[bool, ...]:
    """Whether gpt-mini puts the right answer of each prompt first."""
    model = default().open(MODEL)
    return tuple(answers(model, each.prompt, each.candidates)[each.right].place == 1 for each in ASKED)


@cache
def _few(task: str, k: int) -> int:
    return sum(scored(default().open(MODEL), TASKS[task], k).right)


def _obeys(params: Params, data: Data) -> bool:
    right = [
        wrote.text == toy.answer and wrote.ended for toy, wrote in zip(data.asked, data.answers, strict=True)
    ]
    return all(right) if len(params.string) <= 10 else not any(right)


def _translation(params: Params, _: object) -> bool:
    asked = ASKED[params.asked]
    found = answers(default().open(MODEL), asked.prompt, asked.candidates)
    return asked.template != "translate" or found[asked.right].share < 0.05


ONE_WORD = {"three tasks exactly right up to ten letters, none at twelve": _obeys}
HOW_WELL = {
    "nearly all strings of 10 letters are right, none of 12": lambda params, _: (
        _solved(10) > 0.9 and _solved(TOO_LONG) == 0
    )
}
DESCRIBED = {
    "the translation fails: the model read no Spanish": _translation,
    "more prompts are right than by chance": lambda params, _: (
        sum(_right()) > 1 + sum(1 / len(each.candidates) for each in ASKED)
    ),
}
EXAMPLES = {
    "examples make no clear difference in any of the three tasks": lambda params, _: all(
        abs(_few(name, MOST) - _few(name, 0)) < clear_difference(len(task.pairs))
        for name, task in TASKS.items()
    ),
    "no task is clearly above chance": lambda params, _: all(
        _few(name, MOST) - len(task.pairs) / CANDIDATES < 3 for name, task in TASKS.items()
    ),
}
