"""The mean outputs of heads over texts, which replace the output of a head that is switched off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.model import Model

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


def mean_outputs(
    model: Model, texts: Sequence[str], kind: str, targets: Sequence[str | None] | None = None
) -> Float[Array, "layer head d_head"]:
    """Return the mean of each head's output over all words of the texts.

    For `edits.MeanHead`: it knows nothing of the text that is edited (mean ablation, Wang et al. 2022). Padding does
    not count. `targets` are the texts that an encoder-decoder writes; without them its own translations.
    Raises InputError without a text.
    """
    if not texts:
        raise InputError("There is no text.", "A mean is taken over at least one.", "Give a list of texts.")
    found = model.spec.kind(kind)
    paths = [found.path(layer, "heads") for layer in range(found.n_layers(model.config))]
    runs = model.run_many(texts, targets=targets, keep=paths)
    real = [
        (run.source if found.queries == "source" and run.source is not None else run.side).n_real
        for run in runs
    ]
    sums = [
        np.stack([run.trace[path][:, :n].sum(1, dtype=np.float64) for path in paths])
        for run, n in zip(runs, real, strict=True)
    ]
    return (np.sum(sums, axis=0) / sum(real)).astype(np.float32)
