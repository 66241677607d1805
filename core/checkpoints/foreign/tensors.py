"""Rows for the tensors of a file: the parts of our network that each goes into, in names with a star for each number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from core.checkpoints.safety.load_plan import WeightMapping, meta_network
from core.models import Family, families


@lru_cache(maxsize=16)
def shapes(config: Any) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every tensor of the network of a config."""
    state = meta_network(family_of(type(config)), config).state_dict()
    return {name: tuple(value.shape) for name, value in state.items()}


def family_of(kind: type[Any]) -> Family:
    """Return the family that has configs of this class."""
    return next(family for family in families().values() if family.config is kind)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of tensors: the parts of our network that a stored tensor goes into, in names with a star for each number.

    `transposed`, `plus` and `pairs` are as in `WeightMapping`, `copies` are its `tied_names`; `pairs` names the field that counts the heads.
    `heads` is the number of heads that parts are packed by, `shape` a stored shape that is not ours; `times` names a value to multiply by.
    """

    into: tuple[str, ...]
    transposed: bool = False
    heads: Callable[[Any], int] | None = None
    plus: float = 0.0
    copies: tuple[str, ...] = ()
    shape: Callable[[Any], tuple[int, ...]] | None = None
    times: str = ""
    pairs: str = ""

    def take(self, config: Any, stored: str, into: tuple[str, ...], copies: tuple[str, ...]) -> WeightMapping:
        """Return the mapping of one stored tensor with its shape; `into` are the names of our parts."""
        parts = [shapes(config)[name] for name in into]
        first, transposed = parts[0], self.transposed and len(parts[0]) == 2
        if self.shape is not None:
            return WeightMapping(stored, self.shape(config), into, target_shape=first)
        if len(parts) == 1:
            shape = first[::-1] if transposed else first
            pairs = (getattr(config, self.pairs), config.d_rotary or config.d_head) if self.pairs else (0, 0)
            return WeightMapping(
                stored, shape, into, transposed=transposed, plus=self.plus, tied_names=copies, pairs=pairs
            )
        n_rows = sum(part[0] for part in parts)
        if self.heads is None:
            return WeightMapping(stored, (*first[:0:-1], n_rows), into, transposed=transposed)
        heads = self.heads(config)
        widths = tuple(part[0] // heads for part in parts)
        return WeightMapping(stored, (n_rows, *first[1:]), into, heads=heads, widths=widths)


Weights = Mapping[str, str | Row]
QKV = tuple(f"self_attn.to_{part}" for part in "qkv")


def make_row(*into: str, **options: Any) -> Row:
    """Make the row of a stored tensor from the names of our parts it goes into; `options` are the other fields of `Row`."""
    return Row(into=into, **options)


def stacked_row(*into: str) -> Row:
    """Make the row of a stored matrix that has several of ours one below the other, such as queries, keys and values."""
    return make_row(*into, heads=lambda cfg: 1)


def under(stored: str, prefix: str, rows: Weights) -> dict[str, Row]:
    """Return a table with the prefix `stored` before the stored names, and `prefix` before ours."""
    return {
        f"{stored}{name}": replace(each, into=tuple(f"{prefix}{part}" for part in each.into))
        for name, each in as_rows(rows).items()
    }


def layers(stored: str, *tables: Weights, prefix: str = "layers", **norms: str) -> dict[str, Row]:
    """Return the rows of all layers, from the tables of one layer and its norms; `norms` maps our names of norms to the stored ones."""
    rows = {name: each for table in tables for name, each in table.items()}
    rows |= {theirs: ours for ours, theirs in norms.items()}
    return under(f"{stored}.*.", f"{prefix}.*.", rows)


def attention(pattern: str, parts: str, module: str = "self_attn") -> dict[str, str]:
    """Map the stored names of the maps to queries, keys, values and the output to ours: `pattern` with each of `parts` in its braces."""
    ours = (f"{module}.to_{part}" for part in ("q", "k", "v", "out"))
    return {pattern.format(part): name for part, name in zip(parts.split(), ours, strict=True)}


def feed_forward(hidden: str, out: str, gate: str = "") -> dict[str, str]:
    """Map the stored names of a feed-forward network to ours."""
    rows = {hidden: "ffn.to_hidden", out: "ffn.to_out"}
    return {**rows, gate: "ffn.to_gate"} if gate else rows


def changed(rows: Weights, pattern: str, **changes: Any) -> dict[str, Row]:
    """Return a table with `changes` to the rows whose stored name matches a pattern."""
    return {
        name: replace(each, **changes) if re.search(pattern, name) else each
        for name, each in as_rows(rows).items()
    }


def as_rows(rows: Weights) -> dict[str, Row]:
    """Return a table whose every entry is a row."""
    return {name: make_row(each) if isinstance(each, str) else each for name, each in rows.items()}
