"""speller: writes the letters of words that a speech synthesiser speaks, in voices outside its training (Chan et al. 2016).

The clips are made once by `python -m core.data.speech.record WORK/speller`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.speech.clips import read
from core.data.speech.sampling import MOST_WORDS, RowSampler
from core.data.texts import Example
from core.errors import InputError
from core.models import Batch
from core.models.las import LasConfig
from core.scoring.spelling import error_rate, measure, sample_items, transcribe
from core.text import Tokenizer
from core.text.learn import character_tokenizer
from core.training.recipe import Recipe

SPECIAL = ("<end>", "<unk>")
LETTERS = string.ascii_lowercase + " "
IDS = {"start": 0, "end": 0, "pad": 0}
ROWS, CHECKED, N_EXAMPLES, SAID = 32, 4, 24, 3
LONGER = 500
"""Sounds of one word at first; every so many steps one more."""
SMOOTH = 0.05


class Sounds:
    """Sounds of 1 to n words, all rows of a step of one number of words; n grows with the steps."""

    def __init__(self, drawing: RowSampler, tokenizer: Tokenizer, seed: int, device: torch.device) -> None:
        self.drawing, self.tokenizer, self.seed, self.device = drawing, tokenizer, seed, device

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor, Tensor], int]:
        rng = np.random.default_rng((self.seed, step))
        most = min(MOST_WORDS, 1 + step // LONGER)
        n_words = (
            int(rng.integers(max(1, most - 2), most + 1))
            if rng.random() < 0.7
            else int(rng.integers(1, most + 1))
        )
        rows = [self.drawing.sample(rng, n_words, RECIPE.config.n_frames) for _ in range(ROWS)]
        batch, wanted = self._laid_out([values for values, _ in rows], [text for _, text in rows])
        return (batch, wanted, batch.real), int(batch.real.sum())

    def loss(self, network: Any, batch: tuple[Batch, Tensor, Tensor]) -> Tensor:
        """Return the loss in nats per letter, in float32 on a CPU too: matrices this small take twice as long in bfloat16 there."""
        given, wanted, counts = batch
        kind = wanted.device.type
        with torch.autocast(kind, enabled=kind != "cpu" and torch.is_autocast_enabled(kind)):
            scores = network.logits(network(given)[counts]).float()
        return F.cross_entropy(scores, wanted[counts], label_smoothing=SMOOTH)

    def check(self, network: Any) -> Mapping[str, float]:
        """Return the share of wrong letters, on sounds of four words in held-out voices."""
        items = sample_items(CHECKED)
        found = transcribe(network, self.tokenizer, [item.text for item in items])
        return {"letter_error": error_rate(found, [item.transcript for item in items])}

    def _laid_out(self, values: Sequence[np.ndarray], texts: Sequence[str]) -> tuple[Batch, Tensor]:
        """Return START and the letters, with the sounds; and the letters followed by END."""
        ids = [[IDS["start"], *self.tokenizer.encode(text).ids] for text in texts]
        n, n_places = max(map(len, ids)), max(map(len, values))
        given = torch.tensor([row + [IDS["pad"]] * (n - len(row)) for row in ids])
        real = torch.tensor([[place < len(row) for place in range(n)] for row in ids])
        wanted = torch.cat((given[:, 1:], torch.full((len(ids), 1), IDS["end"])), dim=1)
        heard = torch.zeros(len(values), n_places, values[0].shape[1])
        source = torch.zeros(len(values), n_places, dtype=torch.bool)
        for row, sound in enumerate(values):
            heard[row, : len(sound)], source[row, : len(sound)] = torch.from_numpy(sound), True
        numbers = torch.arange(n_places).expand(len(values), -1)
        return Batch(ids=given, real=real, source=numbers, source_real=source, values=heard), wanted


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Sounds:
    """Return the clips in `work`; nothing is read from `data`. Raises InputError where there are none."""
    clips = work / "clips.npz"
    if not clips.is_file():
        raise InputError(
            f"{clips} is missing.",
            "The clips of the training are spoken once by espeak-ng.",
            f"Run python -m core.data.speech.record {work}.",
        )
    character_tokenizer(LETTERS, SPECIAL).save(str(work / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)
    return Sounds(RowSampler(read(clips)), tokenizer, seed, device)


def examples() -> tuple[Example, ...]:
    """Return sounds of three words in held-out voices, each word linked to its spelling."""
    links = tuple((word, word) for word in range(SAID))
    return tuple(
        Example(item.text, item.transcript, links) for item in sample_items(N_EXAMPLES, sizes=(SAID,))
    )


RECIPE = Recipe(
    name="speller",
    family="las",
    config=LasConfig(d_model=112, d_ff=64, n_vocab=len(SPECIAL) + len(LETTERS), dropout=0.1),
    steps=9000,
    prepare=prepare,
    measure=measure,
    examples=examples,
    ids=IDS,
    warm_up=200,
)
