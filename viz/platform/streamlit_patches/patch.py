"""A patch and its net: it is applied only where the source that it was written for is there, word for word."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Patch:
    """A function of Streamlit and its replacement.

    target: the function that is replaced, `module:Class.name`.
    uses: the sources that the replacement relies on, the target's among them, each with the hash that fits.
    cost: the end of the sentence "Without it ...".
    make: the replacement, from the original.
    """

    name: str
    target: str
    uses: Mapping[str, str]
    cost: str
    make: Callable[[Callable[..., Any]], Callable[..., Any]]

    def apply(self) -> str:
        """Replace the target; return the reason why not, "" where it was done."""
        for dotted, known in self.uses.items():
            try:
                now = fingerprint(dotted)
            except (ImportError, AttributeError, OSError, TypeError):
                return f"{dotted} is not there"
            if now != known:
                return f"{dotted} has changed"
        owner, name = _owner(self.target)
        setattr(owner, name, self.make(getattr(owner, name)))
        return ""


def fingerprint(dotted: str) -> str:
    """Return a hash of the source of `module:Class.name`, or of the value where it is a constant."""
    owner, name = _owner(dotted)
    found = getattr(owner, name)
    text = inspect.getsource(found) if callable(found) else repr(found)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _owner(dotted: str) -> tuple[Any, str]:
    module, _, path = dotted.partition(":")
    owner: Any = import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name
