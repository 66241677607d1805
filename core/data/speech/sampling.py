"""Sounds sampled for the training of a speller: words in many voices, faster and slower, higher and lower, in noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.data.speech.clips import DIGITS, WORDS, Clips
from core.data.speech.reader import network_input
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


class RowSampler:
    """A sampler of training rows from clips: the frames that a network reads of a sound, and the words spoken in it."""

    def __init__(self, clips: Clips) -> None:
        self.clips = clips
        self.voices: dict[str, list[str]] = {}
        for word, voice in clips:
            self.voices.setdefault(word, []).append(voice)
        known = np.array([2.0 if word in DIGITS else 1.0 for word in WORDS])
        self.share = known / known.sum()

    def sample(
        self, rng: np.random.Generator, n_words: int, n_frames: int
    ) -> tuple[NDArray[np.float32], str]:
        """Sample n words in one voice, with random speed, pitch, loudness, noise and silenced bands; return the frames
        (position, number) and the words.

        The speed changes by the distance between frames: a sound whose frames are closer together is as one spoken more slowly.
        """
        words = [str(word) for word in rng.choice(WORDS, n_words, p=self.share)]
        voice = str(rng.choice(self.voices[words[0]])).split(" ")[0]
        size = sample_factor(rng, SIZES)
        wave = join_with_pauses([self._clip(rng, word, voice, size) for word in words], rng)
        wave *= np.float32(sample_factor(rng, GAINS))
        if rng.random() > CLEAN:
            loud = sample_factor(rng, NOISES) * LOUDNESS
            wave += rng.standard_normal(len(wave), dtype=np.float32) * np.float32(loud)
        values = network_input(wave, n_frames, hop=round(HOP * sample_factor(rng, SPEEDS)))
        hides, first = rng.integers(0, HIDDEN_BANDS + 1), rng.integers(0, N_BANDS)
        values.reshape(len(values), n_frames, N_BANDS)[..., first : first + hides] = 0.0
        return values, " ".join(words)

    def _clip(self, rng: np.random.Generator, word: str, voice: str, size: float) -> Wave:
        mine = [one for one in self.voices[word] if one.split(" ")[0] == voice]
        wave = from_bytes(self.clips[word, str(rng.choice(mine))])
        at = np.arange(0, len(wave) - 1, size)
        return np.interp(at, np.arange(len(wave)), wave).astype(np.float32)


def join_with_pauses(clips: Sequence[Wave], rng: np.random.Generator) -> Wave:
    """Return the clips joined, with pauses of random length before, between and after them."""
    parts = [random_pause(rng)]
    for clip in clips:
        parts += [clip, random_pause(rng)]
    return np.concatenate(parts)


def random_pause(rng: np.random.Generator) -> Wave:
    return np.zeros(int(RATE * rng.uniform(*PAUSES)), dtype=np.float32)


def sample_factor(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    """Sample a factor between two ends, log-uniformly, so that equal ratios are equally likely."""
    return float(np.exp(rng.uniform(*np.log(ends))))
