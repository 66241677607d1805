"""Training processes all positions of a target at once, inference one after the other: the same logits, measured both ways."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from core.analysis.forcing import Forcing, compare_forcing, continuation_logits, decoding_prompt, target_ids
from core.decoding.prompt import Prompt
from core.decoding.stepper import Stepper
from core.errors import InputError
from core.model import Model

Array = NDArray[np.float64]
LONGEST = 12
"""Pieces of a target, END among them, that are drawn."""
READS = 40
"""Pieces of a source that are read here."""


@dataclass(frozen=True, eq=False)
class AtOnce:
    """One pair (source, target). `read` is the decoder's input, `target` its wanted output: read[0] = START, read[t] = target[t - 1].

    Shapes: ids (m,), logits and stepwise (m, vocab), losses, differences and unshifted (m,). `losses` are -ln P(y_t | y_<t, x)
    of the one pass; `stepwise` are the logits token after token with keys and values kept; `unshifted` are the losses
    of a decoder that is fed the target without the shift. `forcing` compares the same pair under free running.
    """

    source: tuple[str, ...]
    read: tuple[str, ...]
    target: tuple[str, ...]
    ids: NDArray[np.int64]
    logits: Array
    stepwise: Array
    unshifted: Array
    forcing: Forcing

    @property
    def losses(self) -> Array:
        """Return -ln P of each target token, in nats."""
        return losses(self.logits, self.ids)

    @property
    def differences(self) -> Array:
        """Return the largest difference of a logit between the two ways, by position."""
        return np.abs(self.logits - self.stepwise).max(1)


def losses(logits: Array, ids: NDArray[np.int64]) -> Array:
    """Compute -log softmax(logits)[ids], by position. Shapes: (m, vocab), (m,) -> (m,).

    >>> losses(np.zeros((2, 4)), np.array([0, 3])).round(4).tolist()
    [1.3863, 1.3863]
    """
    top = logits.max(1, keepdims=True)
    return (np.log(np.exp(logits - top).sum(1)) + top[:, 0]) - np.take_along_axis(logits, ids[:, None], 1)[
        :, 0
    ]


def shifted(ids: tuple[int, ...], start: int) -> tuple[int, ...]:
    """Return the decoder's input for a target: START in front, the last token left out.

    >>> shifted((7, 8, 2), 1)
    (1, 7, 8)
    """
    return (start, *ids[:-1])


def at_once(model: Model, source: str, target: str) -> AtOnce:
    """Run a pair through a translator, all positions in one pass, then position by position. The target ends with END.

    Raises InputError: an empty source or target, one longer than this page draws, a model that translates nothing.
    """
    if not model.spec.has_source:
        raise InputError(
            f"{model.name} reads no other sentence.",
            "Only a translator learns from pairs.",
            "Choose a translator.",
        )
    prompt = decoding_prompt(model, source)
    wanted = wanted_ids(model, prompt, target)
    whole = continuation_logits(model, prompt, [wanted[:-1]])[0].numpy()
    plain = _fed(model, prompt, wanted)
    ids = np.array(wanted)
    forcing = compare_forcing(model, source, target)
    return AtOnce(
        prompt.source_tokens,
        prompt.labels(wanted[:-1]),
        tuple(map(prompt.name, wanted)),
        ids,
        whole,
        _step_by_step(model, prompt, wanted[:-1]),
        losses(plain, ids),
        forcing,
    )


def wanted_ids(model: Model, prompt: Prompt, target: str) -> tuple[int, ...]:
    """Return the target's tokens and END. Raises InputError for none, and for more than are drawn here."""
    ids = target_ids(model, prompt, target)
    if len(ids) >= LONGEST or len(prompt.source) > READS:
        raise InputError(
            f"The pair has {len(prompt.source)} and {len(ids)} tokens.",
            f"This page draws sentences of up to {READS} and translations of up to {LONGEST - 1}.",
            "Shorten it, or take an example.",
        )
    return (*ids, prompt.end) if prompt.end is not None else ids


def _step_by_step(model: Model, prompt: Prompt, ids: tuple[int, ...]) -> Array:
    reader = Stepper(model, prompt)
    rows = [reader.read([prompt.ids]).logits[0], *(reader.read([[index]]).logits[0] for index in ids)]
    return np.stack(rows).astype(np.float64)


def _fed(model: Model, prompt: Prompt, ids: tuple[int, ...]) -> Array:
    """Return the logits (m, vocab) of a decoder that reads exactly these tokens, no START before them."""
    return continuation_logits(model, replace(prompt, ids=ids[:1]), [ids[1:]])[0].numpy()


def by_torch(pair: AtOnce) -> float:
    """Return the mean loss as PyTorch computes it: F.cross_entropy over the m positions."""
    return float(F.cross_entropy(torch.tensor(pair.logits), torch.tensor(pair.ids)))
