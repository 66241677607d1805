"""assets/MANIFEST.toml: what ships, file by file, and under which terms."""

from __future__ import annotations

import functools
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.checkpoints.files import find_file, printable
from core.data.home import assets
from core.errors import InputError
from core.wording import mark

HEAD = """\
# What ships in models/. `python -m core.checkpoints.store` writes the files, their sizes and sums, and the command from
# each model's training.json; licence and attribution are kept as they stand here.
"""
LICENCE = "Apache-2.0"
REMAKE = mark(
    "Fetch it again (git checkout -- assets); if you made it yourself, run python -m core.checkpoints.store."
)
RULE = mark("Shipped files are used only if they are exactly those of assets/MANIFEST.toml.")


def shipped_folder() -> Path:
    """Return the folder of the shipped models: part of the installed package, whatever the working directory."""
    return assets("models")


@dataclass(frozen=True)
class File:
    """Shipped file: its sha256 and its size in bytes."""

    sha256: str
    bytes: int

    @classmethod
    def of_path(cls, path: Path) -> File:
        with path.open("rb") as file:
            return cls(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """Entry of one model: licence, source of its data, the command that made it, its files."""

    licence: str = LICENCE
    attribution: str = ""
    command: str = ""
    files: Mapping[str, File] = field(default_factory=dict)


def read_manifest(models: Path) -> dict[str, Shipped]:
    """Return the entries of the MANIFEST.toml of a folder of models, {} if there is none.

    Raises InputError if the manifest itself cannot be read.
    """
    path = models.parent / "MANIFEST.toml"
    if not path.is_file():
        return {}
    now = path.stat()
    return dict(_parsed(path, now.st_mtime_ns, now.st_size))


@functools.lru_cache(8)
def _parsed(path: Path, *_: int) -> Mapping[str, Shipped]:
    """Return the entries of a manifest; time and size of the file are part of the key of the cache."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("models", {})
        return {name: _entry(table) for name, table in tables.items()}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            "{file} cannot be read ({kind}).",
            RULE,
            REMAKE,
            file="assets/MANIFEST.toml",
            kind=type(error).__name__,
        ) from None


def _entry(table: Mapping[str, Any]) -> Shipped:
    files = table.get("files", {})
    words = {name: str(table[name]) for name in ("licence", "attribution", "command") if name in table}
    return Shipped(**words, files={name: File(**about) for name, about in files.items()})


def write_manifest(models: Path) -> dict[str, Shipped]:
    """Write the MANIFEST.toml of a folder of models for the files that are there now, and return its entries; the
    licence terms of known models are kept.
    """
    known = read_manifest(models)
    folders = (
        sorted(path for path in models.iterdir() if (path / "config.json").is_file())
        if models.is_dir()
        else []
    )
    entries = {path.name: _as_it_is(path, known.get(path.name, Shipped())) for path in folders}
    entries |= {name: entry for name, entry in known.items() if name not in entries}
    text = HEAD + "".join(_table(name, entries[name]) for name in sorted(entries))
    new = models.parent / "MANIFEST.toml.new"
    new.write_text(text, encoding="utf-8")
    new.replace(models.parent / "MANIFEST.toml")
    return entries


def _as_it_is(folder: Path, entry: Shipped) -> Shipped:
    files = {path.name: File.of_path(path) for path in sorted(folder.iterdir()) if path.is_file()}
    record = folder / "training.json"
    command = json.loads(record.read_text(encoding="utf-8")).get("command") if record.is_file() else None
    return replace(entry, files=files, command=command or entry.command)


def _table(name: str, entry: Shipped) -> str:
    lines = ["", f"[models.{_quoted(name)}]"]
    lines += [f"{key} = {_quoted(getattr(entry, key))}" for key in ("licence", "attribution", "command")]
    for file, about in entry.files.items():
        lines += [
            "",
            f"[models.{_quoted(name)}.files.{_quoted(file)}]",
            f"sha256 = {_quoted(about.sha256)}",
            f"bytes = {about.bytes}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def verify(name: str, models: Path | None = None) -> Path:
    """Return the folder of a shipped model after checking that all its files are complete and unaltered.

    Raises InputError naming the file that is missing, cut off or altered, or a model that is not in the manifest.
    """
    models = shipped_folder() if models is None else models
    entry, folder = read_manifest(models).get(name), models / name
    if entry is None:
        raise InputError(
            "The model {name} is not in assets/MANIFEST.toml.", RULE, REMAKE, name=printable(name)
        )
    if not entry.files:
        raise InputError(
            "The files of {name} are not listed in assets/MANIFEST.toml.", RULE, REMAKE, name=name
        )
    for file, about in entry.files.items():
        path = find_file(folder, file)
        where = f"{name}/{file}"
        if path is None:
            raise InputError("{file} is missing.", RULE, REMAKE, file=where)
        size = path.stat().st_size
        if size < about.bytes:
            raise InputError(
                "{file} is cut off: {size:,} of {total:,} bytes.",
                RULE,
                REMAKE,
                file=where,
                size=size,
                total=about.bytes,
            )
        if File.of_path(path) != about:
            raise InputError("{file} was altered: it is not the file that shipped.", RULE, REMAKE, file=where)
    return folder
