"""The spread of one changed word through a model, and how far it can reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.model import Model
from core.models import ENTERS, LEAVES
from core.run import Run
from core.text.words import word_spans

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


Array = np.ndarray

KEEP = (ENTERS, LEAVES)
"""The values that both runs must keep for `ripple`."""


OTHERS = ("small", "old", "wide", "red", "cold", "man", "woman", "dog", "river", "house", "table", "a", "x")
"""Words to put in the place of another."""


def changed_text(model: Model, text: str, first: Sequence[str] = ()) -> str:
    """Return the text with one word changed into another with as many tokens: the first of `first` that has so many, else the last word that can be, short words only where there are no others.

    The text itself where there is none.
    """
    return next((other for other in first if same_token_count(model, text, other)), "") or next(
        changed_texts(model, text), text
    )


def changed_texts(model: Model, text: str) -> Iterator[str]:
    """Yield the text with one word replaced and the number of tokens unchanged: by words of OTHERS, then by other words
    of the text. Words are replaced from the last on, short ones only where there are no others.
    """
    words = changeable_spans(model, text)
    long = [(begin, end) for begin, end in words if end - begin > 2] or words
    for others in (OTHERS, tuple(dict.fromkeys(text[slice(*span)] for span in long))):
        for span in reversed(long):
            yield from replacements(model, text, span, others)


def changeable_spans(model: Model, text: str) -> list[tuple[int, int]]:
    """Return the spans of the words of a text that can be changed: those of letters and digits, but no blank."""
    mask = model.tokenizer.mask
    blank = "" if mask is None else model.tokenizer.token(mask).strip("[]<>")
    return [span for span in word_spans(text) if text[slice(*span)].isalnum() and text[slice(*span)] != blank]


def replacements(model: Model, text: str, span: tuple[int, int], others: Iterable[str]) -> Iterator[str]:
    """Yield the text with each of these words in the place of the one at `span`, where it keeps its number of tokens."""
    begin, end = span
    for other in others:
        changed = text[:begin] + other + text[end:]
        if other != text[begin:end] and same_token_count(model, text, changed):
            yield changed


def same_token_count(model: Model, text: str, other: str) -> bool:
    """Return whether two texts have equally many tokens."""
    return len(model.reader.encode(text).ids) == len(model.reader.encode(other).ids)


def ripple(before: Run, after: Run, side: str | None = None) -> Float[Array, "stage pos"]:
    """Return how much each vector of the residual stream changed, as a share of its length.

        r_l,i = ||x'_l,i - x_l,i|| / ||x_l,i||

    Row 0 is what enters the first layer. A place that the change cannot reach is exactly 0, not nearly: the two runs did
    the same arithmetic there. `side` is 'encoder' or 'decoder' of a model that has both.
    Raises InputError for texts with different numbers of tokens: their vectors do not correspond.
    """
    one, other = before.hidden(side), after.hidden(side)
    if one.shape != other.shape:
        raise InputError(
            "The first text has {n} tokens here, the second {n2}.",
            "The comparison goes position by position.",
            "Change a word into one with as many tokens.",
            n=one.shape[1],
            n2=other.shape[1],
        )
    moved = np.linalg.norm((other - one).astype(np.float64), axis=-1)
    return moved / np.maximum(np.linalg.norm(one.astype(np.float64), axis=-1), 1e-12)


def changed_positions(before: Run, after: Run, side: str | None = None) -> list[int]:
    """Return the positions at which the two runs were given different tokens."""
    one, other = (
        run.source if side == "encoder" and run.source is not None else run.side for run in (before, after)
    )
    return [place for place, (a, b) in enumerate(zip(one.ids, other.ids, strict=True)) if a != b]


def reach(run: Run, inputs: str = "target") -> Bool[Array, "output input"]:
    """Return which inputs can influence which output, by the masks alone.

        R_0 = I,   R_l = (M_l or I) R_(l-1)

    with M_l true where some head of layer l may look, and I the residual connection. `inputs` is the text whose words are
    the inputs: "target", what the output itself is over, or "source", the text that a translator reads. The run must
    have kept patterns (masks come along).
    Raises InputError for a source that there is not, or a model without layers.
    """
    spec, n = run.model.spec, run.side.n_real
    kinds = [kind for kind in spec.kinds if kind.layered]
    if not kinds or (inputs == "source" and run.source is None):
        raise InputError(
            "{name} has no {inputs} in which a change of a word could spread through layers.",
            "The masks of the layers determine which word can affect which.",
            "Choose another model.",
            name=run.model.name,
            inputs=inputs,
        )
    stack = spec.stacks.get("decoder") or spec.stacks["encoder"]
    inside = {kind.keys: kind for kind in kinds if kind.stack == stack}
    found = (
        np.eye(n, dtype=bool)
        if inputs == "target"
        else np.zeros((n, len(run.source.ids) if run.source else 0), dtype=bool)
    )
    read = _through_encoder(run) if inputs == "source" else None
    for layer in range(spec.depth(run.model.config, stack)):
        found = found | _compose(_mask(run, inside["target"].path(layer, "allowed")), found)
        if read is not None:
            found = found | _compose(_mask(run, inside["source"].path(layer, "allowed")), read)
    return found


def _through_encoder(run: Run) -> Array:
    """Return which source words can influence which vector of the encoder's output: boolean (position, position)."""
    kind = run.model.spec.kind("self")
    found = np.eye(len(run.source.ids) if run.source else 0, dtype=bool)
    for layer in range(kind.n_layers(run.model.config)):
        found = found | _compose(_mask(run, kind.path(layer, "allowed")), found)
    return found


def _mask(run: Run, path: str) -> Array:
    return np.asarray(run.trace[path].any(0))


def _compose(mask: Array, reach: Array) -> Array:
    return (mask.astype(np.int64) @ reach.astype(np.int64)) > 0
