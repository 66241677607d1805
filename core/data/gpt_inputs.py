"""The inputs of GPT when it is fine-tuned: every task becomes rows of tokens, and one linear map reads the last position of each.

Radford et al. 2018, 3.3 and figure 1. The rows between three special tokens, Start, Delim and Extract:

    classification    Start text Extract
    entailment        Start premise Delim hypothesis Extract
    similarity        Start a Delim b Extract, and Start b Delim a Extract: two texts have no order
    choice            Start context Delim answer Extract, a row for each answer

and what is said of them (3.2): P(y | x^1 .. x^m) = softmax(h W_y), h the vector at Extract after the last layer. The two
vectors of a similarity are added first; the rows of a choice get one number each, and the softmax goes over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from core.errors import InputError

Array = np.ndarray
T = TypeVar("T")
CLASSIFICATION, ENTAILMENT, SIMILARITY, CHOICE = "classification", "entailment", "similarity", "choice"
TASKS = (CLASSIFICATION, ENTAILMENT, SIMILARITY, CHOICE)
SPECIAL_TOKENS = ("Start", "Delim", "Extract")


class Needs(NamedTuple):
    """The least and the largest number of texts that a task reads; `most` is None where there is no limit."""

    least: int
    most: int | None


NEEDS = {
    CLASSIFICATION: Needs(1, 1),
    ENTAILMENT: Needs(2, 2),
    SIMILARITY: Needs(2, 2),
    CHOICE: Needs(3, None),
}


def input_rows(
    task: str, texts: Sequence[Sequence[T]], special_tokens: tuple[T, T, T]
) -> tuple[tuple[T, ...], ...]:
    """Return the rows of tokens that a task makes of its texts; `special_tokens` are the tokens for Start, Delim and Extract.

    The last text but the first of a choice are its answers. Tokens may be ids or names.

    >>> input_rows("similarity", ["ab", "c"], ("<", "|", ">"))
    (('<', 'a', 'b', '|', 'c', '>'), ('<', 'c', '|', 'a', 'b', '>'))
    >>> [len(input_rows("choice", [["why"], *[["so"]] * n], SPECIAL_TOKENS)) for n in (2, 4)]
    [2, 4]

    Raises InputError for an unknown task, or for texts that it does not take.
    """
    check_text_count(task, len(texts))
    start, delim, extract = special_tokens
    first = texts[0]
    if task == CLASSIFICATION:
        return ((start, *first, extract),)
    pairs = [(first, other) for other in texts[1:]]
    if task == SIMILARITY:
        pairs += [(other, text) for text, other in pairs]
    return tuple((start, *text, delim, *other, extract) for text, other in pairs)


def check_text_count(task: str, n: int) -> None:
    """Check that a task takes n texts. Raises InputError for an unknown task or another number."""
    if task not in NEEDS:
        raise InputError(f"There is no task '{task}'.", f"Tasks: {', '.join(TASKS)}.", "Choose one of them.")
    least, most = NEEDS[task]
    if n < least or (most is not None and n > most):
        wanted = f"{least} texts" if most else f"a text and at least {least - 1} answers"
        raise InputError(
            f"{n} texts for the task {task}.",
            f"It takes {'one text' if most == 1 else wanted}.",
            "Give as many as it takes.",
        )


def n_rows(task: str, n_answers: int = 0) -> int:
    """Return how many rows a task makes.

    >>> [n_rows(task, 4) for task in TASKS]
    [1, 1, 2, 4]
    """
    return {CLASSIFICATION: 1, ENTAILMENT: 1, SIMILARITY: 2}.get(task, n_answers)


def extract_positions(made: Sequence[Sequence[object]]) -> tuple[int, ...]:
    """Return the position in each row at which the head reads: that of Extract, the last.

    >>> extract_positions(input_rows("entailment", ["ab", "c"], ("<", "|", ">")))
    (5,)
    """
    return tuple(len(row) - 1 for row in made)


@dataclass(frozen=True, eq=False)
class HeadOutput:
    """The output of a task head: the vectors that W_y multiplies, (row, d), the scores and the probabilities, each (class,) or (answer,)."""

    read: Array
    scores: Array
    probabilities: Array


def head_output(task: str, vectors: Array, weight: Array, bias: Array) -> HeadOutput:
    """Compute the probabilities of a task from the vectors at Extract, (row, d); `weight` is W_y transposed, (class, d).

    >>> two = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> head_output("similarity", two, np.eye(2), np.zeros(2)).scores.tolist()
    [1.0, 2.0]
    >>> head_output("choice", two, np.ones((1, 2)), np.zeros(1)).probabilities.round(3).tolist()
    [0.269, 0.731]
    """
    read = np.asarray(vectors, dtype=np.float64)
    if task == SIMILARITY:
        read = read.sum(0, keepdims=True)
    scores = (
        (read @ np.asarray(weight, dtype=np.float64).T + bias).ravel()
        if task == CHOICE
        else np.asarray(weight, dtype=np.float64) @ read[0] + bias
    )
    powers = np.exp(scores - scores.max())
    return HeadOutput(read, scores, powers / powers.sum())


def combined_objective(l_1: float, l_2: float, weight: float) -> float:
    """Return the objective that fine-tuning maximises, lambda L_1 + L_2 (Radford et al. 2018, 3.2).

    `l_1` is the mean log-probability of the text, times `weight`; `l_2` that of the right label.

    >>> combined_objective(-3.0, -0.25, 0.0), combined_objective(-3.0, -0.25, 0.5)
    (-0.25, -1.75)
    """
    return weight * l_1 + l_2
