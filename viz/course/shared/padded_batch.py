"""Two sentences of different length in one batch: which cells the padding and the future take away, and a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from core import masks
from core.model import Model
from core.models import Batch
from core.run import Run

Allowed = NDArray[np.bool_]


@dataclass(frozen=True)
class BatchMasks:
    """The masks of one sentence of a padded batch in an encoder-decoder; True = may attend.

    `source_padding` (target word, source word) is what cross-attention used; `target_padding` and `causal`
    (target, target) are the two parts of `union`, the mask that the decoder's self-attention used (what either
    forbids is forbidden). `sources` and `targets` are the tokens, padding included.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    source_padding: Allowed
    target_padding: Allowed
    causal: Allowed
    union: Allowed


@dataclass(frozen=True)
class Change:
    """Largest change of any real position's hidden state after other tokens were put on the padded positions.

    `padded` counts those positions; `with_mask` is the run as it is, `without_mask` the same with padding treated as words.
    """

    padded: int
    with_mask: float
    without_mask: float


def run_batch(model: Model, texts: Sequence[str], targets: Sequence[str | None] | None = None) -> list[Run]:
    """Run the sentences as one padded batch and record the masks."""
    return model.run_many(texts, targets=targets, keep=("*.allowed",))


def batch_masks(run: Run) -> BatchMasks:
    """Return the masks of one run of a padded batch (`run_batch`). Raises ValueError for a model without a source."""
    if run.source is None:
        raise ValueError(f"{run.model.name} has one stack; its padding is a mask over its own words")
    cross, own = (run.model.spec.kind(kind).path(0, "allowed") for kind in ("cross", "causal"))
    n = len(run.side.tokens)
    real = torch.arange(n) < run.side.n_real
    return BatchMasks(
        run.source.tokens,
        run.side.tokens,
        run.trace[cross][0],
        masks.not_padding(real[None])[0, 0].expand(n, n).numpy(),
        masks.causal(n).numpy(),
        run.trace[own][0],
    )


def padded_content(runs: Sequence[Run], seed: int = 0) -> Change:
    """Put other tokens on every padded position of the batch and measure the change (claim C071: none).

    Token ids are drawn from the whole vocabulary by `seed`. Computes four forwards.
    """
    model = runs[0].model
    drawn = torch.Generator().manual_seed(seed)

    def stacked(side: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        sides = [getattr(run, side) for run in runs]
        ids = torch.tensor([one.ids for one in sides])
        real = torch.tensor([[i < one.n_real for i in range(len(one.ids))] for one in sides])
        other = torch.randint(0, model.config.n_vocab, ids.shape, generator=drawn)
        return ids, torch.where(real, ids, other), real

    ids, other_ids, real = stacked("side")
    source = stacked("source") if runs[0].source is not None else None

    def change_of_output(masked: bool) -> float:
        shown = real if masked else torch.ones_like(real)
        plain, changed = Batch(ids=ids, real=shown), Batch(ids=other_ids, real=shown)
        if source is not None:
            seen = source[2] if masked else torch.ones_like(source[2])
            plain, changed = (
                Batch(ids=b.ids, real=b.real, source=s, source_real=seen)
                for b, s in ((plain, source[0]), (changed, source[1]))
            )
        with torch.inference_mode():
            return float((model.network(plain) - model.network(changed))[real].abs().max())

    padded = int((~real).sum()) + (int((~source[2]).sum()) if source is not None else 0)
    return Change(padded, change_of_output(True), change_of_output(False))
