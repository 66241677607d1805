"""induction-tiny: two layers of attention and nothing else, on strings that come twice.

In `A B .. A` it has to write B: the first layer tells each place what stood before it, the second looks for the place
whose predecessor is the present sign (Elhage et al. 2021, Olsson et al. 2022).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from core.data.grammar import Split
from core.data.tasks import REPEAT_LENGTHS, REPEAT_SYMBOLS, sample_length, sample_repeat, with_spaces
from core.data.texts import Example
from core.models.gpt import GPTConfig
from core.scoring.induction import measure
from core.text import Tokenizer
from core.text.learn import character_tokenizer
from core.training.loop.optim import enlarge_initial_weights
from core.training.loop.synthetic_stream import Row, SyntheticStream
from core.training.recipe import Recipe, spaced_steps

SPECIAL = ("<end>", "<unk>")
IDS = {"start": 0, "end": 0, "pad": 0}
ROWS, N_EXAMPLES = 48, 32


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> SyntheticStream:
    """Return the training strings that occur twice (`core.data.tasks.sample_repeat`); nothing is read from `data`.

    Every sign of a second copy but its first can be foretold, and only that counts. The rows of a step are of one length.
    """
    character_tokenizer(REPEAT_SYMBOLS, SPECIAL).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)

    def draw(rng: np.random.Generator, n: int, split: Split) -> list[Row]:
        length = sample_length(rng, REPEAT_LENGTHS)
        rows = [sample_repeat(rng, length, split) for _ in range(n)]
        return [
            (list(tokenizer.encode(text).ids), [place > second for place in range(len(text))])
            for text, second in rows
        ]

    return SyntheticStream(draw, ROWS, tokenizer, seed, device)


def examples() -> tuple[Example, ...]:
    """Return held-out strings that occur twice, of many lengths."""
    rng = np.random.default_rng(0)
    return tuple(
        Example(with_spaces(sample_repeat(rng, int(length), "test")[0]))
        for length in np.linspace(4, 24, N_EXAMPLES)
    )


STEPS = 2000
RECIPE = Recipe(
    name="induction-tiny",
    family="gpt",
    config=GPTConfig(
        n_layers=2,
        n_heads=2,
        d_model=64,
        d_ff=64,
        n_vocab=len(SPECIAL) + len(REPEAT_SYMBOLS),
        n_ctx=64,
        attention_only=True,
    ),
    steps=STEPS,
    prepare=prepare,
    begin=enlarge_initial_weights,
    measure=measure,
    examples=examples,
    keep_at=spaced_steps(16, STEPS, first=10),
    ids=IDS,
)
