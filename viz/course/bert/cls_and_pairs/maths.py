"""A class that is told from one vector: the last one of [CLS], a linear map, a softmax. What [CLS] reads, and where the gradient arrives.

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
"""What a run must have kept."""


@dataclass(frozen=True, eq=False)
class Said:
    """How a class came about: h_0 (d,), W (class, d), b (class,), the scores and the probabilities (class,)."""

    hidden: Array
    weight: Array
    bias: Array
    scores: Array
    chances: Array

    @property
    def best(self) -> int:
        """The class that is said."""
        return int(self.chances.argmax())

    def terms(self, label: int) -> Array:
        """(d,): what each number of h_0 adds to the score of a class; with the bias they are the score."""
        return self.hidden * self.weight[label]


def softmax(scores: Array) -> Array:
    """exp(z) / sum exp(z), safely.

    >>> softmax(np.array([0.0, np.log(3.0)])).round(6).tolist()
    [0.25, 0.75]
    """
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def said(run: Run) -> Said:
    """The class of a run that kept KEEP, with all numbers that made it. Raises InputError where the model has no such head."""
    scores = np.asarray(run.classes, dtype=np.float64)
    head: Any = run.model.network.to_classes
    weight, bias = (value.detach().double().numpy() for value in (head.weight, head.bias))
    return Said(run.hidden()[-1, 0].astype(np.float64), weight, bias, scores, softmax(scores))


def reads(run: Run) -> NDArray[np.float32]:
    """(layer, head, key): how [CLS] spreads its look in every head."""
    return run.attention().weights[:, :, 0]


@dataclass(frozen=True)
class _Leaf:
    """Begin the graph of the gradient here."""

    where: str = "embed.out"

    def __call__(self, value: Tensor) -> Tensor:
        return value.detach().requires_grad_()


def arrives(run: Run, label: int) -> Array:
    """(layer + 1, pos): the length of dL / dx at each place, L the loss if `label` were right; row i enters layer i, the last row leaves the last layer."""
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


def untaught(job: Tuning, of: Model, seed: int = 0) -> Model:
    """The model at step 0 of a tuning: the body as it was, the head as it is drawn."""
    network = tuning.add_head(job, of, seed)
    return Model(f"{of.name} with a new head", of.spec, network.cfg, network, of.tokenizer)


@dataclass(frozen=True, eq=False)
class Checked:
    """Labelled texts that a tuning never read, each with the probabilities (text, class) of a model, and the number of its right class."""

    items: Sequence[Any]
    chances: Array
    wanted: NDArray[np.int64]

    @property
    def right(self) -> NDArray[np.bool_]:
        return self.chances.argmax(-1) == self.wanted

    def by(self, kind: Callable[[Any], str]) -> dict[str, tuple[int, int]]:
        """Of each kind of text, how many are right, and how many there are."""
        kinds = [kind(item) for item in self.items]
        return {
            name: (sum(ok for ok, of in zip(self.right, kinds, strict=True) if of == name), kinds.count(name))
            for name in sorted(set(kinds))
        }

    def errors(self) -> list[int]:
        """The places of the texts that it gets wrong, the surest error first."""
        wrong = np.flatnonzero(~self.right)
        return wrong[np.argsort(-self.chances[wrong].max(-1), kind="stable")].tolist()


def checked(model: Model, goal: Goal, n: int, seed: int, at_once: int = 32) -> Checked:
    """The n texts on which a tuning with this seed is measured, and what a model says of them."""
    items, pad = goal.draw(n, seed, "test"), model.tokenizer.pad or 0
    examples = [goal.read(model.tokenizer, item) for item in items]
    with torch.inference_mode():
        scores = [
            goal.scores(model.network, collate(examples[at : at + at_once], pad).batch)
            for at in range(0, n, at_once)
        ]
    chances = torch.cat(scores).double().softmax(-1).numpy()
    return Checked(items, chances, np.array([int(example.targets[0]) for example in examples]))
