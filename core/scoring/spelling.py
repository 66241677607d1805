"""Spellers: how many letters are wrong in the transcript of a sound.

The sounds are of words that the training knows, in voices that it never heard.

    letter_error             insertions, deletions and replacements that make what is written what was said, for each
                             letter that was said (spaces count): Levenshtein's distance, summed over all sounds
    letter_error_by_noise    by how loud the noise is, as a share of the speech
    letter_error_by_speed    by how fast the sound is played
    letter_error_by_words    by the number of words; the training has up to six
    letter_error_heard       the same as `letter_error` in the voices of the training
    exact_match              the share of sounds of which every letter is right
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.data.speech.clips import HELD_OUT_VOICES, TRAINING_VOICES, WORDS, clip
from core.data.speech.reader import SpeechReader, Spoken, read, synthesize
from core.data.speech.waves import RATE, Wave, log_mel
from core.models import Batch
from core.run.batched import greedy
from core.scoring import Metrics
from core.text import Tokenizer

EACH, ROWS = 40, 32
SIZES, NOISES, SPEEDS, MANY = (1, 2, 3, 4, 5, 6), (0.03, 0.1, 0.3), (0.7, 1.4), (8, 12)


NEAREST = "the nearest clip, each word cut out"


@dataclass(frozen=True)
class Item:
    """A sound in its text form, and the transcript of its words."""

    text: str
    transcript: str


def sample_items(
    each: int,
    *,
    sizes: Sequence[int] = (4,),
    voices: Sequence[str] = HELD_OUT_VOICES,
    noise: float = 0.0,
    speed: float = 1.0,
    seed: int = 0,
) -> list[Item]:
    """Sample held-out sounds with the seed: `each` of every number of words in `sizes`, the voices in turn."""
    rng, found = np.random.default_rng(seed), []
    for size in sizes:
        for i in range(each):
            words = tuple(str(word) for word in rng.choice(WORDS, size))
            spoken = Spoken(
                words, voice=voices[i % len(voices)], noise=noise, speed=speed, seed=(i + 100 * seed) % 10_000
            )
            found.append(Item(spoken.to_text(), spoken.transcript))
    return found


def measure(model: Any, limit: int | None = None, seed: int = 0) -> Metrics:
    """Measure the scores above on 40 (or `limit`) sounds of each number of words, each loudness of noise, and each speed."""
    each = EACH if limit is None else limit
    n_items = 0

    def rate(**how: Any) -> float:
        nonlocal n_items
        items = sample_items(each, seed=seed, **how)
        n_items += len(items)
        return error_rate(_read(model, items), [item.transcript for item in items])

    plain = sample_items(each, sizes=SIZES, seed=seed)
    found = _read(model, plain)
    by_words = {
        _words(size): error_rate(
            found[i * each : (i + 1) * each], [item.transcript for item in plain[i * each : (i + 1) * each]]
        )
        for i, size in enumerate(SIZES)
    }
    metrics: Metrics = {
        **_rates(found, [item.transcript for item in plain]),
        "letter_error_heard": rate(sizes=SIZES, voices=TRAINING_VOICES),
        "letter_error_by_noise": {f"noise {noise}": rate(noise=noise) for noise in NOISES},
        "letter_error_by_speed": {f"speed {speed}": rate(speed=speed) for speed in SPEEDS},
        "letter_error_by_words": {**by_words, **{_words(size): rate(sizes=(size,)) for size in MANY}},
    }
    return {"items": len(plain) + n_items, **metrics, "beside": baselines(model, each, seed)}


def baselines(model: Any, each: int, seed: int = 0) -> dict[str, Metrics]:
    """Return the metrics of simpler spellers on the sounds of `letter_error`, by their names.

    The nearest clip: each word is cut out where it is known to be, and the clip in the voices of the training whose
    spectrogram is nearest, both stretched to equal length, gives the word. And the model with every attention score
    0, so that each letter reads the mean of the whole sound.
    """
    items = sample_items(each, sizes=SIZES, seed=seed)
    said = [item.transcript for item in items]
    known = {(word, voice): _shape(clip(word, voice)) for word in WORDS for voice in TRAINING_VOICES}

    def nearest(item: Item) -> str:
        wave, ends = synthesize(read(item.text))
        shapes = [_shape(wave[int(begin * RATE) : int(end * RATE)]) for begin, end in ends]
        return " ".join(
            min(known, key=lambda name: float(((known[name] - one) ** 2).sum()))[0] for one in shapes
        )

    def in_noise(noise: float) -> float:
        loud = sample_items(each, noise=noise, seed=seed)
        return error_rate([nearest(item) for item in loud], [item.transcript for item in loud])

    even = copy.deepcopy(model.network)
    torch.nn.init.zeros_(even.decoder.attend.score.v)
    return {
        NEAREST: _rates([nearest(item) for item in items], said)
        | {"letter_error_by_noise": {f"noise {noise}": in_noise(noise) for noise in NOISES}},
        f"{model.name}, every weight equal": _rates(
            transcribe(even, model.tokenizer, [item.text for item in items]), said
        ),
    }


def _rates(texts: Sequence[str], transcripts: Sequence[str]) -> Metrics:
    exact = float(np.mean([a == b for a, b in zip(texts, transcripts, strict=True)]))
    return {"letter_error": error_rate(texts, transcripts), "exact_match": exact}


def _shape(wave: Wave) -> NDArray[np.float32]:
    """Return the spectrogram of a sound, (band, frame), stretched to 16 frames."""
    frames = log_mel(wave)
    at = np.linspace(0, len(frames) - 1, 16)
    return np.stack([np.interp(at, np.arange(len(frames)), band) for band in frames.T], dtype=np.float32)


def transcribe(network: Any, tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Return the greedy transcripts of sounds, in their order; each sound is given as a text that `SpeechReader` reads."""
    reader = SpeechReader(network.cfg.n_frames, network.cfg.n_ctx, network.cfg.n_bands)
    values = [torch.from_numpy(reader.encode(text).values) for text in texts]
    order = sorted(range(len(texts)), key=lambda i: len(values[i]))
    device, found = next(network.parameters()).device, [""] * len(texts)
    for first in range(0, len(order), ROWS):
        some = order[first : first + ROWS]
        batch = sound_batch([values[i] for i in some], device)
        limits = [min(network.cfg.n_ctx - 1, len(values[i]) + 10) for i in some]
        with torch.inference_mode():
            rows = greedy(network, batch, start=tokenizer.start or 0, end=tokenizer.end or 0, limit=limits)
        for i, ids in zip(some, rows, strict=True):
            found[i] = tokenizer.decode(ids)
    return found


def sound_batch(values: Sequence[torch.Tensor], device: torch.device) -> Batch:
    """Return a batch of sounds, each (position, number), padded to one length."""
    lengths = torch.tensor([len(sound) for sound in values], device=device)
    padded = torch.nn.utils.rnn.pad_sequence(list(values), batch_first=True).to(device)
    places = torch.arange(padded.shape[1], device=device).expand(len(values), -1)
    real = places < lengths[:, None]
    return Batch(ids=places, real=real, source=places, source_real=real, values=padded)


def edit_distance(a: str, b: str) -> int:
    """Return the fewest letters to insert, delete or replace to turn a into b (Levenshtein 1966).

    >>> edit_distance("four to", "for two")
    2
    """
    row = np.arange(len(b) + 1)
    for i, letter in enumerate(a, 1):
        above, row = row, row.copy()
        row[0] = i
        for j, other in enumerate(b, 1):
            row[j] = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
    return int(row[-1])


def error_rate(texts: Sequence[str], transcripts: Sequence[str]) -> float:
    """Return the number of wrong letters per letter of the transcripts, over all texts together.

    >>> error_rate(["four to"], ["four two"])
    0.125
    """
    return sum(map(edit_distance, texts, transcripts)) / max(1, sum(map(len, transcripts)))


def _read(model: Any, items: Sequence[Item]) -> list[str]:
    return transcribe(model.network, model.tokenizer, [item.text for item in items])


def _words(size: int) -> str:
    return f"{size} word{'s' * (size != 1)}"
