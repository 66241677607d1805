"""Claims of the exhibit on cross-attention about its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from core.serving.engine import default
from viz.course.shared import cross_shapes
from viz.course.shared.padded_batch import Change, padded_content, run_batch
from viz.course.transformer.cross_attention import maths
from viz.course.transformer.cross_attention.maths import Data
from viz.course.transformer.cross_attention.params import MODEL, SENTENCES, Params

Promises = Mapping[str, Callable[[Params, Data], bool]]


def shapes(params: Params, data: Data) -> bool:
    """Return whether queries have the rows of what is written, keys and values those of what was read."""
    path, m, n = f"decoder.layer.{data.layer}.cross_attn", len(data.target_tokens), len(data.source_tokens)
    rows = [data.run.trace[f"{path}.{leaf}"].shape[-2] for leaf in ("q", "k", "v", "heads")]
    return rows == [m, n, n, m]


def notices(params: Params, data: Data) -> bool:
    """Return whether an exchanged source word moves K and V, not the first queries; a target word only queries."""
    change, *_ = maths.measure_exchange(data, params.side)
    if params.side == "target":
        return bool((change[:, 0] > 0).all() and (change[:, 1:] == 0).all())
    return bool(change[0, 0] == 0 and (change[:, 1:] > 0).all() and (change[1:, 0] > 0).all())


def asked_once(params: Params, data: Data) -> bool:
    """Return whether the source is computed at the first step only, and writing changes nothing."""
    found = cross_shapes.decode_with_cache(data.run)
    n = len(data.source_tokens)
    return (
        found.source_cached
        and found.source == (n, *(0,) * (len(data.target_tokens) - 1))
        and found.gap < 1e-3
    )


@cache
def padded(first: str, second: str, draw: int) -> Change:
    """Return what other content on the padding of a batch changes, with the masks and without."""
    return padded_content(run_batch(default().open(MODEL), (first, second)), draw)


def keeps_padding_out(params: Params, _: Data) -> bool:
    """Return whether other content on the padding changes nothing with the masks, and much without."""
    change = padded(params.first, params.second, params.draw)
    return change.with_mask == 0 and change.without_mask > 0.1


def same_layer(_: Params, data: Data) -> bool:
    """Return whether a decoder layer without cross-attention has the parameters of an encoder layer."""
    both = cross_shapes.counts(data.run.model), cross_shapes.counts()
    return all(each.without_cross == each.encoder < each.decoder for each in both)


TWO_AXES: Promises = {
    "at the opening the sentences have different lengths: the map is not a square": lambda params, data: (
        params.text != SENTENCES[0] or len(data.target_tokens) != len(data.source_tokens)
    ),
    "every row sums to 1": lambda params, data: bool(np.abs(data.pattern.sum(1) - 1).max() < 1e-4),
    "half of the words and more have half of their attention on one word": lambda params, data: bool(
        np.median(data.pattern.max(1)) >= 0.5
    ),
}
WHO_ASKS: Promises = {"as many queries as words written, as many keys and values as words read": shapes}
SWAP: Promises = {"a source word moves keys and values, and queries from layer 1 on": notices}
ONCE: Promises = {"the source is computed at the first step only": asked_once}
PADDING: Promises = {"with the masks padding changes nothing, without them it does": keeps_padding_out}
LAYER: Promises = {"without cross-attention a decoder layer is as large as an encoder layer": same_layer}
