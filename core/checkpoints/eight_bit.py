"""Matrices in 8 bits, a scale a row: a model folder that takes half the room of float16.

W_ij is stored as the whole number q_ij = round(127 W_ij / max_j |W_ij|) and read as s_i q_ij with s_i = max_j |W_ij| / 127
(row-wise absolute-maximum quantisation: Dettmers et al. 2022, LLM.int8(), section 2.1).
`python -m core.checkpoints.eight_bit NAME` stores a shipped model so; measure it before and after.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.checkpoints.files import need
from core.checkpoints.manifest import shipped_folder, write_manifest
from core.checkpoints.weights import SCALE, SINGLE, find_weights
from core.errors import InputError

MOST = 127
SMALLEST = 4096
"""Matrices of fewer numbers stay as they are: they take no room."""


def packed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights as they are stored in 8 bits: a large matrix (row column) as integers and `NAME.scale` (row,), all others unchanged.

    No number moves by more than half a step of its row, max |W_i| / 254.

    >>> kept = packed({"w": torch.linspace(-1, 1, 4096).view(2, 2048), "b": torch.ones(2)})
    >>> {name: str(value.dtype) for name, value in kept.items()}
    {'w': 'torch.int8', 'w.scale': 'torch.float32', 'b': 'torch.float32'}
    """
    kept: dict[str, Tensor] = {}
    for name, value in weights.items():
        if value.ndim != 2 or value.numel() < SMALLEST or not value.is_floating_point():
            kept[name] = value
            continue
        scale = value.float().abs().amax(dim=1) / MOST
        steps = value.float() / scale.where(scale > 0, torch.ones_like(scale))[:, None]
        kept |= {name: steps.round().to(torch.int8), name + SCALE: scale}
    return kept


def pack(folder: Path) -> tuple[int, int]:
    """Replace the weights of one of our folders by their 8-bit form; return the bytes before and after."""
    entries = find_weights(folder).entries
    if "I8" in {entry.dtype for entry in entries.values()}:
        raise InputError(
            f"{folder.name} is in 8 bits already.", "Once is enough.", "Train it again to have more."
        )
    path = need(folder, SINGLE)
    before, new = path.stat().st_size, path.with_suffix(".new")
    save_file(packed(load_file(path)), new, metadata={"format": "pt"})
    new.replace(path)
    return before, path.stat().st_size


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.checkpoints.eight_bit", description=__doc__)
    ask.add_argument("name", help="a shipped model")
    ask.add_argument("--out", type=Path, default=shipped_folder(), help="where finished models are")
    opts = ask.parse_args(argv)
    try:
        before, after = pack(opts.out / opts.name)
        if opts.out == shipped_folder():
            write_manifest(opts.out)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{opts.name}: {before:,} bytes before, {after:,} after")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
