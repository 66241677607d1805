"""vit-doodles classifies drawings of six kinds; mae-doodles fills in the three quarters of a drawing that are masked.

Both read the same drawings of 28 x 28 pixels as 49 patches of 4 x 4, each time moved a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data import doodles
from core.data.corpora import find_file
from core.data.drawings import Drawings, augment, example_drawings, read_drawings
from core.data.patches import HIDDEN, patch_tokenizer
from core.data.texts import Example
from core.models import Batch
from core.models.mae import MAEConfig
from core.models.vit import ViTConfig
from core.scoring.pictures import class_scores, visible_batch
from core.text import Tokenizer
from core.training.recipe import Recipe

FILE = "doodles28/doodles28.npz"
IDS = {"pad": 0}
ROWS = 128
N_READ, STEPS, FULL_FROM = 25, 1500, 1200
"""Patches that are read until the step from which on all are."""
SMOOTH = 0.05
"""Of each answer this share is given to all classes alike: some drawings are wrong or unfinished."""


class LabelledDrawings:
    """Drawings in a new order each pass, and their classes; until the last steps about half of the patches are left out.

    A ViT reads any of its positions alone, so a step costs half as much, and no drawing is classified by one patch.
    """

    def __init__(
        self, train: Drawings, valid: Drawings, config: Any, tokenizer: Tokenizer, seed: int
    ) -> None:
        self.train, self.valid, self.seed = train, valid, seed
        self.config, self.tokenizer = config, tokenizer

    def batch(self, step: int) -> tuple[Any, int]:
        drawings, rng = self._sample(step)
        batch = visible_batch(drawings.pixels, self.config)
        batch = sample_patches(batch, N_READ, rng) if step < FULL_FROM else batch
        return (batch, torch.from_numpy(drawings.labels.astype(np.int64))), batch.ids.numel()

    def loss(self, network: Any, batch: Any) -> Tensor:
        read_as, right = batch
        return F.cross_entropy(network.classes(network(read_as)).float(), right, label_smoothing=SMOOTH)

    def check(self, network: Any) -> Mapping[str, float]:
        scores, wanted = class_scores(network, self.valid), torch.from_numpy(self.valid.labels).long()
        return {
            "nats": float(F.cross_entropy(scores, wanted)),
            "accuracy": float((scores.argmax(-1) == wanted).float().mean()),
        }

    def _sample(self, step: int) -> tuple[Drawings, np.random.Generator]:
        per_pass = len(self.train.pixels) // ROWS
        turn, part = divmod(step, per_pass)
        order = np.random.default_rng((self.seed, turn)).permutation(len(self.train.pixels))
        chosen, rng = order[part * ROWS : (part + 1) * ROWS], np.random.default_rng((self.seed, turn, part))
        return Drawings(
            augment(self.train.pixels[chosen], rng), self.train.labels[chosen], self.train.classes
        ), rng


class MaskedDrawings(LabelledDrawings):
    """Drawings without their classes: the encoder gets a quarter of the patches, and no position for the others."""

    def batch(self, step: int) -> tuple[Any, int]:
        drawings, rng = self._sample(step)
        batch, n = visible_batch(drawings.pixels, self.config), self.config.n_ctx - 1
        return (batch, sample_patches(batch, n - int(n * HIDDEN), rng)), batch.ids.numel()

    def loss(self, network: Any, batch: Any) -> Tensor:
        read_as, few = batch
        encoded = network.encode(few)
        ids = (read_as.ids + self.config.n_ctx).scatter(1, few.ids, few.ids)
        wide = few.ids[..., None].expand_as(encoded)
        spread = encoded.new_zeros(*ids.shape, encoded.shape[-1]).scatter(1, wide, encoded)
        found = network.patches(network.decode(Batch(ids=ids, real=read_as.real), spread)).float()
        return (found - read_as.values).square().mean(-1)[ids >= self.config.n_ctx].mean()

    def check(self, network: Any) -> Mapping[str, float]:
        batch, n = visible_batch(self.valid.pixels, self.config), self.config.n_ctx - 1
        few = sample_patches(batch, n - int(n * HIDDEN), np.random.default_rng(0))
        return {"squared_error": float(self.loss(network, (batch, few)))}


def sample_patches(batch: Batch, n: int, rng: np.random.Generator) -> Batch:
    """Return the class token and n random patches of each picture, in their order, without the others."""
    assert batch.values is not None
    rows, places = batch.ids.shape
    order = rng.random((rows, places - 1)).argsort(1)[:, :n]
    kept = F.pad(torch.from_numpy(np.sort(order, axis=1) + 1), (1, 0))
    values = torch.gather(batch.values, 1, kept[..., None].expand(-1, -1, batch.values.shape[-1]))
    return Batch(ids=kept, real=torch.ones_like(kept, dtype=torch.bool), values=values)


def _prepared(kind: type[LabelledDrawings], config: Any) -> Any:
    def prepare(data: Path, work: Path, seed: int, device: torch.device) -> LabelledDrawings:
        path = find_file(data, FILE)
        patch_tokenizer(config.side).save(str(work / "tokenizer.json"))
        tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)
        return kind(read_drawings(path, "train"), read_drawings(path, "valid"), config, tokenizer, seed)

    return prepare


def examples() -> tuple[Example, ...]:
    """Return the example doodles, each once unchanged and three times varied."""
    return tuple(Example(doodles.as_text(pixels)) for pixels in example_drawings().pixels)


_SHAPE: Mapping[str, Any] = {
    **{"n_layers": 4, "n_heads": 4, "d_model": 64, "d_ff": 128},
    **{"image": 28, "patch": 4, "channels": 1},
}
_VIT, _MAE = ViTConfig(**_SHAPE, classes=doodles.NAMES), MAEConfig(**_SHAPE, n_decoder_layers=2)

RECIPES = (
    Recipe(
        name="vit-doodles",
        family="vit",
        config=_VIT,
        steps=STEPS,
        prepare=_prepared(LabelledDrawings, _VIT),
        examples=examples,
        ids=IDS,
        warm_up=100,
    ),
    Recipe(
        name="mae-doodles",
        family="mae",
        config=_MAE,
        steps=STEPS,
        prepare=_prepared(MaskedDrawings, _MAE),
        examples=examples,
        ids=IDS,
        warm_up=100,
    ),
)
