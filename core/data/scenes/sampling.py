"""Randomly sampled scenes. The same generator gives the same scenes.

A scene belongs to train or test by its things, wherever they are: no picture of a tested combination is learned
from. Some things (`UNSEEN`) are in no scene of the training: their colours and their kinds are, but never together.
"""

from __future__ import annotations

import numpy as np

from core.data.grammar import Split, split_of
from core.data.scenes.language import COLOURS, COUNTS, GRID, KINDS, Scene, Thing, groups, offset

ONE = 0.2
"""Of so many scenes all things are alike."""
UNSEEN = frozenset(f"{COLOURS[i % len(COLOURS)]} {kind}" for i, kind in enumerate(KINDS))
"""Things that are never learned from: of each kind one colour."""
THINGS = tuple(f"{colour} {kind}" for colour in COLOURS for kind in KINDS)
TRAINED = tuple(name for name in THINGS if name not in UNSEEN)
CLEAR = 0.5
"""By so many cells at least two groups lie further apart the one way than the other: which word is right can be seen."""


def combination(scene: Scene) -> str:
    """Return the key that decides whether a scene is for training or testing: the names of its two groups, or its one name and number.

    >>> combination((Thing("red", "cat", 0, 0), Thing("red", "cat", 1, 0)))
    '2 red cat'
    """
    found = groups(scene)
    if len(found) == 1:
        return f"{len(scene)} {scene[0].name}"
    return " and ".join(sorted(group[0].name for group in found))


def sample_scene(rng: np.random.Generator, split: Split, *, unseen: bool = False) -> Scene:
    """Sample a scene of one or two groups of up to three things each; with `unseen` the first group is of a thing that no training has.

    >>> len(groups(sample_scene(np.random.default_rng(0), "train")))
    2
    """
    while True:
        names = [str(rng.choice(sorted(UNSEEN) if unseen else TRAINED))]
        if rng.random() >= ONE:
            names.append(str(rng.choice([name for name in TRAINED if name != names[0]])))
        sizes = [int(rng.integers(1, len(COUNTS) + 1)) for _ in names]
        found = _placed(rng, names, sizes)
        if unseen or split_of(combination(found)) == split:
            return found


def _placed(rng: np.random.Generator, names: list[str], sizes: list[int]) -> Scene:
    """Return the things in random cells, two groups so that their relation is clear: their centres differ clearly more
    in one direction than in the other.
    """
    whose = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    while True:
        places = rng.permutation(GRID**2)[: sum(sizes)]
        found = tuple(Thing.from_cell(name, int(place)) for name, place in zip(whose, places, strict=True))
        if len(sizes) == 1:
            return found
        down, right = map(abs, offset(*groups(found)))
        if abs(down - right) >= CLEAR:
            return found
