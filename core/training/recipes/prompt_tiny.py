"""prompt-tiny: copies, reverses or upper-cases a string; the word before it says which.

`reverse: abcd =` goes on with `dcba` and ends. Where the `=` is missing the model writes it first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from core.data.grammar import Split
from core.data.tasks import (
    PROMPT_LENGTHS,
    PROMPT_LETTERS,
    PROMPTS,
    sample_length,
    sample_question,
    with_spaces,
)
from core.data.texts import Example
from core.models.gpt import GPTConfig
from core.scoring.prompts import measure
from core.text import Tokenizer
from core.text.learn import character_tokenizer
from core.training.loop.optim import enlarge_initial_weights
from core.training.loop.synthetic_stream import Row, SyntheticStream
from core.training.recipe import Recipe

SPECIAL = ("<end>", "<unk>")
IDS = {"start": 0, "end": 0, "pad": 0}
SIGNS = ":=" + PROMPT_LETTERS
ROWS, N_EXAMPLES = 64, 32


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> SyntheticStream:
    """Return questions with their answers (`core.data.tasks.sample_question`); nothing is read from `data`.

    The answer counts, its end, and the `=` before it: which letters are asked about nobody can foretell.
    """
    character_tokenizer(SIGNS, SPECIAL, words=tuple(PROMPTS)).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)

    def one(rng: np.random.Generator, length: int, split: Split) -> Row:
        asked, answer = (tokenizer.encode(text).ids for text in sample_question(rng, length, split))
        ids = [*asked, *answer, IDS["end"]]
        return ids, [place >= len(asked) - 1 for place in range(len(ids))]

    def draw(rng: np.random.Generator, n: int, split: Split) -> list[Row]:
        length = sample_length(rng, PROMPT_LENGTHS)
        return [one(rng, length, split) for _ in range(n)]

    return SyntheticStream(draw, ROWS, tokenizer, seed, device)


def examples() -> tuple[Example, ...]:
    """Return held-out questions with all of the answer but its last symbol, which is predicted."""
    rng = np.random.default_rng(0)
    asked = (sample_question(rng, 8, "test") for _ in range(N_EXAMPLES))
    told = ((*question.split(" "), answer) for question, answer in asked)
    return tuple(
        Example(f"{word} {with_spaces(text)} {sign} {with_spaces(answer[:-1])}")
        for word, text, sign, answer in told
    )


RECIPE = Recipe(
    name="prompt-tiny",
    family="gpt",
    config=GPTConfig(
        n_layers=3,
        n_heads=4,
        d_model=64,
        d_ff=256,
        n_vocab=len(SPECIAL) + len(PROMPTS) + len(SIGNS),
        n_ctx=32,
    ),
    steps=2000,
    prepare=prepare,
    begin=enlarge_initial_weights,
    measure=measure,
    examples=examples,
    ids=IDS,
)
