"""How large the models are: counted by part from our own classes, beside the stated figures; a calculator; the race."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.gpt.sizes import calculator, maths, promises, steps
from viz.course.gpt.sizes.params import Data, Params
from viz.course.lesson import Lesson, Step


def compute(params: Params) -> Data:
    """Everything counted. Errors: InputError where the heads cannot share the width."""
    counts = {name: maths.counted(shape) for name, shape in maths.ALL.items()}
    return Data(counts, params.shape, maths.counted(params.shape))


def thumbnail() -> str:
    """The sizes of GPT-2."""
    names = tuple(maths.GPT2)[1:]
    sizes = [maths.total(maths.GPT2[name]) for name in names]
    return thumbs.bars(sizes, [name.removeprefix("GPT-2 ") for name in names], marked=3)


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.by_part, ("model",), promises=promises.BY_PART),
        Step(steps.variants, ("variant",), promises=promises.VARIANTS),
        Step(steps.gpt2, ("grown",), promises=promises.FOUR_SIZES),
        Step(steps.race, ("against", "plain"), promises=promises.RACED),
        Step(
            calculator.calculator,
            ("ready", "layers", "width", "heads"),
            texts=("vocabulary", "context"),
            promises=promises.CALCULATOR,
        ),
    ),
    of=("layers", "width", "heads", "vocabulary", "context"),
    cost=800,
)
