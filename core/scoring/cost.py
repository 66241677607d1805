"""The cost of a forward pass: processor seconds, and the peak memory of its tensors.

For a network that can read all pairs or blocks only (BigBird), both ways, on one thread.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.layers.block_sparse import Layout, over_all_pairs, sparse
from core.models import Batch
from core.scoring import Metrics

LENGTHS = (256, 512, 1024, 2048, 4096)
MB = 1e6
FULL = "with the full mask"


@dataclass(frozen=True)
class Cost:
    """The fastest of several passes in seconds, and the peak of the bytes of tensors that a pass created and had not released."""

    seconds: float
    nbytes: int


class _MemoryMeter(TorchDispatchMode):
    """A meter of the bytes of tensors that this thread's operations create, until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self._holders: dict[int, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {each.untyped_storage().data_ptr() for each in _plain_tensors((args, kwargs))}
        out = func(*args, **(kwargs or {}))
        for each in _plain_tensors(out):
            self._count(each, given)
        return out

    def _count(self, value: Tensor, inputs: set[int]) -> None:
        storage = value.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if place not in self._holders and (place in inputs or not size):
            return  # a view of what was there before
        if place not in self._holders:
            self.now += size
            self.most = max(self.most, self.now)
        self._holders[place] = self._holders.get(place, 0) + 1
        weakref.finalize(value, self._release, place, size)

    def _release(self, place: int, size: int) -> None:
        self._holders[place] -= 1
        if not self._holders[place]:
            del self._holders[place]
            self.now -= size


def _plain_tensors(tree: Any) -> list[Tensor]:
    """Return the tensors of a nested structure, except weights in the processor's own layout, which stay from pass to pass."""
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor) and each.layout is torch.strided]


def cost(run: Callable[[], object], budget: float = 0.12) -> Cost:
    """Measure a function: the memory of one call, then the time of the fastest of several within `budget` seconds, at least one.

    With one thread the seconds are those of this thread's processor, so that others on the machine do not count.

    >>> cost(lambda: torch.ones(1000, dtype=torch.float64).exp().sum()).nbytes
    16000
    """
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    with torch.inference_mode():
        with _MemoryMeter() as held:
            run()
        begun, found = time.perf_counter(), []
        while not found or (time.perf_counter() - begun < budget and len(found) < 50):
            start = clock()
            run()
            found.append(clock() - start)
    return Cost(max(min(found), 1e-7), held.most)


def attention_costs(layout: Layout, block: int, d_head: int, budget: float = 0.12) -> tuple[Cost, Cost]:
    """Measure one attention head of width `d_head` over all pairs of positions, and over the blocks of its layout only:
    (cost of all pairs, cost of the blocks).

    >>> from core.layers.block_sparse import layout
    >>> full, blocks = attention_costs(layout(64), 4, 8, budget=0.0)
    >>> full.nbytes > 3 * blocks.nbytes
    True
    """
    n = layout.n_blocks * block
    draw = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, layout.times.shape[0], n, d_head, generator=draw)
    allowed, real = torch.ones(n, n, dtype=torch.bool), torch.ones(1, n, dtype=torch.bool)
    _ = layout.gathered, layout.wide  # made once for all texts of this length, not part of a pass
    return (
        cost(lambda: over_all_pairs(q, k, v, allowed), budget),
        cost(lambda: sparse(q, k, v, layout, block, real), budget),
    )


def with_config(model: Any, config: Any, **weights: Tensor) -> Any:
    """Return the model with the same weights, except those given by name, under another config of its family."""
    with torch.device("meta"):
        network = model.spec.network(config)
    network.load_state_dict(model.network.state_dict() | weights, assign=True)
    return replace(model, config=config, network=network)


def with_full_attention(model: Any) -> Any:
    """Return the model with the same weights and all pairs allowed, for a model whose config has a `layout`."""
    full = with_config(model, replace(model.config, layout="full"))
    return replace(full, name=f"{model.name} {FULL}")


def cost_by_length(model: Any, lengths: Sequence[int] = LENGTHS, budget: float = 2.0) -> Metrics:
    """Measure milliseconds and megabytes of a pass of the whole network over one text, for each number of tokens.

    Beyond the context the positions repeat: the cost does not depend on which vectors are added.
    """
    places, longest = model.network.embed["position"].weight, max(model.config.n_ctx, *lengths)
    more = {"embed.position.weight": places.repeat(-(-longest // len(places)), 1)[:longest]}
    network = with_config(model, replace(model.config, n_ctx=longest), **more).network
    found: Metrics = {"items": len(lengths), "ms_by_length": {}, "mb_by_length": {}}
    for n in lengths:
        ids = torch.randint(5, model.config.n_vocab, (1, n), generator=torch.Generator().manual_seed(n))
        batch = Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool))
        spent = cost(lambda batch=batch: network(batch), budget)
        found["ms_by_length"][f"{n} tokens"] = 1e3 * spent.seconds
        found["mb_by_length"][f"{n} tokens"] = spent.nbytes / MB
    return found
