"""Sounds drawn for the training of a speller: words in many voices, faster and slower, higher and lower, in noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.data.speech.clips import DIGITS, WORDS, Clips
from core.data.speech.reader import places
from core.data.speech.waves import HOP, LOUDNESS, N_BANDS, RATE, Wave, from_bytes

MOST_WORDS = 6
"""In one sound."""
PAUSES = (0.02, 0.35)
SPEEDS, SIZES = (0.7, 1.5), (0.88, 1.14)
"""Times as fast; and the sound as a whole played faster or slower, as a smaller or larger throat has it."""
NOISES, CLEAN = (0.003, 0.4), 0.25
"""Noise as a share of the speech, drawn by equal factors; so often there is none."""
GAINS = (0.6, 1.7)
HIDDEN_BANDS = 4
"""At most so many neighbouring bands are silenced (Park et al. 2019)."""


class Drawing:
    """Rows drawn from clips: what a network is given of a sound, and what is said in it."""

    def __init__(self, clips: Clips) -> None:
        self.clips = clips
        self.voices: dict[str, list[str]] = {}
        for word, voice in clips:
            self.voices.setdefault(word, []).append(voice)
        known = np.array([2.0 if word in DIGITS else 1.0 for word in WORDS])
        self.share = known / known.sum()

    def row(self, rng: np.random.Generator, n_words: int, n_frames: int) -> tuple[NDArray[np.float32], str]:
        """n words in one voice, changed in all the ways above: (place, number) and the words.

        A sound that is read in frames that lie closer together is as one that is spoken more slowly.
        """
        words = [str(word) for word in rng.choice(WORDS, n_words, p=self.share)]
        voice = str(rng.choice(self.voices[words[0]])).split(" ")[0]
        size = between(rng, SIZES)
        wave = joined([self._clip(rng, word, voice, size) for word in words], rng)
        wave *= np.float32(between(rng, GAINS))
        if rng.random() > CLEAN:
            loud = between(rng, NOISES) * LOUDNESS
            wave += rng.standard_normal(len(wave), dtype=np.float32) * np.float32(loud)
        values = places(wave, n_frames, hop=round(HOP * between(rng, SPEEDS)))
        hides, first = rng.integers(0, HIDDEN_BANDS + 1), rng.integers(0, N_BANDS)
        values.reshape(len(values), n_frames, N_BANDS)[..., first : first + hides] = 0.0
        return values, " ".join(words)

    def _clip(self, rng: np.random.Generator, word: str, voice: str, size: float) -> Wave:
        mine = [one for one in self.voices[word] if one.split(" ")[0] == voice]
        wave = from_bytes(self.clips[word, str(rng.choice(mine))])
        at = np.arange(0, len(wave) - 1, size)
        return np.interp(at, np.arange(len(wave)), wave).astype(np.float32)


def joined(clips: Sequence[Wave], rng: np.random.Generator) -> Wave:
    """Clips with pauses of random length before, between and behind them."""
    parts = [silence(rng)]
    for clip in clips:
        parts += [clip, silence(rng)]
    return np.concatenate(parts)


def silence(rng: np.random.Generator) -> Wave:
    return np.zeros(int(RATE * rng.uniform(*PAUSES)), dtype=np.float32)


def between(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    """A factor between two, drawn so that equal factors are equally likely."""
    return float(np.exp(rng.uniform(*np.log(ends))))
