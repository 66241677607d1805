"""How a sentence embedder pools its tokens: modules.json, 1_Pooling/config.json and maps behind it (2_Dense), as the sentence-transformers library writes them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.checkpoints.files import find_file, printable, small_bytes, strict_json
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import Plan, WeightMapping
from core.checkpoints.safety.safetensors_header import Entry, read_header
from core.checkpoints.weights import SINGLE, Weights
from core.errors import InputError
from core.layers.task_head import Map, Pooling

log = logging.getLogger(__name__)
MODULES, LARGEST = "modules.json", 2**16
MODES: Mapping[str, str] = {
    "cls_token": "first",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "lasttoken": "last",
}
"""The switches `pooling_mode_...` of a config that are read, with keys of `POOLS`."""
POOL_NAMES: Mapping[str, str] = {"cls": "first", "mean": "mean", "max": "max", "lasttoken": "last"}
"""The values of `pooling_mode`, which newer configs have in their place."""
BENDS: Mapping[str, str] = {"Identity": "", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu"}
"""The classes of torch that a map's config may name as its activation."""
WIDEST, MOST = 2**16, 4
"""Numbers of the vector that a map gives, and maps behind a pooling."""


def read_pooling(folder: Path, width: int) -> tuple[Pooling | None, dict[str, Entry]]:
    """Return the pooling of a folder that is a sentence embedder, of vectors so wide, and the tensors of its maps.

    None where it is no embedder, or pools or goes on in a way that is not read.
    """
    try:
        parts = _modules(folder)
        if not parts:
            return None, {}
        kinds = [kind for kind, _ in parts]
        ends = kinds[-1] == "Normalize"
        middle = parts[2 : len(parts) - ends]
        if (
            kinds[:2] != ["Transformer", "Pooling"]
            or len(middle) > MOST
            or any(kind != "Dense" for kind, _ in middle)
        ):
            log.info(
                "%s: modules.json goes on with %s, not read", printable(folder.name), printable(str(kinds))
            )
            return None, {}
        mode = _mode(_config(folder, parts[1][1]))
        maps, entries = [], {}
        for number, (_, where) in enumerate(middle):
            one, stored = _map(folder, where, width)
            maps.append(one)
            width = one.d_out
            entries |= {f"{number}.{name}": entry for name, entry in stored.items()}
    except InputError as error:
        log.info("%s: pooling not read: %s", printable(folder.name), error)
        return None, {}
    return (Pooling(mode, ends, tuple(maps)), entries) if mode else (None, {})


def pooled(plan: Plan, weights: Weights, folder: Path) -> tuple[Plan, Weights]:
    """Return the plan with the pooling of its folder, and the weights with those of the maps that follow it."""
    pooling, entries = read_pooling(folder, plan.config.d_model)
    names = {f"pooled_maps.each.{name}": entry for name, entry in entries.items()}
    takes = tuple(WeightMapping(name, entry.shape, (name,)) for name, entry in names.items())
    stored = {name: f"linear.{name.rpartition('.')[2]}" for name in names}
    whole = replace(weights, entries={**weights.entries, **names}, stored={**weights.stored, **stored})
    return replace(plan, pooling=pooling, takes=plan.takes + takes), whole if names else weights


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Return (type, folder) of each module of a sentence embedder, the type without its package; [] where the list is
    missing or names a path outside the folder.
    """
    path = find_file(folder, MODULES)
    given: Any = [] if path is None else strict_json(small_bytes(path, LARGEST), MODULES)
    found: list[tuple[str, str]] = []
    for part in given if isinstance(given, list) else []:
        kind, where = (part.get("type"), part.get("path")) if isinstance(part, dict) else (None, None)
        if (
            not isinstance(kind, str)
            or not isinstance(where, str)
            or Path(where).name != where
            or ".." in where
            or "\\" in where
        ):
            return []
        found.append((kind.rpartition(".")[2], where))
    return found


def _config(folder: Path, where: str) -> Any:
    path = find_file(folder, "config.json", where)
    return {} if path is None else strict_json(small_bytes(path, LARGEST), where)


def _map(folder: Path, where: str, width: int) -> tuple[Map, dict[str, Entry]]:
    """Return one linear map that follows a pooling, for vectors of `width` numbers, and its tensors. Raises InputError for another arithmetic."""
    values = _config(folder, where)
    fields = Fields(values if isinstance(values, dict) else {}, f"{printable(where)}/config.json")
    d_in, d_out = (fields.whole_number(f"{side}_features", largest=WIDEST) for side in ("in", "out"))
    named = fields.raw("activation_function") or "Tanh"
    bend = BENDS.get(str(named).rpartition(".")[2])
    bias = bool(fields.flag("bias", True))
    path = find_file(folder, SINGLE, where)
    entries = {} if path is None else read_header(path)
    shapes = {"weight": (d_out, d_in), **({"bias": (d_out,)} if bias else {})}
    there = {name.removeprefix("linear."): entry for name, entry in entries.items()}
    if bend is None or d_in != width or {name: entry.shape for name, entry in there.items()} != shapes:
        raise InputError(
            f"{printable(where)} is no map from {width:,} numbers to {d_out:,} with {printable(str(named), 60)}.",
            f"Maps behind a pooling have one of {', '.join(BENDS)} and their numbers in {SINGLE}.",
            "Save the embedder again.",
        )
    return Map(d_in, d_out, bend, bias), there


def _mode(values: Any) -> str:
    """Return the one way of pooling that a config names, as a key of `POOLS`; "" for none or several."""
    if not isinstance(values, dict):
        return ""
    named = values.get("pooling_mode")
    if isinstance(named, str):
        return POOL_NAMES.get(named, "")
    chosen = [name for name, value in values.items() if name.startswith("pooling_mode_") and value is True]
    return MODES.get(chosen[0].removeprefix("pooling_mode_"), "") if len(chosen) == 1 else ""
