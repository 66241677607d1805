"""Inside a feed-forward network: the active hidden units of each word, the output of a unit, and the independence of words.

x (word, d) -> pre = W_1 x + b_1 (word, d_ff) -> act (word, d_ff) -> out (word, d). A unit fires where pre > 0.
Vaswani et al. 2017, section 3.3; Geva et al. 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core import masks
from core.analysis.residual.vectors import nearest_rows
from viz.course.transformer.residuals import stem

Array = NDArray[np.floating[Any]]
KEEP = ("*norm1.out", "*norm2.out", "*resid_in", "*ffn.pre", "*ffn.act", "*ffn.out")


@dataclass(frozen=True)
class Inner:
    """The network of one layer on all words of a text: into (word, d), pre and act (word, d_ff), out (word, d).

    `reads` (word, d) is what the attention of the same layer reads.
    """

    tokens: tuple[str, ...]
    into: Array
    pre: Array
    act: Array
    out: Array
    reads: Array

    @property
    def fires(self) -> NDArray[np.bool_]:
        """Return a mask of the active units of each word, (word, d_ff)."""
        return self.pre > 0

    @property
    def dead(self) -> int:
        """Count the units that fire for no word of the text."""
        return int((~self.fires.any(0)).sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Count the units that fire for exactly 0, 1, .. all words: (word + 1,)."""
        return np.bincount(self.fires.sum(0), minlength=len(self.tokens) + 1)


def is_pre(model: Any) -> bool:
    """Return whether the norm comes before the sub-layer in this model."""
    return getattr(model.config, "order", "post") == "pre"


def inner(run: Any, layer: int) -> Inner:
    """Return the network of a layer, from a run that recorded `KEEP`; in a translator that of the encoder."""
    path = f"{stem(run)}.{layer}."
    into, reads = ("norm2.out", "norm1.out") if is_pre(run.model) else ("norm1.out", "resid_in")
    leaves = (into, "ffn.pre", "ffn.act", "ffn.out", reads)
    return Inner((run.source or run).tokens, *(run.trace[path + leaf] for leaf in leaves))


def block(model: Any, layer: int) -> Any:
    """Return the module of a layer of the encoder, or of the only stack."""
    network = model.network
    return (network.encoder if hasattr(network, "encoder") else network.layers)[layer]


def n_parameters(model: Any, layer: int) -> dict[str, int]:
    """Count the parameters in the attention, the network and the norms of a layer."""
    parts = {"attention": "self_attn", "network": "ffn", "norms": "norm"}
    named = list(block(model, layer).named_parameters())
    return {say: sum(w.numel() for name, w in named if name.startswith(part)) for say, part in parts.items()}


def closed_form(d: int, d_ff: int) -> int:
    """Count the parameters of W_1, b_1, W_2, b_2: 2 d d_ff + d_ff + d.

    >>> closed_form(512, 2048)
    2099712
    """
    return 2 * d * d_ff + d_ff + d


@dataclass(frozen=True)
class OutputChange:
    """Largest change of each word's output (word,) when one word's input was changed."""

    network: Array
    attention: Array


def negate_word(model: Any, layer: int, inner_layer: Inner, word: int) -> OutputChange:
    """Negate the vector of one word (x -> -x) before the network, and before the attention; measure the change of every output.

    Words of a GPT may not look ahead, so there only later words can notice.
    """
    part, n = block(model, layer), len(inner_layer.tokens)
    allowed = masks.causal(n) if model.family == "gpt" else torch.ones(n, n, dtype=torch.bool)
    with torch.inference_mode():
        pair = [_negated(inner_layer.into, word), _negated(inner_layer.reads, word)]
        alone = [part.ffn(x) for x in pair[0]]
        together = [part.self_attn(x, x, allowed) for x in pair[1]]
    return OutputChange(*((b - a).abs()[0].max(-1).values.numpy() for a, b in (alone, together)))


def _negated(x: Array, word: int) -> tuple[torch.Tensor, torch.Tensor]:
    first = torch.tensor(x)[None]
    second = first.clone()
    second[0, word] = -second[0, word]
    return first, second


@dataclass(frozen=True)
class UnitOutput:
    """Output of one hidden unit: `share` (word,) its activation for each word, `vector` (d) its column of W_2, the `nearest` rows of the
    token table (row, cosine), and the best cosine of a random direction, the mean of 20.
    """

    share: Array
    vector: Array
    nearest: list[tuple[int, float]]
    chance: float


def unit_output(
    model: Any, layer: int, inner_layer: Inner, unit: int, n: int = 5, lot: int = 0
) -> UnitOutput:
    """Measure one hidden unit: its activation for each word, and the words that its output vector points to; `lot` seeds the 20 random
    directions.
    """
    vector = block(model, layer).ffn.to_out.weight[:, unit].detach().numpy()
    table = model.network.embed["token"].weight.detach().numpy()
    drawn = np.random.default_rng(lot).standard_normal((20, len(vector)))
    chance = np.mean([nearest_rows(table, direction, 1)[0][1] for direction in drawn])
    return UnitOutput(inner_layer.act[:, unit], vector, nearest_rows(table, vector, n), float(chance))
