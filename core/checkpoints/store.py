"""The store of models: save one, load one, verify what ships.

`python -m core.checkpoints.store` writes assets/MANIFEST.toml for the models that are there and prints them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from core.checkpoints.history import write_history
from core.checkpoints.load import load_model
from core.checkpoints.manifest import read_manifest, shipped_folder, verify, write_manifest
from core.checkpoints.native_format import load_weights
from core.checkpoints.safety.load_plan import meta_network
from core.checkpoints.weights import SINGLE
from core.checkpoints.writing import fitting, whole_folder, write_json
from core.errors import InputError
from core.models import families

__all__ = [
    "load_model",
    "load_weights",
    "main",
    "read_manifest",
    "save_model",
    "shipped_folder",
    "verify",
    "write_manifest",
]


def save_model(
    folder: Path,
    *,
    family: str,
    config: Any,
    weights: Mapping[str, Tensor],
    tokenizer: Path,
    ids: Mapping[str, int],
    training: Mapping[str, Any],
    history: Mapping[int, Mapping[str, Tensor]] = MappingProxyType({}),
) -> Path:
    """Write a model folder: model.safetensors (float16), config.json, tokenizer.json, training.json.

    `history`, weights after so many steps, goes into history.safetensors (`core.checkpoints.history`).

    The new folder is complete before it takes the place of an old one. A card (README.md) of the old folder is not
    taken over: it described other weights.
    Raises InputError when the weights are not those of the config, or a number does not fit into float16.
    """
    halves = {name: fitting(name, value, torch.float16) for name, value in weights.items()}
    wanted = {
        name: tuple(value.shape)
        for name, value in meta_network(families()[family], config).state_dict().items()
    }
    if {name: tuple(value.shape) for name, value in halves.items()} != wanted:
        odd = sorted(set(wanted) ^ set(halves)) or [
            name for name in wanted if wanted[name] != tuple(halves[name].shape)
        ]
        raise InputError(
            f"Weights do not fit the config: {', '.join(odd[:5])}.",
            "A model is saved whole.",
            "Give the state_dict.",
        )
    with whole_folder(folder) as new:
        save_file(halves, new / SINGLE, metadata={"format": "pt"})
        write_json(new / "config.json", {"family": family, **asdict(config), "ids": dict(ids)})
        shutil.copyfile(tokenizer, new / "tokenizer.json")
        write_json(new / "training.json", training)
        if history:
            write_history(new, history)
    return folder


def main() -> int:
    """Write the manifest and print its content; return 1 if a model has no attribution or does not verify."""
    models, failed = shipped_folder(), 0
    for name, entry in write_manifest(models).items():
        try:
            verify(name, models)
            state = "in order"
        except InputError as error:
            state, failed = error.wrong, 1
        if not entry.attribution:
            state, failed = f"{state}; write its attribution into MANIFEST.toml", 1
        size = sum(file.bytes for file in entry.files.values())
        print(f"{name:20} {size / 1e6:7.1f} MB  {entry.licence:12} {state}")
        print(f"{'':20} {entry.command}\n{'':20} {entry.attribution}")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
