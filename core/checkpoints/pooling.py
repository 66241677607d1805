"""How a sentence embedder pools its tokens: modules.json and 1_Pooling/config.json, as the sentence-transformers library writes them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.checkpoints.files import inside, shown, small_bytes, strict_json
from core.errors import InputError
from core.layers.task_head import Pooling

log = logging.getLogger(__name__)
MODULES, LARGEST = "modules.json", 2**16
MODES: Mapping[str, str] = {
    "cls_token": "first",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "lasttoken": "last",
}
"""The switches `pooling_mode_...` of a config that are read, with keys of `POOLS`."""
NAMED: Mapping[str, str] = {"cls": "first", "mean": "mean", "max": "max", "lasttoken": "last"}
"""The values of `pooling_mode`, which newer configs have in their place."""
PARTS = ("Transformer", "Pooling", "Normalize")


def read_pooling(folder: Path) -> Pooling | None:
    """Return the pooling of a folder that is a sentence embedder; None where it is none, or pools or goes on in a way that is not read."""
    try:
        parts = _modules(folder)
        if not parts or set(parts) - set(PARTS) or "Pooling" not in parts:
            if parts:
                log.info("%s: modules.json goes on with %s, not read", shown(folder.name), shown(str(parts)))
            return None
        path = inside(folder, "config.json", parts["Pooling"])
        mode = "" if path is None else _mode(strict_json(small_bytes(path, LARGEST), "1_Pooling"))
    except InputError as error:
        log.info("%s: pooling not read: %s", shown(folder.name), error)
        return None
    return Pooling(mode, "Normalize" in parts) if mode else None


def _modules(folder: Path) -> dict[str, str]:
    """The last word of each module's type, with the folder that it names, which must lie in this one."""
    path = inside(folder, MODULES)
    given: Any = [] if path is None else strict_json(small_bytes(path, LARGEST), MODULES)
    found: dict[str, str] = {}
    for part in given if isinstance(given, list) else []:
        kind, where = (part.get("type"), part.get("path")) if isinstance(part, dict) else (None, None)
        if (
            not isinstance(kind, str)
            or not isinstance(where, str)
            or Path(where).name != where
            or ".." in where
            or "\\" in where
        ):
            return {}
        found[kind.rpartition(".")[2]] = where
    return found


def _mode(values: Any) -> str:
    """The one way of pooling that a config names, as a key of `POOLS`; "" for none or several."""
    if not isinstance(values, dict):
        return ""
    named = values.get("pooling_mode")
    if isinstance(named, str):
        return NAMED.get(named, "")
    chosen = [name for name, value in values.items() if name.startswith("pooling_mode_") and value is True]
    return MODES.get(chosen[0].removeprefix("pooling_mode_"), "") if len(chosen) == 1 else ""
