"""The second objective: does text B follow text A? Random pairs, the attention of [CLS], the loss of both objectives."""

from __future__ import annotations

from core.run import Run
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.bert.sentence_pairs import game, next_sentence, promises, reading
from viz.course.bert.sentence_pairs.params import EXAMPLES, LONGEST, MODEL, Params
from viz.course.exhibit import Exhibit, Step
from viz.instruments.kit import origin

KEEP = ("layer.*.resid_out", "*.pattern", "*.allowed")


def compute(params: Params) -> Run:
    """Return the run of bert-mini on the pair. Errors: InputError for a text without a word, or too many."""
    next_sentence.read(default().open(MODEL), params.a, params.b, LONGEST)
    return default().run(RunRequest(MODEL, params.a, pair=params.b, keep=KEEP))


def thumbnail() -> str:
    """Draw the attention between the two opening texts, the mean of all heads."""
    run = compute(Params())
    found = next_sentence.blocks(run.attention("self").weights, next_sentence.groups(run))
    return thumbs.cells(found.mean((0, 1)) ** 0.5)


TEXTS = ("a", "b")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(game.one, texts=TEXTS, promises=promises.ONE),
        Step(game.sampled_pair, promises=promises.SAMPLING),
        Step(game.all_pairs, ("cut",), promises=promises.ALL_PAIRS),
        Step(
            reading.attention_by_text, ("block",), change=("head",), texts=TEXTS, promises=promises.ATTENTION
        ),
        Step(reading.loss, ("draw", "follows"), change=("batch",), texts=TEXTS, promises=promises.LOSS),
        Step(reading.swapped, texts=TEXTS, promises=promises.SWAPPED),
    ),
    compute_fields=TEXTS,
    cost=lambda params: 15 * max(1, len(params.a + params.b)),
    tells=lambda params, run: origin.tell_run(run),
    presets=tuple({"a": a, "b": b, "follows": follows} for a, b, follows in EXAMPLES[1:]),
)
