"""Outputs that a network computes after its last layer, on first access: logits, pooled output, next sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from core.errors import InputError
from core.models import Output
from core.trace import Recorder, Trace, matches

if TYPE_CHECKING:
    from jaxtyping import Float


def check_finite(value: Float[Tensor, "*shape"], model: str) -> Float[Tensor, "*shape"]:
    """Return `value` unchanged if its numbers are finite. Raises InputError where one is NaN or plus infinity; `model` is its name.

    A cell that was ruled out may be -inf.
    """
    if bool((value < torch.inf).all()):
        return value
    raise InputError(
        "{model} computes numbers here that are NaN or infinite.",
        "They mean nothing: a sentence or a picture made of them would be false.",
        "Take back the last change of the model, or choose another model.",
        model=model,
    )


class Outputs:
    """The outputs of one text, each computed on first access, with the values on the way to it.

    `hidden` (1, pos, d_model) is the output of the network, `real` (1, pos) is False at padding; `early` holds outputs,
    batch axis included, that were computed during the run itself: their paths are in its trace.
    """

    def __init__(
        self,
        name: str,
        network: Any,
        spec: Mapping[str, Output],
        hidden: Tensor,
        early: Mapping[str, Tensor],
        real: Tensor,
    ) -> None:
        self._real = real
        self._name, self._network, self._spec, self._early = name, network, spec, {"hidden": hidden, **early}
        self._late: dict[str, tuple[Tensor, Trace]] = {}

    def value(self, name: str) -> Float[Tensor, "..."]:
        """Return the output of this name, without a batch axis. Raises InputError where the checkpoint has no such head."""
        if name not in self._spec:
            getattr(self._network, name)(self._early["hidden"])  # the network knows what to say
            raise InputError(
                "{name} has no output layer.",
                "It was saved without it, and none is invented.",
                "Use a model that was saved with it.",
                name=self._name,
            )
        return self._value(name)[0]

    def paths(self, pattern: str = "*") -> list[str]:
        """Return the paths that match and are not in the run's own trace."""
        late = [
            path for name, output in self._spec.items() if name not in self._early for path in output.paths
        ]
        return [path for path in late if matches(path, pattern)]

    def trace(self, path: str) -> Trace:
        """Return the trace that has a path, computing its output if need be."""
        return self._computed(next(name for name, output in self._spec.items() if path in output.paths))[1]

    @property
    def hidden(self) -> Float[Tensor, "one pos d_model"]:
        """Return the network's output (1 pos d_model)."""
        return self._early["hidden"]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the outputs that exist from the start; those computed later are for the caller to estimate."""
        return sum(value.numel() * value.element_size() for value in self._early.values())

    def _value(self, name: str) -> Tensor:
        return self._early[name] if name in self._early else self._computed(name)[0]

    def _computed(self, name: str) -> tuple[Tensor, Trace]:
        if name not in self._late:
            torch.get_num_threads()  # a new thread takes over the process's number only when asked; a matrix product does not ask
            tap = Recorder()
            with torch.inference_mode():
                output = self._spec[name]
                value = output.compute(name, self._network, self._value(output.reads), self._real, tap)
            self._late[name] = check_finite(value, self._name), tap.close()
        return self._late[name]
