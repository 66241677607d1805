"""Inside a feed-forward network: which hidden units fire, for which words, what each writes, and that words do not meet.

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
        """Which unit is on for which word, (word, d_ff)."""
        return self.pre > 0

    @property
    def dead(self) -> int:
        """Units that fire for no word of the text."""
        return int((~self.fires.any(0)).sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many units fire for exactly 0, 1, .. all words: (word + 1,)."""
        return np.bincount(self.fires.sum(0), minlength=len(self.tokens) + 1)


def is_pre(model: Any) -> bool:
    """Whether the norm stands before the sub-layer in this model."""
    return getattr(model.config, "order", "post") == "pre"


def inner(run: Any, layer: int) -> Inner:
    """The network of a layer, from a run that kept `KEEP`; in a translator that of the encoder."""
    path = f"{stem(run)}.{layer}."
    into, reads = ("norm2.out", "norm1.out") if is_pre(run.model) else ("norm1.out", "resid_in")
    leaves = (into, "ffn.pre", "ffn.act", "ffn.out", reads)
    return Inner((run.source or run).tokens, *(run.trace[path + leaf] for leaf in leaves))


def block(model: Any, layer: int) -> Any:
    """The module of a layer of the stack that reads."""
    network = model.network
    return (network.encoder if hasattr(network, "encoder") else network.layers)[layer]


def n_parameters(model: Any, layer: int) -> dict[str, int]:
    """How many numbers were learned in the attention, the network and the norms of a layer."""
    parts = {"attention": "self_attn", "network": "ffn", "norms": "norm"}
    named = list(block(model, layer).named_parameters())
    return {say: sum(w.numel() for name, w in named if name.startswith(part)) for say, part in parts.items()}


def closed_form(d: int, d_ff: int) -> int:
    """W_1, b_1, W_2, b_2: 2 d d_ff + d_ff + d.

    >>> closed_form(512, 2048)
    2099712
    """
    return 2 * d * d_ff + d_ff + d


@dataclass(frozen=True)
class Moved:
    """How far each word's output moved (word,), the largest number's change, when one word's input was changed."""

    network: Array
    attention: Array


def changed(model: Any, layer: int, found: Inner, word: int) -> Moved:
    """Turn the vector of one word round (x -> -x) before the network, and before the attention; who notices?

    Words of a GPT may not look ahead, so there only later words can notice.
    """
    part, n = block(model, layer), len(found.tokens)
    allowed = masks.causal(n) if model.family == "gpt" else torch.ones(n, n, dtype=torch.bool)
    with torch.inference_mode():
        pair = [_turned(found.into, word), _turned(found.reads, word)]
        alone = [part.ffn(x) for x in pair[0]]
        together = [part.self_attn(x, x, allowed) for x in pair[1]]
    return Moved(*((b - a).abs()[0].max(-1).values.numpy() for a, b in (alone, together)))


def _turned(x: Array, word: int) -> tuple[torch.Tensor, torch.Tensor]:
    first = torch.tensor(x)[None]
    second = first.clone()
    second[0, word] = -second[0, word]
    return first, second


@dataclass(frozen=True)
class Written:
    """What a unit writes: `share` (word,) its activation for each word, `vector` (d) its column of W_2, the `nearest`
    rows of the token table (row, cosine), and the best cosine that a drawn direction reaches, the mean of 20."""

    share: Array
    vector: Array
    nearest: list[tuple[int, float]]
    chance: float


def written(model: Any, layer: int, found: Inner, unit: int, n: int = 5, lot: int = 0) -> Written:
    """One hidden unit: for whom it fires, and which words its output vector points to; `lot` is the draw of the 20 directions."""
    vector = block(model, layer).ffn.to_out.weight[:, unit].detach().numpy()
    table = model.network.embed["token"].weight.detach().numpy()
    drawn = np.random.default_rng(lot).standard_normal((20, len(vector)))
    chance = np.mean([nearest_rows(table, direction, 1)[0][1] for direction in drawn])
    return Written(found.act[:, unit], vector, nearest_rows(table, vector, n), float(chance))
