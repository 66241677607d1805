"""Few-shot prompts: examples in front of a question, and whether they help a model. Small sets of our own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.decoding import Greedy, decode
from core.errors import InputError
from core.model import Model
from viz.course.shared.prompts import answers

MOST = 4
CANDIDATES = 4


@dataclass(frozen=True)
class Task:
    """A task as pairs of question and answer; `joined` is the text between the two."""

    name: str
    says: str
    pairs: tuple[tuple[str, str], ...]
    joined: str = " ="


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            "opposites",
            "answer with the opposite of the word",
            (
                ("hot", "cold"),
                ("big", "small"),
                ("day", "night"),
                ("old", "young"),
                ("good", "bad"),
                ("up", "down"),
                ("rich", "poor"),
                ("long", "short"),
            ),
        ),
        Task(
            "repeat",
            "repeat the word",
            (
                ("garden", "garden"),
                ("river", "river"),
                ("mother", "mother"),
                ("horse", "horse"),
                ("window", "window"),
                ("summer", "summer"),
                ("bread", "bread"),
                ("letter", "letter"),
            ),
        ),
        Task(
            "homes",
            "answer with the place where it lives",
            (
                ("fish", "water"),
                ("bird", "nest"),
                ("king", "castle"),
                ("bear", "forest"),
                ("dog", "house"),
                ("mouse", "hole"),
                ("cow", "field"),
                ("sailor", "ship"),
            ),
        ),
    )
}
"""Sets of our own, eight questions each."""


def prompt(task: Task, question: str, k: int) -> str:
    r"""Return k examples, a line each, then the question; an example is never the question itself.

    >>> prompt(TASKS["opposites"], "up", 1)
    'hot = cold\nup ='
    """
    if not question.strip():
        raise InputError("There is no question.", "The last line of the prompt is yours.", "Type a word.")
    if not 0 <= k <= MOST:
        raise InputError(f"{k} examples are asked for.", f"There are 0 to {MOST}.", "Choose fewer.")
    others = [pair for pair in task.pairs if pair[0] != question.strip()][:k]
    return "\n".join(
        [*(f"{asked}{task.joined} {answer}" for asked, answer in others), f"{question.strip()}{task.joined}"]
    )


def choices(task: Task, index: int) -> tuple[str, ...]:
    """Return the right answer of a question first, and three answers of other questions, the same for every number of examples.

    >>> choices(TASKS["opposites"], 0)
    ('cold', 'bad', 'down', 'poor')
    """
    n = len(task.pairs)
    return tuple(task.pairs[(index + step) % n][1] for step in (0, *range(n // 2, n // 2 + CANDIDATES - 1)))


@dataclass(frozen=True)
class Score:
    """A whole set with k examples: whether the answer of each question is the most probable of four, and its share of their probability."""

    k: int
    right: tuple[bool, ...]
    shares: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Return the share of right answers."""
        return sum(self.right) / len(self.right)

    @property
    def share(self) -> float:
        """Return the mean share of the right answer; by chance it is a quarter."""
        return sum(self.shares) / len(self.shares)


def score(model: Model, task: Task, k: int) -> Score:
    """Ask every question of a set after k examples; of four answers the most probable is taken.

    Nothing is trained: the weights stay as they are, the examples stand in the prompt.

    >>> import core
    >>> scores = score(core.open_model("gpt-mini"), TASKS["repeat"], 1)
    >>> len(scores.right), 0 <= scores.share <= 1
    (8, True)
    """
    first = [
        answers(model, prompt(task, question, k), [f" {each}" for each in choices(task, at)])[0]
        for at, (question, _) in enumerate(task.pairs)
    ]
    return Score(k, tuple(each.place == 1 for each in first), tuple(each.share for each in first))


@dataclass(frozen=True)
class Continuation:
    """A greedy continuation of a prompt: its tokens, the probability of each, and whether it ended."""

    tokens: tuple[str, ...]
    p: tuple[float, ...]
    ended: bool

    @property
    def text(self) -> str:
        """Return the tokens, joined."""
        return "".join(self.tokens)


def write(model: Model, text: str, most: int = 16) -> Continuation:
    """Return the greedy continuation of a prompt, without END.

    >>> import core
    >>> write(core.open_model("prompt-tiny"), "reverse: abc =").text
    'cba'
    """
    steps = list(decode(model, text, Greedy(), max_new_tokens=most))
    ended = bool(steps) and steps[-1].reason == "end"
    steps = steps[:-1] if ended else steps
    return Continuation(
        tuple(step.token for step in steps), tuple(math.exp(step.logprob) for step in steps), ended
    )
