"""Header of a safetensors file, checked by our own limits before a library touches it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.checkpoints.files import MB, printable, state, strict_json
from core.errors import InputError
from core.wording import mark

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
RULE = mark("A safetensors file is a short list of tensors followed by exactly their bytes.")
REMEDY = mark("Download or export the file again.")

LOOKS: tuple[tuple[bytes, str, str], ...] = (
    (
        b"version https://git-lfs",
        mark("a Git LFS pointer, not the weights"),
        mark("Fetch the real file: git lfs pull."),
    ),
    (
        b"PK\x03\x04",
        mark("a zip archive, perhaps PyTorch's own format"),
        mark("Convert it to safetensors where you trust it."),
    ),
    (
        b"\x80\x02",
        mark("a Python pickle"),
        mark("Pickles can run code and are never read: convert it to safetensors where you trust it."),
    ),
    (
        b"\x80\x03",
        mark("a Python pickle"),
        mark("Pickles can run code and are never read: convert it to safetensors where you trust it."),
    ),
    (
        b"\x80\x04",
        mark("a Python pickle"),
        mark("Pickles can run code and are never read: convert it to safetensors where you trust it."),
    ),
    (
        b"\x80\x05",
        mark("a Python pickle"),
        mark("Pickles can run code and are never read: convert it to safetensors where you trust it."),
    ),
    (b"\x93NUMPY", mark("a NumPy array"), mark("Convert it to safetensors.")),
    (b"\x89HDF", mark("an HDF5 file"), mark("Convert it to safetensors.")),
    (b"GGUF", mark("a GGUF file"), mark("Use the safetensors file of the same model.")),
    (b"\x1f\x8b", mark("a gzip archive"), mark("Unpack it first.")),
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
                "The header of {name} has {length:,} bytes.",
                "At most {most:,} are read.",
                REMEDY,
                name=path.name,
                length=length,
                most=MAX_HEADER,
            )
        file.seek(8)
        data = file.read(length)
    if data.count(b"{") > 3 * MAX_TENSORS or data.count(b"[") > 4 * MAX_TENSORS:
        raise InputError(
            "{name} lists too many tensors.",
            "At most {most:,} are read.",
            REMEDY,
            name=path.name,
            most=MAX_TENSORS,
        )
    held = strict_json(data, f"The header of {path.name}")
    if not isinstance(held, dict):
        raise _bad(path, mark("{name} is damaged: its header is not an object."))
    metadata = held.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _bad(path, mark("{name} is damaged: its metadata is not text."))
    if len(held) > MAX_TENSORS:
        raise InputError(
            "{name} lists {n:,} tensors.",
            "At most {most:,} are read.",
            REMEDY,
            name=path.name,
            n=len(held),
            most=MAX_TENSORS,
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
            "{name} has a tensor named '{said}'.",
            "Names are at most {most} printable characters, no paths.",
            REMEDY,
            name=path.name,
            said=said,
            most=MAX_NAME,
        )
    if not isinstance(about, dict) or set(about) != {"dtype", "shape", "data_offsets"}:
        raise _bad(
            path,
            mark("{name} is damaged: '{said}' is not described by dtype, shape and data_offsets."),
            said=said,
        )
    dtype, shape, span = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        raise InputError(
            "'{said}' in {name} is stored as {dtype}.",
            "Formats read: {names}.",
            "Export it as F32 or F16.",
            said=said,
            name=path.name,
            dtype=printable(str(dtype), 20),
            names=", ".join(SIZES),
        )
    if not _whole_numbers(shape) or len(shape) > MAX_RANK or any(n > MAX_DIM for n in shape):
        raise _bad(
            path,
            mark(
                "{name} is damaged: '{said}' has no possible shape (at most {rank} sizes, each from 0 to 2^31)."
            ),
            said=said,
            rank=MAX_RANK,
        )
    if not _whole_numbers(span) or len(span) != 2 or span[1] - span[0] != math.prod(shape) * SIZES[dtype]:
        raise _bad(path, mark("{name} is damaged: the bytes of '{said}' do not fit its shape."), said=said)
    return Entry(path, dtype, tuple(shape)), (span[0], span[1])


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _check_filled(path: Path, spans: list[tuple[int, int, str]], n_bytes: int) -> None:
    at = 0
    for begin, end, name in sorted(spans):
        if begin != at:
            wrong = mark("{name} is damaged: there is a hole before '{said}'.")
            if begin < at:
                wrong = mark("{name} is damaged: there is an overlap before '{said}'.")
            raise _bad(path, wrong, said=printable(name))
        at = end
    if at > n_bytes:
        raise _bad(
            path,
            mark(
                "{name} is damaged: it is cut off: {listed:,} bytes of weights are listed, {there:,} are there."
            ),
            listed=at,
            there=n_bytes,
        )
    if at < n_bytes:
        raise _bad(path, mark("{name} is damaged: {n:,} bytes follow after its last tensor."), n=n_bytes - at)


def _bad(path: Path, wrong: str, **values: Any) -> InputError:
    return InputError(wrong, RULE, REMEDY, name=path.name, **values)


def _not_one(path: Path, first: bytes, size: int, length: int) -> InputError:
    if size == 0:
        return InputError("{name} is empty.", RULE, REMEDY, name=path.name)
    for magic, what, remedy in LOOKS:
        if first.startswith(magic):
            return InputError("{name} is {what}.", RULE, remedy, name=path.name, what=what)
    if first.lstrip()[:1] == b"<":
        return InputError(
            "{name} is a web page, not the weights.",
            RULE,
            "Use the download link of the file itself.",
            name=path.name,
        )
    if first[8:9] == b"{" and length > size - 8:
        return _bad(
            path,
            mark(
                "{name} is damaged: it is cut off: a header of {length:,} bytes does not fit into {size:,}."
            ),
            length=length,
            size=size,
        )
    return InputError("{name} is not a safetensors file.", RULE, REMEDY, name=path.name)
