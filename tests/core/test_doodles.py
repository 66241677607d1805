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
        ("a cat", "'a cat' is not a doodle"),
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
def test_what_is_no_doodle_is_refused_in_words(text, told):
    with pytest.raises(InputError, match=told) as refused:
        doodles.from_text(text)
    assert "28 by 28" in refused.value.rule or "at most" in refused.value.rule


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((28, 27), dtype=np.uint8), NOISE.astype(float), NOISE.astype(int) - 1, NOISE.astype(int) + 300],
)
def test_what_is_no_picture_has_no_text(pixels):
    with pytest.raises(InputError):
        doodles.as_text(pixels)


# ---------------------------------------------------------------- strokes


def test_a_line_is_as_wide_and_as_bright_as_its_share_of_each_pixel():
    """16 of 304 units at 28 pixels: a line of 1.474 pixels around the middle covers 0.737 of both rows."""
    row = doodles.from_strokes([[(0.1, 0.3), (0.4, 0.3)]]).astype(float)[:, 14] / 255
    assert row[13:15] == pytest.approx([0.737, 0.737], abs=0.03) and row.sum() == pytest.approx(
        1.474, abs=0.05
    )
    slanted = doodles.from_strokes([[(0, 0), (1, 1)]]).astype(float) / 255
    length = 255 / 304 * 28 * 2**0.5
    assert slanted.sum() == pytest.approx(length * 1.474 + np.pi * 0.737**2, rel=0.02)


def test_a_drawing_is_scaled_and_centred_unless_it_goes_on_a_doodle():
    corner = [[(0.1, 0.1), (0.2, 0.1), (0.2, 0.15)]]
    assert (doodles.from_strokes(corner) == doodles.from_strokes([np.array(corner[0]) * 3 + 0.2])).all()
    fish = doodles.example("fish")
    both = doodles.from_strokes(corner, on=fish)
    assert (both >= fish).all() and both[2:5, 2:6].any() and (both[8:] == fish[8:]).all()
    dot = doodles.from_strokes([[(0.9, 0.9)]])
    assert dot[13:15, 13:15].all() and (dot > 0).sum() <= 12
    assert not doodles.from_strokes([]).any()


def test_strokes_that_are_none_are_refused():
    for stroke in ([], [1, 2], [(1, 2, 3)], [(0, float("nan"))], "ab", [(None, 1)]):
        with pytest.raises(InputError, match="holds no points"):
            doodles.from_strokes([stroke])
    with pytest.raises(InputError, match="8,001 points"):
        doodles.from_strokes([np.zeros((8001, 2))])
    far = doodles.from_strokes([[(-1e9, 0.5), (1e9, 0.5)]], on=doodles.example("cat"))
    assert far[13:15].all(), "a line across the whole canvas"


def test_our_own_doodles_are_as_bright_and_as_wide_as_those_that_models_learn_from():
    for name in doodles.NAMES:
        rows, columns = (doodles.example(name) > 60).nonzero()
        assert max(np.ptp(rows), np.ptp(columns)) in (23, 24, 25) and 35 < doodles.example(name).mean() < 75
    with pytest.raises(InputError, match="apple, bicycle"):
        doodles.example("dragon")
