"""The project's own model folders: weights in float16 or 8 bits, config, tokenizer, the record of the training, a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from core.checkpoints.files import json_object, printable
from core.checkpoints.safety.config_schema import RANGES, REPAIR, Fields, build_config, config_error
from core.checkpoints.safety.load_plan import Plan, WeightMapping, check_names, meta_network
from core.checkpoints.weights import Weights, find_weights
from core.errors import InputError, Phrase
from core.models import Family, families
from core.wording import mark

IDS = ("start", "end", "pad", "mask")
LARGEST = 2**31


def plan_own(values: Mapping[str, Any], weights: Weights) -> Plan:
    """Return the plan for a config.json that names one of our families; names and shapes are our own."""
    name = values.get("family")
    spec = families().get(name) if isinstance(name, str) else None
    if spec is None:
        problem = Phrase("the family {name} is unknown", name=printable(repr(name)))
        names = ", ".join(families())
        raise config_error(problem, "Families here: {names}.", "Use a newer Attention Atlas.", names=names)
    config = _config(spec, Fields(values))
    takes = tuple(
        WeightMapping(name, tuple(value.shape), (name,))
        for name, value in meta_network(spec, config).state_dict().items()
    )
    check_names(weights.entries, takes)
    return Plan(spec=spec, config=config, ids=_ids(values.get("ids"), config.n_vocab), takes=takes)


def _config(spec: Family, values: Fields) -> Any:
    found: dict[str, Any] = {}
    for part in fields(spec.config):
        if part.default is MISSING or part.name not in values:
            continue  # absent: the family's default
        if type(part.default) is int:
            found[part.name] = values.whole_number(
                part.name, largest=RANGES.get(part.name, LARGEST), least=min(part.default, 1)
            )
        elif part.name == "eps":
            found[part.name] = values.small(part.name, part.default)
        else:
            found[part.name] = values.raw(part.name)  # words and rates: the family's own check knows them
    return build_config(spec.config, {part.name: part.default for part in fields(spec.config)} | found)


def _ids(values: Any, n_vocab: int) -> dict[str, int]:
    rule = mark("It gives the ids of {names}, each below the {rows:,} rows of the model.")
    given: Mapping[str, Any] = {"names": ", ".join(IDS), "rows": n_vocab}
    if values is None:
        return {}
    if not isinstance(values, dict) or not set(values) <= set(IDS):
        raise config_error(mark("ids is not understood"), rule, REPAIR, **given)
    for name, value in values.items():
        if type(value) is not int or not 0 <= value < n_vocab:
            problem = Phrase("the id of '{name}' is {value}", name=name, value=str(value)[:40])
            raise config_error(problem, rule, REPAIR, **given)
    return dict(values)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Return the weights of one of our own folders as float32, by our names.

    Raises InputError if the folder is not complete or not one of ours.
    """
    if not folder.is_dir():
        raise InputError(
            "There is no model folder '{name}'.",
            "Weights are read from one.",
            "Check the name.",
            name=folder.name,
        )
    weights = find_weights(folder).scaled()
    plan = plan_own(json_object(folder, "config.json"), weights)
    return {take.name: weights.read(take.name) for take in plan.takes}
