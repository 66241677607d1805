"""vit-doodles tells six kinds of drawing apart; mae-doodles fills in the three quarters of a drawing that it is not shown.

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

from core.data.corpora import find
from core.data.drawings import Drawings, moved, read
from core.data.patches import HIDDEN, named, numbers
from core.models import Batch
from core.models.mae import MAEConfig
from core.models.vit import ViTConfig
from core.text import Tokenizer
from core.training.recipe import Recipe

FILE = "doodles28/doodles28.npz"
CLASSES = ("apple", "bicycle", "cat", "diamond", "eye", "fish")
IDS = {"pad": 0}
ROWS = 128
SMOOTH = 0.05
"""Of each answer this share is given to all classes alike: some drawings are wrong or unfinished."""


class Labelled:
    """Drawings in a new order each pass, and their classes."""

    def __init__(
        self, train: Drawings, valid: Drawings, config: Any, tokenizer: Tokenizer, seed: int
    ) -> None:
        self.train, self.valid, self.config, self.tokenizer, self.seed = (
            *(train, valid, config, tokenizer),
            seed,
        )

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor], int]:
        per_pass = len(self.train.pixels) // ROWS
        turn, part = divmod(step, per_pass)
        order = np.random.default_rng((self.seed, turn)).permutation(len(self.train.pixels))
        chosen = order[part * ROWS : (part + 1) * ROWS]
        pixels = moved(self.train.pixels[chosen], np.random.default_rng((self.seed, turn, part)))
        right = torch.from_numpy(self.train.labels[chosen].astype(np.int64))
        read_as = whole(pixels, self.config)
        return (read_as, right), read_as.ids.numel()

    def loss(self, network: Any, batch: tuple[Batch, Tensor]) -> Tensor:
        read_as, right = batch
        return F.cross_entropy(network.classes(network(read_as)).float(), right, label_smoothing=SMOOTH)

    def check(self, network: Any) -> Mapping[str, float]:
        scores = network.classes(network(whole(self.valid.pixels, self.config))).float()
        wanted = torch.from_numpy(self.valid.labels.astype(np.int64))
        return {
            "nats": float(F.cross_entropy(scores, wanted)),
            "accuracy": float((scores.argmax(-1) == wanted).float().mean()),
        }


class Hidden(Labelled):
    """The same drawings without their classes: the encoder gets a quarter of the patches, and no place for the others."""

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor], int]:
        (read_as, _), count = super().batch(step)
        n = self.config.n_ctx - 1
        order = np.random.default_rng((self.seed, step, 1)).random((len(read_as.ids), n)).argsort(1)
        kept = torch.from_numpy(np.sort(order[:, int(n * HIDDEN) :] + 1))
        return (read_as, torch.cat((torch.zeros_like(kept[:, :1]), kept), dim=1)), count

    def loss(self, network: Any, batch: tuple[Batch, Tensor]) -> Tensor:
        read_as, kept = batch
        wanted = read_as.values
        assert wanted is not None
        few = torch.gather(wanted, 1, kept[..., None].expand(-1, -1, wanted.shape[-1]))
        encoded = network.encode(Batch(ids=kept, real=torch.ones_like(kept, dtype=torch.bool), values=few))
        ids = (read_as.ids + self.config.n_ctx).scatter(1, kept, kept)
        wide = kept[..., None].expand_as(encoded)
        spread = encoded.new_zeros(*ids.shape, encoded.shape[-1]).scatter(1, wide, encoded)
        found = network.patches(network.decode(Batch(ids=ids, real=read_as.real), spread)).float()
        return (found - wanted).square().mean(-1)[ids >= self.config.n_ctx].mean()

    def check(self, network: Any) -> Mapping[str, float]:
        (_, kept), _ = self.batch(0)
        read_as = whole(self.valid.pixels[: len(kept)], self.config)
        return {"squared_error": float(self.loss(network, (read_as, kept)))}


def whole(pixels: np.ndarray, config: Any) -> Batch:
    """Pictures (item row column) as they are read with nothing hidden."""
    values = torch.from_numpy(numbers(pixels, config.patch))
    ids = torch.arange(config.n_ctx).expand(len(pixels), -1)
    return Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool), values=values)


def _prepared(kind: type[Labelled], config: Any) -> Any:
    def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Labelled:
        path = find(data, FILE)
        named(config.side).save(str(work / "tokenizer.json"))
        tokenizer = Tokenizer.from_file(work / "tokenizer.json", **IDS)
        return kind(read(path, "train"), read(path, "valid"), config, tokenizer, seed)

    return prepare


_SHAPE: Mapping[str, Any] = {
    **{"n_layers": 4, "n_heads": 4, "d_model": 64, "d_ff": 128},
    **{"image": 28, "patch": 4, "channels": 1},
}
_VIT, _MAE = ViTConfig(**_SHAPE, classes=CLASSES), MAEConfig(**_SHAPE, n_decoder_layers=2)

RECIPES = (
    Recipe(
        name="vit-doodles",
        family="vit",
        config=_VIT,
        steps=1500,
        prepare=_prepared(Labelled, _VIT),
        ids=IDS,
        warm_up=100,
    ),
    Recipe(
        name="mae-doodles",
        family="mae",
        config=_MAE,
        steps=2200,
        prepare=_prepared(Hidden, _MAE),
        ids=IDS,
        warm_up=100,
    ),
)
