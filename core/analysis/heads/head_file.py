"""The file heads.json beside a model, with the measures of its heads: written by `core.tools.survey`, read by cards and pages.

`{"weights": sha256, "seed": 0, "own": true where items of the model's own task were read, "kinds": {"causal": {"n": 254, "trained": TABLES, "untrained": TABLES}}}` where TABLES is
`{"scores": {measure: [[a number a head] a layer]}, "controls": {the same}}`. Of a model that somebody brought there may be no untrained copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.analysis.heads.habits import HeadHabits
from core.checkpoints.files import MB, find_file, small_bytes, strict_json
from core.checkpoints.manifest import File, shipped_folder
from core.checkpoints.weights import SINGLE
from core.errors import InputError

FILE = "heads.json"
METHOD = 1
"""The present way to measure a brought model. Before it, one that reads a text and writes another was given our Spanish as what it writes."""
DIGITS = 4


@dataclass(frozen=True)
class HeadMeasures:
    """The heads by kind of attention: of the model whose weights have this hash, and of an untrained copy of it.

    `own_items` says that they were measured on items of the model's own task, not on our sentences.
    """

    weights: str
    seed: int
    trained: Mapping[str, HeadHabits]
    untrained: Mapping[str, HeadHabits]
    own_items: bool = False
    method: int = 0
    """The way in which the app measured the heads of a brought model, see `METHOD`; 0 of a shipped one."""

    def matches(self, folder: Path) -> bool:
        """Return whether the weights in the folder are those that were measured."""
        return weights_hash(folder) == self.weights


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of the weights in a folder: of the one file, or of the hashes of all, by name."""
    if (folder / SINGLE).is_file():
        return File.of_path(folder / SINGLE).sha256
    files = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".gguf"))
    return hashlib.sha256("".join(File.of_path(path).sha256 for path in files).encode()).hexdigest()


def write_heads(
    folder: Path,
    trained: Mapping[str, HeadHabits],
    untrained: Mapping[str, HeadHabits],
    seed: int,
    *,
    own_items: bool = False,
    method: int = 0,
) -> HeadMeasures:
    """Write the measures of the weights in the folder, and of its untrained copy if there is one, and return them as read back."""
    kinds = {
        name: {"n": heads.n, "trained": _tables(heads)}
        | ({"untrained": _tables(untrained[name])} if name in untrained else {})
        for name, heads in trained.items()
    }
    held = {
        "weights": weights_hash(folder),
        "seed": seed,
        **({"own": True} if own_items else {}),
        **({"method": method} if method else {}),
        "kinds": kinds,
    }
    (folder / FILE).write_text(
        json.dumps(held, separators=(",", ":")).replace('},"', '},\n"') + "\n", encoding="utf-8"
    )
    found = read_heads(folder)
    assert found is not None
    return found


def _tables(heads: HeadHabits) -> dict[str, Any]:
    tables = {"scores": heads.scores, "controls": heads.controls}
    return {
        part: {name: np.round(score.astype(float), DIGITS).tolist() for name, score in table.items()}
        for part, table in tables.items()
    }


def shipped_habits(model: str, kind: str) -> HeadHabits | None:
    """Return the measures of the heads of a kind over the project's sentences, as shipped with the model; None for one that was not measured."""
    found = read_heads(shipped_folder() / model) if (shipped_folder() / model / FILE).is_file() else None
    return found.trained.get(kind) if found else None


def read_heads(folder: Path) -> HeadMeasures | None:
    """Return the contents of heads.json, None where a model has none. Raises InputError for a file that is not understood."""
    path = find_file(folder, FILE)
    if path is None:
        return None
    held = strict_json(small_bytes(path, MB), FILE)
    try:
        trained, untrained = (_heads(held["kinds"], copy) for copy in ("trained", "untrained"))
        return HeadMeasures(
            _text(held["weights"]),
            int(held["seed"]),
            trained,
            untrained,
            held.get("own") is True,
            int(held.get("method", 0)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{FILE} of {folder.name} is not understood ({error}).",
            "It holds a table of numbers from 0 to 1 for each measure, one number per head.",
            f"Delete it, or measure again with python -m core.tools.survey {folder.name}.",
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("the sum of the weights is no text")
    return value


def _heads(kinds: Mapping[str, Any], copy: str) -> dict[str, HeadHabits]:
    found: dict[str, HeadHabits] = {}
    for name, about in kinds.items():
        if copy == "untrained" and copy not in about:
            continue
        scores, controls = (
            {measure: _table(rows) for measure, rows in about[copy][part].items()}
            for part in ("scores", "controls")
        )
        if (
            "spread" not in scores
            or len({table.shape for table in (*scores.values(), *controls.values())}) > 1
        ):
            raise ValueError(f"the tables of {name} do not fit together")
        found[name] = HeadHabits(scores, int(about["n"]), controls)
    return found


def _table(rows: Any) -> np.ndarray:
    table = np.array(rows, dtype=np.float64)
    if table.ndim != 2 or not table.size or not ((table >= 0) & (table <= 1 + 1e-4)).all():
        raise ValueError("a table is not of numbers from 0 to 1")
    return table
