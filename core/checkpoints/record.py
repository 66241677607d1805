"""How a shipped model was trained: training.json, as `core.tools.train` writes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.files import find_file, json_object
from core.checkpoints.manifest import shipped_folder
from core.errors import InputError

FILE = "training.json"


@dataclass(frozen=True, kw_only=True)
class Training:
    """Record of a training: the command and its length, the machine, and the log: rows of numbers by name, `step` in each."""

    command: str
    seed: int
    steps: int
    tokens: int
    minutes: float
    machine: str
    versions: Mapping[str, str]
    log: Sequence[Mapping[str, float]]
    note: str = ""

    def curve(self, name: str) -> list[tuple[float, float]]:
        """Return (step, value) of the rows that have this value; of several at one step the last."""
        return sorted({row["step"]: row[name] for row in self.log if name in row}.items())


TYPES = {
    "command": str,
    "seed": int,
    "steps": int,
    "tokens": int,
    "minutes": (int, float),
    "machine": str,
    "versions": dict,
    "log": list,
    "note": str,
}


def trained(name: str) -> Training:
    """Return the training record of a shipped model. Raises InputError where it is missing.

    >>> trained("translator-en-es").steps > 1000
    True
    """
    record = read_training(shipped_folder() / name)
    if record is None:
        raise InputError(
            f"{FILE} of {name} is not here.",
            "Each shipped model has one.",
            "Fetch it again (git checkout -- assets).",
        )
    return record


def read_training(folder: Path) -> Training | None:
    """Return the record of a model folder, None where there is none. Raises InputError for one that is not understood."""
    if find_file(folder, FILE) is None:
        return None
    held: dict[str, Any] = {"note": "", **json_object(folder, FILE)}
    for name, kind in TYPES.items():
        if not isinstance(held.get(name), kind):
            raise _wrong(folder, f"{name} is missing or of another kind")
    if not all(_is_row(row) for row in held["log"]):
        raise _wrong(folder, "a row of the log is not of finite numbers with a step")
    return Training(**{name: held[name] for name in TYPES})


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and "step" in row
        and all(type(n) in (int, float) and math.isfinite(n) for n in row.values())
    )


def _wrong(folder: Path, problem: str) -> InputError:
    return InputError(
        f"{FILE} of {folder.name} is not understood: {problem}.",
        f"It has {', '.join(TYPES)}.",
        "Fetch it again (git checkout -- assets).",
    )
