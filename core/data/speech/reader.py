"""Sounds written as a short text, `4 7 2 voice=Annie speed=1.2 noise=0.1 seed=3`, and their reader."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.speech.clips import DIGITS, HELD_OUT_VOICES, TRAINING_VOICES, WORDS, clip
from core.data.speech.waves import FLOOR, HOP, LOUDNESS, N_BANDS, RATE, Wave, log_mel, stretch
from core.errors import InputError
from core.text.tokenizer import Encoded, check_text

VOICES = (*TRAINING_VOICES, *HELD_OUT_VOICES)
PAUSE = 0.12
"""Seconds of silence between words and at both ends, at speed 1."""
RANGES = {"speed": (0.5, 2.0), "noise": (0.0, 1.0), "seed": (0, 9999)}
"""The least and the largest value of each setting; noise 1 is as loud as speech."""
_PIECE = re.compile(r"\w+=[^\s,;]*|[^\s,;.!?]+")
_SCALE = 1.0, 1.5
"""Mean and spread of the numbers of a frame in the training: what a network is given is about 0, about 1 away."""


@dataclass(frozen=True)
class Spoken:
    """A request for speech: `words`, with the span of each in the text as typed, and the settings of the voice."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()
    voice: str = TRAINING_VOICES[0]
    speed: float = 1.0
    noise: float = 0.0
    seed: int = 0

    @property
    def transcript(self) -> str:
        """Return the words as they are spelled, joined by spaces.

        >>> read("4 7 tree").transcript
        'four seven tree'
        """
        return " ".join(self.words)

    def to_text(self) -> str:
        """Return the request as a text, without the settings that have their default value.

        >>> read("47 TREE seed=3 voice=john, speed=1").to_text()
        '4 7 tree voice=John seed=3'
        """
        usual = Spoken(())
        names = [str(DIGITS.index(word)) if word in DIGITS else word for word in self.words]
        settings = [
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name in ("voice", "speed", "noise", "seed")
            if (value := getattr(self, name)) != getattr(usual, name)
        ]
        return " ".join((*names, *settings))


def read(text: str) -> Spoken:
    """Parse a text into a request for speech: words and digits, and `voice`, `speed`, `noise`, `seed`.

    Raises InputError for a word without a clip, a setting that is none or out of its range, and a text without words.

    >>> read("4 2 noise=0.1").words, read("seven").noise
    (('four', 'two'), 0.0)
    """
    check_text(text)
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    found = Spoken(())
    for piece in _PIECE.finditer(text):
        typed = piece.group()
        if "=" in typed:
            found = replace(found, **_setting(*typed.split("=", 1)))
            continue
        parts = [*typed] if typed.isascii() and typed.isdigit() else [typed]
        for i, part in enumerate(parts):
            words.append(_word(part))
            spans.append((piece.start() + i, piece.start() + i + 1) if len(parts) > 1 else piece.span())
    if not words:
        raise InputError("The text has no word.", "A sound is made of words and digits.", "Type 4 7 2.")
    return replace(found, words=tuple(words), spans=tuple(spans))


def synthesize(spoken: Spoken) -> tuple[Wave, list[tuple[float, float]]]:
    """Return the sound of a request, 8000 samples a second, and the (start, end) of each word in it, in seconds.

    Clips are joined with pauses, the whole is stretched to the speed, and noise is added, as loud as `noise` times the speech.
    """
    pause, wave, ends = np.zeros(int(PAUSE * RATE), dtype=np.float32), [], []
    at = len(pause)
    for word in spoken.words:
        said = clip(word, spoken.voice)
        wave += [pause, said]
        ends.append((at / RATE / spoken.speed, (at + len(said)) / RATE / spoken.speed))
        at += len(said) + len(pause)
    whole = stretch(np.concatenate((*wave, pause)), spoken.speed)
    if spoken.noise:
        draw = np.random.default_rng(spoken.seed).standard_normal(len(whole)).astype(np.float32)
        whole = whole + draw * np.float32(LOUDNESS * spoken.noise)
    return whole.clip(-1, 1), ends


def network_input(wave: Wave, n_frames: int, n_bands: int = N_BANDS, hop: int = HOP) -> NDArray[np.float32]:
    """Return the input of a network for a sound: (position, n_frames * band), the frames of each position one after another.

    The last position is filled up with silence.

    >>> network_input(np.zeros(RATE, dtype=np.float32), 4).shape
    (13, 96)
    """
    frames = (log_mel(wave, hop, n_bands) + _SCALE[0]) / np.float32(_SCALE[1])
    missing = -len(frames) % n_frames
    silent = (math.log10(FLOOR) + _SCALE[0]) / _SCALE[1]
    filled = np.pad(frames, ((0, missing), (0, 0)), constant_values=silent)
    return filled.reshape(-1, n_frames * n_bands)


def seconds(n_places: int, n_frames: int) -> float:
    """Return the duration of so many positions, in seconds."""
    return n_places * n_frames * HOP / RATE


@dataclass(frozen=True)
class SpeechReader:
    """A reader of texts that describe a sound: a token is a position of `n_frames` frames, named by its second.

    At most `n_ctx` positions are read. The span of a token is the word spoken at its middle, in a pause the nearest one:
    so attention by word has a column for each word that was typed.
    """

    n_frames: int
    n_ctx: int
    n_bands: int = N_BANDS

    @property
    def example(self) -> str:
        return "4 7"

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Encode the sound that a text describes. Raises InputError for a text that describes none, or one that is too long."""
        return _encoded(text, self)


@lru_cache(maxsize=32)
def _encoded(text: str, reader: SpeechReader) -> Encoded:
    spoken, n_frames, n_ctx = read(text), reader.n_frames, reader.n_ctx
    longest = seconds(n_ctx, n_frames)
    if len(spoken.words) > 4 * longest:
        raise _too_long(f"{len(spoken.words)} words", longest)
    wave, ends = synthesize(spoken)
    values = network_input(wave, n_frames, reader.n_bands)
    if len(values) > n_ctx:
        raise _too_long(f"{len(wave) / RATE:.1f} seconds", longest)
    starts = [seconds(i, n_frames) for i in range(len(values))]
    middles = [start + seconds(1, n_frames) / 2 for start in starts]
    nearest = [min(range(len(ends)), key=lambda i: max(ends[i][0] - at, at - ends[i][1])) for at in middles]
    spans = tuple(spoken.spans[i] for i in nearest)
    return Encoded(
        tuple(range(len(values))), tuple(f"{start:.2f} s" for start in starts), spans, values=values
    )


def _too_long(length: str, longest: float) -> InputError:
    return InputError(
        "The sound is {length} long.",
        "At most {longest:.1f} seconds are read.",
        "Say fewer words, or faster.",
        length=length,
        longest=longest,
    )


def _word(typed: str) -> str:
    word = DIGITS[int(typed)] if typed in "0123456789" and len(typed) == 1 else typed.lower()
    if word not in WORDS:
        raise InputError(
            "There is no clip of the word '{typed}'.",
            "These are spoken: the digits, {names}.",
            "Type some of these.",
            typed=typed[:40],
            names=", ".join(WORDS[len(DIGITS) :]),
        )
    return word


def _setting(name: str, value: str) -> dict[str, Any]:
    name = name.lower()
    if name == "voice":
        for voice in VOICES:
            if value.lower() == voice.lower():
                return {"voice": voice}
        raise InputError(
            "There is no voice '{value}'.",
            "There are {names}.",
            "Choose one of them.",
            value=value[:40],
            names=", ".join(VOICES),
        )
    if name not in RANGES:
        raise InputError(
            "'{name}' is not a setting.",
            "There are voice, speed, noise and seed.",
            "Write speed=1.2, for example.",
            name=name[:40],
        )
    low, high = RANGES[name]
    try:
        number = int(value) if name == "seed" else float(value)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise InputError(
            "{name}={value} cannot be used.",
            "{name} is a number from {low} to {high}.",
            "Write {name}={low2}.",
            name=name,
            value=value[:40],
            low=low,
            high=high,
            low2=max(low, 1),
        )
    return {name: number}
