"""Tasks whose rules are new in each text, so that they can be solved from the text alone: pairs to recall, and classes shown by one example.

Both are written alike. Small letters and digits are an item, a capital is its answer, `?` asks for one:
`k3F m7Q k3?` goes on with `F`. The same generator gives the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits
from types import MappingProxyType

import numpy as np

from core.data.grammar import Split, split_of

SIGNS = ascii_lowercase + digits + ascii_uppercase + "?"
PAIRS = range(2, 17)
"""How many pairs are shown."""
CLASSES = range(2, 7)
"""How many classes are shown, each by one example."""
LONG = 5
"""Signs of a pattern; of each example one is another."""
POOL = 8
"""Letters of which the patterns of one text are made."""


@dataclass(frozen=True)
class Episode:
    """A few-shot task: `examples` are (item, answer) pairs; `queries` are (item, index of the example with the right answer)."""

    examples: tuple[tuple[str, str], ...]
    queries: tuple[tuple[str, int], ...]

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(self.examples[place][1] for _, place in self.queries)

    @property
    def text(self) -> str:
        """Return the text of the task up to the last question, whose answer is left out; earlier questions are followed by theirs.

        >>> Episode((("k3", "F"), ("m7", "Q")), (("m7", 1), ("k3", 0))).text
        'k3F m7Q m7?Q k3?'
        """
        told = [item + answer for item, answer in self.examples]
        asked = [f"{item}?{answer}" for (item, _), answer in zip(self.queries, self.answers, strict=True)]
        return " ".join((*told, *asked))[:-1]

    @property
    def back(self) -> int:
        """Return how many symbols before the last `?` its answer occurred among the examples."""
        signs = self.text.replace(" ", "")
        before = sum(len(item) + 1 for item, _ in self.examples[: self.queries[-1][1] + 1])
        return len(signs) - before


def recall_episode(rng: np.random.Generator, n: int, n_queries: int) -> Episode:
    """Sample an episode that pairs n keys, a letter and a digit each, with a capital letter, and asks for `n_queries` of them.

    The letters and the digits are few, so that neither identifies a pair: only both together do.

    >>> recall_episode(np.random.default_rng(0), 3, 1).text
    't4H t5L e4V e4?'
    """
    few = next(size for size in range(2, 6) if size * size >= n)
    letters, figures = _some(rng, ascii_lowercase, few), _some(rng, digits, few)
    keys = [letters[i // few] + figures[i % few] for i in rng.permutation(few * few)[:n]]
    asked = rng.integers(n, size=n_queries)
    return Episode(
        tuple(zip(keys, _some(rng, ascii_uppercase, n), strict=True)),
        tuple((keys[place], int(place)) for place in asked),
    )


def class_episode(rng: np.random.Generator, n: int, n_queries: int) -> Episode:
    """Sample an episode of n random patterns of five letters: an example of each with its capital, then `n_queries` other examples to classify.

    Two patterns differ at all positions, and an example differs from its pattern at one: so two examples of a class differ
    in at most two symbols, examples of two classes in at least three.

    >>> class_episode(np.random.default_rng(0), 2, 1).text
    'kzesgG eutgyY pgtgy?'
    """
    pool = _some(rng, ascii_lowercase, POOL)
    columns = [rng.permutation(POOL)[:n] for _ in range(LONG)]
    patterns = ["".join(pool[column[i]] for column in columns) for i in range(n)]
    labels, asked = _some(rng, ascii_uppercase, n), rng.integers(n, size=n_queries)
    return Episode(
        tuple(
            (replace_one_letter(rng, pattern), label) for pattern, label in zip(patterns, labels, strict=True)
        ),
        tuple((replace_one_letter(rng, patterns[place]), int(place)) for place in asked),
    )


def replace_one_letter(rng: np.random.Generator, pattern: str) -> str:
    """Return the pattern with one letter, at a random position, replaced by another."""
    place = int(rng.integers(len(pattern)))
    other = str(rng.choice([sign for sign in ascii_lowercase if sign != pattern[place]]))
    return pattern[:place] + other + pattern[place + 1 :]


TASKS: Mapping[str, tuple[Callable[[np.random.Generator, int, int], Episode], range]] = MappingProxyType(
    {"recall": (recall_episode, PAIRS), "classes": (class_episode, CLASSES)}
)
"""Each task: how a text is drawn, and of how many pairs or classes."""


def sample_episode(rng: np.random.Generator, task: str, n: int, n_queries: int, split: Split) -> Episode:
    """Sample an episode of this task that belongs to this split; the split is decided by the hash of the examples."""
    draw = TASKS[task][0]
    while True:
        found = draw(rng, n, n_queries)
        if split_of("".join(map("".join, found.examples))) == split:
            return found


def _some(rng: np.random.Generator, signs: str, n: int) -> list[str]:
    return [signs[i] for i in rng.permutation(len(signs))[:n]]
