"""A doodle travels as a short text, and nothing else is taken for one."""

import base64
import zlib

import numpy as np
import pytest

from core.data import doodles
from core.errors import InputError

NOISE = np.random.default_rng(5).integers(0, 256, (28, 28), dtype=np.uint8)


def packed(data: bytes, more: bytes = b"") -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = packer.compress(data) + packer.flush() + more
    return doodles.PREFIX + base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


def test_every_pixel_comes_back():
    for picture in (NOISE, NOISE * (NOISE > 200), np.zeros_like(NOISE), np.full_like(NOISE, 255)):
        text = doodles.as_text(picture)
        assert len(text) <= doodles.LONGEST
        assert (doodles.from_text(f" {text}\n") == picture).all()
    assert doodles.from_text(doodles.as_text(NOISE)).flags.writeable


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "There is no doodle"),
        ("a cat", "'a cat' is no doodle"),
        ("doodle:", "hold no pixels|hold a doodle of 0"),
        ("doodle:été", "hold no pixels"),
        ("doodle:Y2AY+aNgFAxHAAA", "hold no pixels"),
        ("doodle:Y2AYB aNgFAxHAAA", "hold no pixels"),
        (doodles.as_text(NOISE)[:-9], "hold a doodle of 7[0-9][0-9] pixels|not all of one"),
        (packed(bytes(783)), "783 pixels"),
        (packed(bytes(785)), "more than 784"),
        (packed(bytes(500_000)), "more than 784"),
        (packed(bytes(784), b"more"), "more than a doodle"),
        ("doodle:" + "A" * 10**6, "1,000,007 letters"),
    ],
)
def test_what_is_no_doodle_is_refused_in_words(text: str, told: str):
    with pytest.raises(InputError, match=told) as refused:
        doodles.from_text(text)
    assert "28 by 28" in refused.value.rule or "at most" in refused.value.rule


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((28, 27), dtype=np.uint8), NOISE.astype(float), NOISE.astype(int) - 1, NOISE.astype(int) + 300],
)
def test_what_is_no_picture_has_no_text(pixels: np.ndarray):
    with pytest.raises(InputError):
        doodles.as_text(pixels)
