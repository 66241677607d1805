"""The script that made the clips with espeak-ng: `python -m core.data.speech.record WORK` (Debian: apt-get install espeak-ng).

Writes WORK/clips.npz for the training, many clips of each word in many voices, speeds, pitches and accents, and
assets/sounds/words.npz, which ships: each word once in six voices, three of which are in no training. What a program under
the GPL speaks is not under the GPL: the clips are ours.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import wave
from pathlib import Path

import numpy as np

from core.data.home import assets
from core.data.speech.clips import HELD_OUT_VOICES, TRAINING_VOICES, WORDS, write
from core.data.speech.waves import LOUDNESS, Wave, resample

OTHERS = (
    *(
        "Adam",
        "Alex",
        "Alicia",
        "Andrea",
        "Antonio",
        "Auntie",
        "Benjamin",
        "Boris",
        "Caleb",
        "David",
        "Denis",
    ),
    *(
        "Diogo",
        "Ed",
        "Edward",
        "Gene",
        "Gustave",
        "Henrique",
        "Hugo",
        "Jacky",
        "Lee",
        "Marcelo",
        "Marco",
        "Mario",
    ),
    *(
        "Michael",
        "Michel",
        "Miguel",
        "Mike",
        "Nguyen",
        "Pablo",
        "Paul",
        "Pedro",
        "Quincy",
        "Rob",
        "Robert",
        "Zac",
    ),
    *(
        "anika",
        "female1",
        "female2",
        "female3",
        "male1",
        "male2",
        "male3",
        "male4",
        "male6",
        "klatt",
        "klatt2",
    ),
    *("sandro", "shelby", "victor", "norbert", "travis"),
)
"""Voices of espeak-ng that are heard in the training only."""
MANNERS = {
    "Annie": ("en-us", 160, 60),
    "Andy": ("en-gb", 150, 40),
    "Max": ("en-us", 185, 35),
    "Linda": ("en-gb", 140, 70),
    "John": ("en-us", 195, 30),
    "Steph": ("en-gb-x-rp", 170, 55),
}
"""How the voices that ship speak: accent, words a minute and pitch. All alike, they would say a word in the same time."""
ACCENTS = ("en-us", "en-us", "en-gb", "en-gb-x-rp")
SPEEDS, PITCHES, EACH = (110, 230), (20, 80), 4
"""Words a minute and espeak-ng's pitch from 0 to 99, drawn between these; clips of each word in each voice."""
QUIET = 0.004


def speak(word: str, voice: str, accent: str = "en-us", speed: int = 160, pitch: int = 50) -> Wave:
    """Return the sound of a word spoken by espeak-ng, 8000 samples a second, silence at its ends removed, scaled to a root mean square of 0.1.

    Raises CalledProcessError where espeak-ng does not know the voice, FileNotFoundError where there is none.
    """
    command = ["espeak-ng", "-v", f"{accent}+{voice}", "-s", str(speed), "-p", str(pitch), "--stdout", word]
    said = subprocess.run(command, check=True, capture_output=True).stdout
    with wave.open(io.BytesIO(said)) as file:
        rate, data = file.getframerate(), file.readframes(file.getnframes())
    samples: Wave = np.frombuffer(data, dtype="<i2").astype(np.float32) / np.float32(2**15)
    return trim(resample(samples, rate))


def trim(sound: Wave) -> Wave:
    """Return a sound from its first to its last audible sample, scaled to the loudness of all clips."""
    loud = np.flatnonzero(np.abs(sound) > QUIET)
    cut = sound[max(0, loud[0] - 80) : loud[-1] + 80]
    return (cut * LOUDNESS / np.sqrt(np.mean(cut**2))).clip(-1, 1)


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m core.data.speech.record", description=__doc__)
    ask.add_argument("work", type=Path, help="a folder for the clips of the training")
    work, rng = ask.parse_args().work, np.random.default_rng(0)
    work.mkdir(parents=True, exist_ok=True)
    shipped = {
        (word, voice): speak(word, voice, *MANNERS[voice])
        for voice in (*TRAINING_VOICES, *HELD_OUT_VOICES)
        for word in WORDS
    }
    assets("sounds").mkdir(exist_ok=True)
    write(assets("sounds") / "words.npz", shipped)
    found = {}
    for voice in (*TRAINING_VOICES, *OTHERS):
        for word in WORDS:
            for i in range(EACH):
                speed, pitch = int(rng.integers(*SPEEDS)), int(rng.integers(*PITCHES))
                found[word, f"{voice} {i}"] = speak(word, voice, str(rng.choice(ACCENTS)), speed, pitch)
    write(work / "clips.npz", found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
