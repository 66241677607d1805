"""The change by tuning in a run of one text: its attention, and the output of the new head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.data.spans import spans
from core.errors import InputError
from core.maths import percent
from core.run import Run
from viz.course.shared.weighting import softmax

Array = NDArray[np.floating]


def attention_change(before: Run, after: Run) -> Array:
    """Return the largest change of any weight, 0 to 1, (layer, head); exactly 0 where no weight differs in a bit.

    Raises InputError for runs of different texts.
    """
    old, new = before.attention().weights, after.attention().weights
    if old.shape != new.shape:
        raise InputError(
            f"The patterns have the shapes {old.shape} and {new.shape}.",
            "Both runs are of the same text.",
            "Run both on one text.",
        )
    return np.abs(new - old).max((2, 3))


def describe_output(run: Run, labels: Sequence[str]) -> str:
    """Return the output of a tuned model's head as text: a class with its probability, a tag for each token, or the answer.

    The head is the one that the model has; `labels` are its classes or tags.
    """
    if run.model.config.n_classes:
        chances = softmax(np.asarray(run.classes, dtype=np.float64))
        return f"{labels[int(chances.argmax())]}, {percent(chances.max())}"
    inner = [place for place, span in enumerate(run.spans) if span is not None]
    if run.model.config.n_tags:
        return ", ".join(f"{run.tokens[place]} {labels[int(np.argmax(run.tags[place]))]}" for place in inner)
    second = np.array(
        [span is not None and segment == 1 for span, segment in zip(run.spans, run.segments, strict=True)]
    )
    if not second.any():
        raise InputError(
            "There is no text to look for the answer in.",
            "The answer stands in the second text.",
            "Type a second text.",
        )
    starts, ends = np.asarray(run.answer, dtype=np.float64).T
    found = spans(starts, ends, second)
    first, last = found.best
    return f"{' '.join(run.tokens[first : last + 1])}, {percent(found.probability)}"
