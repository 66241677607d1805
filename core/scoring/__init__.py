"""Metrics of the models: one file for each kind of model, which declares `SCORING` and is found by name.

Adding a kind of model is one file here; `core/tools/evaluate.py` is the command line.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from core.errors import InputError

Metrics = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """The measurement of one kind of model.

    `families` are measured by `measure(model, path, limit)` on a file that ends in `suffix` (or that and `.xz`).
    What it returns goes to the screen as JSON: `items` first, then the metrics; under the key "beside" by their names the metrics
    of baselines that need no file of their own. `beside(model, train, path)`, where given, is what simpler readers reach on
    the same file that learn from `train`, by their names.
    """

    kind: str
    families: frozenset[str]
    suffix: str
    content: str
    measure: Callable[[Any, Path, int | None], Metrics]
    baselines: Callable[[Any, Path, Path], Mapping[str, Metrics]] | None = None


@cache
def scorings() -> Mapping[str, Scoring]:
    """Return the scoring of each family, by the family's name.

    >>> scorings()["gpt"].suffix
    '.txt'
    """
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.SCORING for module in modules if hasattr(module, "SCORING")]
    return {family: scoring for scoring in found for family in sorted(scoring.families)}


def scoring_of(family: str) -> Scoring:
    """Return the scoring of a family. Raises InputError for one that has none."""
    try:
        return scorings()[family]
    except KeyError:
        known = ", ".join(sorted(scorings()))
        raise InputError(
            f"No measure is defined for models of the family {family}.",
            f"evaluate knows the families {known}.",
            "Choose such a model.",
        ) from None
