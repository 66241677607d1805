"""Header of a safetensors file, checked by our own limits before a library touches it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.checkpoints.files import MB, printable, state, strict_json
from core.errors import InputError

MAX_HEADER, MAX_TENSORS, MAX_RANK, MAX_DIM, MAX_NAME = 5 * MB, 20_000, 8, 2**31, 512
FLOATS: Mapping[str, int] = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}
SIZES: Mapping[str, int] = {
    **FLOATS,
    **{
        "F8_E4M3": 1,
        "F8_E5M2": 1,
        "F8_E8M0": 1,
        "BOOL": 1,
        "U8": 1,
        "I8": 1,
        "U16": 2,
        "I16": 2,
        "U32": 4,
        "I32": 4,
        "U64": 8,
        "I64": 8,
    },
}
RULE = "A safetensors file is a short list of tensors followed by exactly their bytes."
REMEDY = "Download or export the file again."

LOOKS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the weights", "Fetch the real file: git lfs pull."),
    (
        b"PK\x03\x04",
        "a zip archive, perhaps PyTorch's own format",
        "Convert it to safetensors where you trust it.",
    ),
    (
        b"\x80\x02",
        "a Python pickle",
        "Pickles can run code and are never read: convert it to safetensors where you trust it.",
    ),
    (
        b"\x80\x03",
        "a Python pickle",
        "Pickles can run code and are never read: convert it to safetensors where you trust it.",
    ),
    (
        b"\x80\x04",
        "a Python pickle",
        "Pickles can run code and are never read: convert it to safetensors where you trust it.",
    ),
    (
        b"\x80\x05",
        "a Python pickle",
        "Pickles can run code and are never read: convert it to safetensors where you trust it.",
    ),
    (b"\x93NUMPY", "a NumPy array", "Convert it to safetensors."),
    (b"\x89HDF", "an HDF5 file", "Convert it to safetensors."),
    (b"GGUF", "a GGUF file", "Use the safetensors file of the same model."),
    (b"\x1f\x8b", "a gzip archive", "Unpack it first."),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """Tensor of a file: its file, number format and shape, the byte where it begins, and the file's state when its header was read."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    begin: int = 0
    file_state: tuple[int, int, int] = (0, 0, 0)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS


def read_header(path: Path) -> dict[str, Entry]:
    """Return every tensor of a safetensors file; only the header is read.

    Header of at most 5 MB and 20,000 tensors, rank at most 8, dimensions at most 2^31, names printable and at most 512
    characters, no key twice, known number formats, offsets without hole or overlap, the file exactly as long as they
    say. Raises InputError otherwise, saying what the file looks like instead.
    """
    with path.open("rb") as file:
        seen = state(file.fileno())
        size = seen[1]
        first = file.read(64)
        length = int.from_bytes(first[:8], "little")
        if size < 10 or length > size - 8 or length < 2 or first[8:9] != b"{":
            raise _not_one(path, first, size, length)
        if length > MAX_HEADER:
            raise InputError(
                f"The header of {path.name} has {length:,} bytes.",
                f"At most {MAX_HEADER:,} are read.",
                REMEDY,
            )
        file.seek(8)
        data = file.read(length)
    if data.count(b"{") > 3 * MAX_TENSORS or data.count(b"[") > 4 * MAX_TENSORS:
        raise InputError(f"{path.name} lists too many tensors.", f"At most {MAX_TENSORS:,} are read.", REMEDY)
    held = strict_json(data, f"The header of {path.name}")
    if not isinstance(held, dict):
        raise _bad(path, "its header is not an object")
    metadata = held.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _bad(path, "its metadata is not text")
    if len(held) > MAX_TENSORS:
        raise InputError(
            f"{path.name} lists {len(held):,} tensors.", f"At most {MAX_TENSORS:,} are read.", REMEDY
        )
    entries: dict[str, Entry] = {}
    spans: list[tuple[int, int, str]] = []
    for name, about in held.items():
        entry, span = _entry(path, name, about)
        entries[name] = replace(entry, begin=8 + length + span[0], file_state=seen)
        spans.append((*span, name))
    _check_filled(path, spans, size - 8 - length)
    return entries


def _entry(path: Path, name: str, about: Any) -> tuple[Entry, tuple[int, int]]:
    said = printable(name)
    if not name or len(name) > MAX_NAME or not name.isprintable() or ".." in name or name[0] in "/\\":
        raise InputError(
            f"{path.name} has a tensor named '{said}'.",
            f"Names are at most {MAX_NAME} printable characters, no paths.",
            REMEDY,
        )
    if not isinstance(about, dict) or set(about) != {"dtype", "shape", "data_offsets"}:
        raise _bad(path, f"'{said}' is not described by dtype, shape and data_offsets")
    dtype, shape, span = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        wrong = f"'{said}' in {path.name} is stored as {printable(str(dtype), 20)}."
        raise InputError(wrong, f"Formats read: {', '.join(SIZES)}.", "Export it as F32 or F16.")
    if not _whole_numbers(shape) or len(shape) > MAX_RANK or any(n > MAX_DIM for n in shape):
        raise _bad(path, f"'{said}' has no possible shape (at most {MAX_RANK} sizes, each from 0 to 2^31)")
    if not _whole_numbers(span) or len(span) != 2 or span[1] - span[0] != math.prod(shape) * SIZES[dtype]:
        raise _bad(path, f"the bytes of '{said}' do not fit its shape")
    return Entry(path, dtype, tuple(shape)), (span[0], span[1])


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _check_filled(path: Path, spans: list[tuple[int, int, str]], n_bytes: int) -> None:
    at = 0
    for begin, end, name in sorted(spans):
        if begin != at:
            raise _bad(
                path, f"there is {'an overlap' if begin < at else 'a hole'} before '{printable(name)}'"
            )
        at = end
    if at > n_bytes:
        raise _bad(path, f"it is cut off: {at:,} bytes of weights are listed, {n_bytes:,} are there")
    if at < n_bytes:
        raise _bad(path, f"{n_bytes - at:,} bytes follow after its last tensor")


def _bad(path: Path, problem: str) -> InputError:
    return InputError(f"{path.name} is damaged: {problem}.", RULE, REMEDY)


def _not_one(path: Path, first: bytes, size: int, length: int) -> InputError:
    if size == 0:
        return InputError(f"{path.name} is empty.", RULE, REMEDY)
    for magic, what, remedy in LOOKS:
        if first.startswith(magic):
            return InputError(f"{path.name} is {what}.", RULE, remedy)
    if first.lstrip()[:1] == b"<":
        return InputError(
            f"{path.name} is a web page, not the weights.", RULE, "Use the download link of the file itself."
        )
    if first[8:9] == b"{" and length > size - 8:
        return _bad(path, f"it is cut off: a header of {length:,} bytes does not fit into {size:,}")
    return InputError(f"{path.name} is not a safetensors file.", RULE, REMEDY)
