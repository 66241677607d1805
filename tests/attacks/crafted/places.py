"""Folders whose files are links, pipes, folders or nothing, and files that change between the judging and the reading."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save

from crafted.case import CONFIG, TOKENIZER, WEIGHTS, Case, folder, good
from crafted.packed_files import packed


def outside(name: str) -> Callable[[Path], object]:
    """The file lies beside the folder, and a link in it leads there."""

    def move(place: Path) -> None:
        (place / name).rename(place.parent / name)
        (place / name).symlink_to(place.parent / name)

    return move


def linked(name: str, to: str) -> Callable[[Path], object]:
    def link(place: Path) -> None:
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(to)

    return link


def pipe(name: str) -> Callable[[Path], object]:
    def make(place: Path) -> None:
        (place / name).unlink()
        os.mkfifo(place / name)

    return make


def within(name: str) -> Callable[[Path], object]:
    """A folder of that name, with the file in it."""

    def make(place: Path) -> None:
        data = (place / name).read_bytes()
        (place / name).unlink()
        (place / name).mkdir()
        (place / name / name).write_bytes(data)

    return make


def inside(name: str) -> Callable[[Path], object]:
    """A link to another file of the same folder."""

    def link(place: Path) -> None:
        (place / name).rename(place / f"real.{name}")
        (place / name).symlink_to(f"real.{name}")

    return link


def snapshot(place: Path) -> None:
    """As the Hub's cache lays a model out: links into its own blobs."""
    blobs = place.parent / "models--a--b" / "blobs"
    blobs.mkdir(parents=True)
    real = place.parent / "models--a--b" / "snapshots" / "1"
    real.mkdir(parents=True)
    for i, (name, data) in enumerate(good("gemma").items()):
        (blobs / str(i)).write_bytes(data)
        (real / name).symlink_to(f"../../blobs/{i}")
    place.symlink_to(real)


def one_by_one(place: Path) -> None:
    """A file of a terabyte that is all hole."""
    with (place / WEIGHTS).open("r+b") as file:
        file.truncate(2**40)


def only(name: str, data: bytes = b"") -> Callable[[Path], object]:
    def write(place: Path) -> None:
        place.mkdir()
        (place / name).write_bytes(data)

    return write


def two(place: Path) -> None:
    packed()(place)
    shutil.copy(place / "it.gguf", place / "that.gguf")


LIES: dict[str, tuple[Any, ...]] = {
    f"{kind}: {name} {how}": (folder(kind, after=made(name)), name, *words)
    for kind, name in (("llama", CONFIG), ("t5", TOKENIZER), ("vit", WEIGHTS))
    for how, made, words in (
        ("outside", outside, ["leads out of the folder"]),
        ("is a pipe", pipe, ["is not a file"]),
        ("is a folder", within, ["is not a file"]),
        ("leads to itself", lambda name: linked(name, name), ["is not a file"]),
        ("leads nowhere", lambda name: linked(name, "nowhere"), ["is not a file"]),
        ("is /dev/zero", lambda name: linked(name, "/dev/zero"), ["leads out of the folder"]),
        (
            "leads out by dots",
            lambda name: linked(name, "../../../../etc/passwd"),
            ["leads out of the folder"],
        ),
    )
}


def folder_within(kind: str) -> Callable[[Path], object]:
    """Return how a good model is written two folders below."""
    return lambda place: folder(kind)(place / "publisher" / "it")


def deep(place: Path) -> None:
    """Write a link that leads back to its own folder."""
    place.mkdir()
    (place / "again").symlink_to(place)


LIES |= {
    "roberta: a link within": (folder("roberta", after=inside(WEIGHTS)),),
    "gemma: a snapshot of the Hub": (snapshot,),
    "marian: a terabyte of hole": (folder("marian", after=one_by_one), "bytes follow"),
    "bert: vocab.txt outside": (
        folder("bert", without=(TOKENIZER,), files={"vocab.txt": b"[UNK]\n"}, after=outside("vocab.txt")),
        "vocab.txt is a link",
    ),
    "bert: a card that leads out": (
        folder("bert", after=linked("README.md", "/etc/hostname")),
        "README.md is a link",
    ),
    "bert: a card that is no text": (folder("bert", files={"README.md": b"\xff\xfe\0" * 99}),),
    "bert: a card of 2 MB": (folder("bert", files={"README.md": b"x" * 2**21}),),
    "own: modules of code": (
        folder(
            "gpt2",
            files={
                f"{name}.py": b"import os; os.mkdir('canary')\n"
                for name in ("__init__", "tokenizers", "torch", "evil", "json", "sitecustomize")
            },
        ),
    ),
    "nothing": (lambda place: place.mkdir(), "config.json is missing"),
    "a file for a folder": (lambda place: place.write_bytes(b"{}"), "is a file"),
    "a folder of folders": (folder_within("gpt2"), "it holds folders of models"),
    "folders in folders without an end": (deep, "config.json is missing"),
    "nowhere": (lambda place: None, "There is no folder"),
    "a circle for a folder": (lambda place: place.symlink_to(place.name), "There is no folder"),
    "only a config": (only(CONFIG, good("t5")[CONFIG]), "model.safetensors is missing"),
    "only a pipe of weights": (
        lambda place: (place.mkdir(), os.mkfifo(place / "it.gguf")),
        "it.gguf is not a file",
    ),
    "two GGUF files": (two, "holds 2 GGUF files"),
    "only a zip": (only("model.zip", b"PK\x03\x04"), "config.json is missing"),
}


def wider(place: Path) -> None:
    held = load((place / WEIGHTS).read_bytes())
    (place / WEIGHTS).write_bytes(save({name: torch.cat([value, value]) for name, value in held.items()}))


def other(place: Path) -> None:
    (place / WEIGHTS).write_bytes(good("t5")[WEIGHTS])


def shorter(name: str) -> Callable[[Path], object]:
    return lambda place: (place / name).write_bytes((place / name).read_bytes()[:-40])


def gone(name: str) -> Callable[[Path], object]:
    return lambda place: (place / name).unlink()


CHANGED: dict[str, tuple[Any, ...]] = {
    "wider": ("llama", wider, "cannot be read from model.safetensors"),
    "another model's": ("roberta", other, "cannot be read from model.safetensors"),
    "cut off": ("vit", shorter(WEIGHTS), "cannot be read from model.safetensors"),
    "gone": ("albert", gone(WEIGHTS), "cannot be read from model.safetensors"),
    "a pipe": ("modernbert", pipe(WEIGHTS), "cannot be read from model.safetensors"),
    "a link elsewhere": ("marian", linked(WEIGHTS, "/dev/null"), "cannot be read from model.safetensors"),
    "a web page": (
        "deberta-v2",
        lambda place: (place / WEIGHTS).write_bytes(b"<html>"),
        "cannot be read from model.safetensors",
    ),
    "another tokenizer": ("gpt2", lambda place: (place / TOKENIZER).write_bytes(b"{")),
    "another config": ("gemma3_text", lambda place: (place / CONFIG).write_bytes(b"{}")),
}

CASES = [
    *(Case(name, write, tuple(words)) for name, (write, *words) in LIES.items()),
    *(
        Case(f"{kind}: its weights are, when read, {name}", folder(kind), tuple(words), late=True, then=then)
        for name, (kind, then, *words) in CHANGED.items()
    ),
    Case("GGUF: cut off when it is read", packed(), ("are cut off",), late=True, then=shorter("it.gguf")),
    Case("GGUF: gone when it is read", packed(), ("it.gguf",), late=True, then=gone("it.gguf")),
]
