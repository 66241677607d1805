"""The weights of a folder: one safetensors file or shards, listed first, read one tensor at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.checkpoints.files import MB, inside, json_object, need, shown
from core.checkpoints.safety.safetensors_header import AGAIN, MAX_TENSORS, Entry, read_header
from core.errors import InputError

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MAX_SHARDS = 500
SCALE = ".scale"
"""Behind the name of a matrix in 8 bits: what stands beside it, the size of a step in each row."""
SHARD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}\.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "model.ckpt", "model.bin")


@dataclass(frozen=True)
class Weights:
    """What is stored, by name; nothing is read before `read`."""

    entries: Mapping[str, Entry]
    stored: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, Entry] = field(default_factory=dict)

    def renamed(self, name_of: Callable[[str], str]) -> Weights:
        """The same weights under other names. Raises InputError if two names become one."""
        stored = {name_of(name): name for name in self.entries}
        if len(stored) != len(self.entries):
            twice = next(name for name in self.entries if stored[name_of(name)] != name)
            wrong = f"'{shown(name_of(twice))}' is stored twice, also as '{shown(twice)}' or '{shown(stored[name_of(twice)])}'."
            raise InputError(wrong, "Each weight is stored once.", AGAIN)
        return replace(
            self, entries={ours: self.entries[name] for ours, name in stored.items()}, stored=stored
        )

    def scaled(self) -> Weights:
        """The same with each matrix in 8 bits and its `NAME.scale` as one matrix of that name (core.checkpoints.eight_bit).

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
        """One tensor as float32 of its own memory. Raises InputError if a number in it is NaN or infinite."""
        entry = self.entries[name]
        value = self._held(entry.file, self.stored.get(name, name))
        if name in self.scales:
            value *= self._held(self.scales[name].file, name + SCALE)[:, None]
        if value.shape != entry.shape:
            wrong = f"'{shown(name)}' is not what was judged: it had the shape {entry.shape}, now {tuple(value.shape)}."
            raise InputError(wrong, "A file must stay as it is while a model is opened.", "Open it again.")
        broken = int(value.numel() - value.isfinite().sum())
        if broken:
            raise InputError(
                f"'{shown(name)}' is NaN or infinite at {broken:,} of its {value.numel():,} places.",
                "A picture of such a model would show nothing true.",
                "Use a checkpoint from before the training broke, or export it in float32.",
            )
        return value

    def _held(self, file: Path, name: str) -> Tensor:
        try:
            if not file.is_file():  # a pipe would be waited for
                raise FileNotFoundError
            with safe_open(file, framework="pt", device="cpu") as held:
                return held.get_tensor(name).to(torch.float32, copy=True)
        except (SafetensorError, OSError, TypeError, ValueError, KeyError):
            wrong = f"'{shown(name)}' cannot be read from {file.name}, whose list of tensors was fine: the file has changed since."
            rule = "A file must stay as it is while a model is opened."
            raise InputError(wrong, rule, "Wait until it is whole, then open it again.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)


def find_weights(folder: Path) -> Weights:
    """List the tensors of `model.safetensors`, or of the shards that its index names.

    A shard is a base name inside the folder; the index and the shards must agree on every tensor.
    Raises InputError: nothing there, only a pickle there, a damaged header, an index that leads elsewhere.
    """
    single = inside(folder, SINGLE)
    if single is not None:
        return Weights(read_header(single))
    if inside(folder, INDEX) is None:
        raise _nothing(folder)
    index = json_object(folder, INDEX, limit=8 * MB).get("weight_map")
    if not isinstance(index, dict) or not index or len(index) > MAX_TENSORS:
        raise InputError(
            f"{INDEX} has no usable weight_map.",
            f"It names the file of each of at most {MAX_TENSORS:,} tensors.",
            AGAIN,
        )
    for name in index.values():
        if not isinstance(name, str) or not SHARD.fullmatch(name):
            raise InputError(
                f"{INDEX} names the file '{shown(str(name))}'.",
                "Shards are .safetensors files of the same folder.",
                AGAIN,
            )
    shards = sorted(set(index.values()))
    if len(shards) > MAX_SHARDS:
        raise InputError(
            f"{INDEX} names {len(shards):,} files.",
            f"At most {MAX_SHARDS} are read.",
            "Save the model in fewer shards.",
        )
    entries: dict[str, Entry] = {}
    for shard, path in {shard: need(folder, shard) for shard in shards}.items():
        for name, entry in read_header(path).items():
            if index.get(name) != shard:
                wrong = f"{shard} holds '{shown(name)}', which {INDEX} does not place there."
                raise InputError(wrong, "Index and shards must agree.", AGAIN)
            entries[name] = entry
    for name in index:
        if name not in entries:
            raise InputError(
                f"{index[name]} does not hold '{shown(name)}'.", f"{INDEX} says that it does.", AGAIN
            )
    return Weights(entries)


def _nothing(folder: Path) -> InputError:
    rule = f"Weights are read from {SINGLE}, or from the shards of {INDEX}."
    for name in PICKLES:
        if (folder / name).exists():
            return InputError(
                f"{shown(folder.name)} has only {name}, a Python pickle.",
                rule + " Pickles can run code and are never read.",
                "Where you trust it, load it with transformers and call save_pretrained(folder).",
            )
    return InputError(
        f"{SINGLE} is missing in {shown(folder.name)}.", rule, "Download or export the model again."
    )
