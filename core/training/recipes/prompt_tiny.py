"""prompt-tiny: copies, reverses or upper-cases a string; the word before it says which.

`reverse: abcd =` goes on with `dcba` and ends. Without the `=` the model first writes that, or more letters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from core.models.gpt import GPTConfig
from core.scoring.prompts import measure
from core.text import Tokenizer
from core.text.learn import characters
from core.training.drawn import Drawn, Row
from core.training.grammar import Split
from core.training.recipe import Recipe
from core.training.tasks import PROMPTED, PROMPTS, prompted

SPECIAL = ("<end>", "<unk>")
IDS = {"start": 0, "end": 0, "pad": 0}
SIGNS = ":=" + PROMPTED
ROWS = 128


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Drawn:
    """Questions with their answers (`core.training.tasks.prompted`); nothing is read from `data`."""
    characters(SIGNS, SPECIAL, words=tuple(PROMPTS)).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)

    def draw(rng: np.random.Generator, split: Split) -> Row:
        ids = [*tokenizer.encode("".join(prompted(rng, split))).ids, IDS["end"]]
        return ids, [True] * len(ids)

    return Drawn(draw, ROWS, tokenizer, seed, device)


RECIPE = Recipe(
    name="prompt-tiny",
    family="gpt",
    config=GPTConfig(n_layers=3, n_heads=4, d_model=96, d_ff=384, n_vocab=len(SPECIAL) + len(PROMPTS) + len(SIGNS), n_ctx=32),
    steps=2500,
    prepare=prepare,
    measure=measure,
    ids=IDS,
)
