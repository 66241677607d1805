"""The Transformer as the boxes of its figure: what each reads and gives in a run, and the parameters that it owns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Shaped


Array = np.ndarray
MEMORY = "encoder.final_norm.out"


@dataclass(frozen=True)
class Box:
    """One box of the figure (Vaswani et al. 2017, Fig. 1).

    `name` is its address ("encoder.0.self"), `kind` one of embed position norm self add cross ffn final linear softmax.
    `reads` and `gives` are paths of a run; `parts` are the modules of the network whose parameters it owns: the word table is
    owned by the box that reads it first, and the others that share it own nothing.
    """

    name: str
    kind: str
    side: str
    layer: int | None
    reads: tuple[str, ...]
    gives: str
    parts: tuple[str, ...] = ()


def boxes(model: Model) -> tuple[Box, ...]:
    """Return every box in the order of computing, as this network has them: the norm before each sub-layer, one more above each stack.

    Raises InputError for another family, and for a network with the norms behind the sums.

    >>> import core
    >>> found = boxes(core.open_model("translator-en-es"))
    >>> [box.name for box in found[:4]], found[-1].reads
    (['encoder.embed', 'encoder.position', 'encoder.0.norm1', 'encoder.0.self'], ('logits',))
    """
    if model.family != "transformer" or model.config.order != "pre":
        raise InputError(
            "{name} has another architecture.",
            "The map draws a Transformer with the norm before each sub-layer.",
            "Open the translator.",
            name=model.name,
        )
    return tuple(_all({"encoder": model.config.n_layers, "decoder": model.config.decoder_layers}))


def _all(depths: Mapping[str, int]) -> Iterator[Box]:
    for side, n_layers in depths.items():
        yield Box(
            f"{side}.embed",
            "embed",
            side,
            None,
            (),
            f"{side}.embed.token",
            ("embed.token",) if side == "encoder" else (),
        )
        yield Box(
            f"{side}.position",
            "position",
            side,
            None,
            (f"{side}.embed.token", f"{side}.embed.position"),
            f"{side}.embed.out",
        )
        for layer in range(n_layers):
            yield from _layer(side, layer)
        yield Box(
            f"{side}.final",
            "final",
            side,
            None,
            (f"{side}.layer.{n_layers - 1}.resid_out",),
            f"{side}.final_norm.out",
            (f"{side}_norm",),
        )
    yield Box("linear", "linear", "decoder", None, ("decoder.final_norm.out",), "logits")
    yield Box("softmax", "softmax", "decoder", None, ("logits",), "probabilities")


def _layer(side: str, layer: int) -> Iterator[Box]:
    """Yield norm, sub-layer and sum: twice in the encoder, three times in the decoder."""
    at, home = f"{side}.layer.{layer}.", f"{side}.{layer}."
    kinds = (
        ("self", "self_attn", "resid_mid"),
        ("cross", "cross_attn", "resid_cross"),
        ("ffn", "ffn", "resid_out"),
    )
    stream = "resid_in"
    for number, (what, leaf, after) in enumerate(
        (kind for kind in kinds if side == "decoder" or kind[0] != "cross"), 1
    ):
        yield Box(
            f"{home}norm{number}",
            "norm",
            side,
            layer,
            (at + stream,),
            f"{at}norm{number}.out",
            (f"{home}norm{number}",),
        )
        read = (f"{at}norm{number}.out", MEMORY) if what == "cross" else (f"{at}norm{number}.out",)
        yield Box(f"{home}{what}", what, side, layer, read, f"{at}{leaf}.out", (f"{home}{leaf}",))
        yield Box(f"{home}add{number}", "add", side, layer, (at + stream, f"{at}{leaf}.out"), at + after)
        stream = after


def parameter_count(model: Model, box: Box) -> int:
    """Return how many parameters the box has; all boxes together have those of the network."""
    return sum(count_parameters(model.network.get_submodule(part)) for part in box.parts)


def count_parameters(module: nn.Module) -> int:
    """Return the number of parameters of a module.

    >>> count_parameters(nn.Linear(2, 3))
    9
    """
    return sum(weight.numel() for weight in module.parameters())


def tensor_at(run: Run, path: str) -> Shaped[Array, "pos ..."]:
    """Return a tensor of the run by its path; "probabilities" is the softmax of the logits."""
    if path != "probabilities":
        return run.trace[path]
    return softmax(run.trace["logits"])
