"""GPT: a text as a product of conditionals, each from the left context only; the block without cross-attention; the window k."""

from __future__ import annotations

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.gpt.maths.conditionals import conditionals
from viz.course.gpt.next_token import promises, steps
from viz.course.gpt.next_token.params import MODEL, SENTENCES, Params
from viz.course.lesson import Lesson, Step
from viz.instruments.kit import origin


def compute(params: Params) -> steps.Both:
    """Every token behind all those before it, and behind the last k."""
    model = default().open(MODEL)
    return conditionals(model, params.text), conditionals(model, params.text, params.k)


def thumbnail() -> str:
    """How improbable each token of the opening text was."""
    found = compute(Params())[0]
    marked = found.surprising if found.surprising < 8 else None
    return thumbs.bars(
        -found.logprobs[:8], [token.removeprefix(" ") for token in found.tokens[:8]], marked=marked
    )


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("text",), promises=promises.GUESS),
        Step(steps.block, ("text",), promises=promises.BLOCK),
        Step(steps.two_masks, ("text",), promises=promises.TWO_MASKS),
        Step(steps.window, ("k", "text"), promises=promises.WINDOW),
    ),
    cost=lambda params: 40 * len(params.text),
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
