"""Runs for the exhibit on [CLS]: a sentence, or a pair, through bert-mini before its tuning and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import InputError
from core.run import Run
from core.training.finetune.tuning import TUNINGS
from viz.course.bert.cls_and_pairs import maths
from viz.course.bert.cls_and_pairs.params import LONGEST, SINGLE, Params
from viz.course.bert.tuning_live import BEFORE, Using
from viz.widgets import engine_client


@dataclass(frozen=True, eq=False)
class Read:
    """A run of the tuned model on a sentence: tokens, its class with the computation, the probabilities of a new head.

    before, after: the attention of [CLS] before the tuning and after (layer, head, key).
    """

    tokens: tuple[str, ...]
    classification: maths.Classification
    before: np.ndarray
    after: np.ndarray
    untaught: np.ndarray


def read(text: str, model: str | None, seed: int) -> Read:
    """Run the sentence through the body and through a tuned model; without one, through the new head at its random start."""
    body = engine_client.open(BEFORE)
    new = maths.with_new_head(TUNINGS[SINGLE], body, seed)
    first = ran(BEFORE, text)
    before, drawn = maths.reads(first), maths.classify(new.run(text, keep=maths.KEEP))
    if model is None:
        return Read(first.tokens, drawn, before, before, drawn.chances)
    run = ran(model, text)
    return Read(run.tokens, maths.classify(run), before, maths.reads(run), drawn.chances)


def read_sentence(params: Params, used: Using) -> Read:
    """Return the run of the visitor's sentence by the model that the page uses."""
    key, cost = ("cls_and_pairs", params.text, used.model, used.seed), 60 * max(1, len(params.text))
    return engine_client.submit(key, lambda: read(params.text, used.model, used.seed), cost)


def ran(model: str, text: str, pair: str | None = None, **options: Any) -> Run:
    """Return a run with all values that this page needs. Errors: InputError for no word, or more than can be drawn."""
    found = engine_client.open(model)
    n = sum(len(found.tokenizer.encode(side).ids) for side in (text, pair or ""))
    if n > LONGEST:
        rule = f"This page draws up to {LONGEST}."
        raise InputError(f"The text has {n} tokens.", rule, "Shorten it, or take an example.")
    return found.run(text, pair=pair or None, keep=maths.KEEP, **options)
