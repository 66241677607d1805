"""snail-recall: convolutions and attention that learn a task from the text in front of them; and each kind of block alone.

`k3F m7Q k3?` goes on with `F`: the convolutions make one thing of a key's signs, attention fetches what stood behind the
same thing before (Mishra et al. 2018). `snail-recall-convolutions` and `snail-recall-attention` are the same network
without the other half, learned from the same texts in as many steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from core.data.episodes import SIGNS, TASKS, sample_episode
from core.data.grammar import Split
from core.data.tasks import sample_length, with_spaces
from core.data.texts import Example
from core.models.snail import PARTS, SnailConfig
from core.scoring.episodes import measure
from core.text import Tokenizer
from core.text.learn import character_tokenizer
from core.training.loop.optim import double_weights
from core.training.loop.synthetic_stream import Row, SyntheticStream
from core.training.recipe import Recipe

SPECIAL = ("<end>", "<unk>")
IDS = {"start": 0, "end": 0, "pad": 0}
ROWS, ASKED, N_EXAMPLES = 48, 4, 32


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> SyntheticStream:
    """Return texts of both tasks (`core.data.episodes`), four questions each; nothing is read from `data`.

    What comes behind each `?` counts, and the end behind the last answer. The texts of a step are of one task and size.
    """
    character_tokenizer(SIGNS, SPECIAL).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)
    asks = tokenizer.encode("?").ids[0]

    def one(rng: np.random.Generator, task: str, n: int, split: Split) -> Row:
        found = sample_episode(rng, task, n, ASKED, split)
        ids = [*tokenizer.encode(found.text + found.answers[-1]).ids, IDS["end"]]
        return ids, [place == len(ids) - 1 or ids[place - 1] == asks for place in range(len(ids))]

    def draw(rng: np.random.Generator, n: int, split: Split) -> list[Row]:
        task = str(rng.choice(tuple(TASKS)))
        size = sample_length(rng, TASKS[task][1])
        return [one(rng, task, size, split) for _ in range(n)]

    return SyntheticStream(draw, ROWS, tokenizer, seed, device)


@torch.no_grad()
def begin(network: Any) -> None:
    """Scale the token vectors to size 1, and double the matrices of attention if there are any."""
    nn.init.normal_(network.embed["token"].weight)
    if network.cfg.attends:
        double_weights(network, "to_q", "to_k", "to_v")


def examples() -> tuple[Example, ...]:
    """Return held-out texts of both tasks in turn, symbol by symbol, up to the question."""
    rng = np.random.default_rng(0)
    sizes = {task: sizes[len(sizes) // 2] for task, (_, sizes) in TASKS.items()}
    names = [tuple(TASKS)[i % len(TASKS)] for i in range(N_EXAMPLES)]
    return tuple(
        Example(with_spaces(sample_episode(rng, name, sizes[name], 1, "test").text.replace(" ", "")))
        for name in names
    )


RECIPES = tuple(
    Recipe(
        name="snail-recall" if parts == "both" else f"snail-recall-{parts}",
        family="snail",
        config=SnailConfig(n_vocab=len(SPECIAL) + len(SIGNS), parts=parts),
        steps=2000,
        prepare=prepare,
        begin=begin,
        measure=measure,
        examples=examples,
        ids=IDS,
    )
    for parts in PARTS
)
