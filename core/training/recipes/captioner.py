"""captioner: says what stands in a scene of coloured things, cell by cell looked at (Xu et al. 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.grammar import Split
from core.data.scenes.drawn import scene
from core.data.scenes.language import COLOURS, COUNTS, KINDS, RELATIONS, caption, written
from core.data.scenes.pixels import picture, windows
from core.data.texts import Example
from core.models import Batch
from core.models.captioner import CaptionerConfig
from core.scoring.captions import measure
from core.text import Tokenizer
from core.text.learn import written_words
from core.trace import Recorder
from core.training.loop.prefetch import on
from core.training.recipe import Recipe

SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
IDS = {"pad": 0, "start": 1, "end": 2}
WORDS = (
    *COUNTS,
    *COLOURS,
    *(f"{kind}{ending}" for kind in KINDS for ending in ("", "s")),
    *dict.fromkeys(word for way in RELATIONS for word in way.split()),
    ".",
)
ROWS, VALID, N_EXAMPLES = 192, 256, 32
NOISE = 0.05
"""Standard deviation of what is added to each pixel while it learns."""
SPREAD = 0.1
"""Lambda: how much the doubly stochastic term counts."""
STEPS = "decoder.step.*.attn.pattern"


class Scenes:
    """Scenes drawn anew at each step; the loss is Xu et al. 2015, Eq. (14).

    -log P(caption | picture), the mean a token, and lambda times the mean over cells of (tau - sum_t a_ti)^2: over a caption
    each cell shall be looked at alike. The paper's tau is 1, with about as many words as cells; here it is words / cells,
    what an even look gives.
    """

    def __init__(self, tokenizer: Tokenizer, seed: int, device: torch.device) -> None:
        self.tokenizer, self.seed = tokenizer, seed
        self.valid = on(self._drawn(np.random.default_rng(0), VALID, "test"), device)

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor], int]:
        found = self._drawn(np.random.default_rng((self.seed, step)), ROWS, "train")
        return found, int((found[1] != IDS["pad"]).sum())

    def loss(self, network: Any, batch: tuple[Batch, Tensor]) -> Tensor:
        inputs, wanted = batch
        assert inputs.values is not None
        noisy = inputs.values + NOISE * torch.randn_like(inputs.values)
        tap = Recorder((STEPS,))
        hidden = network(Batch(**{**vars(inputs), "values": noisy}), tap=tap)
        real = wanted != IDS["pad"]
        said = F.cross_entropy(network.logits(hidden[real]).float(), wanted[real])
        trace = tap.close()
        weights = torch.cat([trace[path][:, 0] for path in trace], dim=1).float() * real[..., None]
        even = real.sum(1, keepdim=True) / weights.shape[-1]
        return said + SPREAD * ((even - weights.sum(1)) ** 2).mean()

    def check(self, network: Any) -> Mapping[str, float]:
        """Of unseen combinations: nats a token, and how often all words of a caption are right, each behind the true ones."""
        inputs, wanted = self.valid
        real = wanted != IDS["pad"]
        logits = network.logits(network(inputs)).float()
        right = ((logits.argmax(-1) == wanted) | ~real).all(1).float().mean()
        return {"valid_nats": float(F.cross_entropy(logits[real], wanted[real])), "right": float(right)}

    def _drawn(self, rng: np.random.Generator, n: int, split: Split) -> tuple[Batch, Tensor]:
        scenes = [scene(rng, split) for _ in range(n)]
        values = torch.from_numpy(windows(np.stack([picture(one) for one in scenes])))
        rows = self.tokenizer.encode_many([caption(one) or "" for one in scenes])
        ids = torch.zeros(n, 2 + max(map(len, rows)), dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : 2 + len(row)] = torch.tensor([IDS["start"], *row, IDS["end"]])
        source = torch.arange(values.shape[1]).expand(n, -1)
        read, wanted = ids[:, :-1], ids[:, 1:]
        batch = Batch(ids=read, real=wanted != 0, source=source, source_real=source >= 0, values=values)
        return batch, wanted


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Scenes:
    """Scenes with their captions; nothing is read from `data`."""
    written_words(WORDS, SPECIAL).save(str(work / "tokenizer.json"))
    return Scenes(Tokenizer.from_file(work / "tokenizer.json", **IDS), seed, device)


def examples() -> tuple[Example, ...]:
    """Held-out scenes beside their captions."""
    rng = np.random.default_rng(0)
    found = [scene(rng, "test") for _ in range(N_EXAMPLES)]
    return tuple(Example(written(one), caption(one)) for one in found)


RECIPE = Recipe(
    name="captioner",
    family="captioner",
    config=CaptionerConfig(n_vocab=len(SPECIAL) + len(WORDS)),
    steps=6000,
    prepare=prepare,
    measure=measure,
    examples=examples,
    ids=IDS,
)
