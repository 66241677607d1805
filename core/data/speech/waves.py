"""Sound as numbers: eight-bit samples, spectra of short windows, loudness in mel bands, and a change of speed at the same pitch."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Wave = NDArray[np.float32]

RATE = 8000
"""Samples a second, as on the telephone."""
WINDOW, HOP, N_FFT = 200, 160, 256
"""A frame hears 25 ms; the next begins 20 ms later."""
N_BANDS, LOWEST, HIGHEST = 24, 100.0, 3800.0
FLOOR = 1e-3
"""Power below which all is silence: it keeps the logarithm of nothing finite."""
MU = 255.0
LOUDNESS = 0.1
"""Root mean square of speech; a clip is brought to it."""
PIECE, SEEK = 320, 80
"""Stretching: samples of a piece, and how far from its place one is looked for."""


def to_bytes(wave: Wave) -> NDArray[np.uint8]:
    """Convert a wave to eight bits a sample, finer where it is quiet: y = sgn(x) ln(1 + 255 |x|) / ln 256 (ITU-T G.711, mu-law).

    >>> to_bytes(np.array([-1.0, 0.0, 1.0], dtype=np.float32)).tolist()
    [0, 128, 255]
    """
    bent = np.sign(wave) * np.log1p(MU * np.abs(wave)) / np.log1p(MU)
    return np.round((bent.clip(-1, 1) + 1) / 2 * MU + 1e-6).astype(np.uint8)


def from_bytes(codes: NDArray[np.uint8]) -> Wave:
    """Convert eight-bit samples back to a wave: x = sgn(y) (256^|y| - 1) / 255.

    >>> from_bytes(np.array([0, 255], dtype=np.uint8)).tolist()
    [-1.0, 1.0]
    """
    bent = codes.astype(np.float32) / MU * 2 - 1
    return np.sign(bent) * np.expm1(np.abs(bent) * np.log1p(MU)).astype(np.float32) / np.float32(MU)


def resample(sound: Wave, rate: int, to: int = RATE) -> Wave:
    """Return a sound of `rate` samples a second with `to` of them; frequencies above half of the new rate are removed.

    By the Fourier transform of the whole: its coefficients up to half of the new rate, and back.

    >>> len(resample(np.zeros(22050, dtype=np.float32), 22050))
    8000
    """
    n = round(len(sound) * to / rate)
    kept: NDArray[np.complex128] = np.fft.rfft(sound)[: n // 2 + 1]
    return np.fft.irfft(kept, n).astype(np.float32) * np.float32(n / len(sound))


def hertz_to_mel(hertz: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert hertz to mel, a scale whose equal steps sound equally far apart: 2595 log10(1 + f / 700) (O'Shaughnessy 1987).

    >>> float(hertz_to_mel(700.0).round(1))
    781.2
    """
    return 2595.0 * np.log10(1.0 + np.asarray(hertz) / 700.0)


def mel_to_hertz(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert mel to hertz.

    >>> float(mel_to_hertz(hertz_to_mel(440.0)).round(6))
    440.0
    """
    return 700.0 * (10.0 ** (steps / 2595.0) - 1.0)


@cache
def mel_filters(n_bands: int = N_BANDS) -> NDArray[np.float64]:
    """Return triangular filters (band, frequency) with corners at equal steps of mel; each has its peak, 1, where its neighbours begin.

    >>> mel_filters().shape
    (24, 129)
    """
    corners = mel_to_hertz(np.linspace(hertz_to_mel(LOWEST), hertz_to_mel(HIGHEST), n_bands + 2))
    hertz = np.linspace(0.0, RATE / 2, N_FFT // 2 + 1)
    rises = (hertz - corners[:-2, None]) / np.diff(corners)[:-1, None]
    falls = (corners[2:, None] - hertz) / np.diff(corners)[1:, None]
    return np.minimum(rises, falls).clip(min=0.0)


def spectra(wave: Wave, hop: int = HOP) -> NDArray[np.float32]:
    """Return the power (frame, frequency) of each Hann window, |sum_n w_n x_n e^(-2 pi i k n / 256)|^2; windows begin every `hop` samples.

    A sound shorter than a window is filled up with silence; frame i begins at sample i * hop.
    """
    n = 1 + max(0, -(-(len(wave) - WINDOW) // hop))
    filled = np.pad(wave, (0, max(0, (n - 1) * hop + WINDOW - len(wave))))
    windows = np.lib.stride_tricks.sliding_window_view(filled, WINDOW)[::hop][:n]
    return np.abs(np.fft.rfft(windows * _hann(), N_FFT)).astype(np.float32) ** 2


def log_mel(wave: Wave, hop: int = HOP, n_bands: int = N_BANDS) -> NDArray[np.float32]:
    """Return the loudness of each band in each frame, (frame, band): log10(filters @ power + FLOOR).

    >>> log_mel(np.zeros(RATE, dtype=np.float32)).shape, float(log_mel(np.zeros(400, dtype=np.float32)).max().round(3))
    ((50, 24), -3.0)
    """
    return np.log10(spectra(wave, hop) @ mel_filters(n_bands).T.astype(np.float32) + np.float32(FLOOR))


def stretch(wave: Wave, speed: float) -> Wave:
    """Return the sound at `speed` times its speed and the same pitch: overlapping pieces of it, placed where they fit best.

    Waveform similarity overlap-add (Verhelst and Roelands 1993): each piece of 40 ms is taken within 10 ms of
    its ideal start, where it best continues the piece before it.

    >>> len(stretch(np.zeros(4000, dtype=np.float32), 2.0))
    2000
    """
    if speed == 1.0 or len(wave) < 2 * PIECE:
        return wave
    wanted, half = int(len(wave) / speed), PIECE // 2
    fade = np.hanning(PIECE + 1)[:PIECE].astype(np.float32)
    source = np.pad(wave, (half + SEEK, PIECE + half + SEEK))
    out = np.zeros(wanted + 2 * PIECE, dtype=np.float32)
    at = half + SEEK
    for begin in range(0, wanted + half, half):
        if begin:
            goes_on = source[at + half : at + half + PIECE]
            ideal = min(half + SEEK + int(begin * speed), len(source) - PIECE - SEEK)
            near = source[ideal - SEEK : ideal + SEEK + PIECE]
            fits = np.correlate(near, goes_on[: len(near)], "valid") if goes_on.any() else np.zeros(1)
            at = ideal - SEEK + int(fits.argmax()) if goes_on.any() else ideal
            at = min(at, len(source) - PIECE - half)
        out[begin : begin + PIECE] += fade * source[at : at + PIECE]
    return out[:wanted]


@cache
def _hann() -> Wave:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)
