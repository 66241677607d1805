"""A visitor's own recording through the speller, with the warning that it was trained on a synthesiser."""

from __future__ import annotations

import io
import wave

import numpy as np
import streamlit as st

from core.data.speech.clips import WORDS
from core.data.speech.waves import Wave
from core.errors import InputError
from viz.course.vision.letters_over_frames import charts, maths
from viz.number_text import MEGA, megabytes
from viz.shell import errors
from viz.widgets import page_parts

MOST = 20_000_000
"""Bytes of a recording that are opened."""


def samples(data: bytes) -> tuple[Wave, int]:
    """Read the sound of a WAV file with 16 bits per sample, all channels mixed, and its samples per second.

    Raises InputError for a file that is none, is damaged or too large.
    """
    if len(data) > MOST:
        raise InputError(
            f"The recording has {megabytes(len(data), unit=MEGA)}.",
            f"At most {MOST / 1e6:.0f} are opened.",
            "Record a few words.",
        )
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            read = file.readframes(file.getnframes())
    except (wave.Error, EOFError, ValueError) as error:
        raise InputError(
            "The recording cannot be opened.", f"It must be a WAV file: {error}.", "Record it again."
        ) from None
    if width != 2 or not 4_000 <= rate <= 200_000:
        raise InputError(
            f"The recording has {8 * width} bits per sample and {rate:,} samples per second.",
            "16 bits and 4,000 to 200,000 are read.",
            "Record it again.",
        )
    whole = np.frombuffer(read[: len(read) - len(read) % (2 * channels)], dtype="<i2").reshape(-1, channels)
    return (whole.mean(axis=1) / 2**15).astype(np.float32), rate


def show(key: str) -> None:
    """Draw the recorder, the output of the speller and its attention weights. Nothing is stored."""
    st.text(
        f"The model was trained on a synthesiser, {len(WORDS)} words in all. Expect mistakes with a real voice: check whether "
        "the weights still move along the sound. The recording goes to this app, is not stored, and is gone with the page."
    )
    given = st.audio_input("Say digits or words of the list", key=key, sample_rate=16000)
    if given is None:
        return
    with errors.guard():
        found = maths.recorded(*samples(given.getvalue()))
        page_parts.show(
            charts.over_frames(
                found.mel, (), found.letters, found.weights, found.step, line=True, height=380
            ),
            f"{key}.picture",
            "Your recording as a spectrogram, and the attention weights of each letter over it.",
        )
        page_parts.summary(f"Written: “{found.output}”.")
