"""captioner: describes a scene of coloured things, attending cell by cell (Xu et al. 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.grammar import Split
from core.data.scenes.language import (
    COLOURS,
    COUNTS,
    GRID,
    KINDS,
    RELATIONS,
    VERBS,
    caption,
    named_things,
    scene_text,
)
from core.data.scenes.pixels import bank
from core.data.scenes.sampling import TRAINED, sample_scene
from core.data.texts import Example
from core.models import Batch
from core.models.captioner import CaptionerConfig
from core.scoring.captions import measure
from core.text import Tokenizer
from core.text.learn import word_list_tokenizer
from core.trace import Recorder
from core.training.loop.prefetch import to_device
from core.training.recipe import Recipe

SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
IDS = {"pad": 0, "start": 1, "end": 2}
WORDS = (
    *COUNTS,
    *COLOURS,
    *(f"{kind}{ending}" for kind in KINDS for ending in ("", "s")),
    *VERBS,
    *dict.fromkeys(word for way in RELATIONS for word in way.split()),
    "and",
    ".",
)
ROWS, VALID, N_EXAMPLES = 128, 256, 32
NOISE = 0.05
"""Standard deviation of what is added to each pixel while it learns."""
LARGER = 8.0
"""How much larger the matrix begins that makes the first state."""
SPREAD = 0.01
"""Lambda: how much the doubly stochastic term counts."""
POINTED = 0.2
"""How much it counts that the weights lie where the thing is that is being named."""
STEPS = "decoder.step.*.attn.pattern"


SceneBatch = tuple[Batch, Tensor, Tensor, Tensor]
"""Input, the window of each cell (batch cell), the next word at each position, and for each word the cells that it describes
(batch pos cell): none for "is above" and for the end."""


class Scenes:
    """Scenes sampled at each step; the loss is Xu et al. 2015, Eq. (14).

    -log P(caption | picture), the mean a token, and lambda times the mean over cells of (tau - sum_t a_ti)^2: over a caption
    each cell shall get the same attention. The paper's tau is 1, with about as many words as cells; here it is words / cells,
    the value of uniform attention. To it comes that while a thing is named (its number, its colour, its noun) the weights lie on
    it: -log of their sum over its cells, the mean a word (supervised attention: Liu et al. 2017, "Attention
    correctness in neural image captioning"). There are few different windows (`bank`): the convolutions read each once a step.
    """

    def __init__(self, tokenizer: Tokenizer, seed: int, device: torch.device) -> None:
        self.tokenizer, self.seed = tokenizer, seed
        windows, self.where = bank(TRAINED)
        self.windows = torch.from_numpy(windows)[None].to(device)
        self.valid = to_device(self._sample(np.random.default_rng(0), VALID, "test"), device)

    def batch(self, step: int) -> tuple[SceneBatch, int]:
        found = self._sample(np.random.default_rng((self.seed, step)), ROWS, "train")
        return found, int((found[2] != IDS["pad"]).sum())

    def loss(self, network: Any, batch: SceneBatch) -> Tensor:
        inputs, cells, wanted, there = batch
        noisy = self.windows + NOISE * torch.randn_like(self.windows)
        tap = Recorder((STEPS,))
        hidden = network(inputs, tap=tap, memory=self._read(network, noisy, cells))
        real = wanted != IDS["pad"]
        said = F.cross_entropy(network.logits(hidden[real]).float(), wanted[real])
        trace = tap.close()
        weights = torch.cat([trace[path][:, 0] for path in trace], dim=1).float() * real[..., None]
        even = real.sum(1, keepdim=True) / weights.shape[-1]
        on = (weights * there).sum(-1)[there.any(-1)]
        return (
            said + SPREAD * ((even - weights.sum(1)) ** 2).mean() - POINTED * on.clamp_min(1e-6).log().mean()
        )

    def check(self, network: Any) -> Mapping[str, float]:
        """Return, for unseen combinations, nats a token and the share of captions with all words right, each predicted after the true ones."""
        inputs, cells, wanted, _ = self.valid
        real = wanted != IDS["pad"]
        logits = network.logits(network(inputs, memory=self._read(network, self.windows, cells))).float()
        right = ((logits.argmax(-1) == wanted) | ~real).all(1).float().mean()
        return {"valid_nats": float(F.cross_entropy(logits[real], wanted[real])), "right": float(right)}

    def _read(self, network: Any, windows: Tensor, cells: Tensor) -> Tensor:
        return network.encoder.placed(network.encoder.features(windows)[0][cells])

    def _sample(self, rng: np.random.Generator, n: int, split: Split) -> SceneBatch:
        scenes = [sample_scene(rng, split) for _ in range(n)]
        cells = torch.tensor([self.where["", place] for place in range(GRID**2)]).repeat(n, 1)
        for row, one in enumerate(scenes):
            for thing in one:
                cells[row, thing.cell()] = self.where[thing.name, thing.cell()]
        texts = [caption(one) or "" for one in scenes]
        rows = self.tokenizer.encode_many(texts)
        ids = torch.full((n, 2 + max(map(len, rows))), IDS["pad"])
        there = torch.zeros(n, ids.shape[1] - 1, GRID**2, dtype=torch.bool)
        for place, (one, text, row) in enumerate(zip(scenes, texts, rows, strict=True)):
            ids[place, : 2 + len(row)] = torch.tensor([IDS["start"], *row, IDS["end"]])
            for noun, group in enumerate(named_things(one, text.split())):
                for thing in group or ():
                    there[place, noun - 2 : noun + 1, thing.cell()] = True
        wanted = ids[:, 1:]
        source = torch.arange(GRID**2).repeat(n, 1)
        real = wanted != IDS["pad"]
        read = Batch(ids=ids[:, :-1], real=real, source=source, source_real=source >= 0)
        return read, cells, wanted, there


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Scenes:
    """Return scenes with their captions; nothing is read from `data`."""
    word_list_tokenizer(WORDS, SPECIAL).save(str(work / "tokenizer.json"))
    return Scenes(Tokenizer.from_file(work / "tokenizer.json", **IDS), seed, device)


@torch.no_grad()
def begin(network: Any) -> None:
    """Enlarge the map from the mean of all cells to the first state: one thing more changes that mean by 1/25."""
    network.decoder.bridge.weight.mul_(LARGER)


def examples() -> tuple[Example, ...]:
    """Return held-out scenes with their captions."""
    rng = np.random.default_rng(0)
    found = [sample_scene(rng, "test") for _ in range(N_EXAMPLES)]
    return tuple(Example(scene_text(one), caption(one)) for one in found)


RECIPE = Recipe(
    name="captioner",
    family="captioner",
    config=CaptionerConfig(n_vocab=len(SPECIAL) + len(WORDS), dropout=0.1),
    warm_up=60,
    steps=6000,
    prepare=prepare,
    begin=begin,
    measure=measure,
    examples=examples,
    ids=IDS,
)
