"""The three changes of ALBERT in numbers, the first two: a table in two factors, layers that share weights.

    BERT's table    V H               ALBERT's    V E + E H,   fewer where  E < V H / (V + H)
    layers          theta_1 = .. = theta_L   for what is shared

Counts are those of networks of core/models/albert.py (Lan et al. 2020, 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.checkpoints.safety.load_plan import meta_network
from core.models import families
from core.models.albert import ALBERT, ALBERTConfig
from core.models.bert import BERTConfig

Array = NDArray[np.float64]
BODY: Mapping[str, Any] = {"masked_lm": False, "sentence_order": False}
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "Base": {"n_layers": 12, "n_heads": 12, "d_model": 768, "d_ff": 3072},
    "Large": {"n_layers": 24, "n_heads": 16, "d_model": 1024, "d_ff": 4096},
}


@dataclass(frozen=True)
class Table:
    """The sizes of a token table, in one matrix and in two factors."""

    V: int
    E: int
    H: int

    @property
    def unfactored(self) -> int:
        """Return V H."""
        return self.V * self.H

    @property
    def factors(self) -> tuple[int, int]:
        """Return V E and E H."""
        return self.V * self.E, self.E * self.H

    @property
    def both(self) -> int:
        """Return V E + E H.

        >>> Table(30522, 128, 768).both, Table(30522, 128, 768).unfactored
        (4005120, 23440896)
        """
        return sum(self.factors)

    @property
    def even(self) -> float:
        """Return the E at which both have the same number of parameters.

        >>> round(Table(30522, 128, 768).even, 1)
        749.1
        """
        return self.V * self.H / (self.V + self.H)


@cache
def counted(shared: str, shape: str = "Base") -> tuple[int, int, int]:
    """Return the parameters of ALBERT's layers with these parts shared, of the whole body, and of BERT's body of the same
    shape.

    Built without memory and counted.

    >>> counted("all")
    (7087872, 11683584, 109482240)
    """
    ours = meta_network(families()["albert"], ALBERTConfig(shared=shared, **BODY, **SHAPES[shape]))
    theirs = meta_network(
        families()["bert"], BERTConfig(masked_lm=False, next_sentence=False, **SHAPES[shape])
    )
    layers = ours.get_submodule("layers")
    return _size(layers), _size(ours), _size(theirs)


def _size(module: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())


@cache
def parts(shape: str = "Base") -> Mapping[str, int]:
    """Return the parameters of one layer by part: attention, feed-forward network, the two norms.

    >>> parts()
    {'attention': 2362368, 'feed-forward': 4722432, 'norms': 3072}
    """
    block = meta_network(families()["albert"], ALBERTConfig(**BODY, **SHAPES[shape])).get_submodule(
        "layers.0"
    )
    each = {name: _size(part) for name, part in block.named_children()}
    return {
        "attention": each["self_attn"],
        "feed-forward": each["ffn"],
        "norms": each["norm1"] + each["norm2"],
    }


def multiplications(shape: str = "Base") -> int:
    """Return the multiplications of one word by the matrices of all layers: each layer runs, with shared weights or its own."""
    size = SHAPES[shape]
    return size["n_layers"] * (4 * size["d_model"] ** 2 + 2 * size["d_model"] * size["d_ff"])


@dataclass(frozen=True)
class Place:
    """The memory address of one part of a layer in a real network."""

    layer: int
    part: str
    address: int
    owner: int
    """The first layer that has the same address."""


ROWS: Mapping[str, str] = {"attention": "self_attn.to_q.weight", "feed-forward": "ffn.to_hidden.weight"}
"""The matrix of each part whose address is read."""


def addresses(shared: str, n_layers: int) -> tuple[Place, ...]:
    """Build a small network, and return the address of the first number of each layer's matrices.

    >>> {place.owner for place in addresses("all", 3)}, len({p.address for p in addresses("none", 3)})
    ({0}, 6)
    """
    network = ALBERT(
        ALBERTConfig(
            n_layers=n_layers, n_heads=2, d_model=16, d_ff=32, d_embed=4, n_vocab=20, n_ctx=8, shared=shared
        )
    )
    found: list[Place] = []
    for part, name in ROWS.items():
        first: dict[int, int] = {}
        for i, layer in enumerate(network.layers):
            address = layer.get_parameter(name).data_ptr()
            found.append(Place(i, part, address, first.setdefault(address, i)))
    return tuple(found)


def written_into(shared: str, n_layers: int, value: float = 7.0) -> int:
    """Return the number of layers that contain a number written into the first layer's feed-forward matrix.

    >>> written_into("all", 5), written_into("attention", 5)
    (5, 1)
    """
    network = ALBERT(
        ALBERTConfig(
            n_layers=n_layers, n_heads=2, d_model=16, d_ff=32, d_embed=4, n_vocab=20, n_ctx=8, shared=shared
        )
    )
    first, *others = (layer.get_parameter(ROWS["feed-forward"]).detach() for layer in network.layers)
    first[0, 0] = value
    return 1 + sum(bool(weight[0, 0] == value) for weight in others)


def steps(stream: Array) -> Array:
    """Return the cosine between input and output of each layer, the mean over the words.

    stream (layer + 1, position, d_model) -> (layer,).

    >>> steps(np.ones((3, 2, 4))).tolist()
    [1.0, 1.0]
    """
    stream = stream.astype(np.float64)
    long = np.linalg.norm(stream, axis=-1)
    return ((stream[:-1] * stream[1:]).sum(-1) / (long[:-1] * long[1:])).mean(-1)
