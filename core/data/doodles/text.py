"""The text form of a doodle, so that it fits wherever a sentence does: a link, a cache, a saved view.

A doodle is a grey picture of 28 by 28 pixels of 8 bits, drawn in white (255) on black (0), as those of Quick, Draw! are.
Its text is `doodle:` and the pixels, row by row, deflated (RFC 1951) and written in the URL-safe letters of base64
(RFC 4648, section 5) without padding: some 400 letters, at most LONGEST.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.wording import mark

SIDE = 28
PREFIX = "doodle:"
LONGEST = 1100
"""Letters of a doodle's text: 784 bytes that deflate cannot shorten take about 1060."""
Pixels = NDArray[np.uint8]
_RULE = mark("A doodle is {side} by {side} grey pixels, written as {prefix} and letters that hold them.")
_REMEDY = mark("Draw one, upload a picture, or copy the whole text of a doodle.")
_SIZES: dict[str, Any] = {"side": SIDE, "prefix": PREFIX}


def as_text(pixels: ArrayLike) -> str:
    """Return the text of a doodle from its pixels (row, column), whole numbers from 0, black, to 255, white.

    >>> as_text(np.zeros((28, 28), dtype=np.uint8))
    'doodle:Y2AYBaNgFMAAAA'

    Raises InputError for another shape, or for what is no whole number from 0 to 255.
    """
    given = np.asarray(pixels)
    if given.shape != (SIDE, SIDE):
        raise InputError(
            "Pixels of shape {shape}.",
            _RULE,
            "Scale the picture to this size first.",
            shape=given.shape,
            **_SIZES,
        )
    found = given.astype(np.uint8) if given.dtype.kind in "ui" else None
    if found is None or (found != given).any():
        raise InputError(
            "Pixels of type {dtype}, some of which are no brightness.",
            "A brightness is a whole number from 0, black, to 255, white.",
            "Scale and round them first.",
            dtype=str(given.dtype),
        )
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    packed = packer.compress(found.tobytes()) + packer.flush()
    return PREFIX + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def from_text(text: str) -> Pixels:
    """Return the pixels (row, column), uint8, of a text that `as_text` wrote.

    >>> ring = np.zeros((28, 28), dtype=np.uint8)
    >>> ring[9:19, 9:19] = 255
    >>> bool((from_text(as_text(ring)) == ring).all())
    True

    Raises InputError for what is no such text; it never unpacks more than one doodle.
    """
    given = text.strip()
    if not given.startswith(PREFIX):
        raise InputError(
            "'{given}' is not a doodle." if given else "There is no doodle.",
            _RULE,
            _REMEDY,
            given=given,
            **_SIZES,
        )
    if len(given) > LONGEST:
        raise InputError(
            "A doodle of {n:,} letters.",
            "It has at most {longest:,}.",
            _REMEDY,
            n=len(given),
            longest=LONGEST,
        )
    letters = given[len(PREFIX) :]
    unpacker, size = zlib.decompressobj(-15), SIDE * SIDE
    try:
        packed = base64.b64decode(letters.encode("ascii") + b"=" * (-len(letters) % 4), b"-_", validate=True)
        found = unpacker.decompress(packed, size + 1)
    except (UnicodeEncodeError, binascii.Error, zlib.error):
        raise InputError(
            "The letters of '{given}' hold no pixels.", _RULE, _REMEDY, given=given, **_SIZES
        ) from None
    if len(found) != size or not unpacker.eof or unpacker.unused_data:
        wrong = mark("The letters of '{given}' hold more than a doodle, or not all of one.")
        if len(found) > size:
            wrong = mark("The letters of '{given}' hold a doodle of more than {size:,} pixels.")
        elif len(found) < size:
            wrong = mark("The letters of '{given}' hold a doodle of {n:,} pixels.")
        raise InputError(wrong, _RULE, _REMEDY, given=given, size=size, n=len(found), **_SIZES)
    return np.frombuffer(found, dtype=np.uint8).reshape(SIDE, SIDE).copy()
