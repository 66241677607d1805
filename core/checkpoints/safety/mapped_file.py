"""A file of tensors mapped into memory, as its judged list says: views of it, and whether what they hold is numbers."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor

from core.checkpoints.files import state
from core.checkpoints.safety.safetensors_header import Entry

BLOCK = 2**18
"""Bytes that are judged at a time: as many as stay in the processor's cache between the two looks at them."""
DTYPES: Mapping[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I8": torch.int8,
}
INFINITY: Mapping[torch.dtype, tuple[torch.dtype, int]] = {
    torch.float32: (torch.int32, 0x7F800000),
    torch.float16: (torch.int16, 0x7C00),
    torch.bfloat16: (torch.int16, 0x7F80),
}
"""The bits of infinity: an exponent of ones alone. With any bit behind them they are NaN."""


def count_broken(value: Tensor) -> int:
    """Return how many numbers of a contiguous tensor are NaN or infinite: those whose exponent is ones alone.

    Read as whole numbers with a sign, positive ones of them are the largest of all; read without a sign, negative ones
    are. So two maxima tell, at the speed of memory, that there is none.

    >>> count_broken(torch.tensor([1.0, torch.inf, -torch.nan, -3e38]))
    2
    """
    whole, infinity = INFINITY[value.dtype]
    signed = value.view(-1).view(whole).numpy()
    bits, sign = signed.view(f"u{signed.dtype.name}"), 1 << (8 * signed.itemsize - 1)
    found, n = 0, BLOCK // signed.itemsize
    for at in range(0, signed.size, n):
        here = slice(at, at + n)
        if signed[here].max() >= infinity or bits[here].max() >= sign + infinity:
            found += int(((bits[here] & (sign - 1)) >= infinity).sum())
    return found


class MappedFile:
    """Tensors of one file, with their places in it. The mapping lasts while a tensor of it is used.

    Raises ValueError if the file is not the one, or not as it was, whose list was read, OSError if it cannot be.
    """

    def __init__(self, entry: Entry) -> None:
        with entry.file.open("rb") as file:
            if state(file.fileno()) != entry.file_state:
                raise ValueError(f"{entry.file.name} was written to")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    def tensor(self, entry: Entry) -> Tensor:
        """Return a tensor as a view of the file: its numbers are read from there when they are used, and occupy no other memory."""
        dtype, n = DTYPES[entry.dtype], prod(entry.shape)
        if not n:
            return torch.empty(entry.shape, dtype=dtype)
        return torch.frombuffer(self._map, dtype=dtype, count=n, offset=entry.begin).view(entry.shape)
