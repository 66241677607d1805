"""A small exhibit, for the tests of what stands around every exhibit: three words that all get the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Folds, Step
from viz.instruments import heatmap
from viz.widgets import exhibit_parts, page_parts
from viz.widgets.knobs import Knobs, knob, sentence


@dataclass(frozen=True)
class Params(Knobs):
    """The words."""

    text: str = knob("one two three", sentence("Sentence"))


def compute(params: Params) -> tuple[list[str], np.ndarray]:
    """The words, and to each from each the same."""
    words = params.text.split() or ["nothing"]
    return words, np.full((len(words), len(words)), 1 / len(words))


def thumbnail() -> str:
    """The weights."""
    return thumbs.cells(compute(Params())[1])


def draw(params: Params, data: tuple[list[str], np.ndarray]) -> Folds:
    """A question with words for answers, the weights, a question with a number for an answer."""
    words, weights = data
    longest, share = max(words, key=len), 1 / len(words)
    exhibit_parts.predict(
        "blackboard.longest",
        "Which word is the longest?",
        words,
        longest,
        f"“{longest}” has {len(longest)} letters.",
    )
    heatmap(weights, words, words, key="blackboard.picture", title="Weights", numbers=True)
    page_parts.summary(f"Each word gives {share:.2f} to each.")
    exhibit_parts.predict_number(
        "blackboard.share",
        "How much does each word get?",
        0,
        1,
        answer=share,
        explanation="All are alike.",
        near=0.05,
        unit="%",
    )
    return Folds(
        table=lambda: pd.DataFrame(weights, words, words),
        arrays=lambda: {"weights": weights},
        code="import numpy as np\n\nweights = np.full((3, 3), 1 / 3)",
    )


EXHIBIT = Exhibit(__file__, Params, compute, [Step(draw)] * 3, controls=("text",))
