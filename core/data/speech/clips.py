"""Clips of words in several voices, eight bits a sample, all in one file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.data.home import assets
from core.data.speech.waves import Wave, from_bytes, to_bytes
from core.errors import InputError

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
WORDS = (
    *DIGITS,
    *(
        "yes",
        "no",
        "go",
        "stop",
        "left",
        "right",
        "up",
        "down",
        "red",
        "blue",
        "green",
        "black",
        "white",
        "cat",
    ),
    *(
        "dog",
        "bird",
        "fish",
        "tree",
        "house",
        "sun",
        "moon",
        "star",
        "rain",
        "snow",
        "wind",
        "fire",
        "sand",
        "ship",
    ),
    *("boat", "book", "door", "hand", "milk", "bread", "hello", "world", "music", "water", "river", "apple"),
    *(
        "table",
        "happy",
        "yellow",
        "morning",
        "lemon",
        "robot",
        "train",
        "garden",
        "orange",
        "pencil",
        "winter",
    ),
    *("summer", "forest", "silver"),
)
"""The words that are spoken: the digits, and short words."""
HEARD, KEPT_OUT = ("Annie", "Andy", "Max"), ("Linda", "John", "Steph")
"""The voices that ship, by the names that espeak-ng gives them: those of the training, and those that it never hears."""

Clips = Mapping[tuple[str, str], NDArray[np.uint8]]
"""By word and voice."""


def write(path: Path, clips: Mapping[tuple[str, str], Wave]) -> None:
    """All clips behind each other, and what and how long each is."""
    names = [" ".join(name) for name in clips]
    codes = [to_bytes(wave) for wave in clips.values()]
    np.savez_compressed(
        path,
        names=np.array(names),
        lengths=np.array([len(one) for one in codes]),
        codes=np.concatenate(codes),
    )


def read(path: Path) -> Clips:
    """Return the clips of a file, still in bytes.

    Raises InputError where the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = np.split(file["codes"], np.cumsum(file["lengths"])[:-1])
            names = [tuple(name.split(" ", 1)) for name in file["names"].tolist()]
        return dict(zip(names, parts, strict=True))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"The clips of spoken words, {path.name}, cannot be read ({type(error).__name__}).",
            "It is an .npz with names, lengths and codes.",
            "Take the file from the repository again (git checkout -- assets).",
        ) from None


@cache
def shipped() -> Clips:
    """Each word once in each voice that ships.

    >>> len(shipped()) == len(WORDS) * len((*HEARD, *KEPT_OUT))
    True
    """
    return read(assets("sounds", "words.npz"))


def clip(word: str, voice: str) -> Wave:
    """One word in one voice, from the clips that ship."""
    return from_bytes(shipped()[word, voice])
