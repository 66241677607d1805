"""The arguments of an instrument, declared once: the fields of a spec are the arguments of every function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from viz.instruments.kit.payload import Packet

Arguments = ParamSpec("Arguments")
S = TypeVar("S", bound="Spec")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False, kw_only=True)
class Spec:
    """One picture as a page asks for it.

    key: its place in the page, under which the browser answers. python: lines that make this picture again, for the visitor to take along.
    """

    key: str = ""
    python: str = ""

    def packet(self) -> Packet:
        """Return the packet with which the browser draws it."""
        raise NotImplementedError

    def plain(self, *names: str) -> dict[str, Any]:
        """Return these fields unchanged, for the header of a packet."""
        return {name: getattr(self, name) for name in names}


def as_function(spec: Callable[Arguments, S], act: Callable[[S], Made]) -> Callable[Arguments, Made]:
    """Return `act` as a function of the arguments of the spec: `heatmap = as_function(Heatmap, Heatmap.show)`, `heatmap(weights, queries, keys, key="h")`."""

    @wraps(spec, updated=())
    def call(*args: Arguments.args, **options: Arguments.kwargs) -> Made:
        return act(spec(*args, **options))

    return call
