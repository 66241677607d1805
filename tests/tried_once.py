"""A tokenizer that the child has accepted is not tried again by the same process: tests open the same few hundreds of times.

What is refused is tried each time, and in `attacks` everything is (conftest.py there).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from core.checkpoints import tokenizer

HONEST = tokenizer.Trial
ACCEPTED: dict[tuple[Any, ...], tuple[list[str], dict[str, Any]]] = {}
"""By name and contents of the files: the cleaned file, if there is one, and the child's facts."""


class TriedOnce(HONEST):
    """A trial without a child where these files were accepted before."""

    def __init__(
        self, name: str, files: Sequence[Path | str], load: Callable[[str], Any] = str, **limits: Any
    ) -> None:
        self._key = (
            name,
            *(sha256(file.read_bytes()).digest() if isinstance(file, Path) else file for file in files),
            *sorted(limits.items()),
        )
        if self._key in ACCEPTED:
            self._load = load
        else:
            super().__init__(name, files, load, **limits)

    def close(self) -> None:
        if hasattr(self, "_child"):
            super().close()

    @property
    def ended(self) -> bool:
        return hasattr(self, "_child") and super().ended

    @property
    def facts(self) -> dict[str, Any]:
        if hasattr(self, "_child"):
            return super().facts
        cleaned, facts = ACCEPTED[self._key]
        return copy.deepcopy(facts) | {"tokenizer": self._load(cleaned[0]) if cleaned else None}

    def _heard(self) -> tuple[Any, dict[str, Any] | None]:
        load, cleaned = self._load, []
        self._load = lambda text: (cleaned.append(text), load(text))[1]
        loaded, facts = super()._heard()
        if facts is not None and "problem" not in facts:
            ACCEPTED[self._key] = cleaned, copy.deepcopy(facts)
        return loaded, facts


tokenizer.Trial = TriedOnce
