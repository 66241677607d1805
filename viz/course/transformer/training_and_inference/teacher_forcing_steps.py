"""One optimiser step after the other on one pair: a private copy of a translator learns it, the shared one stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from core.analysis.forcing import decoding_prompt
from core.errors import InputError
from core.model import Model
from core.models import Batch, families
from core.run.batched import greedy
from core.training.loop.moments import Moments
from viz.course.transformer.training_and_inference.parallel_decoder import shifted, wanted_ids

Array = NDArray[np.float64]
MOST = 8
"""Steps that a visitor can take: each is a forward and a backward pass of the whole network."""
RATES = {"SGD": 0.01, "Adam": 1e-4}
FASTEST = 4.0
"""The rate can be a quarter of the usual one to four times of it."""
OTHERS = (
    ("She has a white car.", "Ella tiene un coche blanco."),
    ("I am a student.", "Soy estudiante."),
    ("Thank you very much.", "Muchas gracias."),
    ("Where is the station?", "¿Dónde está la estación?"),
)
"""Pairs that are not learned: what do they lose meanwhile?"""


@dataclass(frozen=True, eq=False)
class Taught:
    """Private copy after `step` steps: the loss of each position (m,), its translation now, the mean loss of other pairs.

    `changed` is how many of its weights are not those of the shipped model.
    """

    step: int
    losses: Array
    writes: str
    others: float
    changed: int

    @property
    def loss(self) -> float:
        """Return the mean loss over the positions: the quantity that a step lowers."""
        return float(self.losses.mean())


def teach(model: Model, source: str, target: str, rule: str = "SGD", rate: float = 1.0) -> Iterator[Taught]:
    """Yield the shipped weights (step 0), then the copy after each of `MOST` steps; equal arguments give equal steps.

        L = -1/m sum_t ln P(y_t | y_<t, x)      SGD: theta <- theta - eta dL/dtheta      Adam: Kingma and Ba 2015

    `rate` multiplies the usual eta of the rule. No dropout and no label smoothing, so that a step says only what the
    gradient says. Raises InputError: an empty or too long pair, a rule or a rate that is not offered.
    """
    if rule not in RATES or not 1 / FASTEST <= rate <= FASTEST:
        raise InputError(
            f"The optimiser {rule} at {rate} times its rate is not offered.",
            f"Optimisers: {', '.join(RATES)}; {1 / FASTEST:g} to {FASTEST:g} times.",
            "Choose another.",
        )
    prompt = decoding_prompt(model, source)
    wanted = wanted_ids(model, prompt, target)
    network = _copy(model)
    with torch.inference_mode(False):  # tensors that gradients may be taken through
        pupil = _Pupil(
            model,
            network,
            _batch([prompt.source], [shifted(wanted, prompt.ids[-1])]),
            torch.tensor([wanted]),
            source,
        )
    weights, eta = list(network.parameters()), RATES[rule] * rate
    moments = Moments.zeros_like(weights) if rule == "Adam" else None
    for step in range(MOST + 1):
        yield pupil.report(step)
        _step(pupil, weights, eta, moments)


def held_bytes(model: Model, rule: str) -> int:
    """Return the bytes of a copy, its gradients and its optimiser state: 2 numbers per weight with SGD, 4 with Adam."""
    return 4 * model.n_parameters * (4 if rule == "Adam" else 2)


def _copy(model: Model) -> Any:
    with torch.inference_mode(False), torch.random.fork_rng(devices=[]):
        network = families()[model.family].network(model.config)
        network.load_state_dict(model.network.state_dict())
        return network.eval().requires_grad_(True)


def _step(pupil: _Pupil, weights: list[Tensor], eta: float, moments: Moments | None) -> None:
    """Update the weights: theta <- theta - eta g, or Adam's direction in place of g. The gradient modes are restored afterwards.

    Written out: torch.optim takes seconds to import when it is first used. A test compares with it.
    """
    with torch.inference_mode(False), torch.enable_grad():
        gradients = list(torch.autograd.grad(pupil.losses().mean(), weights))
    with torch.inference_mode(False), torch.no_grad():
        for weight, slope in zip(weights, moments.update(gradients) if moments else gradients, strict=True):
            weight.sub_(eta * slope)


@dataclass(frozen=True, eq=False)
class _Pupil:
    """Copy of a model, and the pair that it learns."""

    model: Model
    network: Any
    batch: Batch
    target: Tensor
    source: str

    def losses(self) -> Tensor:
        """Return -ln P of each target token, (m,)."""
        logits = self.network.logits(self.network(self.batch))
        return F.cross_entropy(logits[0], self.target[0], reduction="none")

    def report(self, step: int) -> Taught:
        with torch.inference_mode():
            found = self.losses().double().numpy()
            written = greedy(
                self.network,
                self.batch,
                start=int(self.batch.ids[0, 0]),
                end=self.model.tokenizer.end or 0,
                limit=3 * found.size + 10,
            )[0]
            pairs = zip(self.network.parameters(), self.model.network.parameters(), strict=True)
            changed = sum(int((mine != theirs).sum()) for mine, theirs in pairs)
            return Taught(step, found, self.model.tokenizer.decode(written), self._others(), changed)

    def _others(self) -> float:
        """Return the mean loss of the pairs that are not learned, in one padded batch; padding does not count (ignore_index)."""
        prompts = [
            (decoding_prompt(self.model, source), target)
            for source, target in OTHERS
            if source != self.source
        ]
        rows = [
            (
                prompt.source,
                prompt.ids[-1],
                (*self.model.tokenizer.encode(target).ids, self.model.tokenizer.end or 0),
            )
            for prompt, target in prompts
        ]
        batch = _batch([source for source, _, _ in rows], [shifted(ids, start) for _, start, ids in rows])
        longest = max(len(ids) for _, _, ids in rows)
        wanted = torch.tensor([[*ids, *[-100] * (longest - len(ids))] for _, _, ids in rows])
        logits = self.network.logits(self.network(batch))
        return float(F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100))


def _batch(sources: list[tuple[int, ...]], inputs: list[tuple[int, ...]]) -> Batch:
    source, source_real = _padded(sources)
    ids, real = _padded(inputs)
    return Batch(ids=ids, real=real, source=source, source_real=source_real)


def _padded(rows: list[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    ends = torch.tensor([[len(row)] for row in rows])
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows]), torch.arange(longest) < ends
