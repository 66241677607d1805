"""A model that ships is read once a process: who opens it in a test gets the same frozen one, and nobody may have changed it at the end.

Opening itself is tested on folders that tests write (core/test_store.py). A shipped one is verified once, and again when one of its files changes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from core.checkpoints import find, manifest
from core.model import Model
from core.training.finetune import tuning

COMPILERS = ("torch._dynamo", "torch._inductor", "transformers")
IMPORTED_BY_CORE = [name for name in COMPILERS if name in sys.modules]
"""Compilers that are there before any test is read: the checkpoints of core alone brought them."""
SHIPPED = Path(__file__).parents[1] / "assets/models"
HONEST, HONEST_VERIFY = find.load_model, manifest.verify
HONEST_DELTA = tuning.apply_delta
OPENED: list[tuple[Model, list[int]]] = []


@functools.cache
def _once(folder: Path, name: str) -> Model:
    with torch.inference_mode(False):  # weights are plain tensors, whoever asks first
        model = HONEST(folder, name, shipped=True)
    OPENED.append((model, [weight._version for weight in model.network.state_dict().values()]))
    return model


def load_model(folder: Path, name: str, *, shipped: bool = False) -> Model:
    """As `core.checkpoints.load.load_model`."""
    return (
        _once(folder, name) if shipped and folder.parent == SHIPPED else HONEST(folder, name, shipped=shipped)
    )


def verify(name: str, models: Path | None = None) -> Path:
    """As `core.checkpoints.manifest.verify`."""
    folder = (models or manifest.shipped_folder()) / name
    if folder.parent != SHIPPED:
        return HONEST_VERIFY(name, models)
    return _verified(name, find._files(folder), find._files(SHIPPED.parent))


@functools.cache
def _verified(name: str, *_: find.Files) -> Path:
    return HONEST_VERIFY(name)


def apply_delta(kept: Any, before: Any, *, overwrite: bool = False) -> Any:
    """As `core.training.finetune.weight_delta.apply_delta`, but in memory of its own: the base is shared here."""
    return HONEST_DELTA(kept, before)


find.load_model = load_model
manifest.verify = verify
tuning.apply_delta = apply_delta


@pytest.fixture(scope="session", autouse=True)
def _all_as_they_were_opened() -> Iterator[None]:
    yield
    for model, versions in OPENED:
        weights = model.network.state_dict().values()
        assert [weight._version for weight in weights] == versions, f"a test changed {model.name}"
        assert not model.network.training
        assert not any(weight.requires_grad for weight in model.network.parameters()), model.name
