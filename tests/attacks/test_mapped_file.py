"""A mapped file: its numbers are those that are stored, wherever they begin, and none that is broken passes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from core.checkpoints.safety.mapped_file import BLOCK, count_broken
from core.checkpoints.weights import SINGLE, find_weights
from core.errors import InputError

HALVES = np.arange(2**16, dtype=np.uint16)
EDGES = np.array(
    [
        sign | high | low
        for sign in (0, 1 << 31)
        for high in (0, 0x7F7FFFFF, 0x7F800000)
        for low in (0, 1, 2**22)
    ],
    np.uint32,
)


@pytest.mark.parametrize(
    ("dtype", "bits"), [(torch.float16, HALVES), (torch.bfloat16, HALVES), (torch.float32, EDGES)]
)
def test_broken_numbers_are_those_of_torch(dtype, bits):
    numbers = torch.from_numpy(bits.copy()).view(dtype)
    sound = numbers.isfinite()
    assert 0 < count_broken(numbers) == int((~sound).sum()) < bits.size and count_broken(numbers[sound]) == 0
    for each in numbers[~sound][:: max(1, bits.size // 2000)]:
        assert count_broken(torch.cat([numbers[sound], each[None]])) == 1


def stored(place, tensors, *, spaces):
    """A safetensors file whose header has this many spaces behind it, so that its numbers begin anywhere."""
    names = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}
    head, data = {}, b""
    for name, value in tensors.items():
        raw = value.contiguous().view(torch.uint8).numpy().tobytes() if value.numel() else b""
        span = [len(data), len(data) + len(raw)]
        head[name] = {"dtype": names[value.dtype], "shape": list(value.shape), "data_offsets": span}
        data += raw
    said = json.dumps(head).encode() + b" " * spaces
    (place / SINGLE).write_bytes(len(said).to_bytes(8, "little") + said + data)
    return find_weights(place)


@pytest.mark.parametrize("spaces", range(4))
def test_numbers_may_begin_at_any_byte(tmp_path, spaces):
    torch.manual_seed(spaces)
    tensors = {
        "z": torch.randn(3, 7).bfloat16(),
        "odd": torch.randn(5).half(),
        "a": torch.randn(11, 13),
        "none": torch.zeros(0, 4),
    }
    weights = stored(tmp_path, tensors, spaces=spaces)
    assert weights.in_order(["a", "none", "odd", "z"])[:3] == ["z", "odd", "a"]
    for name, value in tensors.items():
        assert torch.equal(weights.mapped(name), value) and torch.equal(weights.read(name), value.float())
    matrix = weights.mapped("a")
    torch.testing.assert_close(matrix @ torch.ones(13, 2), tensors["a"] @ torch.ones(13, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("at", [0, -1, BLOCK // 4 - 1, BLOCK // 4])
def test_one_broken_number_is_found_in_any_block(tmp_path, dtype, at):
    value = torch.zeros(BLOCK // 2 + 3, dtype=dtype)
    value[at] = float("-inf")
    weights = stored(tmp_path, {"w": value}, spaces=1)
    with pytest.raises(InputError, match=f"infinite at 1 of its {value.numel():,} places"):
        weights.mapped("w")


def test_a_file_that_was_written_to_is_not_read(tmp_path):
    weights = stored(tmp_path, {"w": torch.ones(9), "v": torch.ones(9)}, spaces=0)
    held = (tmp_path / SINGLE).read_bytes()
    (tmp_path / SINGLE).write_bytes(held[:-4] + b"\0\0\0@")
    with pytest.raises(InputError, match="the file has changed since"):
        weights.mapped("w")
    again = find_weights(tmp_path)
    assert again.mapped("w").sum() == 9 and again.read("v")[-1] == 2
