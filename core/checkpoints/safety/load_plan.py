"""Plan of reading a folder, made from its config and headers before anything is allocated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import tokenizers
import torch
from torch import Tensor, nn

from core.checkpoints.files import printable
from core.checkpoints.safety.config_schema import CONFIG
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.weights import MAPPED, Weights
from core.errors import InputError, Phrase
from core.layers.embedding import TokenEmbedding
from core.layers.linear import HALF, Linear
from core.layers.positions import Sinusoidal
from core.layers.task_head import Head, PooledMaps, Pooling, TaskHead
from core.models import Family
from core.wording import mark

FLOAT32 = 4
"""Bytes of a number in memory, however it is stored."""
MISSING = mark("Weights missing: {names}.")
TOGETHER = mark("Config and weights must belong together.")
NEVER = re.compile(r"(?!)")
TABLES = re.compile(r"embed\.(?!token\.weight)|.*bias\.weight|distance\.weight")
"""Small tables that are float32 in memory, whatever they are stored in: of places, segments, distances."""
END_OF_TEXT: Mapping[str, str] = {"start": "<|endoftext|>", "end": "<|endoftext|>"}


@dataclass(frozen=True)
class WeightMapping:
    """A stored tensor and the names of our weights that it goes into (`targets`), cut into equal parts along its last axis; views where possible.

    `plus` is added to what is stored (the gains of Gemma's norms are stored less 1), and it is multiplied by `times` (Granite's sub-layers).
    `pairs`: (heads, rows): so many first rows of each head are stored with the two of a rotated pair as neighbours (GPT-J), here in two
    halves. With `heads` it is cut along its first axis instead, head by head: the rows are (head, part), as GPT-NeoX packs them,
    and `widths` are those of each part.

    `transposed` is for matrices stored (in, out), where a linear layer here holds (out, in). The same numbers may be stored once
    more under `tied_names` (a tied output layer is the last of several). `target_shape` is the shape here where the numbers
    of a tensor are laid out in another: a convolution's are those of a matrix.

    >>> dict(WeightMapping("w", (2, 6), ("q", "k", "v"), transposed=True).from_stored(torch.arange(12.0).view(2, 6)))["k"].tolist()
    [[2.0, 8.0], [3.0, 9.0]]
    """

    name: str
    shape: tuple[int, ...]
    targets: tuple[str, ...]
    transposed: bool = False
    heads: int = 0
    widths: tuple[int, ...] = ()
    plus: float = 0.0
    times: float = 1.0
    pairs: tuple[int, int] = (0, 0)
    tied_names: str | tuple[str, ...] = ""
    target_shape: tuple[int, ...] = ()

    @property
    def copies(self) -> tuple[str, ...]:
        """Return the names under which the tensor may be stored once more: none, one or several."""
        return (
            self.tied_names
            if isinstance(self.tied_names, tuple)
            else (self.tied_names,)
            if self.tied_names
            else ()
        )

    def from_stored(self, value: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Yield the weights that a stored tensor has, by their names here."""
        value = value.reshape(self.target_shape) if self.target_shape else value
        if self.heads:
            rows = value.unflatten(0, (self.heads, -1)).split(self.widths, dim=1)
            parts = tuple(part.flatten(0, 1) for part in rows)
        else:
            parts = value.chunk(len(self.targets), dim=-1) if len(self.targets) > 1 else (value,)
        for ours, part in zip(self.targets, parts, strict=True):
            part = part + self.plus if self.plus else part
            part = part * self.times if self.times != 1.0 else part
            yield ours, part.T if self.transposed else _in_order(part, self.pairs)

    def to_stored(self, state: Mapping[str, Tensor]) -> Tensor:
        """Return the tensor as it is stored, from our weights by name: the inverse of `from_stored`."""
        if self.plus or self.times != 1.0 or self.pairs[0]:
            state = {
                ours: _in_order((state[ours] - self.plus) / self.times, self.pairs, back=True)
                for ours in self.targets
            }
        if self.heads:
            rows = [state[ours].unflatten(0, (self.heads, -1)) for ours in self.targets]
            return torch.cat(rows, dim=1).flatten(0, 1)
        whole = torch.cat(
            [state[ours].T if self.transposed else state[ours] for ours in self.targets], dim=-1
        )
        return whole.reshape(self.shape).contiguous()


def _in_order(value: Tensor, pairs: tuple[int, int], *, back: bool = False) -> Tensor:
    """Return rows, or numbers, with each head's pairs in two halves; `back` as neighbours again."""
    heads, n = pairs
    if not heads:
        return value
    rows = value.unflatten(0, (heads, -1))
    halves = torch.cat((torch.arange(0, n, 2), torch.arange(1, n, 2), torch.arange(n, rows.shape[1])))
    return rows[:, halves.argsort() if back else halves].flatten(0, 1)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Checked plan of a network.

    `takes` covers every weight; `ids` are start, end, pad and mask, where the config names them; `special_tokens` are
    the names in the tokenizer of those that it does not name, two joined by " or "; `unused` lists tensors of task heads that are there
    and not read; `tokenizer` names what is read where that follows from the config, and no file is asked for.
    `mapped` are the tensors that stay as they are stored, mapped from the file, with the bytes of a number; all others are
    read into memory in float32. `never` are the words, as ids, that the model is not to write, `ends` the tokens besides the
    end mark that end what it writes, `first` the one that it always writes first. `head` is that of its fine-tuning, `pooling` that of a sentence embedder.
    """

    spec: Family
    config: Any
    ids: Mapping[str, int]
    takes: tuple[WeightMapping, ...]
    special_tokens: Mapping[str, str] = field(default_factory=lambda: END_OF_TEXT)
    unused: tuple[str, ...] = ()
    tokenizer: tokenizers.Tokenizer | None = None
    mapped: Mapping[str, int] = field(default_factory=dict)
    never: tuple[tuple[int, ...], ...] = ()
    ends: tuple[int, ...] = ()
    head: Head | None = None
    pooling: Pooling | None = None
    first: int | None = None

    @property
    def does(self) -> str:
        """Return the name of the output of its fine-tuned head, "embedding" for a sentence embedder, or "states" for a
        framed text model without output; "" for any other network.
        """
        if self.head is not None:
            return self.head.output
        if self.pooling is not None:
            return "embedding"
        return "states" if self.spec.framed and not self.spec.outputs(self.config).keys() - {"pooled"} else ""

    @property
    def n_bytes(self) -> int:
        """Return the bytes of its numbers as the model has them in memory."""
        return sum(prod(take.shape) * self.mapped.get(take.name, FLOAT32) for take in self.takes)

    @property
    def memory(self) -> int:
        """Return the bytes of memory needed to open the model: all its numbers, and the largest tensor once more in float32 while it is read."""
        return self.n_bytes + FLOAT32 * max((prod(take.shape) for take in self.takes), default=0)


def check_names(
    stored: Mapping[str, Entry],
    takes: tuple[WeightMapping, ...],
    *,
    ignored: re.Pattern[str] = NEVER,
    heads: re.Pattern[str] = NEVER,
) -> tuple[str, ...]:
    """Compare the stored tensors with those that the config requires, and return those of known task heads, which are
    unused.

    `ignored` matches old buffers without a learned number, `heads` task heads.
    Raises InputError naming the first five missing, left-over or misshapen tensors.
    """
    wanted = {take.name: take.shape for take in takes}
    shapes = wanted | {copy: take.shape for take in takes for copy in take.copies if copy in stored}
    missing = [name for name in wanted if name not in stored]
    other = [name for name in stored if name not in shapes and not ignored.fullmatch(name)]
    unused = tuple(name for name in other if heads.match(name))
    if missing:
        raise unfit(MISSING, missing, Phrase("exactly {n:,}", n=len(wanted)))
    if left := [name for name in other if name not in unused]:
        raise unfit(mark("Weights left over: {names}."), left, Phrase("exactly {n:,}", n=len(wanted)))
    for name, shape in shapes.items():
        entry = stored[name]
        if entry.shape != shape:
            raise InputError(
                "'{name}' has the shape {stored}, {where} asks for {shape}.",
                TOGETHER,
                "Download or export the model again.",
                name=name,
                stored=str(entry.shape),
                where=CONFIG,
                shape=str(shape),
            )
        if not entry.is_float:
            raise InputError(
                "'{name}' is stored as {dtype}.",
                "Weights are floating-point numbers.",
                "Export it as F32 or F16.",
                name=name,
                dtype=entry.dtype,
            )
    return unused


def unfit(wrong: str, names: list[str], expected: str) -> InputError:
    """Return the error for tensors that do not fit, the first five by name; `expected` says how many there must be."""
    few = ", ".join(printable(name, 72) for name in names[:5])
    return InputError(
        wrong,
        "This model has {expected} tensors; none is guessed and none is thrown away.",
        "Download or export the model again, as the kind its config names.",
        names=Phrase("{names} and {n:,} more", names=few, n=len(names) - 5) if len(names) > 5 else few,
        expected=expected,
    )


def meta_network(
    spec: Family, config: Any, head: Head | None = None, pooling: Pooling | None = None
) -> nn.Module:
    """Return the network without memory for its weights: names and shapes alone."""
    with torch.device("meta"):
        network = spec.network(config)
        if head is not None:
            network.task = TaskHead(head)
        if pooling is not None and pooling.maps:
            network.pooled_maps = PooledMaps(pooling.maps)
    return network


def uninitialised_network(
    spec: Family, config: Any, head: Head | None = None, pooling: Pooling | None = None
) -> nn.Module:
    """Return the network without initialising its weights; tables that are computed and not stored are filled in."""
    network = meta_network(spec, config, head, pooling)
    for part in network.modules():
        if isinstance(part, Sinusoidal):
            part.table = part.computed()
    return network


def find_mappable(takes: tuple[WeightMapping, ...], weights: Weights) -> Mapping[str, int]:
    """Return the tensors that may stay in their file, with the bytes of a number: matrices in half precision, and all in float32."""
    mappable = {}
    for take in takes:
        stored = weights.entries[take.name].dtype
        matrix = len(take.shape) == 2 and not any(TABLES.match(ours) for ours in take.targets)
        if weights.keeps(take.name) and not take.plus and take.times == 1.0 and (matrix or stored == "F32"):
            mappable[take.name] = MAPPED[stored]
    return mappable


def build(plan: Plan, weights: Weights, between: Callable[[], object] = lambda: None) -> nn.Module:
    """Build the network with its weights: those in `plan.mapped` as they are stored, the others in float32. Each tensor is read once.

    `between` is called before each of them; what it raises ends the reading.
    Half precision stays where a layer multiplies with it in float32 (`core.layers.linear.multiply_by_blocks`) or looks up its rows.
    """
    network = uninitialised_network(plan.spec, plan.config, plan.head, plan.pooling)
    halves = {
        f"{name}.weight"
        for name, part in network.named_modules()
        if isinstance(part, (Linear, TokenEmbedding))
    }
    state: dict[str, Tensor] = {}
    by_name = {take.name: take for take in plan.takes}
    for take in map(by_name.__getitem__, weights.in_order(by_name)):
        between()
        get = weights.mapped if take.name in plan.mapped else weights.read
        value = get(take.name)
        for copy in take.copies:
            if copy in weights.entries and not torch.equal(value, get(copy)):
                raise InputError(
                    "'{copy}' differs from '{name}'.",
                    "The output layer of this family reads the table of its tokens (tied weights).",
                    "Open a model whose output layer is tied.",
                    copy=copy,
                    name=take.name,
                )
        for ours, part in take.from_stored(value):
            half = part.dtype in HALF
            whole = (
                half or take.name not in plan.mapped
            )  # blocks of rows are read; a transposed float32 matrix is multiplied as it is stored
            part = part if not half or ours in halves else part.float()
            state[ours] = part.contiguous() if whole else part
    network.load_state_dict(state, strict=True, assign=True)
    return network.eval().requires_grad_(False)
