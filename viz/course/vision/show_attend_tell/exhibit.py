"""Show, attend and tell: a caption word by word, and for each word the cells of the picture that it was written from."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.vision.show_attend_tell import features, judging, maths, promises, steps
from viz.course.vision.show_attend_tell.params import TEXTS, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Description:
    """Run the captioning model on the scene, with soft attention."""
    return maths.describe(params.text)


def thumbnail() -> str:
    """Draw the weights of the last noun of the opening caption."""
    data = compute(Params())
    row = max(data.nouns, default=0)
    return thumbs.cells(data.weights[row].reshape(5, 5))


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("draw",), texts=("own",), promises=promises.GUESS),
        Step(steps.words, change=("draw",), texts=("colour", "kind", "own"), promises=promises.WORDS),
        Step(steps.gates, ("draw",), texts=("own",), promises=promises.GATES),
        Step(steps.hard, ("cells",), texts=("own",), promises=promises.HARD),
        Step(judging.judge, ("judge",), without_data=True, promises=promises.JUDGEMENTS),
        Step(judging.printed, ("judge",), without_data=True, promises=promises.PRINTED),
        Step(features.draw, ("draw",), texts=("own",), promises=promises.FEATURES),
    ),
    presets=tuple({"own": text} for text in TEXTS),
    compute_fields=("own", "draw"),
    cost=3_000,
    tells=lambda params, data: origin.tell(
        model=maths.MODEL, text=params.text, second_text=data.sentence, kind="alignment"
    ),
)
