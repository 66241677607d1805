"""Plain runs of the core beside those of the pages, and how a sentence names a token."""

from __future__ import annotations

from typing import Any

import numpy as np

import core
from core.run import Run
from viz.labels import visible

GPT, READER, FILLER = "gpt-mini", "translator-en-es", "bert-mini"
TEXT = "The animal didn't cross the street because it was too tired."
OPENING = {GPT: TEXT, READER: TEXT, FILLER: "The old man put on his [MASK] and went out."}


def plain(model: str, text: str, **more: Any) -> Run:
    """A run of the core; a translator's own translation is read back, as the pages do."""
    reader = core.open_model(model)
    if not reader.spec.has_source:
        return reader.run(text, **more)
    return reader.run(text, target=reader.run(text).target_text, **more)


def word(model: str, index: int) -> str:
    """A token as a sentence names it."""
    token = core.open_model(model).tokenizer.token(index)
    return visible(token.strip() or token)


def softmax(logits: np.ndarray) -> np.ndarray:
    z = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)
