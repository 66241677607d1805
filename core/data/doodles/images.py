"""Conversion of an uploaded PNG or JPEG to a doodle. Its size is checked before it is decoded, and the file is not stored."""

from __future__ import annotations

import struct
import threading
import zlib
from io import BytesIO
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

from core.data.doodles.strokes import LONGER, RADIUS
from core.data.doodles.text import SIDE, Pixels
from core.errors import InputError
from core.wording import mark

MOST_BYTES = 8_000_000
MOST_PIXELS = 4096 * 4096
"""More than a telephone's camera takes with its usual settings; decoded this is 130 MB at most, for a moment."""
LONGEST_SIDES = 20
"""So many times longer than wide, and nothing can be seen at 28 by 28."""
MOST_SCANS = 40
"""A progressive JPEG is decoded once for each of its scans; cameras write about ten."""
FORMATS = ("PNG", "JPEG")
WORKED = 6 * SIDE
"""Pixels of the longer side while lines are measured."""
FAINT = 0.1
"""A picture whose darkest and lightest parts differ less than this has nothing on it."""
_ONE = threading.Lock()
"""One is decoded at a time: those of many visitors take no more memory than the largest."""
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
    IndexError,
    KeyError,
    OverflowError,
)
_RULE = mark("A picture is a PNG or JPEG of at most {megabytes} MB and {pixels:,} pixels.")
_REMEDY = mark("Save it smaller, or take a screenshot of it, and upload that.")
_SIZES: dict[str, Any] = {"megabytes": MOST_BYTES // 10**6, "pixels": MOST_PIXELS}
Grey = NDArray[np.float64]


def from_image(data: bytes) -> Pixels:
    """Convert the PNG or JPEG file `data` to a doodle, (row, column) uint8: white lines on black, centred, as wide as a
    pen's. Of an animation the first frame is used.

    A picture of 28 by 28 pixels is taken as it is; on a light ground it is inverted.

    >>> file = BytesIO()
    >>> Image.new("L", (28, 28), 255).save(file, "PNG")
    >>> from_image(file.getvalue())
    Traceback (most recent call last):
    ...
    core.errors.InputError: The picture is all of one colour. Lines must stand out from the background. Upload one with a drawing on it.

    Raises InputError for what is no PNG or JPEG, for one that is too large or broken, and for an empty one.
    """
    grey = _decoded(data)
    size = grey.shape
    ground = float(np.median(np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])))
    ink = grey if ground < 0.5 else 1 - grey
    if np.ptp(ink) < FAINT:
        raise InputError(
            "The picture is all of one colour.",
            "Lines must stand out from the background.",
            "Upload one with a drawing on it.",
        )
    if size == (SIDE, SIDE):
        return np.rint(255 * ink).astype(np.uint8)
    return _lines(np.abs(grey - ground))


# ---------------------------------------------------------------- the file


def _decoded(data: bytes) -> Grey:
    """Decode the file to grey values (row, column) from 0, black, to 1, white, at most WORKED pixels each way; transparent pixels become white."""
    if len(data) > MOST_BYTES:
        raise InputError("A file of {n:,.1f} MB.", _RULE, _REMEDY, n=len(data) / 1e6, **_SIZES)
    try:
        with _ONE, Image.open(BytesIO(data), formats=FORMATS) as image:
            _judge(image, data)
            return _grey(image)
    except Image.UnidentifiedImageError:
        raise InputError("This file is not a PNG or JPEG.", _RULE, _REMEDY, **_SIZES) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InputError("The picture has too many pixels.", _RULE, _REMEDY, **_SIZES) from None
    except InputError:
        raise
    except _BROKEN:
        raise InputError(
            "The picture is broken or cut off.",
            "The whole file is needed.",
            "Save it again, and upload that.",
        ) from None


def _judge(image: Image.Image, data: bytes) -> None:
    """Raise InputError for a picture whose header announces too many pixels, too long a side or too many scans, before any pixel is decoded."""
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise InputError(
            "A picture of {width:,} by {height:,} pixels.",
            _RULE,
            _REMEDY,
            width=width,
            height=height,
            **_SIZES,
        )
    if max(width, height) > LONGEST_SIDES * min(width, height):
        raise InputError(
            "A picture of {width:,} by {height:,} pixels.",
            "One side is at most {longest_sides} times as long as the other.",
            "Cut out the part with the drawing.",
            width=width,
            height=height,
            longest_sides=LONGEST_SIDES,
        )
    scans = data.count(b"\xff\xda") if image.format != "PNG" else 0
    if scans > MOST_SCANS:
        raise InputError(
            "A progressive JPEG of {scans:,} scans.",
            "It has at most {most_scans}.",
            "Save it as PNG.",
            scans=scans,
            most_scans=MOST_SCANS,
        )


def _grey(image: Image.Image) -> Grey:
    if image.format != "PNG":
        image.draft(
            "L" if image.mode in ("L", "RGB") else None, (WORKED, WORKED)
        )  # decodes an eighth of the pixels
    image.load()
    if image.mode.startswith("I"):  # 16 bits
        image = Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    elif image.mode in ("P", "1"):
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    factor = max(1, ceil(max(image.size) / WORKED))
    if factor > 1:
        image = image.reduce((min(factor, image.width), min(factor, image.height)))
    image = ImageOps.exif_transpose(image)
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image.convert("RGBA"))
    return np.asarray(image.convert("L"), dtype=np.float64) / 255


# ---------------------------------------------------------------- the lines


def _lines(ink: Grey) -> Pixels:
    """Crop a picture (row, column) to its ink, thicken the lines to a pen's width, and return it scaled and centred as a doodle."""
    ink = np.clip((ink / ink.max() - 0.2) / 0.6, 0, 1)  # paper is not even, ink not either
    rows, columns = np.nonzero(ink.max(axis=1) > 0.5)[0], np.nonzero(ink.max(axis=0) > 0.5)[0]
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    longer = LONGER * SIDE + 2 * RADIUS
    scale = longer / max(cut.shape)
    missing = 2 * RADIUS / scale - _width(cut > 0.5)
    margin = max(0, round(missing / 2))
    image = Image.fromarray(np.rint(255 * np.pad(cut, margin)).astype(np.uint8))
    if margin:
        image = image.filter(ImageFilter.MaxFilter(2 * margin + 1))
        scale = longer / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    small = np.asarray(image.resize((width, height), Image.Resampling.BOX), dtype=np.float64)
    out = np.zeros((SIDE, SIDE), dtype=np.uint8)
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    out[top : top + height, left : left + width] = np.rint(255 * small / max(small.max(), 1))
    return out


def _width(ink: NDArray[np.bool_]) -> float:
    """Return the mean width of the lines in pixels: twice the area for each pixel of the outline."""
    framed = np.pad(ink, 1)
    outline = sum(int((framed != np.roll(framed, 1, axis)).sum()) for axis in (0, 1))
    return 2 * float(ink.sum()) / max(outline * 0.8, 1)  # a slanted outline has more steps than length
