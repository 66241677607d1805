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
    sentence = (
        f"The printed weights sum to {in_brackets(sums, 1)}, as they should. But in a row of its own the first word has nothing left: "
        f"softmax of nothing is {'NaN' if np.isnan(elsewhere).all() else in_brackets(elsewhere, 3)} in all {len(elsewhere)} cells; the atlas uses zeros, which sum to {ours.sum():.0f}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel("Without the word itself", strict, WORDS, WORDS, "weights"),
            Panel("With it", usual, WORDS, WORDS, "weights"),
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
    sentence = (
        f"{target} target words, {source} source positions of which {int((~mask).sum())} are padding. Other content there moves "
        f"the output by up to {without:.3f} without a mask over the source, with it by {small_difference(with_mask)}. The mask has "
        f"{mask.shape[-1]} entries, one for each source position, not {target}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "How far the output moves",
                [[without], [with_mask]],
                ("no source mask", "source mask"),
                ("change",),
                "bars",
            ),
        ),
    )


@erratum("E48")
def strictly_above() -> Evidence:
    elsewhere, _ = strict_first_row()
    apart = prefix_gap()
    numbers = {"nan": float(np.isnan(elsewhere).sum()), "prefix": apart}
    sentence = (
        f"With the diagonal hidden the first row is {'NaN' if np.isnan(elsewhere).all() else in_brackets(elsewhere, 3)} in "
        f"{int(np.isnan(elsewhere).sum())} of {len(elsewhere)} cells. Without it the sum up to i and the mask agree to {small_difference(apart)}."
    )
    return Evidence(numbers, sentence)
