"""Runs of gpt-mini for the exhibit on masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from core import edits, masks
from core.errors import InputError
from core.model import Model
from core.serving.engine import RunRequest, default
from viz.course.shared import unscaled_scores
from viz.course.shared.masks import Recipe, looks_back
from viz.course.shared.masks_panels import labels
from viz.languages import _, ngettext
from viz.widgets import engine_client

MODEL = "gpt-mini"
LONGEST = 20
TEXT = "The little dog ran after the ball."
SENTENCES = ("I am a student.", TEXT, "She was hungry, so she ate the apple.")


@dataclass(frozen=True)
class Head:
    """The head in view."""

    layer: int
    head: int

    @property
    def path(self) -> str:
        """Return the path of its layer in a trace."""
        return f"layer.{self.layer}.self_attn"


@dataclass(frozen=True)
class HeadMatrices:
    """One head: scores and pattern (query key), values (key d); `changes`: the change of each line by another last word."""

    words: list[str]
    scores: np.ndarray
    values: np.ndarray
    pattern: np.ndarray
    changes: np.ndarray


@dataclass(frozen=True)
class MaskedHead:
    """A head of the model on a sentence under a mask, by name and numbers or as rows of booleans.

    `everywhere` puts the mask into every layer instead of this one only.
    """

    text: str = TEXT
    layer: int = 0
    head: int = 0
    recipe: Recipe = field(default_factory=Recipe)
    mask_rows: tuple[tuple[bool, ...], ...] | None = None
    everywhere: bool = False


@dataclass(frozen=True)
class Matrices:
    """One head of one real run under the chosen mask, (query key) each."""

    tokens: tuple[str, ...]
    scores: np.ndarray
    allowed: np.ndarray
    pattern: np.ndarray
    path: str
    d_head: int


def config() -> Any:
    """Return the configuration of the model."""
    return default().open(MODEL).config


def opening() -> Head:
    """Return the head that the page opens with: on its own sentences it looks back most sharply."""
    return engine_client.submit("masks.opening", _opening, 500)


def _opening() -> Head:
    runs = [default().run(RunRequest(MODEL, text, keep=("*.pattern",))) for text in SENTENCES]
    far = looks_back(run.attention("causal").weights for run in runs)
    layer, head = np.unravel_index(far.argmax(), far.shape)
    return Head(int(layer), int(head))


def matrices(masked_head: MaskedHead) -> Matrices:
    """Run the model with the mask put in place, and read the head off its trace."""
    n = len(default().run(RunRequest(MODEL, masked_head.text, keep=())).tokens)
    rows = masked_head.mask_rows or tuple(map(tuple, masked_head.recipe.allowed(n).tolist()))
    path = Head(masked_head.layer, masked_head.head).path
    where = ("layer.*.self_attn" if masked_head.everywhere else path) + ".allowed"
    keep = (f"{path}.scores", f"{path}.pattern")
    run = default().run(
        RunRequest(MODEL, masked_head.text, keep=keep, edits=(edits.SetAllowed(where, rows),))
    )
    scores, allowed, pattern = (
        run.trace[f"{path}.{leaf}"][masked_head.head] for leaf in ("scores", "allowed", "pattern")
    )
    return Matrices(run.tokens, scores, allowed, pattern, path, run.model.config.d_head)


def reading(text: str, head: Head, *, unmasked: bool = False) -> HeadMatrices:
    """Return the head on a sentence with the causal mask, or `unmasked`. Errors: InputError for a long sentence."""
    n = len(default().open(MODEL).tokenizer.encode(text).ids)
    if n > LONGEST:
        raise InputError(
            ngettext("The sentence has {n} token.", "The sentence has {n} tokens.", n),
            _("This step draws lines of up to {n}.", n=LONGEST),
            _("Shorten it, or take an example."),
        )
    key = ("masks.reading", text, head.layer, head.head, unmasked)
    return engine_client.submit(key, lambda: _read(text, head, unmasked), 4 * len(text))


def _read(text: str, head: Head, unmasked: bool) -> HeadMatrices:
    keep = tuple(f"{head.path}.{leaf}" for leaf in ("scores", "v", "pattern", "out"))
    n = len(default().run(RunRequest(MODEL, text, keep=())).tokens)
    mask = lifted(n) if unmasked else ()
    run, model = default().run(RunRequest(MODEL, text, keep=keep, edits=mask)), default().open(MODEL)
    other = model.run(text, keep=keep, edits=(*mask, _other_last(model, run.ids)))
    moved = np.abs(run.trace[f"{head.path}.out"] - other.trace[f"{head.path}.out"]).max(1)
    scores, values, pattern = (
        run.trace[f"{head.path}.{leaf}"][head.head] for leaf in ("scores", "v", "pattern")
    )
    return HeadMatrices(labels(run.tokens), scores, values, pattern, moved)


def _other_last(model: Model, ids: tuple[int, ...]) -> edits.ReplaceToken:
    """Return the edit that replaces the last token by the next one of the vocabulary."""
    other = (ids[-1] + 1) % model.config.n_vocab
    with torch.inference_mode():
        vector = model.network.get_submodule("embed.token")(torch.tensor([[other]]))[0, 0]
    return edits.ReplaceToken("embed.token", len(ids) - 1, model.tokenizer.token(other), vector)


def lifted(n: int) -> tuple[Any, ...]:
    """Return the edit that allows everything in every layer."""
    return (edits.SetAllowed("layer.*.self_attn.allowed", tuple(map(tuple, masks.full(n).tolist()))),)


def surprises(text: str) -> tuple[float, float]:
    """Return nats per next token: with the mask, and with the mask removed in every layer of the trained model."""
    with_mask = engine_client.run(MODEL, text, keep=())
    without = engine_client.run(MODEL, text, keep=(), edits=lifted(len(with_mask.tokens)))
    one, other = (unscaled_scores.surprise(run.logits, run.ids) for run in (with_mask, without))
    return float(one), float(other)
