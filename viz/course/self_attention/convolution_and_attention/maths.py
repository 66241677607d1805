"""Receptive field of the convolutions and attention weights, in runs of snail-recall with one or the other switched off."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core.serving.engine
from core.data.episodes import SIGNS, TASKS, sample_episode
from core.edits import Scale
from core.maths import softmax
from core.scoring.episodes import PLACES, correct_answers, range_name
from core.scoring.episodes import sample_episodes as held_out

Array = NDArray[Any]
MODEL = "snail-recall"
TRAINED = {"both": MODEL, "convolutions": f"{MODEL}-convolutions", "attention": f"{MODEL}-attention"}
"""The networks, by the kinds of block that they were trained with."""
LONGEST = 48
"""Largest number of symbols that are read."""
OFF = {
    "attention": Scale("layer.*.self_attn.out", 0.0),
    "convolutions": Scale("layer.*.dense.*.gated", 0.0),
}
"""The edit that switches off each kind of block: everything that it adds to its input is 0."""
KEEP = ("*.pattern", "*.allowed")
MOST = 5
FRESH = 150
"""Number of new texts of each task on which the three networks are compared."""
_SHOWN, _ASKED = re.compile(r"([a-z0-9]+)([A-Z])"), re.compile(r"([a-z0-9]+)\?$")


def signs_of(text: str) -> str:
    """Return the part of a text that is read: its last LONGEST symbols, without white space, which the tokenizer drops.

    >>> signs_of(" k3F  m7Q k3? ")
    'k3Fm7Qk3?'
    """
    return "".join(text.split())[-LONGEST:]


def spaced(signs: str) -> str:
    """Return the text with a space after every answer.

    >>> spaced("k3Fm7Qk3?")
    'k3F m7Q k3?'
    """
    return re.sub(r"(?<=[A-Z])(?=[^A-Z])", " ", signs)


def example(task: str, draw: int) -> str:
    """Sample a text of a task that no training saw, short enough for the picture.

    >>> example("recall", 0)[-1], len(signs_of(example("classes", 0))) <= LONGEST
    ('?', True)
    """
    n = {"recall": 12, "classes": 5}[task]
    return sample_episode(np.random.default_rng((draw, list(TASKS).index(task))), task, n, 1, "test").text


@dataclass(frozen=True)
class Truth:
    """The right answer of a text, the position of its symbol, and the position where its item begins."""

    answer: str
    place: int
    first: int


def truth(signs: str) -> Truth | None:
    """Return the answer of the item that differs least from the one in question; None without a question or with a tie.

    >>> truth("k3Fm7Qk3?"), truth("abcdeRxyzuvSabxde?").answer, truth("k3F"), truth("k3Fm3Qx3?")
    (Truth(answer='F', place=2, first=0), 'R', None, None)
    """
    asked = _ASKED.search(signs)
    if asked is None:
        return None
    shown = [
        (sum(a != b for a, b in zip(found[1], asked[1], strict=True)), found)
        for found in _SHOWN.finditer(signs, 0, asked.start())
        if len(found[1]) == len(asked[1])
    ]
    if not shown:
        return None
    least = min(apart for apart, _ in shown)
    nearest = [found for apart, found in shown if apart == least]
    if least == len(asked[1]) or len({found[2] for found in nearest}) > 1:
        return None
    return Truth(nearest[-1][2], nearest[-1].start(2), nearest[-1].start())


@dataclass(frozen=True)
class Reading:
    """One run: its most probable next symbols with their probabilities, all probabilities by symbol, and its attention.

    `patterns` is (layer, query, key), `allowed` (query, key), None where the network has no attention.
    """

    best: tuple[tuple[str, float], ...]
    chances: Mapping[str, float]
    patterns: Array | None
    allowed: Array | None

    def chance(self, sign: str) -> float:
        """Return the probability of a symbol, 0 for one that is not in the vocabulary."""
        return self.chances.get(sign, 0.0)


def edits(convolves: bool, attends: bool) -> tuple[Scale, ...]:
    """Return the edits that switch off the kinds of block that are not wanted."""
    return tuple(OFF[part] for part, on in (("convolutions", convolves), ("attention", attends)) if not on)


def read(signs: str, *, convolves: bool = True, attends: bool = True, name: str = MODEL) -> Reading:
    """Run a network on these symbols and return its predictions and attention."""
    model = core.serving.engine.default().open(name)
    keep = KEEP if model.config.attends else ()
    run = model.run(signs, keep=keep, edits=edits(convolves, attends))
    last = softmax(run.logits[run.side.n_real - 1].astype(np.float64))
    order = np.argsort(-last)[:MOST]
    names = ["END" if i == model.tokenizer.end else model.tokenizer.token(i) for i in range(len(last))]
    chances = dict(zip(names, last.tolist(), strict=True))
    best = tuple((names[i], float(last[i])) for i in order)
    if not model.config.attends:
        return Reading(best, chances, None, None)
    found = run.attention("causal")
    return Reading(best, chances, found.weights[:, 0], found.allowed[0, 0])


def dilations() -> tuple[int, ...]:
    """Return the dilations of all convolutions, the lowest layer first."""
    config = core.serving.engine.default().open(MODEL).config
    return config.dilations * config.n_layers


def reach(steps: Sequence[int]) -> int:
    """Return the number of positions that reach one through convolutions of two taps with these dilations, itself included: 1 +
    their sum.

    >>> reach((1, 2, 4)), reach((1, 2, 4, 8) * 2)
    (8, 31)
    """
    return 1 + sum(steps)


def tree(steps: Sequence[int], position: int) -> list[tuple[int, ...]]:
    """Return the positions of each level that reach `position` of the last level: the input first, `position` alone at the end.

    >>> tree((1, 2), 5)
    [(2, 3, 4, 5), (3, 5), (5,)]
    """
    levels: list[tuple[int, ...]] = [(position,)]
    for step in reversed(steps):
        below = {place - back for place in levels[0] for back in (0, step)}
        levels.insert(0, tuple(sorted(place for place in below if place >= 0)))
    return levels


def sensitivity(signs: str, position: int, *, convolves: bool = True, attends: bool = True) -> Array:
    """Return the change of the last convolution at `position` when each symbol is replaced, in real runs, (pos,).

    The length of each change over the largest; exactly 0 where no bit changes.
    """
    model = core.serving.engine.default().open(MODEL)
    config = model.config
    path = f"layer.{config.n_layers - 1}.dense.{config.n_dense - 1}.gated" if convolves else ""
    path = path if path else f"layer.{config.n_layers - 1}.features_mid"
    texts = [signs, *(signs[:j] + other(signs[j]) + signs[j + 1 :] for j in range(len(signs)))]
    runs = model.run_many(texts, keep=(path,), edits=edits(convolves, attends))
    found = np.stack([run.trace[path][position] for run in runs]).astype(np.float64)
    sizes = np.linalg.norm(found[1:] - found[0], axis=1)
    return sizes / sizes.max() if sizes.max() > 0 else sizes


def other(sign: str) -> str:
    """Return another symbol of the same sort, the next one of the alphabet.

    >>> other("a"), other("9"), other("Z"), other("?"), other("\u00e9")
    ('b', '0', 'A', 'a', 'a')
    """
    for sort in (SIGNS[:26], SIGNS[26:36], SIGNS[36:62]):
        if sign in sort:
            return sort[(sort.index(sign) + 1) % len(sort)]
    return "a"


@dataclass(frozen=True)
class Comparison:
    """Accuracy of the three networks on new texts: in all, by task and by the distance of the answer.

    `chance`: the accuracy of choosing one of the shown answers at random.
    """

    n: int
    chance: float
    by_task: Mapping[str, Mapping[str, float]]
    by_place: Mapping[str, Mapping[str, float]]

    def mean(self, name: str) -> float:
        """Return the mean accuracy over the tasks."""
        return float(np.mean(list(self.by_task[name].values())))


@lru_cache(maxsize=8)
def compared(draw: int, each: int = FRESH) -> Comparison:
    """Compare the three networks, each with the blocks that it was trained with, on the same new texts; `draw` is their seed."""
    items = held_out(each, draw)
    back = np.array([item.back for texts in items.values() for item in texts])
    by_task: dict[str, dict[str, float]] = {}
    by_place: dict[str, dict[str, float]] = {}
    for parts, name in TRAINED.items():
        model = core.serving.engine.default().open(name)
        right = {task: np.array(correct_answers(model, texts)) for task, texts in items.items()}
        by_task[parts] = {task: float(found.mean()) for task, found in right.items()}
        flat = np.concatenate(list(right.values()))
        by_place[parts] = {
            range_name(places): float(flat[np.isin(back, places)].mean())
            for places in PLACES
            if np.isin(back, places).any()
        }
    chance = float(np.mean([1 / len(item.examples) for texts in items.values() for item in texts]))
    return Comparison(len(back), chance, by_task, by_place)
