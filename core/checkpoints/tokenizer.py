"""The tokenizer of a folder. A foreign one is tried in a limited child process before this process loads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers

from core.checkpoints.files import MB, inside, need, shown
from core.errors import InputError
from core.text import Tokenizer

FILE, VOCAB, MERGES = "tokenizer.json", "vocab.json", "merges.txt"
MAX_FILE, MAX_OUT = 32 * MB, 96 * MB
MEMORY, CPU, WALL = 1500 * MB, 5, 30.0
"""What the child may use: address space in bytes, seconds of processor, seconds on the clock."""

CHILD = Path(__file__).with_name("child.py")
PLACE = Path(tokenizers.__file__).parents[1]
RULE = "A tokenizer must load, encode and stay within limits in a process of its own first."
AGAIN = "Download or export the tokenizer again."


def shipped_tokenizer(folder: Path, ids: Mapping[str, int], n_rows: int) -> Tokenizer:
    """A tokenizer whose file was verified by its sum: loaded here and now."""
    tokenizer = _made(tokenizers.Tokenizer.from_file(str(need(folder, FILE))), ids)
    _check_rows(len(tokenizer), len(tokenizer) - 1, n_rows)
    return tokenizer


def read_tokenizer(folder: Path, ids: Mapping[str, int], n_rows: int) -> Tokenizer:
    """A foreign tokenizer.json, or GPT-2's vocab.json and merges.txt, after the child has tried it.

    Padding and truncation are taken off. Where the config names no end mark, `<|endoftext|>` serves if it is there.
    Raises InputError: missing, refused by the child, or an id beyond the rows of the model's table.
    """
    paths = _paths(folder)
    facts = try_in_child(paths, paths[0].name)
    _check_rows(facts["n_ids"], facts["largest_id"], n_rows)
    backend = tokenizers.Tokenizer.from_str(facts["tokenizer"])
    end = backend.token_to_id("<|endoftext|>")
    return _made(backend, ids if ids or end is None else {"start": end, "end": end})


def _made(backend: tokenizers.Tokenizer, ids: Mapping[str, int]) -> Tokenizer:
    return Tokenizer(backend, **ids)


def _paths(folder: Path) -> list[Path]:
    whole = inside(folder, FILE)
    paths = [whole] if whole else [path for path in (inside(folder, VOCAB), inside(folder, MERGES)) if path]
    if not whole and len(paths) < 2:
        wrong = f"{FILE} is missing in {shown(folder.name)}."
        raise InputError(wrong, f"A model needs it, or {VOCAB} and {MERGES}.", "Download or export the model again.")
    for path in paths:
        if path.stat().st_size > MAX_FILE:
            raise InputError(f"{path.name} has {path.stat().st_size:,} bytes.", f"At most {MAX_FILE:,} are read.", AGAIN)
    return paths


def try_in_child(paths: list[Path], name: str, *, memory: int = MEMORY, cpu: int = CPU, wall: float = WALL) -> dict[str, Any]:
    """What the child says about a tokenizer: the cleaned file and its ids. Raises InputError for every bad end."""
    limits = [str(PLACE), str(memory), str(cpu), str(MAX_OUT)]
    command = [sys.executable, "-I", str(CHILD), *limits, *map(str, paths)]
    calm = {key: value for key, value in os.environ.items() if key in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")}
    calm |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
    try:
        done = subprocess.run(command, env=calm, stdin=subprocess.DEVNULL, capture_output=True, timeout=wall, check=False)
        facts = json.loads(done.stdout) if done.returncode == 0 else None
    except subprocess.TimeoutExpired:
        raise _refused(name, "it does not end") from None
    except (OSError, ValueError):
        raise _refused(name, "it could not be tried") from None
    if facts is None:
        raise _refused(name, f"it breaks the limits of {cpu} seconds and {memory // MB:,} MB, or ends the process")
    if "problem" in facts:
        raise _refused(name, facts["problem"])
    return facts


def _refused(name: str, problem: str) -> InputError:
    return InputError(f"{name} is refused: {shown(problem, 250)}.", RULE, AGAIN)


def _check_rows(n_ids: int, largest: int, n_rows: int) -> None:
    if largest >= n_rows:
        raise InputError(
            f"The tokenizer has {n_ids:,} entries up to id {largest:,}, the model {n_rows:,} rows.",
            "Every token needs a row of the model's table.",
            "Take tokenizer and weights from the same model.",
        )
