"""Clips of words in several voices, eight bits a sample, in one file."""

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
TRAINING_VOICES, HELD_OUT_VOICES = ("Annie", "Andy", "Max"), ("Linda", "John", "Steph")
"""The voices that ship, by the names that espeak-ng gives them: those of the training, and those that it never hears."""

Clips = Mapping[tuple[str, str], NDArray[np.uint8]]
"""By word and voice."""


def write(path: Path, clips: Mapping[tuple[str, str], Wave]) -> None:
    """Write all clips to one .npz file: their names, "word voice", their lengths, and the bytes of all one after another."""
    names = [" ".join(name) for name in clips]
    codes = [to_bytes(wave) for wave in clips.values()]
    np.savez_compressed(
        path,
        names=np.array(names),
        lengths=np.array([len(one) for one in codes]),
        codes=np.concatenate(codes),
    )


def read(path: Path) -> Clips:
    """Return the clips of a file by (word, voice), as bytes.

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
def shipped_clips() -> Clips:
    """Return the clips that ship, by (word, voice): each word once in each of the six voices.

    >>> len(shipped_clips()) == len(WORDS) * len((*TRAINING_VOICES, *HELD_OUT_VOICES))
    True
    """
    return read(assets("sounds", "words.npz"))


def clip(word: str, voice: str) -> Wave:
    """Return the sound of one word in one voice, from the clips that ship."""
    return from_bytes(shipped_clips()[word, voice])
