"""Attention as a weighting: ten words share 100 percent, and so do the parts of a picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.shared import weighting
from viz.course.why.weighting import shares, steps
from viz.course.why.weighting.params import PLACES, SENTENCE, Params


def compute(params: Params) -> shares.Data:
    """Return the weights of words and of patches. Errors: InputError for a sentence that cannot be shown."""
    return shares.shared(params)


def thumbnail() -> str:
    """Draw the five largest weights of words."""
    data = compute(Params())
    best = np.argsort(-data.weights, kind="stable")[:5]
    return thumbs.bars(data.weights[best], [data.words[i] for i in best], marked=0)


def _by_hand_or_model(params: Params) -> bool:
    """Return whether the scores are set by hand or computed by a model, not all the same."""
    return params.score_source in ("hand", "model")


def _first_words(params: Params, data: shares.Data) -> bool:
    """Check that the words in bold weigh most; for the model: that every name and noun weighs more than is, a and by."""
    order = [data.words[i] for i in np.argsort(-data.weights, kind="stable")]
    if params.score_source == "hand":
        return set(order[:4]) == {"portrait", "Leonardo", "da", "Vinci"}
    small = [data.weights[data.words.index(word)] for word in ("is", "a", "by")]
    named = [data.weights[data.words.index(word)] for word in ("Mona", "Lisa", "portrait", "Leonardo")]
    return params.score_source != "model" or min(named) > max(small)


def _visible_loss(params: Params, data: shares.Data) -> bool:
    """Check that one more point for the smallest score takes at least half a percent from the others."""
    place = int(np.argmin(data.raw))
    return bool(weighting.weights_after_increase(data.raw, place)[place] - data.weights[place] >= 0.005)


def _on_the_part(params: Params, _: object) -> bool:
    """Check that the chosen part of the portrait is among the two parts with most attention."""
    parts = shares.shared(replace(params, text=SENTENCE)).parts
    part = "face" if params.part == "smile" else params.part
    return part in sorted(parts, key=parts.__getitem__, reverse=True)[:2]


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            steps.guess,
            texts=("text",),
            promises={
                "the largest weight is more than its share of the scores, by a fifth": lambda params, data: (
                    not _by_hand_or_model(params) or data.weights.max() > 1.2 * max(data.raw) / sum(data.raw)
                )
            },
        ),
        Step(steps.weigh, texts=("text",), promises={"the words that matter weigh most": _first_words}),
        Step(
            steps.share,
            texts=("text",),
            promises={"one more point takes a share from the others that one can see": _visible_loss},
        ),
        Step(
            steps.skim,
            ("threshold",),
            texts=("text",),
            promises={
                "at most half of the words hold at least two thirds of the attention": lambda params, data: (
                    not _by_hand_or_model(params)
                    or (
                        2 * len(data.kept_words) <= len(data.words)
                        and data.weights[list(data.kept_words)].sum() >= 2 / 3
                    )
                )
            },
        ),
        Step(
            steps.look,
            ("part", "width"),
            without_data=True,
            promises={"the chosen part is among the two with most attention": _on_the_part},
        ),
    ),
    presets=({"source": "equal"}, {"source": "model"}, *({"part": part} for part in PLACES)),
    cost=lambda params: 60 if params.score_source == "model" else 2,
)
