"""What the exhibit on [CLS] reads: a sentence, or a pair, through bert-mini before its tuning and after."""

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
    """A sentence as the tuned model read it: tokens, how its class came about, what a new head says.

    before, after: what [CLS] read before the tuning and after (layer, head, key).
    """

    tokens: tuple[str, ...]
    said: maths.Said
    before: np.ndarray
    after: np.ndarray
    untaught: np.ndarray


def read(text: str, model: str | None, seed: int) -> Read:
    """The sentence through the body and through a tuned model; without one, through the new head as drawn."""
    body = engine_client.open(BEFORE)
    new = maths.untaught(TUNINGS[SINGLE], body, seed)
    first = ran(BEFORE, text)
    before, drawn = maths.reads(first), maths.said(new.run(text, keep=maths.KEEP))
    if model is None:
        return Read(first.tokens, drawn, before, before, drawn.chances)
    run = ran(model, text)
    return Read(run.tokens, maths.said(run), before, maths.reads(run), drawn.chances)


def asked(params: Params, used: Using) -> Read:
    """The visitor's sentence, by the model that the page uses."""
    key, cost = ("cls_and_pairs", params.text, used.model, used.seed), 60 * max(1, len(params.text))
    return engine_client.submit(key, lambda: read(params.text, used.model, used.seed), cost)


def ran(model: str, text: str, pair: str | None = None, **options: Any) -> Run:
    """A run with all that this page asks for. Errors: InputError for no word, or more than can be drawn."""
    found = engine_client.open(model)
    n = sum(len(found.tokenizer.encode(side).ids) for side in (text, pair or ""))
    if n > LONGEST:
        rule = f"This page draws up to {LONGEST}."
        raise InputError(f"The text has {n} tokens.", rule, "Shorten it, or take an example.")
    return found.run(text, pair=pair or None, keep=maths.KEEP, **options)
