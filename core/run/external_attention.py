"""Attention that another program computed, in the place of a run in the instruments: patterns and the tokens on their axes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.models import Kind
from core.run import Attention, TokenSequence
from core.text.tokenizer import in_byte_letters, text_of_byte_letters

Array = np.ndarray
SUMS = 1e-2
"""How far from 1 the sum of a row may be: patterns may come in bfloat16."""
BRACKETED = re.compile(r"\[[A-Z]+\]|<[^<>\s]+>")
LETTERS = {"\u0120": " ", "\u2581": " ", "\u010a": "\n", "\u0109": "\t"}
"""The letters that spaces, tabs and line breaks have in the tokens of byte-level BPE and SentencePiece, with the characters they mean."""
BYTES = ("\u0120", "\u010a", "\u0109")
"""Those of byte-level BPE, whose other letters stand for bytes, too."""
RULE = "It is what a Hugging Face model returns with output_attentions=True, or an array (layer, head, query, key)."


class ExternalAttention:
    """Attention patterns from another program, with the part of the interface of `Run` that instruments of patterns need.

    `attentions` is a tuple of a tensor (batch, head, query, key) a layer, of which `row` is taken, or an array (layer, head,
    query, key). `tokens` label the queries, and the keys too unless `keys` are given: then one text attends to another (cross-attention).
    `mask` is the attention_mask of what is read, 1 for a token and 0 for padding, for `row` or for all rows: padding is left out. Without it
    only padding in front of a text is known, by its rows: they are even, and nothing attends to them. Patterns without weight on later keys count as causal.

    Raises InputError: no such array, numbers that are no weights, labels that are too many or too few.

    >>> given = ExternalAttention(np.full((1, 2, 2, 2), 0.5), ["a", "\u0120car"])
    >>> given.kinds, given.attention().weights.shape, given.attention().keys
    (('self',), (1, 2, 2, 2), ('a', ' car'))
    """

    source: TokenSequence | None
    trace: Mapping[str, Array] = {}

    def __init__(
        self,
        attentions: Any,
        tokens: Sequence[str],
        keys: Sequence[str] | None = None,
        *,
        name: str = "attention",
        row: int = 0,
        mask: Any = None,
    ) -> None:
        weights, texts = _weights(attentions, row)
        name = name if texts == 1 else f"{name}, row {row} of {texts}"
        queries = _labels(tokens, weights.shape[2], "queries")
        read = queries if keys is None else _labels(keys, weights.shape[3], "keys")
        real = _padded_front(weights) if mask is None else _real(mask, row, len(read))
        if missing := int((~real).sum()):
            name = f"{name}, {missing} token{'s' * (missing > 1)} of padding left out"
            weights, read = weights[..., real], tuple(itertools.compress(read, real))
            if keys is None and weights.shape[2] == len(real):
                weights, queries = weights[..., real, :], read
        if keys is None and weights.shape[2] != weights.shape[3]:
            wrong = f"There are {weights.shape[2]} queries and {weights.shape[3]} keys."
            raise InputError(
                wrong,
                "One list of tokens labels both axes.",
                "Give keys=, the tokens of the text that is read.",
            )
        ahead = np.triu(np.ones(weights.shape[2:], dtype=bool), 1)
        causal = keys is None and not weights[..., ahead].any() and weights.shape[2] > 1
        kind = "cross" if keys is not None else "causal" if causal else "self"
        allowed = ~ahead if causal else np.ones_like(ahead)
        self._attention = Attention(
            kind,
            weights,
            queries,
            read,
            np.broadcast_to(allowed, weights.shape),
            tuple(f"attentions[{layer}]" for layer in range(len(weights))),
            (_special_positions(queries), _special_positions(read)),
        )
        sides = Kind(name=kind, stack="layer", keys="target" if keys is None else "source")
        self.model = SimpleNamespace(name=name, spec=SimpleNamespace(kind=lambda _: sides, framed=False))
        self.side = _side(queries)
        self.source = None if keys is None else _side(read)
        self.target_text = None if keys is None else self.side.text

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self._attention.kind,)

    def axis(self, name: str) -> TokenSequence:
        """Return the tokens along an axis, as `Run.axis` does."""
        return self.source if name == "source" and self.source is not None else self.side

    def attention(self, kind: str | None = None, by: str = "token", *, writing: bool = False) -> Attention:
        """Return the patterns by token, whatever `by` is: the words of another tokenizer are not known here."""
        if kind not in (None, *self.kinds):
            wrong = f"There is no attention '{kind}' in {self.model.name}."
            raise InputError(wrong, f"It has {self.kinds[0]}.", "Choose that.")
        return self._attention


def _weights(attentions: Any, row: int) -> tuple[Array, int]:
    """Return (layer, head, query, key) in float32, and the number of texts in the batch."""
    texts = 1
    if _of_layers(attentions) and attentions and _of_layers(attentions[0]):
        wrong = "These attentions are a tuple for each token that was generated."
        raise InputError(
            wrong, "A picture shows one pass over a text.", "Run the model on the whole text once."
        )
    if _of_layers(attentions):
        if any(layer is None for layer in attentions) or not attentions:
            wrong = "There are no attentions in what the model returned."
            how = 'Load it with attn_implementation="eager" and call it with output_attentions=True.'
            raise InputError(wrong, "Fused attention does not keep its patterns.", how)
        layers = [_array(layer) for layer in attentions]
        if len({layer.shape for layer in layers}) > 1 or layers[0].ndim != 4:
            shapes = ", ".join(sorted({str(layer.shape) for layer in layers}))
            raise InputError(f"The layers have the shapes {shapes}.", RULE, "Give all layers of one model.")
        if not -len(layers[0]) <= row < len(layers[0]):
            raise InputError(
                f"There is no row {row}.", f"The batch has {len(layers[0])}.", "Choose another row."
            )
        weights, texts = np.stack([layer[row] for layer in layers]), len(layers[0])
    else:
        weights = _array(attentions)
    if weights.ndim != 4 or not weights.size:
        raise InputError(f"These attentions have the shape {weights.shape}.", RULE, "Give one of them.")
    sums = weights.sum(-1)
    if (
        not np.isfinite(weights).all()
        or weights.min() < 0
        or not (np.minimum(np.abs(sums - 1), sums) <= SUMS).all()
    ):
        wrong = "These numbers are no attention weights."
        rule = "Each is finite and not negative, and each row sums to 1, or to 0 where nothing may be seen."
        raise InputError(wrong, rule, "Give the patterns after the softmax.")
    return weights, texts


def _padded_front(weights: Array) -> NDArray[np.bool_]:
    """Return a mask of the positions that hold the text: False for those in front whose rows are even, or empty, in
    every head, and which no later row attends to.
    """
    n, m = weights.shape[2:]
    if n != m:
        return np.ones(m, dtype=bool)
    even = (np.ptp(weights, axis=-1) < SUMS / n).all((0, 1))
    front = n if even.all() else int(even.argmin())
    front = next(
        (
            k
            for k in range(front, 0, -1)
            if k < n and not weights[..., k:, :k].any() and weights[..., k:, k:].any()
        ),
        0,
    )
    return np.arange(n) >= front


def _real(mask: Any, row: int, n: int) -> NDArray[np.bool_]:
    """Return a mask of the n positions that are no padding, from an attention_mask."""
    rows = _array(mask)
    rows = rows[row] if rows.ndim == 2 and -len(rows) <= row < len(rows) else rows
    if rows.shape != (n,) or not np.isin(rows, (0, 1)).all() or not rows.any():
        wrong = f"The mask has the shape {rows.shape}, or numbers that are not 0 and 1, for {n} tokens."
        raise InputError(
            wrong, "It has 1 for each token and 0 for padding.", "Give the tokenizer's attention_mask."
        )
    return rows > 0


def _of_layers(value: Any) -> bool:
    """Return whether the value is a tuple with one item per layer; a list of lists of numbers is an array."""
    return isinstance(value, tuple) or (
        isinstance(value, list) and not (value and isinstance(value[0], list))
    )


def _array(value: Any) -> Array:
    value = value.detach().float().cpu().numpy() if hasattr(value, "detach") else value
    try:
        return np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError("These attentions are not an array of numbers.", RULE, "Give one of them.") from None


def _labels(tokens: Sequence[str], n: int, axis: str) -> tuple[str, ...]:
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        wrong = f"The {axis} are labelled by {tokens!r}."[:120]
        how = "Give tokenizer.convert_ids_to_tokens(ids)."
        raise InputError(wrong, "The labels are a list of tokens, one string each.", how)
    if len(tokens) != n:
        wrong = f"There are {len(tokens)} tokens for {n} {axis}."
        raise InputError(
            wrong,
            "Each row and each column has one.",
            "Give the tokens of exactly this text, special ones too.",
        )
    bytewise = any(mark in token for token in tokens for mark in BYTES) and all(map(in_byte_letters, tokens))
    return tuple(text_of_byte_letters(token) if bytewise else _readable(token) for token in tokens)


def _special_positions(tokens: tuple[str, ...]) -> tuple[int, ...]:
    """Return the positions of special tokens. Of foreign tokens only the names are known: brackets around a name, as in [CLS], <s>, <|endoftext|>."""
    return tuple(place for place, token in enumerate(tokens) if BRACKETED.fullmatch(token))


def _readable(token: str) -> str:
    for mark, letter in LETTERS.items():
        token = token.replace(mark, letter)
    return token


def _side(tokens: tuple[str, ...]) -> TokenSequence:
    text = "".join(tokens) if any(" " in token for token in tokens) else " ".join(tokens)
    places = range(len(tokens))
    return TokenSequence(text.strip(), tokens, tuple(places), tuple(None for _ in places), n_real=len(tokens))
