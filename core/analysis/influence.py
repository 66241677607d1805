"""Which inputs influence which output: each input vector is moved, one after the other, and the outputs are compared."""

from __future__ import annotations

import numpy as np

from core.analysis.ripple import KEEP, ripple
from core.edits import AddVector
from core.errors import InputError
from core.model import Model
from core.run import Run

Array = np.ndarray
PUSH = (0.5, -0.25)
"""Added to every other number of a word's vector, as it enters the first layer."""


def influence(model: Model, text: str, of: str = "target", target: str | None = None) -> Array:
    """How much each place moves in each layer when one input is moved: (input, layer + 1, place).

        r_j,l,i = |x'_l,i - x_l,i| / |x_l,i|     x' with input j moved

    The last layer is the pattern where the Jacobian d y_i / d x_j is not zero. `of` is "target", the text that the outputs
    stand over, or "source", what a translator reads; `target` what it is given to write (without: its own translation).
    Where a change cannot come the number is exactly 0: both runs did the same arithmetic there.
    Raises InputError for a source that there is not, and for a model without layers of attention.
    """
    stacks = model.spec.stacks
    if not any(kind.layered for kind in model.spec.kinds) or (of == "source" and not model.spec.has_source):
        raise InputError(f"{model.name} has no {of} whose words could spread through layers.", "Layers of attention spread words.", "Choose another model.")
    two = len(stacks) > 1
    side = "decoder" if two else None
    path = ("encoder." if of == "source" else "decoder.") * two + "embed.out"
    push = np.resize(np.array(PUSH, dtype=np.float32), model.config.d_model)
    before = _run(model, text, target, ())
    n = len(before.source.ids) if of == "source" and before.source else before.side.n_real
    written = before.target_text if two else None
    return np.stack([ripple(before, _run(model, text, written, (AddVector(path, push.tolist(), place),)), side) for place in range(n)])


def _run(model: Model, text: str, target: str | None, edits: tuple[AddVector, ...]) -> Run:
    more = {"target": target} if target is not None else {}
    return model.run(text, keep=KEEP, edits=edits, **more)  # pyright: ignore[reportArgumentType]
