"""Masks: whether a word sees itself, what the diagonal is for, and whose padding is hidden."""

from __future__ import annotations

import numpy as np
import torch

from core import masks
from core.layers.attention import masked_softmax
from viz.course.errata._draws import normal
from viz.course.errata.entry import Evidence, Panel, erratum
from viz.course.shared.mask_evidence import padded_source, prefix_gap, strict_first_row
from viz.course.shared.masks import softmax
from viz.course.shared.self_attention import EXAMPLES as examples
from viz.languages import _
from viz.number_text import in_brackets, small_difference

WORDS = ("I", "am", "a", "student")
EXAMPLES = {name: example.weights for name, example in examples.items()}
"""The weights that the documents print, of the words before “student” and before “apple”."""


@erratum("E17")
def itself() -> Evidence:
    scores = normal(len(WORDS), len(WORDS))
    strict = softmax(np.where(masks.strict(len(WORDS)).numpy(), scores, -np.inf))
    usual = masked_softmax(torch.from_numpy(scores), masks.causal(len(WORDS))).numpy()
    elsewhere, ours = strict_first_row(len(WORDS))
    sums = [sum(weights) for weights in EXAMPLES.values()]
    numbers = {"nan": float(np.isnan(elsewhere).sum()), "ours": float(ours.sum())} | {
        f"sum_{name}": total for name, total in zip(EXAMPLES, sums, strict=True)
    }
    sentence = _(
        "The printed weights sum to {sums}, as they should. But in a row of its own the first word has nothing left: softmax of nothing is {row} in all {n} cells; the atlas uses zeros, which sum to {zeros:.0f}.",
        sums=in_brackets(sums, 1),
        row="NaN" if np.isnan(elsewhere).all() else in_brackets(elsewhere, 3),
        n=len(elsewhere),
        zeros=ours.sum(),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(_("Without the word itself"), strict, WORDS, WORDS, "weights"),
            Panel(_("With it"), usual, WORDS, WORDS, "weights"),
        ),
    )


@erratum("E32")
def whose_padding() -> Evidence:
    without, with_mask = padded_source()
    source, target = 6, 4
    mask = masks.not_padding(torch.arange(source)[None] < target)
    numbers = {
        "without": without,
        "with": with_mask,
        "entries": float(mask.shape[-1]),
        "targets": float(target),
    }
    sentence = _(
        "{target} target words, {source} source positions of which {padding} are padding. Other content there moves the output by up to {without:.3f} without a mask over the source, with it by {with_mask}. The mask has {entries} entries, one for each source position, not {target}.",
        target=target,
        source=source,
        padding=int((~mask).sum()),
        without=without,
        with_mask=small_difference(with_mask),
        entries=mask.shape[-1],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("How far the output moves"),
                [[without], [with_mask]],
                (_("no source mask"), _("source mask")),
                (_("change"),),
                "bars",
            ),
        ),
    )


@erratum("E48")
def strictly_above() -> Evidence:
    elsewhere = strict_first_row()[0]
    apart = prefix_gap()
    numbers = {"nan": float(np.isnan(elsewhere).sum()), "prefix": apart}
    sentence = _(
        "With the diagonal hidden the first row is {row} in {broken} of {n} cells. Without it the sum up to i and the mask agree to {apart}.",
        row="NaN" if np.isnan(elsewhere).all() else in_brackets(elsewhere, 3),
        broken=int(np.isnan(elsewhere).sum()),
        n=len(elsewhere),
        apart=small_difference(apart),
    )
    return Evidence(numbers, sentence)
