"""Batches ahead of time: for a graphics card other processes prepare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from core.training.recipe import Task

WORKERS, AHEAD = 3, 8
"""Processes that make batches while a graphics card works, and how many each has ready."""


def load_batches(
    task: Task, numbers: Iterable[int], device: torch.device, workers: int | None = None
) -> Iterator[tuple[Any, int]]:
    """Yield the batches of a task with these numbers, each on `device` and with its number of tokens.

    On a CPU they are made when they are asked for (`workers` 0): a process beside would take the cores that train.
    """
    n_workers = (WORKERS if device.type == "cuda" else 0) if workers is None else workers
    more: dict[str, Any] = {"prefetch_factor": AHEAD, "multiprocessing_context": "fork"} if n_workers else {}
    loader = DataLoader(
        _Batches(task),
        sampler=numbers,
        batch_size=None,
        collate_fn=_as_it_is,
        num_workers=n_workers,
        **more,
    )  # pyright: ignore
    for batch, n_tokens in loader:
        yield to_device(batch, device), n_tokens


class _Batches(Dataset[tuple[Any, int]]):
    def __init__(self, task: Task) -> None:
        self.task = task

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.task.batch(index)


def _as_it_is(batch: Any) -> Any:
    return batch


def to_device(value: Any, device: torch.device) -> Any:
    """Return the same tensors on a device, in the same tuples, lists and dataclasses.

    >>> [part.device.type for part in to_device([torch.ones(2), torch.ones(3)], torch.device("meta"))]
    ['meta', 'meta']
    """
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: to_device(getattr(value, field.name), device) for field in fields(value)}
        )
    if isinstance(value, (tuple, list)):
        return type(value)(to_device(part, device) for part in value)
    return value
