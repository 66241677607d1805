"""What is read off real runs for global and local attention: which models are here, scores and weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import core.serving.engine
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.serving.engine import RunRequest
from viz.course.shared import luong, unscaled_scores

CONCAT, GENERAL, PREDICTIVE = "bahdanau-en-es", "luong-global-en-es", "luong-local-en-es"
OPENING = "concat"
"""The score that the page opens with: its model spreads the weight, so that a window has something to cut
off.

The model trained with the general score puts nearly all of a row on one word: no window costs it anything.
"""
SCORES = {"concat": "concat (trained)", "general": "general (trained)", "dot": "dot (not trained here)"}


@dataclass(frozen=True)
class Data:
    """One sentence: words written and read, scores and weights (query key), the model, its translation."""

    model: str
    written: tuple[str, ...]
    source: tuple[str, ...]
    scores: np.ndarray
    weights: np.ndarray
    target: str
    surprise: float


def here(name: str) -> bool:
    """Whether a model can be opened."""
    return any(listing.name == name and listing.ok for listing in core.serving.engine.default().models())


def offered() -> dict[str, str]:
    """Each score that can be shown, and the model whose states it compares."""
    if not here(GENERAL):
        return {"concat": CONCAT, "dot": CONCAT}
    return {"concat": CONCAT, "general": GENERAL, "dot": GENERAL}


def missing() -> str:
    """One line on what cannot be shown here, or nothing."""
    if here(GENERAL):
        return ""
    return (
        f"The model trained with Luong's general score, {GENERAL}, is not among the models here. The page "
        f"shows {CONCAT} instead: the same encoder, its score is concat, and its query is the state before the word."
    )


def read(text: str, score: str) -> Data:
    """The run of the model that the score belongs to."""
    name = offered()[score]
    engine = core.serving.engine.default()
    own = engine.run(RunRequest(name, text, keep=())).target_text
    run = engine.run(
        RunRequest(name, text, target=own, keep=luong.KEEP)
    )  # its text may fall into other pieces than it wrote
    found = luong.asked(run)
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
    """The centres that the predictive model finds; () where it is not here or cuts the words otherwise."""
    if not here(PREDICTIVE):
        return ()
    run = core.serving.engine.default().run(
        RunRequest(PREDICTIVE, text, target=data.target, keep=("decoder.attn.centre",))
    )
    centres = tuple(float(c) for c in run.trace["decoder.attn.centre"][0])
    return centres if len(centres) == len(data.written) else ()


@dataclass(frozen=True)
class Cost:
    """What a window of each size costs the trained model: surprise in nats per token, and scores computed."""

    windows: tuple[int, ...]
    surprise: tuple[float, ...]
    touched: tuple[int, ...]


def cost(text: str, data: Data, centres: tuple[float, ...], widest: int) -> Cost:
    """The model writes its own translation again, each time with another window around the centres."""
    n = len(data.source)
    sizes = tuple(range(1, min(widest, max(1, n - 1)) + 1))
    shut = [luong.windows(centres, size, n) for size in sizes]

    def surprise(allowed: np.ndarray) -> float:
        edits = (luong.shut_in(allowed),)
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
