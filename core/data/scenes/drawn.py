"""Scenes drawn at random, with the sentence of each. Pure: the same generator draws the same scenes.

A scene belongs to train or test by what stands in it, wherever that is: no picture of a tested combination is learnt
from. Some things (`UNSEEN`) are in no scene of the training: their colours and their kinds are, but never together.
"""

from __future__ import annotations

import numpy as np

from core.data.grammar import Split, side
from core.data.scenes.language import COLOURS, COUNTS, GRID, KINDS, Scene, Thing, apart, groups

ONE = 0.2
"""Of so many scenes all things are alike."""
UNSEEN = frozenset(f"{COLOURS[i % len(COLOURS)]} {kind}" for i, kind in enumerate(KINDS))
"""Things that are never learnt from: of each kind one colour."""
THINGS = tuple(f"{colour} {kind}" for colour in COLOURS for kind in KINDS)
SEEN = tuple(name for name in THINGS if name not in UNSEEN)
TOGETHER = 0.1
"""Of so many scenes of two groups the middles are the same, where they can be; by chance it is one of a hundred."""
TRIED = 128
"""Placements that are sampled at once where two middles shall be the same."""
CLEAR = 0.5
"""By so many cells at least two groups lie further apart the one way than the other: which word is right can be seen."""


def combination(scene: Scene) -> str:
    """What decides between train and test: the names of two groups, of one its name and how many.

    >>> combination((Thing("red", "cat", 0, 0), Thing("red", "cat", 1, 0)))
    '2 red cat'
    """
    found = groups(scene)
    if len(found) == 1:
        return f"{len(scene)} {scene[0].name}"
    return " and ".join(sorted(group[0].name for group in found))


def scene(rng: np.random.Generator, split: Split, *, unseen: bool = False) -> Scene:
    """One or two groups of up to three things each; with `unseen` the first is never learnt from.

    >>> len(groups(scene(np.random.default_rng(0), "train")))
    2
    """
    while True:
        names = [str(rng.choice(sorted(UNSEEN) if unseen else SEEN))]
        if rng.random() >= ONE:
            names.append(str(rng.choice([name for name in SEEN if name != names[0]])))
        sizes = [int(rng.integers(1, len(COUNTS) + 1)) for _ in names]
        found = _placed(
            rng, names, sizes, together=len(sizes) == 2 and max(sizes) > 1 and rng.random() < TOGETHER
        )
        if unseen or side(combination(found)) == split:
            return found


def _placed(rng: np.random.Generator, names: list[str], sizes: list[int], *, together: bool) -> Scene:
    """Place the things in free cells so that it is clear how two groups stand: their middles are the same (always if `together`), or well apart."""
    whose = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    while True:
        places = _one_middle(rng, *sizes) if together else rng.permutation(GRID**2)[: sum(sizes)]
        found = tuple(Thing.at(name, int(place)) for name, place in zip(whose, places, strict=True))
        if len(sizes) == 1:
            return found
        down, right = map(abs, apart(*groups(found)))
        if not (down or right) or abs(down - right) >= CLEAR:
            return found


def _one_middle(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Sample cells for n and m things whose middles are the same; one thing and another one have never the same."""
    while True:
        places = rng.random((TRIED, GRID**2)).argsort(axis=1)[:, : n + m]
        ways = np.stack(np.divmod(places, GRID))
        fits = (ways[..., :n].sum(-1) * m == ways[..., n:].sum(-1) * n).all(0)
        if fits.any():
            return places[fits.argmax()]
