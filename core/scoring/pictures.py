"""Models of drawings: how often a ViT predicts the class, and how well a masked autoencoder fills in hidden patches.

accuracy                of a ViT on the test drawings, and by class; beside it that of the nearest training drawings
squared_error           of a masked autoencoder: the mean over hidden patches of (filled in - drawn)^2, black -1, white 1;
                        beside it the mean of the visible patches, put at each hidden place, and the mean training drawing
accuracy_from_few       of a ViT that begins with the autoencoder's encoder and learns from 10 labelled drawings a class;
                        beside it the same ViT that learns from those alone
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.drawings import Drawings, augment, has_split, read_drawings
from core.data.patches import HIDDEN, patch_values
from core.errors import InputError
from core.models import Batch
from core.models.vit import ViT, ViTConfig
from core.scoring import Metrics, Scoring
from core.scoring.classes import accuracies

AT_ONCE = 100
NEAREST = 3
EACH, STEPS, ROWS, RATE = 10, 150, 60, 1e-3
"""Learning from few: drawings of a class, steps, drawings a step, and the rate of AdamW, of which a cosine is taken."""


def visible_batch(pixels: np.ndarray, config: Any) -> Batch:
    """Return a batch of pictures (item, row, column) with no patch hidden."""
    values = torch.from_numpy(patch_values(pixels, config.patch, config.first))
    ids = torch.arange(config.n_ctx).expand(len(pixels), -1)
    return Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool), values=values)


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure a ViT or a masked autoencoder on the test drawings of a file; `limit` takes only the first.

    Raises InputError for drawings of another size or with classes that a ViT does not know.
    """
    test = read_drawings(path, "test")
    test = Drawings(test.pixels[:limit], test.labels[:limit], test.classes)
    _check(model, test, path.name)
    if model.family == "vit":
        scores = class_scores(model.network, test)
        return accuracies(scores.argmax(-1).numpy(), test.labels, test.classes)
    if not has_split(path, "train"):
        filled, mean_patch, _ = squared_errors(model, test, test)
        of_mean = {"squared_error": mean_patch}
        return {
            "items": len(test.pixels),
            "squared_error": filled,
            "beside": {"mean of the visible patches": of_mean},
        }
    train = read_drawings(path, "train")
    filled, mean_patch, mean_drawing = squared_errors(model, train, test)
    few, knows, knows_not = few_label_accuracy(model, train, test)
    return {
        "items": len(test.pixels),
        "squared_error": filled,
        "labels": few,
        "accuracy_from_few": knows,
        "beside": {
            "mean of the visible patches": {"squared_error": mean_patch},
            "mean drawing": {"squared_error": mean_drawing},
            "the same without what it learned": {"accuracy_from_few": knows_not},
        },
    }


def class_scores(network: Any, drawings: Drawings) -> Tensor:
    """Return the scores of the classes, (item, class)."""
    with torch.inference_mode():
        parts = [
            network.classes(network(visible_batch(some, network.cfg))) for some in _some(drawings.pixels)
        ]
    return torch.cat(parts).float()


def squared_errors(model: Any, train: Drawings, test: Drawings, seed: int = 0) -> tuple[float, ...]:
    """Return the mean squared errors at hidden patches, sampled with the seed: of the decoder, of the mean of the
    visible patches and of the mean drawing.
    """
    config, draw = model.config, np.random.default_rng(seed)
    mean = torch.from_numpy(patch_values(train.pixels.mean(0).round().astype(np.uint8), config.patch))[1:]
    lost = np.zeros(3)
    for pixels in _some(test.pixels):
        batch = visible_batch(pixels, config)
        assert batch.values is not None
        n = config.n_ctx - 1
        order = draw.random((len(pixels), n)).argsort(1)
        gone = torch.from_numpy(order < int(n * HIDDEN))
        hidden = F.pad(gone, (1, 0))
        ids = batch.ids + config.n_ctx * hidden
        seen = Batch(ids=ids, real=batch.real, values=batch.values.masked_fill(hidden[..., None], 0.0))
        with torch.inference_mode():
            filled = model.network.patches(model.network(seen))[:, 1:]
        drawn, shown = batch.values[:, 1:], ~gone[..., None]
        visible = (drawn * shown).sum(1, keepdim=True) / shown.sum(1, keepdim=True)
        for i, guess in enumerate((filled, visible.expand_as(drawn), mean.expand_as(drawn))):
            lost[i] += float((guess - drawn).square().mean(-1)[gone].double().mean()) * len(pixels)
    return tuple((lost / len(test.pixels)).tolist())


def few_label_accuracy(
    model: Any, train: Drawings, test: Drawings, steps: int = STEPS
) -> tuple[int, float, float]:
    """Return how many labels were used, and the accuracies of two ViTs fine-tuned on them: one that begins with the
    encoder's weights, and one without.
    """
    few = train.first_of_each(EACH)
    scores = [class_scores(fine_tune(model, few, knows, steps), test) for knows in (True, False)]
    knows, knows_not = (float((each.argmax(-1).numpy() == test.labels).mean()) for each in scores)
    return len(few.labels), knows, knows_not


def fine_tune(model: Any, few: Drawings, knows: bool, steps: int = STEPS) -> ViT:
    """Train a ViT of the autoencoder's shape for `steps` on augmented drawings; it begins with the encoder's weights
    where `knows` is True, else at random.
    """
    cfg = model.config
    shape = {name: getattr(cfg, name) for name in ("n_layers", "n_heads", "d_model", "d_ff")}
    shape |= {name: getattr(cfg, name) for name in ("image", "patch", "channels", "activation", "eps")}
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        torch.manual_seed(0)
        network = ViT(ViTConfig(**shape, classes=few.classes)).train()
        if knows:
            learnt = {name: part.clone() for name, part in model.network.state_dict().items()}
            network.load_state_dict({**network.state_dict(), **_shared(network, learnt)})
        draw, right = np.random.default_rng(0), torch.from_numpy(few.labels.astype(np.int64))
        optim = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.05)
        rates = torch.optim.lr_scheduler.OneCycleLR(optim, RATE, total_steps=steps, pct_start=0.1)
        for _ in range(steps):
            chosen = draw.integers(len(right), size=ROWS)
            batch = visible_batch(augment(few.pixels[chosen], draw), network.cfg)
            loss = F.cross_entropy(network.classes(network(batch)), right[chosen], label_smoothing=0.1)
            optim.zero_grad()
            loss.backward()
            optim.step()
            rates.step()
    return network.eval().requires_grad_(False)


def baselines(model: Any, train: Path, path: Path) -> dict[str, Metrics]:
    """Return the metrics on `path` of the nearest-neighbour baseline: the commonest class of the three training drawings nearest in pixels."""
    learnt, test = read_drawings(train, "train"), read_drawings(path, "test")
    _check(model, test, path.name)
    known = torch.from_numpy(learnt.pixels.reshape(len(learnt.pixels), -1)).float() / 255
    labels = torch.from_numpy(learnt.labels.astype(np.int64))
    guessed = [
        labels[
            torch.cdist(torch.from_numpy(some.reshape(len(some), -1)).float() / 255, known)
            .topk(NEAREST, largest=False)
            .indices
        ]
        .mode(-1)
        .values
        for some in _some(test.pixels)
    ]
    found = torch.cat(guessed).numpy()
    return {f"{NEAREST} nearest drawings": accuracies(found, test.labels, test.classes)}


def _shared(network: ViT, learned: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights that both networks have: all but the class head."""
    return {name: learned[name] for name in network.state_dict() if name in learned}


def _some(pixels: np.ndarray) -> Iterator[np.ndarray]:
    return (pixels[i : i + AT_ONCE] for i in range(0, len(pixels), AT_ONCE))


def _check(model: Any, drawings: Drawings, name: str) -> None:
    side, channels = model.config.image, model.config.channels
    known = getattr(model.config, "classes", drawings.classes)
    if drawings.pixels.shape[1:] != (side, side) or channels != 1:
        size = " x ".join(map(str, drawings.pixels.shape[1:]))
        raise InputError(
            f"{name} has grey drawings of {size}.",
            f"{model.name} reads {side} x {side} in {channels} channels.",
            "Give drawings of its size.",
        )
    if tuple(known) != drawings.classes:
        raise InputError(
            f"{name} has the classes {', '.join(drawings.classes)}.",
            f"The classes of the model are {', '.join(known)}.",
            "Give drawings of these, in this order.",
        )


SCORING = Scoring(
    kind="model of drawings",
    families=frozenset({"vit", "mae"}),
    suffix=".npz",
    content="drawings with classes, x_train, y_train, x_test and y_test, or x and y alone",
    measure=measure,
    baselines=baselines,
)
