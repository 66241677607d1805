"""A scene captioned word by word: the weights over its cells, the gate, soft and hard, and what it says of many scenes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import core.serving.engine
from core.data.scenes.language import GRID, RELATIONS, Scene, Thing, caption, named_things, read, scene_text
from core.data.scenes.pixels import picture
from core.data.scenes.sampling import sample_scene as drawn_scene
from core.scoring.captions import PATTERN
from core.scoring.captions import describe as captions_of

MODEL = "captioner"
GATE = PATTERN.replace("pattern", "gate")
KEEP = (PATTERN, GATE, PATTERN.replace("pattern", "scores"), PATTERN.replace("pattern", "context"))
END = "END"
N_DRAWS, N_SCENES = 24, 120
"""How often a cell is drawn for each word, and of how many scenes the right and the wrong captions are picked."""


@dataclass(frozen=True)
class Sampled:
    """Hard attention as an edit of the weights: each word sees one cell, drawn with the weights as probabilities.

    Xu et al. 2015, 4.1. Word t of the same `seed` always draws alike; rows without weights stay empty. The next text of a
    batch draws with the next seed.

    >>> Sampled("x", 0)(torch.tensor([[[[0.0, 1.0], [0.0, 0.0]]]])).tolist()
    [[[[0.0, 1.0], [0.0, 0.0]]]]
    """

    where: str
    seed: int

    def __call__(self, pattern: Tensor) -> Tensor:
        found = torch.zeros_like(pattern)
        for text, rows in enumerate(pattern[:, 0].double().numpy()):
            for row, weights in enumerate(rows):
                if weights.sum() > 0:
                    at = _chance(self.seed + text, row) * weights.sum()
                    found[
                        text, ..., row, min(int(np.searchsorted(weights.cumsum(), at)), len(weights) - 1)
                    ] = 1
        return found


@lru_cache(1024)
def _chance(seed: int, row: int) -> float:
    """Return a number from 0 to 1, the same for the same seed and word."""
    return np.random.default_rng((seed, row)).random()


@dataclass(frozen=True, eq=False)
class Description:
    """The caption of a scene: a row for each word, END last; attention weights (word, cell), gates and scores."""

    text: str
    scene: Scene
    words: tuple[str, ...]
    weights: NDArray[np.float32]
    gates: NDArray[np.float32]
    scores: NDArray[np.float32]
    context: NDArray[np.float32]

    @property
    def sentence(self) -> str:
        return " ".join(self.words[:-1])

    @property
    def truth(self) -> str | None:
        """Return the sentence of the grammar, None where it has none."""
        return caption(self.scene)

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        return bytes_of(self.scene)

    @cached_property
    def names(self) -> list[str]:
        """Return a name for each cell, by the thing in it."""
        there = {thing.cell(): thing.name for thing in self.scene}
        return [f"{there.get(cell, 'empty')} at {cell % GRID},{cell // GRID}" for cell in range(GRID**2)]

    @cached_property
    def nouns(self) -> dict[int, list[Thing]]:
        """Return the words that name things of the scene, by their position."""
        found = named_things(self.scene, self.words)
        return {place: group for place, group in enumerate(found) if group is not None}

    @cached_property
    def gates_by_kind(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the gates of the words that name things (number, colour, noun), and of all others."""
        naming = {place - back for place in self.nouns for back in range(3)}
        chosen = np.isin(np.arange(len(self.words)), [*naming])
        return self.gates[chosen], self.gates[~chosen]

    @property
    def telling(self) -> int:
        """Return the position of the example word: the one on the relation of the groups, which no training supervised, else the last
        noun.
        """
        ways = {way.split()[0] for way in RELATIONS}
        relating = [place for place, word in enumerate(self.words) if word in ways]
        return relating[0] if relating else max(self.nouns, default=min(1, len(self.words) - 1))

    def on(self, word: int, things: list[Thing]) -> float:
        """Return the share of a word's weight on these things."""
        return float(self.weights[word, [thing.cell() for thing in things]].sum())


def bytes_of(scene: Scene) -> NDArray[np.uint8]:
    """Return the picture in whole numbers from 0 to 255."""
    return np.round(picture(scene) * 255).astype(np.uint8)


def describe(text: str, seed: int | None = None) -> Description:
    """Run the captioning model on a scene written as text: with soft attention, or with hard attention by a `seed`.

    Errors: InputError for a text that is no scene.

    >>> found = describe("red cat 1,0")
    >>> found.weights.shape[1], len(found.words) == len(found.gates)
    (25, True)
    """
    edits = [] if seed is None else [Sampled(PATTERN, seed)]
    run = core.serving.engine.default().open(MODEL).run(text, keep=KEEP, edits=edits)
    trace = run.trace
    return Description(
        text,
        read(text),
        (*run.tokens[1:], END),
        trace[PATTERN][0],
        trace[GATE][0, :, 0],
        trace[KEEP[2]][0],
        trace[KEEP[3]],
    )


def hard(text: str) -> Counter[str]:
    """Count the sentences of `N_DRAWS` samples with hard attention."""
    model = core.serving.engine.default().open(MODEL)
    runs = model.run_many([text] * N_DRAWS, keep=(), edits=[Sampled(PATTERN, seed=0)])
    return Counter(" ".join(run.tokens[1:]) for run in runs)


def scene_of(number: int) -> str:
    """Return a sampled scene by its number, of a combination that no training has.

    >>> scene_of(3) == scene_of(3), bool(read(scene_of(4)))
    (True, True)
    """
    return scene_text(drawn_scene(np.random.default_rng((7, number)), "test"))


def count_right(number: int) -> tuple[int, list[tuple[Scene, str, bool]]]:
    """Run the captioning model on sampled scenes, half of them with a thing in a new colour: return the number of right captions, and each
    scene with its caption and whether that is right.
    """
    rng = np.random.default_rng((11, number))
    scenes = [drawn_scene(rng, "test", unseen=bool(i % 2)) for i in range(N_SCENES)]
    said, _ = captions_of(core.serving.engine.default().open(MODEL), scenes)
    rows = [(one, text, text == caption(one)) for one, text in zip(scenes, said, strict=True)]
    return sum(right for *_, right in rows), rows


def placed(text: str, name: str, cell: int) -> str:
    """Put a thing into a cell of the scene; remove it if the same thing is there.

    >>> placed("red cat 1,0", "blue house", 6), placed("red cat 1,0; blue house 1,1", "red cat", 1)
    ('red cat 1,0; blue house 1,1', 'blue house 1,1')
    """
    scene = read(text)
    there = next((thing for thing in scene if thing.cell() == cell), None)
    left = [thing for thing in scene if thing is not there]
    if there is None or there.name != name:
        left.append(Thing.from_cell(name, cell))
    return scene_text(left)
