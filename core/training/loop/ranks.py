"""The processes of one training: one alone, or as many as `torchrun` starts, on one machine or on several.

Each has the whole network and batches of its own; PyTorch's DistributedDataParallel gives every one the mean of all
gradients (Li et al. 2020), so that their weights stay equal. A step of n processes that accumulate a batches each is the
step of one that accumulates n a: the same batches, the same loss.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from core.training.recipe import Task


@dataclass(frozen=True)
class Ranks:
    """Number of processes, and the number of this one; the first one writes the record and saves."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def batch_numbers(self, step: int, accumulate: int) -> Iterator[int]:
        """Yield the numbers of this process's batches from `step` on, `accumulate` a step.

        >>> from itertools import islice
        >>> [[*islice(Ranks(rank, 2).batch_numbers(3, 2), 4)] for rank in (0, 1)]
        [[12, 13, 16, 17], [14, 15, 18, 19]]
        """
        for at in count(step):
            begin = (at * self.size + self.rank) * accumulate
            yield from range(begin, begin + accumulate)

    def learner(self, task: Task, network: nn.Module) -> nn.Module:
        """Return a module that maps a batch to the task's loss; its gradients are the mean over all processes."""
        loss = _Loss(task, network)
        return loss if self.size == 1 else DistributedDataParallel(loss)

    def no_sync(self, learner: nn.Module) -> AbstractContextManager[Any]:
        """Return a context whose gradients are not exchanged yet: for a batch after which this process has another one in the same step."""
        return learner.no_sync() if isinstance(learner, DistributedDataParallel) else nullcontext()

    def all_reduce_max(self, *values: float) -> list[float]:
        """Return the largest of each value over all processes, so that one clock or one stop signal holds for all."""
        return self._reduced(torch.tensor(values, dtype=torch.float64), dist.ReduceOp.MAX).tolist()

    def summed(self, values: Tensor) -> Tensor:
        return self._reduced(values, dist.ReduceOp.SUM)

    def _reduced(self, values: Tensor, how: Any) -> Tensor:
        if self.size > 1:
            home = values.device
            values = values.cuda() if dist.get_backend() == "nccl" else values
            dist.all_reduce(values, how)
            values = values.to(home)
        return values

    @contextmanager
    def main_process_first(self) -> Iterator[None]:
        """Let the first process go ahead and the others follow when it is done: they find the files that it prepared."""
        if self.size > 1 and not self.first:
            dist.barrier()
        yield
        if self.size > 1 and self.first:
            dist.barrier()


SINGLE_PROCESS = Ranks()


@contextmanager
def ranks(device: torch.device) -> Iterator[Ranks]:
    """Yield the processes that `python -m torch.distributed.run` started; SINGLE_PROCESS where it did not."""
    if not dist.is_torchelastic_launched():
        yield SINGLE_PROCESS
        return
    env = os.environ
    store = dist.TCPStore(env["MASTER_ADDR"], int(env["MASTER_PORT"]), is_master=False)
    # torchrun keeps its store over a restart: without a name for each attempt the addresses of the killed ones are found there.
    attempt = dist.PrefixStore(f"attempt {env['TORCHELASTIC_RESTART_COUNT']}", store)
    group = Ranks(int(env["RANK"]), int(env["WORLD_SIZE"]))
    kind = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(kind, store=attempt, rank=group.rank, world_size=group.size)
    try:
        yield group
    finally:
        dist.destroy_process_group()


class _Loss(nn.Module):
    """Loss as one module: DistributedDataParallel exchanges the gradients of what its forward pass used."""

    def __init__(self, task: Task, network: nn.Module) -> None:
        super().__init__()
        self.task, self.network = task, network

    def forward(self, batch: Any) -> Tensor:
        return self.task.loss(self.network, batch)
