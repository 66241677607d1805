"""The text form of a doodle, so that it fits wherever a sentence does: a link, a cache, a saved view.

A doodle is a grey picture of 28 by 28 pixels of 8 bits, drawn in white (255) on black (0), as those of Quick, Draw! are.
Its text is `doodle:` and the pixels, row by row, deflated (RFC 1951) and written in the URL-safe letters of base64
(RFC 4648, section 5) without padding: some 400 letters, at most LONGEST.
"""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError

SIDE = 28
PREFIX = "doodle:"
LONGEST = 1100
"""Letters of a doodle's text: 784 bytes that deflate cannot shorten take about 1060."""
Pixels = NDArray[np.uint8]
_RULE = f"A doodle is {SIDE} by {SIDE} grey pixels, written as {PREFIX} and letters that hold them."
_REMEDY = "Draw one, upload a picture, or copy the whole text of a doodle."


def as_text(pixels: ArrayLike) -> str:
    """Return the text of a doodle from its pixels (row, column), whole numbers from 0, black, to 255, white.

    >>> as_text(np.zeros((28, 28), dtype=np.uint8))
    'doodle:Y2AYBaNgFMAAAA'

    Raises InputError for another shape, or for what is no whole number from 0 to 255.
    """
    given = np.asarray(pixels)
    if given.shape != (SIDE, SIDE):
        raise InputError(f"Pixels of shape {given.shape}.", _RULE, "Scale the picture to this size first.")
    found = given.astype(np.uint8) if given.dtype.kind in "ui" else None
    if found is None or (found != given).any():
        raise InputError(
            f"Pixels of type {given.dtype}, some of which are no brightness.",
            "A brightness is a whole number from 0, black, to 255, white.",
            "Scale and round them first.",
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
        raise InputError(f"'{given}' is not a doodle." if given else "There is no doodle.", _RULE, _REMEDY)
    if len(given) > LONGEST:
        raise InputError(f"A doodle of {len(given):,} letters.", f"It has at most {LONGEST:,}.", _REMEDY)
    letters = given[len(PREFIX) :]
    unpacker, size = zlib.decompressobj(-15), SIDE * SIDE
    try:
        packed = base64.b64decode(letters.encode("ascii") + b"=" * (-len(letters) % 4), b"-_", validate=True)
        found = unpacker.decompress(packed, size + 1)
    except (UnicodeEncodeError, binascii.Error, zlib.error):
        raise InputError(f"The letters of '{given}' hold no pixels.", _RULE, _REMEDY) from None
    if len(found) != size or not unpacker.eof or unpacker.unused_data:
        pixels = f"more than {size:,}" if len(found) > size else f"{len(found):,}"
        told = (
            f"a doodle of {pixels} pixels" if len(found) != size else "more than a doodle, or not all of one"
        )
        raise InputError(f"The letters of '{given}' hold {told}.", _RULE, _REMEDY)
    return np.frombuffer(found, dtype=np.uint8).reshape(SIDE, SIDE).copy()
