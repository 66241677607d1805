"""A class from one vector: the last one of [CLS], a linear map, a softmax. The attention of [CLS], and the gradient by
position.

    z = h_0 W^T + b,   p = softmax(z),   L = -log p_c          (Devlin et al. 2019, 4.1; with one text or two)

Only h_0 of the last layer is in the equation, so only there the gradient arrives directly; every other place gets its share
through the attention of a layer above it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from core.model import Model
from core.models import Batch
from core.run import Run
from core.trace import Recorder
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import Goal, collate
from core.training.finetune.tuning import Tuning

Array = NDArray[np.float64]
KEEP = ("*.pattern", "layer.*.resid_in", "layer.*.resid_out")
"""Names of the values that a run must record."""


@dataclass(frozen=True, eq=False)
class Classification:
    """A class and its computation: h_0 (d,), W (class, d), b (class,), the scores and the probabilities (class,)."""

    hidden: Array
    weight: Array
    bias: Array
    scores: Array
    chances: Array

    @property
    def best(self) -> int:
        """Return the class with the highest probability."""
        return int(self.chances.argmax())

    def terms(self, label: int) -> Array:
        """Return the contribution of each number of h_0 to the score of a class, (d,); with the bias they sum to the score."""
        return self.hidden * self.weight[label]


def softmax(scores: Array) -> Array:
    """Return exp(z) / sum exp(z), without overflow.

    >>> softmax(1000 + np.array([0.0, np.log(3.0)])).round(6).tolist()
    [0.25, 0.75]
    """
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def classify(run: Run) -> Classification:
    """Return the class of a run that recorded KEEP, with all numbers of its computation. Raises InputError where the model has
    no such head."""
    scores = np.asarray(run.classes, dtype=np.float64)
    head: Any = run.model.network.to_classes
    weight, bias = (value.detach().double().numpy() for value in (head.weight, head.bias))
    return Classification(run.hidden()[-1, 0].astype(np.float64), weight, bias, scores, softmax(scores))


def reads(run: Run) -> NDArray[np.float32]:
    """Return the attention of [CLS] in every head: (layer, head, key)."""
    return run.attention().weights[:, :, 0]


@dataclass(frozen=True)
class _Leaf:
    """Begin the graph of the gradient here."""

    where: str = "embed.out"

    def __call__(self, value: Tensor) -> Tensor:
        return value.detach().requires_grad_()


def arrives(run: Run, label: int) -> Array:
    """Return the length of dL / dx at each position, (layer + 1, pos), with L the loss if `label` were right.

    Row i is of the input of layer i, the last row of the output of the last layer.
    """
    network, n = run.model.network, run.model.config.n_layers
    paths = [*(f"layer.{i}.resid_in" for i in range(n)), f"layer.{n - 1}.resid_out"]
    with torch.inference_mode(False), torch.enable_grad():
        ids = torch.tensor([run.ids])
        tap = Recorder(tuple(paths), (_Leaf(),))
        hidden = network(
            Batch(
                ids=ids, real=torch.ones_like(ids, dtype=torch.bool), segments=torch.tensor([run.segments])
            ),
            tap=tap,
        )
        trace = tap.close()
        loss = F.cross_entropy(network.classes(hidden), torch.tensor([label]))
        found = torch.autograd.grad(loss, [trace[path] for path in paths])
    return torch.stack([each[0].norm(dim=-1) for each in found]).double().numpy()


def with_new_head(job: Tuning, body: Model, seed: int = 0) -> Model:
    """Return the model at step 0 of a tuning: the body unchanged, the head at its random start."""
    network = tuning.add_head(job, body, seed)
    return Model(f"{body.name} with a new head", body.spec, network.cfg, network, body.tokenizer)


@dataclass(frozen=True, eq=False)
class Checked:
    """Labelled texts that a tuning never read, each with the probabilities (text, class) of a model, and the number of its
    right class."""

    items: Sequence[Any]
    chances: Array
    targets: NDArray[np.int64]

    @property
    def right(self) -> NDArray[np.bool_]:
        return self.chances.argmax(-1) == self.targets

    def by(self, kind: Callable[[Any], str]) -> dict[str, tuple[int, int]]:
        """Return for each kind of text the number of right ones, and the number of all."""
        kinds = [kind(item) for item in self.items]
        return {
            name: (sum(ok for ok, of in zip(self.right, kinds, strict=True) if of == name), kinds.count(name))
            for name in sorted(set(kinds))
        }

    def errors(self) -> list[int]:
        """Return the indices of the texts that are wrong, the most probable error first."""
        wrong = np.flatnonzero(~self.right)
        return wrong[np.argsort(-self.chances[wrong].max(-1), kind="stable")].tolist()


def checked(model: Model, goal: Goal, n: int, seed: int, at_once: int = 32) -> Checked:
    """Return the n texts on which a tuning with this seed is measured, with a model's predictions."""
    items, pad = goal.draw(n, seed, "test"), model.tokenizer.pad or 0
    examples = [goal.read(model.tokenizer, item) for item in items]
    with torch.inference_mode():
        scores = [
            goal.scores(model.network, collate(examples[at : at + at_once], pad).batch)
            for at in range(0, n, at_once)
        ]
    chances = torch.cat(scores).double().softmax(-1).numpy()
    return Checked(items, chances, np.array([int(example.targets[0]) for example in examples]))
