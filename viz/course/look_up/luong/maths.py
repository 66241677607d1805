"""Scores and weights of real runs for global and local attention, and the models that are installed for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import core.serving.engine
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.serving.engine import RunRequest
from viz.course.shared import luong, unscaled_scores
from viz.languages import _, mark

CONCAT, GENERAL, PREDICTIVE = "bahdanau-en-es", "luong-global-en-es", "luong-local-en-es"
OPENING = "concat"
"""The score that the page opens with: its model spreads the weight, so that a window has something to cut off.

The model trained with the general score puts nearly all of a row on one word: no window costs it anything.
"""
SCORES = {
    "concat": mark("concat (trained)"),
    "general": mark("general (trained)"),
    "dot": mark("dot (not trained here)"),
}


@dataclass(frozen=True)
class Data:
    """One sentence: written and source words, scores and weights (query key), the model, its translation, its loss in nats per
    token."""

    model: str
    written_words: tuple[str, ...]
    source: tuple[str, ...]
    scores: np.ndarray
    weights: np.ndarray
    target: str
    loss: float


def is_available(name: str) -> bool:
    """Return whether a model is installed and loads without an error."""
    return any(listing.name == name and listing.ok for listing in core.serving.engine.default().models())


def models_by_score() -> dict[str, str]:
    """Return the scores that can be shown, each with the model whose states it compares."""
    if not is_available(GENERAL):
        return {"concat": CONCAT, "dot": CONCAT}
    return {"concat": CONCAT, "general": GENERAL, "dot": GENERAL}


def missing() -> str:
    """Return a line on the model that is not installed, or ""."""
    if is_available(GENERAL):
        return ""
    return _(
        "The model trained with Luong's general score, {general}, is not among the models here. The page shows {concat} instead: the same encoder, its score is concat, and its query is the state before the word.",
        general=GENERAL,
        concat=CONCAT,
    )


def read(text: str, score: str) -> Data:
    """Return the run of the model that belongs to the score."""
    name = models_by_score()[score]
    engine = core.serving.engine.default()
    own = engine.run(RunRequest(name, text, keep=())).target_text
    run = engine.run(
        RunRequest(name, text, target=own, keep=luong.KEEP)
    )  # its text may fall into other pieces than it wrote
    found = luong.attention_record(run)
    scores, weights = found.dotted() if score == "dot" else (found.scores, found.weights)
    n = run.source.n_real if run.source else 0
    return Data(
        name,
        _words(run.side.next_tokens().tokens),
        _words(run.source.tokens[:n] if run.source else ()),
        scores[:, :n],
        weights[:, :n],
        run.target_text or "",
        unscaled_scores.surprise(run.logits, run.ids),
    )


def predicted(text: str, data: Data) -> tuple[float, ...]:
    """Return the centres that the predictive model computes; () where it is not installed or splits the text into other words."""
    if not is_available(PREDICTIVE):
        return ()
    run = core.serving.engine.default().run(
        RunRequest(PREDICTIVE, text, target=data.target, keep=("decoder.attn.centre",))
    )
    centres = tuple(float(c) for c in run.trace["decoder.attn.centre"][0])
    return centres if len(centres) == len(data.written_words) else ()


@dataclass(frozen=True)
class Cost:
    """Cost of a window of each size: the trained model's loss in nats per token, and the number of scores computed."""

    windows: tuple[int, ...]
    loss: tuple[float, ...]
    n_scores: tuple[int, ...]


def cost(text: str, data: Data, centres: tuple[float, ...], widest: int) -> Cost:
    """Return the model's loss on its own translation, for each size of window around the centres."""
    n = len(data.source)
    sizes = tuple(range(1, min(widest, max(1, n - 1)) + 1))
    shut = [luong.windows(centres, size, n) for size in sizes]

    def surprise(allowed: np.ndarray) -> float:
        edits = (luong.restrict_to_windows(allowed),)
        asked = RunRequest(data.model, text, target=data.target, keep=("logits",), edits=edits)
        run = core.serving.engine.default().run(asked)
        return unscaled_scores.surprise(run.logits, run.ids)

    return Cost(sizes, tuple(map(surprise, shut)), tuple(int(allowed.sum()) for allowed in shut))


def recorded(model: str) -> float:
    """Return the model's BLEU on the test sentences, by beam search, as its card records it."""
    scores = read_scores(shipped_folder() / model)
    return next(
        one.value for one in scores if (one.measure, one.split, one.subject) == ("bleu_beam4", "test", model)
    )


def _words(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(token.removeprefix(" ") or token for token in tokens)
