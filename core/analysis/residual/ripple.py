"""How far one changed word spreads through a model, and how far it can."""

from __future__ import annotations

import numpy as np

from core.errors import InputError
from core.model import Model
from core.models import ENTERS, LEAVES
from core.run import Run
from core.text.words import word_spans

Array = np.ndarray

KEEP = (ENTERS, LEAVES)
"""What both runs must have kept for `ripple`."""


OTHERS = ("small", "old", "wide", "red", "cold", "man", "woman", "dog", "river", "house", "table", "a", "x")
"""Words to put in the place of another."""


def neighbour(model: Model, text: str) -> str:
    """The text with one word changed into another with as many pieces: the last that can be, short words
    only where there are no others.

    The text itself where there is none.
    """
    n, mask = (
        len(model.reader.encode(text).ids),
        "" if model.tokenizer.mask is None else model.tokenizer.token(model.tokenizer.mask).strip("[]"),
    )
    words = [span for span in word_spans(text) if text[slice(*span)].isalnum() and text[slice(*span)] != mask]
    for begin, end in reversed([(begin, end) for begin, end in words if end - begin > 2] or words):
        for other in OTHERS:
            changed = text[:begin] + other + text[end:]
            if other != text[begin:end] and len(model.reader.encode(changed).ids) == n:
                return changed
    return text


def ripple(before: Run, after: Run, side: str | None = None) -> Array:
    """How much each vector of the residual stream changed, as a share of its length: (layer + 1, position).

        r_l,i = ||x'_l,i - x_l,i|| / ||x_l,i||

    Row 0 is what enters the first layer. A place that the change cannot reach is exactly 0, not nearly: the two runs did
    the same arithmetic there. `side` is 'encoder' or 'decoder' of a model that has both.
    Raises InputError for texts with different numbers of tokens: then no vector stands beside its like.
    """
    one, other = before.hidden(side), after.hidden(side)
    if one.shape != other.shape:
        raise InputError(
            f"The first text has {one.shape[1]} tokens here, the second {other.shape[1]}.",
            "The comparison goes position by position.",
            "Change a word into one with as many tokens.",
        )
    moved = np.linalg.norm((other - one).astype(np.float64), axis=-1)
    return moved / np.maximum(np.linalg.norm(one.astype(np.float64), axis=-1), 1e-12)


def changed(before: Run, after: Run, side: str | None = None) -> list[int]:
    """The positions at which the two runs were given different tokens."""
    one, other = (
        run.source if side == "encoder" and run.source is not None else run.side for run in (before, after)
    )
    return [place for place, (a, b) in enumerate(zip(one.ids, other.ids, strict=True)) if a != b]


def reach(run: Run, of: str = "target") -> Array:
    """Which inputs can influence which output, by the masks alone: boolean (output position, input position).

        R_0 = I,   R_l = (M_l or I) R_(l-1)

    with M_l true where some head of layer l may look, and I the residual connection. `of` is the text whose words are
    the inputs: "target", what the output itself is over, or "source", the text that a translator reads. The run must
    have kept patterns (masks come along).
    Raises InputError for a source that there is not, or a model without layers.
    """
    spec, n = run.model.spec, run.side.n_real
    kinds = [kind for kind in spec.kinds if kind.layered]
    if not kinds or (of == "source" and run.source is None):
        raise InputError(
            f"{run.model.name} has no {of} in which a change of a word could spread through layers.",
            "The masks of the layers determine which word can affect which.",
            "Choose another model.",
        )
    stack = spec.stacks.get("decoder") or spec.stacks["encoder"]
    inside = {kind.keys: kind for kind in kinds if kind.stack == stack}
    found = (
        np.eye(n, dtype=bool)
        if of == "target"
        else np.zeros((n, len(run.source.ids) if run.source else 0), dtype=bool)
    )
    read = _through_encoder(run) if of == "source" else None
    for layer in range(run.model.config.n_layers):
        found = found | _joined(_mask(run, inside["target"].path(layer, "allowed")), found)
        if read is not None:
            found = found | _joined(_mask(run, inside["source"].path(layer, "allowed")), read)
    return found


def _through_encoder(run: Run) -> Array:
    """Which source words are in which vector of the encoder's output."""
    kind = run.model.spec.kind("self")
    found = np.eye(len(run.source.ids) if run.source else 0, dtype=bool)
    for layer in range(run.model.config.n_layers):
        found = found | _joined(_mask(run, kind.path(layer, "allowed")), found)
    return found


def _mask(run: Run, path: str) -> Array:
    return np.asarray(run.trace[path].any(0))


def _joined(mask: Array, found: Array) -> Array:
    return (mask.astype(np.int64) @ found.astype(np.int64)) > 0
