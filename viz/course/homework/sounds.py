"""Answers to the homework questions on the chapter *Beyond words*: sounds, and letters that attend to them.

Every truth below runs the thing that is asked about; this file contains no answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from core.data.speech.reader import network_input
from core.data.speech.waves import RATE, Wave, hertz_to_mel, log_mel
from core.models import Batch
from core.models.las import Las, LasConfig
from core.trace import Recorder
from viz.course.homework.form import answered

YES, NO = "yes", "no"
PATTERN = "decoder.attn.pattern"


def _network() -> Las:
    """Create an untrained speller: the answers hold for any weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return Las(LasConfig.tiny()).eval()


def _batch(letters: int, n_places: int) -> Batch:
    cfg, draw = LasConfig.tiny(), torch.Generator().manual_seed(1)
    ids, source = torch.arange(1, letters + 1)[None], torch.arange(n_places)[None]
    values = torch.randn(1, n_places, cfg.n_frames * cfg.n_bands, generator=draw)
    return Batch(ids=ids, real=ids > 0, source=source, source_real=source >= 0, values=values)


@torch.no_grad()
def _weights(batch: Batch) -> torch.Tensor:
    tap = Recorder((PATTERN,))
    _network()(batch, tap=tap)
    return tap.close()[PATTERN][0, 0]


def _cells(m: float, n: float) -> float:
    """Count the weights of m letters over n frames, of a network with two levels."""
    return float(m * _weights(_batch(1, 6)).numel() * n / (6 * LasConfig.tiny().n_frames))


def _earlier() -> str:
    """Return YES if the first rows of weights change with a later letter, else NO."""
    batch = _batch(5, 6)
    other = batch.ids.clone()
    other[0, 3] += 7
    before, after = _weights(batch), _weights(replace(batch, ids=other))
    return NO if torch.equal(before[:3], after[:3]) else YES


def _second() -> Wave:
    return np.zeros(RATE, dtype=np.float32)


ANSWERS = {
    "frames": answered(lambda: float(len(log_mel(_second()))), near=0.1),
    "states": answered(lambda: float(len(network_input(_second(), LasConfig().n_frames))), near=0.1),
    "letters_frames": answered(lambda: _cells, letters=("m", "n")),
    "summed": answered(lambda: float(_weights(_batch(7, 6)).sum()), near=0.01),
    "earlier": answered(_earlier, (YES, NO)),
    "octave": answered(
        lambda: (
            YES
            if np.isclose(
                hertz_to_mel(800.0) - hertz_to_mel(400.0), hertz_to_mel(3200.0) - hertz_to_mel(1600.0)
            )
            else NO
        ),
        (YES, NO),
    ),
}
