"""The computations of the exhibit on letters and frames: sounds through the speller, each letter's weights over the frames, the error rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import core.serving.engine
from core.data.speech.clips import HELD_OUT_VOICES, WORDS
from core.data.speech.reader import Spoken, network_input, read, seconds, synthesize
from core.data.speech.sampling import MOST_WORDS
from core.data.speech.sampling import NOISES as HEARD_NOISES
from core.data.speech.waves import HOP, LOUDNESS, RATE, Wave, log_mel, resample
from core.errors import InputError
from core.run.batched import greedy
from core.scoring.spelling import error_rate, sound_batch, transcribe
from core.trace import Recorder

Array = NDArray[Any]
MODEL = "speller"
END = "END"
LONGEST, LOUDEST = MOST_WORDS, max(HEARD_NOISES)
"""Words and noise of the training at most."""
PATTERN = "decoder.attn.pattern"
NOISES = (0.0, 0.1, 0.3, 1.0)
"""Of the step on noise: noise as a share of the speech."""
EACH, SAID = 12, 3
"""Sounds for each loudness of noise, and words in each."""
SIZES = (1, 3, 6, 9, 12)
"""Of the last step: words in a sound."""
QUIET = 0.002
"""A recording whose root mean square is below this is silence."""


@dataclass(frozen=True)
class Stretch:
    """A stretch of the sound: a word as it was typed, or the pause before, between or after; from and to, in seconds."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Heard:
    """A sound, the output of the network, and the weights of each letter over places of the sound.

    `mel` (frame, band) is the spectrogram, `weights` (letter, place), END the last letter; `step` how long a place is,
    in seconds. `transcript` is what was spoken, "" where nobody knows.
    """

    transcript: str
    output: str
    letters: tuple[str, ...]
    words: tuple[Stretch, ...]
    wave: Wave
    mel: Array
    weights: Array
    step: float

    @property
    def length(self) -> float:
        """Return the length of the sound in seconds."""
        return len(self.wave) / RATE

    @property
    def middles(self) -> Array:
        """Return the time in seconds at the middle of each place."""
        return (np.arange(self.weights.shape[1]) + 0.5) * self.step

    @property
    def centres(self) -> Array:
        """Return the mean time of each letter's attention: sum_j a_ij t_j, in seconds (letter,)."""
        return self.weights @ self.middles

    @property
    def later(self) -> int:
        """Count the letters with a later mean time than the letter before."""
        return int((np.diff(self.centres) > 0).sum())

    def share(self, letter: int, stretch: Stretch) -> float:
        """Return the weight of a letter on the places whose middle is in a stretch."""
        inside = (self.middles >= stretch.begin) & (self.middles < stretch.end)
        return float(self.weights[letter, inside].sum())


def spoken(words: str, voice: str, speed: float, noise: float, seed: int) -> str:
    """Return the text of a sound: the typed words and the settings; settings inside the words take precedence.

    >>> spoken("4 7", "Linda", 1.0, 0.0, 0), spoken("4 7 speed=2", "Annie", 1.5, 0.1, 3)
    ('4 7 voice=Linda', '4 7 speed=2 noise=0.1 seed=3')
    """
    own = read(words)
    usual = Spoken(())
    wanted: dict[str, Any] = {"voice": voice, "speed": speed, "noise": noise, "seed": seed}
    kept = {name: getattr(own, name) for name in wanted if getattr(own, name) != getattr(usual, name)}
    return Spoken(own.words, own.spans, **{**wanted, **kept}).to_text()


def listened(text: str) -> Heard:
    """Run the sound that a text describes through the speller. Raises InputError for a text that describes none."""
    model = core.serving.engine.default().open(MODEL)
    run = model.run(text, keep=("*.pattern",))
    wanted = read(text)
    wave, ends = synthesize(wanted)
    names = [text[slice(*span)] for span in wanted.spans]
    words = tuple(Stretch(name, *where) for name, where in zip(names, ends, strict=True))
    weights = np.array(run.trace[PATTERN][0], dtype=np.float64)
    letters = (*run.side.tokens[1 : run.side.n_real], END)
    step = seconds(1, model.config.n_frames)
    return Heard(wanted.transcript, run.target_text, letters, words, wave, log_mel(wave), weights, step)


@torch.inference_mode()
def recorded(samples: Wave, rate: int) -> Heard:
    """Run a recording through the speller, scaled to the loudness of its clips.

    Raises InputError for silence, and for what is longer than the model reads.
    """
    model = core.serving.engine.default().open(MODEL)
    longest = seconds(model.config.n_ctx, model.config.n_frames)
    if not len(samples) or len(samples) / rate > longest:
        raise InputError(
            f"The recording lasts {len(samples) / rate:.1f} seconds.",
            f"{MODEL} reads at most {longest:.1f}.",
            "Record a few words.",
        )
    wave = resample(samples, rate)
    loud = float(np.sqrt(np.mean(wave**2)))
    if not loud >= QUIET:
        raise InputError(
            "The recording is silent.",
            f"Its mean loudness is {loud:.4f}; speech has about {LOUDNESS:g}.",
            "Speak closer to the microphone, or choose another one.",
        )
    wave = (wave * np.float32(LOUDNESS / loud)).clip(-1, 1)
    batch = sound_batch([torch.from_numpy(network_input(wave, model.config.n_frames))], torch.device("cpu"))
    start, end = model.tokenizer.start, model.tokenizer.end
    (ids,) = greedy(model.network, batch, start=start, end=end, limit=model.config.n_ctx - 1)
    given = torch.tensor([[start, *ids]])
    tap = Recorder((PATTERN,))
    model.network(_writing(batch, given), tap=tap)
    weights = tap.close()[PATTERN][0, 0].double().numpy()
    letters = (*(model.tokenizer.token(i) for i in ids), END)
    text, step = model.tokenizer.decode(ids), seconds(1, model.config.n_frames)
    return Heard("", text, letters, (), wave, log_mel(wave), weights, step)


def _writing(batch: Any, ids: torch.Tensor) -> Any:
    return type(batch)(
        ids=ids, real=ids >= 0, source=batch.source, source_real=batch.source_real, values=batch.values
    )


def levels(text: str) -> dict[str, tuple[int, int]]:
    """Return the shape (states, numbers) of the frames and of each level of the pyramid above them, in a run."""
    model = core.serving.engine.default().open(MODEL)
    run = model.run(text, keep=("encoder.frames", "encoder.layer.*.hidden"))
    found = {"frames": run.trace["encoder.frames"].shape}
    for i in range(model.config.n_levels + 1):
        found[f"level {i}"] = run.trace[f"encoder.layer.{i}.hidden"].shape
    return {name: (int(shape[0]), int(shape[1])) for name, shape in found.items()}


@dataclass(frozen=True)
class Errors:
    """Letter error of fresh sounds in voices that no training heard, group by group; and of each group's first what was said and written."""

    rates: tuple[float, ...]
    transcripts: tuple[str, ...]
    outputs: tuple[str, ...]


def in_noise(seed: int) -> Errors:
    """Measure the letter error of sounds sampled with this seed, the same ones with each noise of `NOISES`."""
    return _errors([replace(item, noise=noise) for item in _fresh(seed, SAID, EACH)] for noise in NOISES)


def in_length(seed: int) -> Errors:
    """Measure the letter error of sounds sampled with this seed, for each number of words of `SIZES`."""
    return _errors(_fresh(seed, size, max(2, EACH // size)) for size in SIZES)


def _fresh(seed: int, size: int, each: int) -> list[Spoken]:
    rng = np.random.default_rng((7, seed, size))
    return [
        Spoken(
            tuple(map(str, rng.choice(WORDS, size))), voice=HELD_OUT_VOICES[i % len(HELD_OUT_VOICES)], seed=i
        )
        for i in range(each)
    ]


def _errors(groups: Iterable[Sequence[Spoken]]) -> Errors:
    model, items = core.serving.engine.default().open(MODEL), [list(group) for group in groups]
    flat = [item for group in items for item in group]
    found = iter(transcribe(model.network, model.tokenizer, [item.to_text() for item in flat]))
    parts = [[next(found) for _ in group] for group in items]
    return Errors(
        tuple(
            error_rate(part, [item.transcript for item in group])
            for part, group in zip(parts, items, strict=True)
        ),
        tuple(group[0].transcript for group in items),
        tuple(part[0] for part in parts),
    )


def on_own_word(heard: Heard) -> float:
    """Return the share of the letters of words whose own word has more of their weight than any other word."""
    hits, word = list[bool](), 0
    for row, letter in enumerate(heard.letters[:-1]):
        if letter == " ":
            word += 1
        else:
            shares = [heard.share(row, stretch) for stretch in heard.words]
            hits.append(int(np.argmax(shares)) == word)
    return float(np.mean(hits))


def slope(one: Heard, other: Heard) -> float | None:
    """Return the factor by which mean times are later in the other sound: the slope of the least-squares line through the centres.

    None where the two were not written alike, or have too few letters for a line.
    """
    if one.letters != other.letters or len(one.letters) < 3:
        return None
    return float(np.polyfit(one.centres, other.centres, 1)[0])


def frames(n_places: int, n_frames: int) -> int:
    """Return the number of frames in so many places."""
    return n_places * n_frames


def hop() -> float:
    """Return the seconds from one frame to the next."""
    return HOP / RATE
