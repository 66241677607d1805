"""Scores of models that describe a picture: how often the whole sentence is right, and whether they attend to the things they name.

Scenes are sampled for the test, of combinations that no training has; in as many again one thing is of a colour that the training
never gave to its kind.

    exact_match              the sentence of the grammar, word for word
    exact_match_unseen       of scenes with a thing in a colour that is new to its kind
    exact_match_by_relation  by the relation of the two groups
    noun_on_object           the cell with the largest weight holds one of the things that the noun names

The baselines are the same network with all weights equal, which reads the mean of all cells at each word, and a random
cell: the share of cells that hold a thing that the noun names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from core.data.scenes.language import Scene, caption, groups, named_things, relation, scene_text
from core.data.scenes.sampling import sample_scene
from core.edits import Uniform
from core.model import Model
from core.models import Batch
from core.run.batched import greedy
from core.scoring import Metrics
from core.trace import Edit, Recorder

EACH, ROWS, LONGEST = 1000, 125, 20
PATTERN, SCORES = "decoder.attn.pattern", "decoder.attn.scores"


def sample_scenes(each: int, seed: int = 0, *, unseen: bool = False) -> list[Scene]:
    """Sample held-out scenes with the seed, the same for every model; with `unseen` each has a thing in a colour that no training has."""
    rng = np.random.default_rng((seed, unseen))
    return [sample_scene(rng, "test", unseen=unseen) for _ in range(each)]


def measure(model: Model, limit: int | None = None, seed: int = 0) -> Metrics:
    """Measure the scores above on 1000 (or `limit`) scenes of each sort."""
    each = EACH if limit is None else limit
    plain, new = sample_scenes(each, seed), sample_scenes(each, seed, unseen=True)
    said, looks = describe(model, plain)
    right = [text == caption(one) for text, one in zip(said, plain, strict=True)]
    on, chance = [], []
    for one, text, look in zip(plain, said, looks, strict=True):
        for place, group in enumerate(named_things(one, text.split())):
            if group is not None:
                cells = {thing.cell(model.config.grid) for thing in group}
                on.append(int(look[place].argmax()) in cells)
                chance.append(len(cells) / look.shape[1])
    ways = [
        relation(*found) or "one middle" if len(found := groups(one)) == 2 else "one group" for one in plain
    ]
    return {
        "items": len(plain) + len(new),
        "exact_match": float(np.mean(right)),
        "exact_match_unseen": _exact(describe(model, new)[0], new),
        "noun_on_object": float(np.mean(on)) if on else 0.0,
        "exact_match_by_relation": {
            way: float(np.mean([ok for ok, other in zip(right, ways, strict=True) if other == way]))
            for way in dict.fromkeys(ways)
        },
        "beside": {
            f"{model.name}, every weight equal": {
                "exact_match": _exact(describe(model, plain, edits=[Uniform(SCORES)])[0], plain)
            },
            "a cell by chance": {"noun_on_object": float(np.mean(chance)) if on else 0.0},
        },
    }


def describe(
    model: Model, scenes: Sequence[Scene], *, edits: Sequence[Edit] = ()
) -> tuple[list[str], list[NDArray[np.float32]]]:
    """Return the greedy caption of each scene and its attention weights (word, cell), the last row for END."""
    texts: list[str] = []
    looks: list[NDArray[np.float32]] = []
    start, end = model.tokenizer.start, model.tokenizer.end
    assert start is not None and end is not None
    for first in range(0, len(scenes), ROWS):
        read = _source(model, scenes[first : first + ROWS])
        rows = greedy(model.network, read, start=start, end=end, limit=LONGEST, edits=edits)
        texts += [model.tokenizer.decode(row) for row in rows]
        looks += _looks(model, read, rows, edits)
    return texts, looks


def _source(model: Model, scenes: Sequence[Scene]) -> Batch:
    device = next(model.network.parameters()).device
    found = [model.reader.encode(scene_text(one)) for one in scenes]
    values = torch.from_numpy(np.stack([one.values for one in found if one.values is not None])).to(device)
    ids = torch.tensor([one.ids for one in found], device=device)
    return Batch(ids=ids, real=ids >= 0, source=ids, source_real=ids >= 0, values=values)


def _looks(
    model: Model, read: Batch, rows: list[list[int]], edits: Sequence[Edit]
) -> list[NDArray[np.float32]]:
    start = model.tokenizer.start
    ids = torch.zeros(len(rows), 1 + max(map(len, rows)), dtype=torch.long, device=read.ids.device)
    for place, row in enumerate(rows):
        ids[place, : 1 + len(row)] = torch.tensor([start, *row])
    batch = Batch(
        ids=ids, real=ids >= 0, source=read.source, source_real=read.source_real, values=read.values
    )
    tap = Recorder((PATTERN,), edits)
    with torch.inference_mode():
        model.network(batch, tap=tap)
    weights = tap.close()[PATTERN][:, 0].cpu().numpy()
    return [weight[: 1 + len(row)] for weight, row in zip(weights, rows, strict=True)]


def _exact(texts: Sequence[str], scenes: Sequence[Scene]) -> float:
    return float(np.mean([text == caption(one) for text, one in zip(texts, scenes, strict=True)]))
