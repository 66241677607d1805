"""Both chains of an ELMo over one text: each token predicted from those before it and from those after it; and the two
exchanged.

L = -sum_i (log p(x_i | x_<i) + log p(x_i | x_>i))      (Peters et al. 2018, 3.1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.errors import InputError
from core.model import Model
from core.models import Batch

Array = np.ndarray
LONGEST = 24
SIDES = ("ahead.", "back.")


@dataclass(frozen=True, eq=False)
class Chains:
    """`forward[i]` is ln p(x_i | all before it), `backward[i]` ln p(x_i | all after it), each (n,); `best`: the most probable
    token of each chain."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    forward: Array
    backward: Array
    best: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def losses(self) -> tuple[float, float]:
        """Return the loss of each chain on the text, in nats: minus the sum of its logarithms.

        >>> Chains((), (), np.array([-1.0, -2.0]), np.array([-0.5]), ((), ())).losses
        (3.0, 0.5)
        """
        return -math.fsum(self.forward), -math.fsum(self.backward)

    @property
    def loss(self) -> float:
        """Return L of this text: the sum of both losses."""
        return math.fsum(self.losses)

    @property
    def most_different(self) -> int:
        """Return the position where the chains differ most."""
        return int(np.abs(self.forward - self.backward).argmax())


def ids_of(model: Model, text: str) -> tuple[int, ...]:
    """Return the ids of a text. Raises InputError for none, and for more than LONGEST."""
    ids = model.tokenizer.encode(text).ids
    if not text.strip() or not ids:
        raise InputError("There is no text.", "Each chain predicts the tokens of a text.", "Type a sentence.")
    if len(ids) > LONGEST:
        raise InputError(
            f"The text has {len(ids):,} tokens.",
            f"This page reads up to {LONGEST}.",
            "Shorten it, or take an example.",
        )
    return tuple(ids)


def log_probs(network: Any, ids: tuple[int, ...], start: int, end: int) -> tuple[Tensor, Tensor]:
    """Return ln p over the vocabulary for each token of START ids END, from before it and from after it (n vocab)."""
    row = torch.tensor([[start, *ids, end]])
    with torch.inference_mode():
        hidden = network(Batch(ids=row, real=torch.ones_like(row, dtype=torch.bool)))
        ahead, back = network.logits(hidden)[0].double(), network.backward_logits(hidden)[0].double()
    return ahead[:-2].log_softmax(-1), back[2:].log_softmax(-1)


def chains(model: Model, text: str) -> Chains:
    """Run both chains over a text between START and END.

    >>> import core
    >>> found = chains(core.open_model("elmo-mini"), "The dog ran.")
    >>> found.tokens, len(found.forward), found.loss == sum(found.losses)
    (('The', ' dog', ' ran', '.'), 4, True)
    """
    ids = ids_of(model, text)
    both = log_probs(model.network, ids, *_ends(model))
    places, wanted = torch.arange(len(ids)), torch.tensor(ids)
    first, last = (each[places, wanted].numpy() for each in both)
    best = tuple(tuple(_name(model, i) for i in each.argmax(-1).tolist()) for each in both)
    return Chains(tuple(model.tokenizer.token(i) for i in ids), ids, first, last, (best[0], best[1]))


def exchanged(network: Any) -> Any:
    """Return the same network with the weights of its two chains exchanged: the backward weights now read forward."""
    with torch.random.fork_rng(devices=[]):
        other = type(network)(network.cfg).eval().requires_grad_(False)
    one, two = SIDES
    swap = {one: two, two: one}
    state = {
        next((swap[side] + name.removeprefix(side) for side in SIDES if name.startswith(side)), name): weight
        for name, weight in network.state_dict().items()
    }
    other.load_state_dict(state)
    return other


@dataclass(frozen=True, eq=False)
class Reversed:
    """ln p of each token (n,), in the order of the text, when a forward chain reads the text from its end: `backward` with the
    weights of the backward chain, `forward` with those of the forward chain."""

    backward: Array
    forward: Array

    def gap(self, usual: Chains) -> float:
        """Return the largest difference between the backward chain and its weights reading the reversed text forward."""
        return float(np.abs(self.backward - usual.backward).max())


def reversed_text(model: Model, text: str) -> Reversed:
    """Run the forward chain on the text from its last token to its first, with either chain's weights.

    >>> import core
    >>> model = core.open_model("elmo-mini")
    >>> reversed_text(model, "The dog ran.").gap(chains(model, "The dog ran.")) < 1e-4
    True
    """
    ids, (start, end) = ids_of(model, text), _ends(model)
    turned = ids[::-1]
    places, wanted = torch.arange(len(ids)), torch.tensor(turned)
    read = [
        log_probs(network, turned, end, start)[0][places, wanted].numpy()[::-1].copy()
        for network in (exchanged(model.network), model.network)
    ]
    return Reversed(*read)


def _ends(model: Model) -> tuple[int, int]:
    start, end = model.tokenizer.start, model.tokenizer.end
    if model.family != "elmo" or start is None or end is None:
        raise InputError(
            f"{model.name} does not read both ways.",
            "Two chains are those of the family elmo, between START and END.",
            "Choose another model.",
        )
    return start, end


def _name(model: Model, index: int) -> str:
    return "END" if index == model.tokenizer.end else model.tokenizer.token(index)
