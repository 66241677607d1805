"""The file of a model for the browser: a script of at most 12 MB, which a page from a stick can load and a page from a server can fetch.

Float16 and 8-bit weights go unchanged where they fit; of a larger model each matrix is rounded to whole steps (`rounding.py`). A number is split
into its high byte, which compresses (Huffman), and its low byte, which does not. Bytes are in the script as characters of the encoding x-user-defined.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.checkpoints import open_model
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.weights import SCALE, Weights, find_weights
from core.errors import InputError
from core.model import Model
from core.text import Tokenizer
from viz.export.live.rounding import in_steps, scales_of, second_moments

MODELS = ("gpt-mini", "bert-mini", "translator-en-es")
"""The models whose families run in the browser."""
MOST = 12_000_000
"""Bytes of the file of a model at most."""
UNUSED = ("pooler", "to_next_sentence")
"""Modules whose output no page shows."""
ROOT = Path(__file__).resolve().parents[3]
LONGEST = 900.0
"""Seconds for packing a model in a process of its own; the largest takes a minute or two on a free core."""
_ONE = threading.Lock()
_PROGRAM = "import sys, torch; from viz.export.live.pack import pack; torch.set_num_threads(1); sys.stdout.buffer.write(pack(sys.argv[1]))"


def pack(name: str) -> bytes:
    """Return the file of a model: exact where that has at most `MOST` bytes, else with rounded matrices.

    Raises:
        InputError: the model is none of `MODELS`.
    """
    if name not in MODELS:
        raise InputError(
            "'{model}' does not run in a page.",
            "The models that do are {models}.",
            "Name one of them.",
            model=name,
            models=", ".join(MODELS),
        )
    exact = _script(name, _content(name, rounded=False))
    return exact if len(exact) <= MOST else _script(name, _content(name, rounded=True))


def most_bytes(name: str) -> int:
    """Return the bytes that the file of a model has at most, known before it is packed: those of its weights, or `MOST`.

    >>> most_bytes("translator-en-es") == MOST
    True
    """
    return min((shipped_folder() / name / "model.safetensors").stat().st_size, MOST)


def pack_apart(name: str) -> bytes:
    """Return the file of a model, packed in a process of its own, last in line for the processor; the same for everybody, so it is packed once.

    Raises:
        InputError: that process failed, or took longer than `LONGEST`.
    """
    with _ONE:
        return _packed_apart(name)


@functools.cache
def _packed_apart(name: str) -> bytes:
    one_core = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, "-c", f"import os; os.nice(19); {_PROGRAM}", name]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            cwd=ROOT,
            env=os.environ | one_core,
            stdin=subprocess.DEVNULL,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            "{model} was not packed for the browser within {minutes:g} minutes.",
            "A process of its own packs it, last in line for the processor: the server is busy.",
            "Try again later, or save the lesson without this model.",
            model=name,
            minutes=LONGEST / 60,
        ) from error
    if done.returncode:
        raise InputError(
            "{model} could not be packed for the browser.",
            "A process of its own packs it, which needs some 600 MB of memory.",
            "Try again, or save the lesson without this model.",
            model=name,
        )
    return done.stdout


def _content(name: str, *, rounded: bool) -> bytes:
    """Return four parts, each after its length: the description, scales and high bytes of the numbers, deflated, and their low bytes."""
    model, stored = open_model(name), find_weights(shipped_folder() / name)
    tensors: list[tuple[str, list[int], str]] = []
    scales, high, low = bytearray(), bytearray(), bytearray()
    moments = second_moments(model) if rounded else None
    for weight in sorted(stored.entries):
        if weight.endswith(SCALE) or weight.startswith(UNUSED):
            continue
        kind, scale, numbers = _numbers(weight, stored, model, moments)
        tensors.append((weight, list(stored.entries[weight].shape), kind))
        scales += scale
        halves = numbers.view(np.uint8).reshape(-1, numbers.itemsize)
        high += halves[:, -1].tobytes()
        low += halves[:, :-1].tobytes()
    described = {
        "name": name,
        "family": model.family,
        "config": asdict(model.config),
        "ids": {mark: getattr(model.tokenizer, mark) for mark in ("start", "end", "pad", "mask")},
        "tokenizer": tokenizer_rules(model.tokenizer),
        "tensors": tensors,
    }
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_HUFFMAN_ONLY)
    parts = (
        zlib.compress(json.dumps(described, ensure_ascii=False).encode(), 9),
        zlib.compress(bytes(scales), 9),
        packer.compress(bytes(high)) + packer.flush(),
        bytes(low),
    )
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def tokenizer_rules(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the rules of a tokenizer as the browser's reads them: its tokens in the order of their ids, its merges."""
    rules = json.loads(tokenizer.to_json())
    vocabulary = rules["model"]["vocab"]
    return {
        "type": rules["model"]["type"],
        "tokens": sorted(vocabulary, key=vocabulary.__getitem__),
        "merges": rules["model"].get("merges", []),
        "space": rules["pre_tokenizer"].get("add_prefix_space", False),
        "special": [token["content"] for token in rules["added_tokens"]],
    }


def _numbers(
    weight: str, stored: Weights, model: Model, moments: Mapping[str, NDArray[np.float64]] | None
) -> tuple[str, bytes, NDArray[np.generic]]:
    """Return how a weight is written, the scales of its rows (float32), and its numbers: float16, bytes or, where there are `moments`, 16-bit steps."""
    values = stored.read(weight).numpy()
    if stored.entries[weight].dtype == "I8":
        return "byte", stored.read(weight + SCALE).numpy().astype("<f4").tobytes(), values.astype(np.int8)
    if moments is not None and values.ndim == 2:
        scales = scales_of(weight, values, model)
        return "step", scales.astype("<f4").tobytes(), in_steps(values, scales, moments.get(weight))
    return "half", b"", values.astype("<f2")


def _script(name: str, content: bytes) -> bytes:
    """Return the content as a template literal of a script; only what would end or change the literal is escaped."""
    for raw, escaped in ((b"\\", b"\\\\"), (b"`", b"\\`"), (b"\r", b"\\r"), (b"${", b"\\${")):
        content = content.replace(raw, escaped)
    return b"liveModel(%s, `%s`);\n" % (json.dumps(name).encode(), content)


def write(name: str, folder: Path) -> int:
    """Write the file of a model into a folder and return its bytes."""
    return (folder / f"{name}.js").write_bytes(pack(name))
