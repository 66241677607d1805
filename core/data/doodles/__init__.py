"""Doodles: grey pictures of 28 by 28 pixels, made from short texts, from strokes of a pen, from an uploaded picture, or
chosen from six shipped examples.

>>> from core.data import doodles
>>> bool((doodles.from_text(doodles.as_text(doodles.from_strokes([[(0.2, 0.5), (0.8, 0.5)]]))) > 0).any())
True
"""

from core.data.doodles.examples import NAMES, example
from core.data.doodles.images import MOST_BYTES, MOST_PIXELS, from_image
from core.data.doodles.strokes import MOST_POINTS, from_strokes
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
    "example",
    "from_image",
    "from_strokes",
    "from_text",
]
