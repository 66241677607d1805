"""Reading the small files of a model folder: by base name, inside the folder, within a size, as strict JSON."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.wording import mark

MB = 2**20
REMEDY = mark("Download or export the model again.")


def find_file(folder: Path, name: str, part: str = "") -> Path | None:
    """Return the path of a file with this name in the folder, or in its subfolder `part`; None if there is none.

    Its real place must be in the folder: a link may not lead out. One exception: a snapshot of the Hub's cache
    (`models--OWNER--NAME/snapshots/REVISION`) holds links into its own `blobs`.
    Raises InputError for anything that is not a plain file there.
    """
    if not name or Path(name).name != name or "\\" in name or "\0" in name or name in (".", ".."):
        raise InputError(
            "'{name}' is not the name of a file in the folder.",
            "Only files of the model's own folder are read.",
            "Put all files of the model into one folder.",
            name=printable(name),
        )
    path = folder / part / name
    if not (path.is_symlink() or path.exists()):
        return None
    real, home = (
        Path(os.path.realpath(place)) for place in (path, folder)
    )  # links in a circle lead to no file, and raise nothing
    if real.parent != home / part and not (
        home.parent.name == "snapshots" and real.is_relative_to(home.parent.parent / "blobs")
    ):
        raise InputError(
            "{name} is a link that leads out of the folder.",
            "Only files of the model's own folder are read.",
            "Copy it in.",
            name=name,
        )
    if not real.exists() or not stat.S_ISREG(real.stat().st_mode):
        raise InputError(
            "{name} is not a file.",
            "A model is read from plain files of its folder; a link must lead to one of them.",
            "Put the real file there.",
            name=name,
        )
    return real


def need(folder: Path, name: str, remedy: str = REMEDY) -> Path:
    """Return the file of this base name in the folder; raise InputError if it is missing."""
    path = find_file(folder, name)
    if path is None:
        raise InputError(
            "{name} is missing in {folder}.",
            "A model needs it.",
            remedy,
            name=name,
            folder=printable(folder.name),
        )
    return path


def read_beginning(path: Path, limit: int = MB) -> str:
    """Return the first `limit` bytes of a text; bytes that are no UTF-8 are marked."""
    with path.open("rb") as file:
        return file.read(limit).decode("utf-8", errors="replace")


def small_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file that may have at most `limit` bytes."""
    size = path.stat().st_size
    if size > limit:
        raise InputError(
            "{name} has {size:,} bytes.",
            "It may have at most {limit:,}.",
            "Download or export the model again.",
            name=path.name,
            size=size,
            limit=limit,
        )
    with path.open("rb") as file:
        return file.read(limit)


def strict_json(data: bytes, name: str) -> Any:
    """Return the value of JSON without repeated keys, without NaN and Infinity, not nested beyond what the parser can read.

    >>> strict_json(b'{"a": 1, "a": 2}', "x.json")
    Traceback (most recent call last):
    core.errors.InputError: x.json cannot be read: the key 'a' occurs twice. It must be one JSON object. Download or export it again.
    """
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError:
        problem: str = mark("it is not UTF-8 text")
    except RecursionError:
        problem = mark("it is nested too deeply")
    except json.JSONDecodeError as error:
        problem = f"it is not JSON ({error.msg} at line {error.lineno})"
    except ValueError as error:
        problem = str(error) if isinstance(error, _Refused) else mark("it holds a number of too many digits")
    raise InputError(
        "{name} cannot be read: {problem}.",
        "It must be one JSON object.",
        "Download or export it again.",
        name=name,
        problem=problem,
    )


def json_object(folder: Path, name: str, limit: int = MB) -> dict[str, Any]:
    """Return the object in the JSON file `name` of the folder. Raises InputError if there is none, or the file has more than `limit` bytes."""
    value = strict_json(small_bytes(need(folder, name), limit), name)
    if not isinstance(value, dict):
        raise InputError(
            "{name} holds no JSON object.",
            "It must be one JSON object.",
            "Download or export it again.",
            name=name,
        )
    return value


def printable(text: str, limit: int = 80) -> str:
    """Return a name from a foreign file, fit for a sentence: printable, short.

    >>> printable("a\\nb")
    'a\\\\nb'
    """
    plain = text if text.isprintable() else ascii(text)[1:-1]
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def short(phrase: str, limit: int) -> str:
    """Return part of a sentence as it is where it is printable and short, so that it can be worded; else what `printable` makes of it."""
    plain = printable(str(phrase), limit)
    return phrase if plain == phrase else plain


@dataclass(frozen=True)
class FileStates:
    """Files that a model reads while it runs, with their states when it was opened.

    One that is gone, or another file of its name, does no harm: what is mapped is still there. One that is written to does.

    >>> bool(FileStates.now([]))
    True
    """

    states: Mapping[Path, tuple[int, int, int]] = field(default_factory=dict)

    @classmethod
    def now(cls, files: Iterable[Path]) -> FileStates:
        return cls({file: state(file) for file in set(files)})

    def __bool__(self) -> bool:
        for file, before in self.states.items():
            with suppress(OSError):
                now = state(file)
                if now[0] == before[0] and now != before:
                    return False
        return True


def state(file: Path | int) -> tuple[int, int, int]:
    """Return inode, size in bytes and time of change in ns of a file; of an open one by its number."""
    status = os.stat(file)
    return status.st_ino, status.st_size, status.st_mtime_ns


class _Refused(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise _Refused(f"the key '{printable(twice)}' occurs twice")
    return values


def _no_constant(text: str) -> float:
    raise _Refused(f"{text} is not a number")
