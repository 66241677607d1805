"""induction-tiny: two layers of attention and nothing else, on strings that come twice.

In `A B .. A` it has to write B: the first layer tells each place what stood before it, the second looks for the place
whose predecessor is the present sign (Elhage et al. 2021, Olsson et al. 2022).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from core.layers.positions import sinusoidal
from core.models.gpt import GPTConfig
from core.scoring.induction import measure
from core.text import Tokenizer
from core.text.learn import characters
from core.training.drawn import Drawn, Row
from core.training.grammar import Split
from core.training.recipe import Recipe, spaced
from core.training.tasks import REPEAT_LENGTHS, REPEATED, repeat

SPECIAL = ("<end>", "<unk>")
IDS = {"start": 0, "end": 0, "pad": 0}
ROWS = 64


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Drawn:
    """Strings that come twice (`core.training.tasks.repeat`); nothing is read from `data`.

    Every sign of a second copy but its first can be foretold, and only that counts.
    """
    characters(REPEATED, SPECIAL).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)

    def draw(rng: np.random.Generator, split: Split) -> Row:
        text, second = repeat(rng, int(rng.choice(REPEAT_LENGTHS)), split)
        return list(tokenizer.encode(text).ids), [place > second for place in range(len(text))]

    return Drawn(draw, ROWS, tokenizer, seed, device)


def begin(network: nn.Module) -> None:
    """Positions begin as sinusoids of the size of the token vectors, so that "the place before" looks alike everywhere."""
    with torch.no_grad():
        tokens, places = network.embed["token"].weight, network.embed["position"].weight  # pyright: ignore
        waves = sinusoidal(*places.shape).to(places)
        places.copy_(waves * tokens.std() / waves.std())


STEPS = 3000
RECIPE = Recipe(
    name="induction-tiny",
    family="gpt",
    config=GPTConfig(
        n_layers=2, n_heads=2, d_model=64, d_ff=64, n_vocab=len(SPECIAL) + len(REPEATED), n_ctx=64, attention_only=True
    ),
    steps=STEPS,
    prepare=prepare,
    begin=begin,
    measure=measure,
    keep_at=spaced(16, STEPS),
    ids=IDS,
)
