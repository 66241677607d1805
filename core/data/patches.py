"""A picture as a sequence of patches, some of them hidden, read from a doodle's text.

Position 0 is the class token, in DeiT position 1 the distillation token, then come the patches row by row. An id below the
number of positions is a visible position; the same id plus that number is the same position hidden.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray
from tokenizers import models
from torch import Tensor

from core.data import doodles
from core.errors import InputError
from core.text import Encoded

MEAN = DEVIATION = 0.5
"""Brightness from 0 to 1 becomes (x - MEAN) / DEVIATION, as for the ViTs of Google: from -1, black, to 1, white."""
GROUND = (0 - MEAN) / DEVIATION
"""The number for a black pixel, the ground of a doodle."""
HIDDEN = 0.75
"""Share of the patches that a masked autoencoder learns from hiding (He et al. 2022, 3)."""
SPECIAL_TOKENS = ("class", "distillation")
"""The tokens that may come before the patches: of the class, and of the teacher's class in DeiT (Touvron et al. 2021)."""
_MARK = re.compile(r"\s+hidden:([0-9a-f]{1,4096})$")


def to_patches(picture: Tensor, patch: int) -> Tensor:
    """Cut a picture into patches, row by row, each flattened channel by channel from its top left corner.

    Equation (Dosovitskiy et al. 2021, 3.1): x in (channel, H, W) becomes x_p in (N, patch^2 channels), N = H W / patch^2.
    A linear map of these is `nn.Conv2d` with kernel and stride `patch`, its weight flattened.
    Shapes: picture (.. channel row column) -> (.. pos number).
    Errors: ValueError where the sides cannot be cut into patches.

    >>> to_patches(torch.arange(16.0).reshape(1, 4, 4), 2)[1].tolist()
    [2.0, 3.0, 6.0, 7.0]
    """
    *before, channels, high, wide = picture.shape
    if high % patch or wide % patch:
        raise ValueError(f"a picture of {high} x {wide} is not divisible into patches of {patch} x {patch}")
    cut = picture.reshape(*before, channels, high // patch, patch, wide // patch, patch)
    n = len(before)
    order = (*range(n), n + 1, n + 3, n, n + 2, n + 4)
    return cut.permute(order).reshape(*before, -1, channels * patch * patch)


def from_patches(patches: Tensor, grid: Sequence[int], channels: int = 1) -> Tensor:
    """Join patches (.., pos, number) in a `grid` of (rows, columns) to a picture (.., channel, row, column): the inverse of `to_patches`.

    >>> x = torch.arange(16.0).reshape(1, 4, 4)
    >>> torch.equal(from_patches(to_patches(x, 2), (2, 2)), x)
    True
    """
    *before, _, numbers = patches.shape
    rows, columns = grid
    patch, n = round((numbers / channels) ** 0.5), len(before)
    cut = patches.reshape(*before, rows, columns, channels, patch, patch)
    order = (*range(n), n + 2, n, n + 3, n + 1, n + 4)
    return cut.permute(order).reshape(*before, channels, rows * patch, columns * patch)


def patch_values(pixels: NDArray[np.uint8], patch: int, n_special: int = 1) -> NDArray[np.float32]:
    """Cut grey pictures (.., row, column) into patches (.., position, number) scaled from -1, black, to 1, white, after `n_special` positions of zeros.

    >>> patch_values(np.full((28, 28), 255, dtype=np.uint8), 4)[:2, 0].tolist()
    [0.0, 1.0]
    >>> patch_values(np.zeros((28, 28), dtype=np.uint8), 4)[1, 0].item()
    -1.0
    """
    scaled = (torch.from_numpy(pixels.astype(np.float32)) / 255 - MEAN) / DEVIATION
    cut = to_patches(scaled[..., None, :, :], patch)
    return torch.nn.functional.pad(cut, (0, 0, n_special, 0)).numpy()


def patch_names(side: int, n_special: int = 1) -> tuple[str, ...]:
    """Return the names of all ids of a grid of `side` x `side` patches after `n_special` special tokens: row and column counted from 1, then the same hidden.

    >>> patch_names(1)
    ('class', '1,1', 'class hidden', '1,1 hidden')
    """
    seen = (
        *SPECIAL_TOKENS[:n_special],
        *(f"{row},{column}" for row in range(1, side + 1) for column in range(1, side + 1)),
    )
    return (*seen, *(f"{name} hidden" for name in seen))


def patch_tokenizer(side: int, n_special: int = 1) -> tokenizers.Tokenizer:
    """Return a tokenizer of a grid of `side` x `side` patches after `n_special` special tokens; each name is there visible and hidden.

    >>> patch_tokenizer(7).token_to_id("7,7")
    49
    """
    return tokenizers.Tokenizer(
        models.WordLevel(
            {name: index for index, name in enumerate(patch_names(side, n_special))}, unk_token="class"
        )
    )


def sample_hidden(n: int, share: float = HIDDEN, seed: int = 0) -> tuple[int, ...]:
    """Return the numbers of randomly chosen patches to hide, ascending, out of 1 to n: as many as the share, rounded down.

    >>> len(sample_hidden(49)), sample_hidden(4, 0.5, seed=1) == sample_hidden(4, 0.5, seed=1)
    (36, True)
    """
    order = np.random.default_rng(seed).permutation(n)[: int(n * share)]
    return tuple(sorted(int(place) + 1 for place in order))


def without_hidden_mark(text: str) -> str:
    """Return a doodle's text without the mark of hidden patches.

    >>> without_hidden_mark("doodle:Y2AYBaNgFMAAAA hidden:a")
    'doodle:Y2AYBaNgFMAAAA'
    """
    return _MARK.sub("", text.strip())


def with_hidden_mark(text: str, places: Collection[int]) -> str:
    """Return a doodle's text with a mark that hides the patches at these positions, and no others.

    >>> with_hidden_mark("doodle:Y2AYBaNgFMAAAA", [1, 3])
    'doodle:Y2AYBaNgFMAAAA hidden:a'
    """
    bits = sum(1 << place for place in set(places))
    return f"{without_hidden_mark(text)} hidden:{bits:x}"


def hidden_positions(text: str, n: int, n_special: int = 1) -> tuple[int, ...] | None:
    """Return the hidden positions that a doodle's text names, of n patches from position `n_special` on; None where it has no mark.

    >>> hidden_positions("doodle:Y2AYBaNgFMAAAA hidden:a", 49), hidden_positions("doodle:Y2AYBaNgFMAAAA", 49)
    ((1, 3), None)

    Raises InputError for a position that the picture does not have.
    """
    match = _MARK.search(text.rstrip())
    if match is None:
        return None
    bits = int(match[1], 16)
    if bits & ((1 << n_special) - 1) or bits >> (n + n_special):
        raise InputError(
            "The mark of hidden patches names a patch that does not exist.",
            "The places are those of {n:,} patches, from {n_special} on.",
            "Hide patches of this picture, or take the mark away.",
            n=n,
            n_special=n_special,
        )
    return tuple(place for place in range(n_special, n + n_special) if bits >> place & 1)


@dataclass(frozen=True)
class PatchReader:
    """A reader of doodle texts: the class token and the patches of a picture of `image` pixels each way.

    A larger picture than a doodle shows each of its pixels as a square, in all `channels` alike. `share` of the patches
    are hidden where the text names none. The patches begin at position `n_special`: after the class token, or after the
    distillation token too.

    >>> PatchReader(28, 4, 1).encode(PatchReader(28, 4, 1).example).tokens[:3]
    ('class', '1,1', '1,2')
    """

    image: int
    patch: int
    channels: int
    share: float = 0.0
    n_special: int = 1

    @property
    def example(self) -> str:
        return doodles.as_text(doodles.example("cat"))

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Encode a doodle's text to one token a position, with the numbers of its patch. Raises InputError for a text that is no doodle."""
        if self.image % doodles.SIDE:
            raise InputError(
                "This model reads pictures of {image} x {image} pixels.",
                "The pictures here are doodles of {side} x {side}, shown larger a whole number of times.",
                "Open a model of 28 or 224 pixels.",
                image=self.image,
                side=doodles.SIDE,
            )
        side = self.image // self.patch
        n = side * side
        hidden = hidden_positions(text, n, self.n_special)
        pixels = doodles.from_text(without_hidden_mark(text))
        times = self.image // doodles.SIDE
        values = patch_values(pixels.repeat(times, 0).repeat(times, 1), self.patch, self.n_special)
        values = np.tile(values, (1, self.channels))
        draw = (place - 1 + self.n_special for place in sample_hidden(n, self.share))
        gone = {*draw} if hidden is None and self.share else {*(hidden or ())}
        values[list(gone)] = 0
        ids = tuple(place + len(values) * (place in gone) for place in range(len(values)))
        called = patch_names(side, self.n_special)
        return Encoded(ids, tuple(called[i] for i in ids), (None,) * len(ids), values=values)
