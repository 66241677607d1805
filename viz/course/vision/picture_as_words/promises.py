"""The claims of the exhibit on Vision Transformers, each a condition on the run that a page shows."""

from __future__ import annotations

from viz.course.vision.picture_as_words import maths
from viz.course.vision.picture_as_words.maths import Reading
from viz.course.vision.picture_as_words.params import LAYERS, Params


def filled_is_nearer(params: Params, data: Reading) -> bool:
    """Return whether the decoder misses the hidden pixels by at most two thirds of the squared error of the mean patch."""
    found = maths.filled(params.own, params.share / 100, params.draw)
    return len(found.hidden) == 36 and found.error <= 2 / 3 * found.of_mean


PATCHES = {
    "7 x 7 patches and the class token are 50 tokens": lambda params, data: (
        len(maths.cut(data.pixels, params.patch)) + 1
        == maths.n_tokens(maths.SIDE, params.patch)
        == data.weights.shape[-1]
        == 50
    ),
}
CLASS_TOKEN = {
    "the class token attends to lines more than to a uniform share": lambda params, data: (
        data.on_ink(LAYERS - 1) > maths.inked(data.pixels).mean()
    ),
    "the class is clear": lambda params, data: data.chances.max() >= 0.9,
}
HIDDEN = {"filled in, at most two thirds of the error of the mean patch are left": filled_is_nearer}
