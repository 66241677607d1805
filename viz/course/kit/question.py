"""Questions of a step, each asked before its numbers are shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from viz.widgets import exhibit_parts
from viz.widgets.quiz import Explanation


@dataclass(frozen=True)
class StepQuestion:
    """A question: its name in the exhibit, its words, and the explanation that follows the guess."""

    name: str
    text: str

    def ask(self, slug: str) -> bool:
        """Draw the question of an exhibit; return True once it is answered."""
        raise NotImplementedError


@dataclass(frozen=True)
class Choice(StepQuestion):
    """A question with a few answers. Options with numbers decide themselves which answers tie; `also` are right as well."""

    options: Sequence[str] | Mapping[str, float]
    answer: str
    explanation: Explanation
    also: Collection[str] = ()

    def ask(self, slug: str) -> bool:
        """Draw the options; return True once one is chosen."""
        return exhibit_parts.predict(
            f"{slug}.{self.name}", self.text, self.options, self.answer, self.explanation, **self._also()
        )

    def _also(self) -> dict[str, Collection[str]]:
        return {"also": self.also} if self.also else {}


@dataclass(frozen=True)
class Estimate(StepQuestion):
    """A question whose answer is a number from `low` to `high`; a guess within `near` of it is right. With "%" up to 1 it is a share."""

    low: float
    high: float
    answer: float
    explanation: Explanation
    near: float
    unit: str = ""

    def ask(self, slug: str) -> bool:
        """Draw a slider; return True once its number is committed."""
        return exhibit_parts.predict_number(
            f"{slug}.{self.name}",
            self.text,
            self.low,
            self.high,
            self.answer,
            self.explanation,
            self.near,
            self.unit,
        )


@dataclass(frozen=True)
class Touch(StepQuestion):
    """A question that is answered by touching the picture; `marked` is what is touched now, in words."""

    marked: str
    answer: str
    explanation: Explanation

    def ask(self, slug: str) -> bool:
        """Draw what is marked and the button that commits it; return True once it is committed."""
        return exhibit_parts.predict_mark(
            f"{slug}.{self.name}", self.text, self.marked, self.answer, self.explanation
        )
