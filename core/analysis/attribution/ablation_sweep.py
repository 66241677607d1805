"""The effect of each head on one chosen output: measured by ablating the head, and estimated by a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from core.analysis.attribution.importance import Sample
from core.analysis.attribution.one_layer import LayerEdits
from core.analysis.attribution.target_token import OutputTarget
from core.data import doodles
from core.data.drawings import example_drawings
from core.data.patches import PatchReader
from core.data.texts import texts
from core.edits import MeanHead, ZeroHead
from core.errors import InputError
from core.maths import cosine
from core.model import Model
from core.run import Run
from core.text import words_of
from core.trace import Edit

if TYPE_CHECKING:
    from jaxtyping import Float, Real


Array = np.ndarray


@dataclass(frozen=True)
class ModelInput:
    """The input of a model: the text, a translator's target, a second text."""

    text: str
    target: str | None = None
    pair: str | None = None

    def run(self, model: Model, **options: Any) -> Run:
        return model.run(self.text, target=self.target, pair=self.pair, **options)

    def check_target(self, model: Model) -> None:
        """Check that a translator's target is given, so that all runs are about one translation. Raises InputError."""
        if model.spec.has_source and self.target is None:
            raise InputError(
                "There is no target.", "Runs are compared on one and the same translation.", "Give target."
            )


def all_heads(model: Model, kind: str) -> Iterator[tuple[int, int]]:
    """Yield (layer, head) of every head of a kind."""
    kind_spec = model.spec.kind(kind)
    return (
        (layer, head)
        for layer in range(kind_spec.n_layers(model.config))
        for head in range(model.config.n_heads)
    )


def head_ablation(
    model: Model, kind: str, layer: int, head: int, average: Float[Array, "layer head d_head"] | None = None
) -> Edit:
    """Return the edit that ablates one head: its output becomes zero, or its average from `means.mean_outputs`."""
    where = model.spec.kind(kind).path(layer, "heads")
    return (
        ZeroHead(where, head)
        if average is None
        else MeanHead(where, head, tuple(average[layer, head].tolist()))
    )


def layer_ablations(
    model: Model, kind: str, layer: int, average: Float[Array, "layer head d_head"] | None = None
) -> list[Edit]:
    """Return for each head of a layer the edit that ablates it."""
    return [head_ablation(model, kind, layer, head, average) for head in range(model.config.n_heads)]


def ablation_effects(
    model: Model,
    item: ModelInput,
    output: OutputTarget,
    kind: str,
    average: Float[Array, "layer head d_head"] | None = None,
) -> Float[Array, "layer head"]:
    """Measure how the output changes when one head is ablated, each head alone: after minus before.

    Below 0 the head speaks for the word, above 0 against it. The target of a translator must be given: without a head it
    would write something else, and the rows would no longer be about the same thing.
    Raises InputError for a translator without a target.
    """
    item.check_target(model)
    before, flat = output.value(item.run(model, keep=()).scores), replace(output, row=0)
    each = LayerEdits(model, item.text, kind, target=item.target, pair=item.pair)
    rows = [
        each.edited_scores(layer, layer_ablations(model, kind, layer, average), output.row)
        for layer in range(model.spec.kind(kind).n_layers(model.config))
    ]
    return np.array([[flat.value(row[None]) - before for row in layer] for layer in rows])


def gradient_estimates(
    model: Model,
    item: ModelInput,
    goal: Callable[[Tensor], Tensor],
    kind: str,
    average: Float[Array, "layer head d_head"] | None = None,
) -> Float[Array, "layer head"]:
    """Estimate the effect of ablating each head on `goal` of the scores, logits (pos, vocab) or classes (class), from
    one run and one gradient, with the sign of `ablation_effects`.

        delta_h = sum over positions of grad_h . (new - h)

    the first term of a Taylor series (Michel et al. 2019, Eq. 2, with its sign; "attribution patching", Nanda 2023):
    right where the model is nearly linear on the way from h to its replacement, zero or its mean.
    """
    kind_spec = model.spec.kind(kind)
    paths = [kind_spec.path(layer, "heads") for layer in range(kind_spec.n_layers(model.config))]
    with torch.inference_mode(False):
        run = item.run(model, keep=paths, grad=goal)
    changes = []
    for layer, path in enumerate(paths):
        new = 0.0 if average is None else average[layer][:, None, :]
        changes.append((run.trace.grad(path).astype(np.float64) * (new - run.trace[path])).sum((1, 2)))
    return np.stack(changes)


def default_samples(model: Model, n: int) -> tuple[Sample, ...]:
    """Return the project's own sentences as inputs of this model: with their translation, with one word masked, or as they are.

    Of one that tells the classes of pictures: our own doodles of classes that it knows.
    """
    if isinstance(model.reader, PatchReader):
        known, read = model.class_names, example_drawings()
        drawings = [
            (pixels, read.classes[label]) for pixels, label in zip(read.pixels, read.labels, strict=True)
        ]
        return tuple(Sample(doodles.as_text(pixels), name) for pixels, name in drawings if name in known)[:n]
    if model.main_output != "logits":
        return ()  # our sentences have no class, tag or score of other people's models
    if model.spec.has_source:
        return tuple(Sample(row.text, row.target) for row in texts("heads_en-es")[:n])
    rows = [row.text for row in texts("heads_en")]
    if not model.spec.framed:
        return tuple(Sample(text) for text in rows[:n])
    hidden = (_hidden(model, text) for text in rows)
    return tuple(sample for sample in hidden if sample is not None)[:n]


def _hidden(model: Model, text: str) -> Sample | None:
    """Return the text with its middle word of one token masked; None where there is none."""
    mask, encoded = model.tokenizer.mask, model.tokenizer.encode(text)
    single = [
        word.pieces[0]
        for word in words_of(text, encoded.tokens, encoded.spans)
        if len(word.pieces) == 1 and word.text.isalpha()
    ]
    if mask is None or not single:
        return None
    span = encoded.spans[single[len(single) // 2]]
    return (
        None
        if span is None
        else Sample(text[: span[0]] + model.tokenizer.token(mask) + text[span[1] :], text)
    )


def pearson(one: Real[Array, "*shape"], other: Real[Array, "*shape"]) -> float:
    """Return Pearson's correlation over all numbers of two arrays; 0 where one of them does not vary.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])), 9)
    1.0
    """
    return float(np.nan_to_num(cosine(one - one.mean(), other - other.mean())))
