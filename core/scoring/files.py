"""Checks of test data files: `.txt`, `.tsv`, `.jsonl`, `.npz`, each also `.xz`."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import InputError

FORMATS = (".txt", ".tsv", ".jsonl", ".npz")


def suffix(path: Path) -> str:
    """Return the format of a data file as a suffix, by its name and without .xz.

    >>> suffix(Path("valid.txt.xz"))
    '.txt'

    Raises InputError for another name.
    """
    inner = Path(path.stem).suffix if path.suffix == ".xz" else path.suffix
    if inner not in FORMATS:
        raise InputError(
            f"{path.name} has no known format.",
            f"evaluate reads {', '.join(FORMATS)}, each also with .xz.",
            "Give such a file.",
        )
    return inner


def check(path: Path, expected: str, content: str, model: str) -> None:
    """Check that `path` exists and has the format that this model is measured on. Raises InputError where not."""
    found = suffix(path)
    if not path.is_file():
        raise InputError(
            f"There is no file {path}.",
            "evaluate measures a model on a file.",
            "Check the path after --data.",
        )
    if found != expected:
        raise InputError(
            f"{path.name} is a {found} file.",
            f"{model} is measured on {expected}: {content}.",
            "Give such a file.",
        )


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn errors inside the block that come from a broken file into an InputError that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name} is not UTF-8 text ({error.reason}).", "Test data are UTF-8.", "Convert the file."
        ) from None
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(
            f"{path.name} cannot be unpacked ({error}).",
            "A name ending in .xz means an xz archive.",
            "Pack it again, or fetch it again.",
        ) from None


def check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise InputError(
            f"--limit is {limit}.",
            "At least one item is measured.",
            "Give a positive number, or leave it out.",
        )


def check_seed(seed: int | None, data: object) -> None:
    """Check a seed. Raises InputError for a negative one, and for one given together with a data file, whose items are fixed."""
    if seed is not None and (seed < 0 or data is not None):
        raise InputError(
            f"--seed is {seed}.",
            "It is a number from 0 on, for models that draw their own items; the items of a file are fixed.",
            "Leave --seed out, or leave --data out and give a number from 0 on.",
        )
