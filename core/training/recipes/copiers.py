"""copy-rnn, copy-lstm, copy-gru, each without and with attention: write a string again.

All six learn from the same strings of up to 20 letters, with the same width and the same steps; they are measured on
strings of up to 80. What differs is the cell, and whether the decoder may look back.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from core.data.grammar import Split
from core.data.tasks import COPY_LENGTHS, COPY_LETTERS, sample_string, sample_strings, with_spaces
from core.data.texts import Example
from core.layers.recurrent import CELLS
from core.models.seq2seq import Seq2SeqConfig
from core.scoring.copying import measure
from core.text import Tokenizer
from core.text.learn import character_tokenizer
from core.training.pairs import IDS, SPECIAL, SentencePairs
from core.training.recipe import Recipe

UNKNOWN = "<unk>"
N_TRAIN, N_VALID, N_EXAMPLES = 60_000, 512, 32


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> SentencePairs:
    """Return pairs of a string and the same string; nothing is read from `data`."""
    character_tokenizer(COPY_LETTERS, (*SPECIAL, UNKNOWN)).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)
    rng = np.random.default_rng(seed)

    def sample_pairs(n: int, split: Split) -> list[tuple[list[int], list[int]]]:
        texts = [sample_string(rng, COPY_LETTERS, int(rng.choice(COPY_LENGTHS)), split) for _ in range(n)]
        return [(ids, ids) for ids in tokenizer.encode_many(texts)]

    return SentencePairs(
        sample_pairs(N_TRAIN, "train"), sample_pairs(N_VALID, "test"), tokenizer, seed, device
    )


def examples() -> tuple[Example, ...]:
    """Return held-out strings as pairs, each symbol linked to itself."""
    texts = sample_strings(N_EXAMPLES, np.random.default_rng(0), COPY_LETTERS, 10, "test")
    return tuple(
        Example(with_spaces(text), with_spaces(text), tuple((place, place) for place in range(len(text))))
        for text in texts
    )


RECIPES = tuple(
    Recipe(
        name=f"copy-{cell}{'-attention' * attends}",
        family="seq2seq",
        config=Seq2SeqConfig(
            cell=cell,
            attention="luong-global" if attends else "none",
            score="general",
            d_model=64,
            n_vocab=len(SPECIAL) + 1 + len(COPY_LETTERS),
            n_ctx=256,
        ),
        steps=2000,
        prepare=prepare,
        measure=measure,
        examples=examples,
        ids=IDS,
    )
    for cell in CELLS
    for attends in (False, True)
)
