"""Residual sums and layer norm: a layer's addition to a word, a stack without the sums, and the order of sum and norm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.transformer import residuals
from viz.course.transformer.residual_norm import norms, promises, sums
from viz.course.transformer.residual_norm.params import LONGEST, MODELS, SENTENCES, Params
from viz.instruments.kit import origin
from viz.widgets import input_hints


def compute(params: Params) -> residuals.Sum:
    """Compute the first sum of the layer for each token of the sentence. Raises InputError for no token, or more than can be drawn."""
    input_hints.check_length(params.model, params.text, LONGEST)
    run = default().run(RunRequest(params.model, params.text, keep=residuals.KEEP))
    return residuals.first_sum(run, params.at_layer)


def thumbnail() -> str:
    """Draw the input, the addition and the sum: the first numbers of a word."""
    params = Params()
    found = compute(params)
    rows = np.stack([values[params.word, :14] for values in (found.before, found.added, found.after)])
    return thumbs.cells(rows.clip(-12, 12), centred=True)


def _norm_controls(params: Params) -> Sequence[str]:
    """Return the controls of the norm, with the seed for random numbers."""
    return ("gain", "bias", "printed", "numbers", *(("draw",) if params.numbers == "drawn" else ()))


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(sums.add, ("text",), promises=promises.ADD),
        Step(sums.without_sums, ("residual", "size", "draw"), promises=promises.NO_SUMS),
        Step(sums.real, ("text",), promises=promises.REAL),
        Step(norms.norm, _norm_controls, texts=("text",), promises=promises.NORM),
        Step(norms.which_axis, ("axis", "push"), texts=("text",), promises=promises.WHICH_AXIS),
        Step(norms.orders, ("order", "size", "draw"), promises=promises.ORDERS),
    ),
    compute_fields=("text", "model", "layer"),
    cost=lambda params: 10 * max(1, len(params.text)),
    tells=lambda params, data: origin.tell(model=params.model, text=params.text),
    presets=(*({"text": text} for text in SENTENCES[1:]), *({"model": model} for model in MODELS[1:])),
)
