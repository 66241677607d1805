"""Writing a model folder: complete before it takes its place, numbers that fit their format."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.errors import InputError


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder to write into, which replaces `folder` when all went well and is deleted when not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new-", dir=folder.parent))
    try:
        yield new
        for path in (new, *new.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
        _take_place(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def fitting(name: str, value: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the tensor in this format, on the CPU, in memory of its own. Raises InputError if a number does not fit."""
    found = value.detach().to("cpu", dtype, copy=True).contiguous()
    if not found.isfinite().all():
        kind = str(dtype).removeprefix("torch.")
        raise InputError(
            f"'{name}' does not fit into {kind}, or holds NaN.",
            "Every number that is saved must be one.",
            "Train it again.",
        )
    return found


def _take_place(new: Path, folder: Path) -> None:
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old-", dir=folder.parent))
    folder.rename(old / "was")
    try:
        new.rename(folder)
    except OSError:
        (old / "was").rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
