"""The weights of a folder: one safetensors file or shards, listed first, read one tensor at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from core.checkpoints.files import MB, find_file, json_object, need, printable
from core.checkpoints.safety.mapped_file import MappedFile, count_broken
from core.checkpoints.safety.safetensors_header import MAX_TENSORS, REMEDY, Entry, read_header
from core.errors import InputError

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MAX_SHARDS = 500
SCALE = ".scale"
"""End of the name of the steps of a matrix in 8 bits: one size a row."""
MAPPED: Mapping[str, int] = {"F32": 4, "F16": 2, "BF16": 2}
"""Precisions in which a weight may stay, with the bytes of a number."""
SHARD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}\.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "model.ckpt", "model.bin")


@dataclass(frozen=True)
class Weights:
    """Stored tensors by name; nothing is read before `read` or `mapped`."""

    entries: Mapping[str, Entry]
    stored: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, Entry] = field(default_factory=dict)
    _files: dict[Path, MappedFile] = field(default_factory=dict, repr=False, compare=False)

    in_files: ClassVar[bool] = True
    """Whether the numbers lie in files as they are used."""

    def renamed(self, name_of: Callable[[str], str]) -> Weights:
        """Return the same weights under other names. Raises InputError if two names become one."""
        before = {name_of(name): name for name in self.entries}
        stored = {ours: self.stored.get(name, name) for ours, name in before.items()}
        if len(stored) != len(self.entries):
            twice = next(name for name in self.entries if before[name_of(name)] != name)
            raise InputError(
                "'{name}' is stored twice, also as '{one}' or '{other}'.",
                "Each weight is stored once.",
                REMEDY,
                name=printable(name_of(twice)),
                one=printable(twice),
                other=printable(stored[name_of(twice)]),
            )
        return replace(
            self, entries={ours: self.entries[name] for ours, name in before.items()}, stored=stored
        )

    def scaled(self) -> Weights:
        """Return the weights with each matrix in 8 bits and its `NAME.scale` as one matrix of that name (core.checkpoints.eight_bit).

        A matrix of whole numbers whose scale is not there, or of another length, stays what it is: no weight.
        """
        scales: dict[str, Entry] = {}
        for name, entry in self.entries.items():
            scale = self.entries.get(name + SCALE)
            rows = entry.shape[:1] if len(entry.shape) == 2 else None
            if entry.dtype == "I8" and scale is not None and scale.is_float and scale.shape == rows:
                scales[name] = scale
        beside = {name + SCALE for name in scales}
        entries = {
            name: replace(entry, dtype=scales[name].dtype) if name in scales else entry
            for name, entry in self.entries.items()
            if name not in beside
        }
        return replace(self, entries=entries, scales=scales)

    def read(self, name: str) -> Tensor:
        """Return one tensor as float32 of its own memory. Raises InputError if a number in it is NaN or infinite."""
        entry, stored = self.entries[name], self.stored.get(name, name)
        if name in self.scales:
            value = self._read_float32(replace(entry, dtype="I8"), stored)
            value *= self._read_float32(self.scales[name], name + SCALE)[:, None]
        else:
            value = self._read_float32(entry, stored)
        return _check_finite(name, value)

    def mapped(self, name: str) -> Tensor:
        """Return one tensor as it is stored, mapped from its file: its numbers are read from there when they are used, and occupy no other memory.

        A tensor that cannot be mapped (float64, 8 bits, or in no file) is returned as by `read`. Raises InputError as `read` does.
        """
        if not self.keeps(name):
            return self.read(name)
        entry = self.entries[name]
        with _readable(entry.file, name):
            value = self._file(entry).tensor(entry)
        return _check_finite(name, value)

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return the names sorted by their position in the file, so that the file is read in one pass."""
        return sorted(names, key=lambda name: (self.entries[name].file, self.entries[name].begin))

    @property
    def precisions(self) -> tuple[str, ...]:
        """Return the number formats that are stored."""
        return tuple(sorted({entry.dtype for entry in self.entries.values()}))

    def keeps(self, name: str) -> bool:
        """Return whether `mapped` can give this tensor."""
        return self.in_files and self.entries[name].dtype in MAPPED and name not in self.scales

    def _read_float32(self, entry: Entry, name: str) -> Tensor:
        """Return one stored tensor as float32 of its own memory; `name` is its stored name."""
        with _readable(entry.file, name):
            return self._file(entry).tensor(entry).to(torch.float32, copy=True)

    def _file(self, entry: Entry) -> MappedFile:
        """Return the file of a tensor, opened once."""
        if entry.file not in self._files:
            self._files[entry.file] = MappedFile(entry)
        return self._files[entry.file]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)


@contextmanager
def _readable(file: Path, name: str) -> Iterator[None]:
    try:
        if not file.is_file():  # a pipe would be waited for
            raise FileNotFoundError
        yield
    except (OSError, ValueError):
        raise InputError(
            "'{name}' cannot be read from {file}, whose list of tensors was fine: the file has changed since.",
            "A file must stay as it is while a model is opened.",
            "Wait until it is whole, then open it again.",
            name=printable(name),
            file=file.name,
        ) from None


def _check_finite(name: str, value: Tensor) -> Tensor:
    """Return the value. Raises InputError if some of its numbers are NaN or infinite."""
    n_broken = count_broken(value)
    if not n_broken:
        return value
    raise InputError(
        "'{name}' is NaN or infinite at {n:,} of its {total:,} places.",
        "A picture of such a model would be false.",
        "Use a checkpoint from before the training broke, or export it in float32.",
        name=printable(name),
        n=n_broken,
        total=value.numel(),
    )


def find_weights(folder: Path) -> Weights:
    """List the tensors of `model.safetensors`, or of the shards that its index names.

    A shard is a base name inside the folder; the index and the shards must agree on every tensor.
    Raises InputError: nothing there, only a pickle there, a damaged header, an index that leads elsewhere.
    """
    single = find_file(folder, SINGLE)
    if single is not None:
        return Weights(read_header(single))
    if find_file(folder, INDEX) is None:
        raise _nothing(folder)
    index = json_object(folder, INDEX, limit=8 * MB).get("weight_map")
    if not isinstance(index, dict) or not index or len(index) > MAX_TENSORS:
        raise InputError(
            "{index} has no usable weight_map.",
            "It names the file of each of at most {most:,} tensors.",
            REMEDY,
            index=INDEX,
            most=MAX_TENSORS,
        )
    for name in index.values():
        if not isinstance(name, str) or not SHARD.fullmatch(name):
            raise InputError(
                "{index} names the file '{name}'.",
                "Shards are .safetensors files of the same folder.",
                REMEDY,
                index=INDEX,
                name=printable(str(name)),
            )
    shards = sorted(set(index.values()))
    if len(shards) > MAX_SHARDS:
        raise InputError(
            "{index} names {n:,} files.",
            "At most {most} are read.",
            "Save the model in fewer shards.",
            index=INDEX,
            n=len(shards),
            most=MAX_SHARDS,
        )
    entries: dict[str, Entry] = {}
    for shard, path in {shard: need(folder, shard) for shard in shards}.items():
        for name, entry in read_header(path).items():
            if index.get(name) != shard:
                raise InputError(
                    "{shard} holds '{name}', which {index} does not place there.",
                    "Index and shards must agree.",
                    REMEDY,
                    shard=shard,
                    name=printable(name),
                    index=INDEX,
                )
            entries[name] = entry
    for name in index:
        if name not in entries:
            raise InputError(
                "{shard} does not hold '{name}'.",
                "{index} says that it does.",
                REMEDY,
                shard=index[name],
                name=printable(name),
                index=INDEX,
            )
    return Weights(entries)


def _nothing(folder: Path) -> InputError:
    for name in PICKLES:
        if (folder / name).exists():
            return InputError(
                "{name} has only {file}, a Python pickle.",
                "Weights are read from {single}, or from the shards of {index}. Pickles can run code and are never read.",
                "Where you trust it, load it with transformers and call save_pretrained(folder).",
                name=printable(folder.name),
                file=name,
                single=SINGLE,
                index=INDEX,
            )
    return InputError(
        "{single} is missing in {name}.",
        "Weights are read from {single}, or from the shards of {index}.",
        "Download or export the model again.",
        single=SINGLE,
        name=printable(folder.name),
        index=INDEX,
    )
