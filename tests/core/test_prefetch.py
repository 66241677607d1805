"""Batches that other processes make ahead are those that the task gives, in their order."""

from __future__ import annotations

from itertools import count, islice

import pytest
import torch

from core.models import Batch
from core.training.loop.prefetch import load_batches, to_device


class Counted:
    """Each batch says which step it is of."""

    def batch(self, step: int) -> tuple[tuple[Batch, list[torch.Tensor]], int]:
        ids = torch.full((1, 2), step)
        return (Batch(ids=ids, real=ids >= 0), [ids + 1]), step


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order_from_any_step(workers):
    found = list(islice(load_batches(Counted(), count(5), torch.device("cpu"), workers), 40))  # pyright: ignore
    assert [n for _, n in found] == list(range(5, 45))
    assert all(
        batch.ids.tolist() == [[n, n]] and more[0].tolist() == [[n + 1, n + 1]] for (batch, more), n in found
    )


def test_everything_that_holds_tensors_moves():
    ids = torch.ones(1, 2)
    batch, more, n = to_device((Batch(ids=ids, real=ids > 0), [ids], 3), torch.device("meta"))
    assert batch.ids.is_meta and batch.real.is_meta and more[0].is_meta and n == 3
    assert batch.source is None and not ids.is_meta
