"""What the steps on the causal mask read off gpt-mini: one head of one run, and what moves when the last word does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from core import edits, masks
from core.errors import InputError
from core.model import Model
from core.serving.engine import RunRequest, default
from viz.course.shared.masks_panels import labels
from viz.course.shared.maths import unscaled
from viz.widgets import compute as ask

MODEL = "gpt-mini"
LONGEST = 20


@dataclass(frozen=True)
class Reading:
    """One head: words, scores and pattern (query key), values (key d), and which lines of the layer's output another last
    word changes (query,)."""

    words: list[str]
    scores: np.ndarray
    values: np.ndarray
    pattern: np.ndarray
    moved: np.ndarray


def lifted(n: int) -> tuple[Any, ...]:
    """The edit that allows everything in every layer."""
    return (edits.SetAllowed("layer.*.self_attn.allowed", tuple(map(tuple, masks.full(n).tolist()))),)


def reading(text: str, layer: int, head: int, *, without: bool = False) -> Reading:
    """The sentence through the model, with the causal mask or (`without`) with none. Errors: InputError for a long one."""
    model = default().open(MODEL)
    n = len(model.tokenizer.encode(text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"This step draws lines of up to {LONGEST}.", "Shorten it, or take an example.")
    return ask.submit(("masks.reading", text, layer, head, without), lambda: _read(text, layer, head, without), 4 * len(text))


def _read(text: str, layer: int, head: int, without: bool) -> Reading:
    path, model = f"layer.{layer}.self_attn", default().open(MODEL)
    keep = tuple(f"{path}.{leaf}" for leaf in ("scores", "v", "pattern", "out"))
    n = len(default().run(RunRequest(MODEL, text, keep=())).tokens)
    mask = lifted(n) if without else ()
    run = default().run(RunRequest(MODEL, text, keep=keep, edits=mask))
    other = model.run(text, keep=keep, edits=(*mask, _other_last(model, run.ids)))
    moved = np.abs(run.trace[f"{path}.out"] - other.trace[f"{path}.out"]).max(1)
    scores, values, pattern = (run.trace[f"{path}.{leaf}"][head] for leaf in ("scores", "v", "pattern"))
    return Reading(labels(run.tokens), scores, values, pattern, moved)


def _other_last(model: Model, ids: tuple[int, ...]) -> edits.ReplaceToken:
    """The token that follows the last one in the vocabulary stands in its place."""
    other = (ids[-1] + 1) % model.config.n_vocab
    with torch.inference_mode():
        vector = model.network.get_submodule("embed.token")(torch.tensor([[other]]))[0, 0]
    return edits.ReplaceToken("embed.token", len(ids) - 1, model.tokenizer.token(other), vector)


def surprises(text: str) -> tuple[float, float]:
    """Nats a next token: with the mask, and with the mask lifted in every layer of the trained model."""
    with_mask = ask.run(MODEL, text, keep=())
    without = ask.run(MODEL, text, keep=(), edits=lifted(len(with_mask.tokens)))
    return float(unscaled.surprise(with_mask.logits, with_mask.ids)), float(unscaled.surprise(without.logits, without.ids))
