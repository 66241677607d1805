"""What a model of patches looks at, on the doodle that it read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from core.data import doodles
from core.data.patches import PatchReader, bare
from core.errors import InputError
from viz.instruments.picture.picture import PictureView

if TYPE_CHECKING:
    from core.model import Model
    from core.run import Run


def reads(model: Model) -> bool:
    """Whether it reads a doodle, patch by patch.

    >>> import core
    >>> reads(core.open_model("gpt-mini"))
    False
    """
    return isinstance(model.reader, PatchReader)


def on_patches(run: Run, weights: ArrayLike, **options: Any) -> PictureView:
    """The weights (query, key) of one head over the patches of the run's doodle, the class token beside it; options as of `PictureView`.

    Raises InputError for a run that read no picture.
    """
    reader = run.model.reader
    if not isinstance(reader, PatchReader):
        raise InputError(
            f"{run.model.name} reads no picture.",
            "Weights lie on a picture where its patches were read.",
            "Take a model of pictures, or give pixels, weights and cells.",
        )
    side = reader.image // reader.patch
    pixels = doodles.from_text(bare(run.side.text))
    return PictureView(pixels, weights, (side, side), special=["class token"], ground="dark", **options)
