"""Doodles: grey pictures of 28 by 28 pixels, as short texts, from strokes of a pen, from an uploaded picture, and some of our own.

>>> from core.data import doodles
>>> bool((doodles.from_text(doodles.as_text(doodles.drawn([[(0.2, 0.5), (0.8, 0.5)]]))) > 0).any())
True
"""

from core.data.doodles.images import MOST_BYTES, MOST_PIXELS, from_image
from core.data.doodles.own import NAMES, own
from core.data.doodles.strokes import MOST_POINTS, drawn
from core.data.doodles.text import LONGEST, PREFIX, SIDE, Pixels, as_text, from_text

__all__ = [
    "LONGEST",
    "MOST_BYTES",
    "MOST_PIXELS",
    "MOST_POINTS",
    "NAMES",
    "PREFIX",
    "SIDE",
    "Pixels",
    "as_text",
    "drawn",
    "from_image",
    "from_text",
    "own",
]
