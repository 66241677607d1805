"""The linear map of every layer: x W^T + b, its weight laid out for the processor once it no longer changes."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped


State = tuple[tuple[int, int], ...]
HALF = (torch.float16, torch.bfloat16)
BLOCK = 2**20
"""Numbers of a weight in half precision that are float32 at a time: as many as stay in the processor's cache."""
SMALL = 2**15
"""Numbers of a weight below which the plain product is faster than one in the processor's own layout, which takes 30 µs to begin."""


def state_of(*weights: Shaped[Tensor, "..."] | None) -> State | None:
    """Return the identity and version of frozen weights, equal as long as their content is; None if one of them takes gradients."""
    found: list[tuple[int, int]] = []
    for weight in weights:  # asked at each product of each token that is written: no generators here
        if weight is None:
            continue
        if weight.requires_grad:
            return None
        found.append((id(weight), 0 if weight.is_inference() else weight._version))
    return tuple(found)


def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@contextmanager
def outside_inference_mode() -> Iterator[None]:
    """Make plain tensors inside this block, which any later run may use, even if the present one is in inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        yield


def copy_bytes(weight: Shaped[Tensor, "..."]) -> int:
    """Return the bytes of a packed copy of a weight, which is in float32."""
    return weight.numel() * torch.float32.itemsize


class PackedWeightCache:
    """A cache of weights in the processor's own layout: the copies made last, up to `capacity_bytes`.

    A copy is as large as its weight and takes as long to make as reading it twice. Those of a model that was not used for a
    while are dropped; a model larger than the cache has none (`configure_packing`). A caller keeps its copy alive while it
    multiplies. Thread-safe.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes, self.nbytes = capacity_bytes, 0
        self._lock = threading.RLock()  # the interpreter may call `forget` in the midst of anything
        self._closed = threading.local()
        self._copies: dict[int, tuple[Tensor, int]] = {}

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Make no copies in this thread inside this block: for a network that is run once."""
        self._closed.now = True
        try:
            yield
        finally:
            self._closed.now = False

    def copy(self, source: PackedWeight) -> Float[Tensor, "..."] | None:
        """Return the weight in the processor's layout; None where there is no copy and none is to be made."""
        found = self._copies.get(id(source))
        if found is None and getattr(self._closed, "now", False):
            return None
        return found[0] if found else self._made(source)

    def _made(self, source: PackedWeight) -> Tensor:
        with outside_inference_mode():
            copy = torch.ops.mkldnn._reorder_linear_weight(source.weight.float().contiguous(), 32)
        with self._lock:
            self.forget(id(source))  # two asked at once
            self._copies[id(source)] = copy, copy_bytes(source.weight)
            self.nbytes += copy_bytes(source.weight)
            while self.nbytes > self.capacity_bytes and len(self._copies) > 1:
                self.forget(next(iter(self._copies)))
        return copy

    def forget(self, name: int) -> None:
        """Drop the copy of a weight, given the id of its `PackedWeight`."""
        with self._lock:
            self.nbytes -= self._copies.pop(name, (None, 0))[1]


def _share() -> int:
    """Return the bytes for copies: a sixteenth of the machine's memory where the system reports it, and 64 MB at least."""
    with suppress(AttributeError, OSError, ValueError):
        return max(2**26, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 16)
    return 2**26


PACKED_WEIGHTS = PackedWeightCache(_share())
"""The cache of the process. A server for many sets a lower `PACKED_WEIGHTS.capacity_bytes`."""


class PackedWeight:
    """A frozen weight, multiplied in float32: in the processor's own layout where torch offers one (oneDNN on CPU).

    A single vector, as in decoding step by step, is multiplied by numpy's BLAS with the weight as it is stored: such a
    product is nearly as fast as the weight can be read, and torch's reads it at half the speed or less.
    One that is `SMALL` or is multiplied `in_stored_layout` gets no copy: of a weight in half precision see `multiply_by_blocks`.
    """

    def __init__(
        self,
        weight: Float[Tensor, "d_out d_in"],
        bias: Float[Tensor, " d_out"] | None,
        in_stored_layout: bool = False,
    ) -> None:
        with outside_inference_mode():
            self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
        self.half = weight.dtype in HALF
        plain = weight.device.type == "cpu" and (self.half or weight.dtype == torch.float32)
        self.fits = plain and not in_stored_layout and _has_onednn()
        self.small = not self.half and weight.numel() < SMALL
        weakref.finalize(self, PACKED_WEIGHTS.forget, id(self)).atexit = False

    def multiply_vector(self, x: Float[Tensor, " d_in"]) -> Float[Tensor, " d_out"]:
        """Return the product with one vector, without gradients."""
        if self.half:
            return multiply_by_blocks(x[None], self.weight, self.bias)[0]
        found = torch.from_numpy(self.weight.numpy().dot(x.numpy()))
        return found if self.bias is None else found.add_(self.bias)

    def __call__(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        if x.dtype != torch.float32 or torch.is_autocast_enabled("cpu") or x.device.type != "cpu":
            return F.linear(x, self.weight.to(x.dtype), self.bias)
        packed = self.fits and not x.requires_grad
        if packed and x.numel() == x.shape[-1]:
            return self.multiply_vector(x.reshape(-1)).view(*x.shape[:-1], -1)
        copy = PACKED_WEIGHTS.copy(self) if packed and not self.small else None
        if copy is None:
            of = _Blocks.apply if self.half else F.linear
            return of(x, self.weight, self.bias)  # pyright: ignore
        return torch.ops.mkldnn._linear_pointwise(x, copy, self.bias, "none", [], "")


def configure_packing(network: nn.Module) -> None:
    """Decide once whether a network's weights are packed: not where `PACKED_WEIGHTS` cannot hold the copies of all.

    Otherwise each run would make the copies again, which takes four times as long as the run itself. Called when a model is
    opened, and decided by sizes alone: the two ways differ in the last digits, and equal runs are to be equal.
    """
    maps: list[Any] = [part for part in network.modules() if hasattr(part, "in_stored_layout")]
    weights = [part._parameters["weight"] for part in maps]
    large = (
        sum(copy_bytes(weight) for weight in weights if weight is not None) > PACKED_WEIGHTS.capacity_bytes
    )
    for part in maps:
        part.in_stored_layout = large


class _Scratch(threading.local):
    """The buffer of one thread for the numbers of a block."""

    room: Tensor | None = None

    def as_float32(self, block: Tensor) -> Tensor:
        """Return the block in float32; the next call overwrites it."""
        if self.room is None or self.room.numel() < block.numel():
            with outside_inference_mode():
                self.room = torch.empty(max(BLOCK, block.numel()))
        return self.room[: block.numel()].view(block.shape).copy_(block)


SCRATCH = _Scratch()


def multiply_by_blocks(
    x: Float[Tensor, "*batch d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out"]:
    """Return x W^T + b in float32 with a weight in half precision, converting a block of its rows to float32 at a time.

    Half the bytes come from memory and a block is multiplied while it is in the processor's cache: at the shapes of
    SmolLM2-135M that takes a tenth less time than the same product with a weight in float32, and no copy of the model.
    The result is in float32 and has no gradient.

    >>> multiply_by_blocks(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.bfloat16)).tolist()
    [[3.0, 7.0]]
    """
    rows, n = x.reshape(-1, x.shape[-1]), max(1, BLOCK // weight.shape[1])
    out = torch.empty(len(rows), len(weight))
    with torch.no_grad():
        for first in range(0, len(weight), n):
            block = SCRATCH.as_float32(weight[first : first + n])
            if len(rows) == 1:  # numpy's product with a vector, as above
                out[0, first : first + n] = torch.from_numpy(block.numpy().dot(rows[0].detach().numpy()))
            else:
                torch.mm(rows, block.mT, out=out[:, first : first + n])
        if bias is not None:
            out += bias
    return out.view(*x.shape[:-1], -1)


class _Blocks(torch.autograd.Function):
    """`multiply_by_blocks` with the gradient of its input, computed in the same manner; the weight is frozen."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.weight = weight
        return multiply_by_blocks(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, n = ctx.weight, max(1, BLOCK // ctx.weight.shape[1])
        rows = grad[0].reshape(-1, len(weight))
        found = rows.new_zeros(len(rows), weight.shape[1])
        for first in range(0, len(weight), n):
            found.addmm_(rows[:, first : first + n], SCRATCH.as_float32(weight[first : first + n]))
        return found.view(*grad[0].shape[:-1], -1), None, None


def in_float32(weight: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return a weight to read: one in half precision as float32, any other as it is."""
    return weight.float() if weight.dtype in HALF and not weight.requires_grad else weight


class Linear(nn.Linear):
    """`nn.Linear` that multiplies with a packed copy of its weight while that is frozen.

    A frozen weight in half precision stays so in memory; `weight` gives it in float32.

    >>> layer = Linear(2, 3)
    >>> y = layer(torch.ones(1, 2))
    >>> torch.allclose(layer.requires_grad_(False)(torch.ones(1, 2)), y)
    True
    """

    in_stored_layout = False
    _packed: tuple[State, PackedWeight] | None = None

    def reset_parameters(self) -> None:
        """Draw the initial weights; nothing on the meta device, which has no memory."""
        if not self.stored.is_meta:
            super().reset_parameters()

    @property
    def weight(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return the weight (d_out d_in) in float32."""
        return weight_of(self)

    @property
    def stored(self) -> Float[Tensor, "d_out d_in"]:
        """Return the weight as it is stored, perhaps in half precision."""
        return cast(Tensor, self._parameters["weight"])

    def forward(self, input: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Return `input` W^T + b."""
        packed = self.packed_weight()
        return F.linear(input, self.stored, self.bias) if packed is None else packed(input)

    def packed_weight(self) -> PackedWeight | None:
        """Return the weight for products while it is frozen, made once per content; None while it is trained."""
        weight, bias = self._parameters["weight"], self._parameters["bias"]
        state = state_of(weight, bias)
        if state is None:
            return None
        if self._packed is None or self._packed[0] != state:
            self._packed = (state, PackedWeight(self.stored, self.bias, self.in_stored_layout))
        return self._packed[1]


def weight_of(layer: nn.Module) -> Any:
    """Return the weight of a layer in float32, or as it is stored while it is trained. Raises AttributeError before there is one."""
    held = layer._parameters.get("weight")
    if held is None:
        raise AttributeError(f"{type(layer).__name__} has no weight yet")
    return in_float32(held)
