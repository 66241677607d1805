"""What a model scored, beside it as scores.json: its own rows by `core.evaluate --record`, those of baselines by hand.

A row says the measure, the split it was taken on, whose it is, and the value:
`{"measure": "bits_per_byte", "split": "prose valid", "of": "gpt-mini", "value": 1.491}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.files import MB, inside, small_bytes, strict_json
from core.errors import InputError

FILE = "scores.json"
RULE = "It is a list of objects with measure, split, of (words) and value (a number)."
REMEDY = "Measure again with python -m core.evaluate --record."


@dataclass(frozen=True)
class Score:
    """One value: of a model by its name, or of a baseline by what it is."""

    measure: str
    split: str
    of: str
    value: float


def read_scores(folder: Path) -> tuple[Score, ...]:
    """All rows in their order; () where a model has none. Raises InputError for a file that is not understood."""
    path = inside(folder, FILE)
    if path is None:
        return ()
    rows = strict_json(small_bytes(path, MB), FILE)
    if not isinstance(rows, list):
        raise InputError(f"{FILE} of {folder.name} is not a list.", RULE, REMEDY)
    return tuple(_score(row, folder.name) for row in rows)


def _score(row: Any, name: str) -> Score:
    words = ("measure", "split", "of")
    given = isinstance(row, dict) and set(row) == {*words, "value"} and all(isinstance(row[word], str) for word in words)
    if not given or type(row["value"]) not in (int, float) or not math.isfinite(row["value"]):
        raise InputError(f"A row of {FILE} of {name} is not understood: {str(row)[:80]}.", RULE, REMEDY)
    return Score(**row)


def record(folder: Path, split: str, measured: Mapping[str, Any], of: str | None = None) -> tuple[Score, ...]:
    """Write what `core.evaluate` measured on a split in the place of older rows there of the same.

    `of` says whose it is where that is not the model of this folder itself.
    """
    of = of or folder.name
    new = [Score(name, split, of, value) for name, value in _flat(measured).items() if name != "seconds"]
    kept = [score for score in read_scores(folder) if (score.split, score.of) != (split, of)]
    rows = (*new, *kept)
    text = ",\n ".join(json.dumps(asdict(score), ensure_ascii=False) for score in rows)
    (folder / FILE).write_text(f"[{text}]\n", encoding="utf-8")
    return rows


def _flat(measured: Mapping[str, Any]) -> dict[str, float]:
    """The numbers with a point, those of a table by the measure and the row: `bleu_by_length` has `bleu, 2-4 words`."""
    found: dict[str, float] = {}
    for name, value in measured.items():
        if isinstance(value, Mapping):
            found |= {f"{name.partition('_by_')[0]}, {row}": inner for row, inner in _flat(value).items()}
        elif isinstance(value, float):
            found[name] = value
    return found
