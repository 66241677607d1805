"""The interface of readers of inputs that are no sentences, such as pictures and sounds."""

from __future__ import annotations

from typing import Protocol

from core.text.tokenizer import Encoded


class Reader(Protocol):
    """Makes tokens, and numbers behind each, of a picture, a scene or a sound that is written as a short text.

    As text it travels like a sentence does: in a link, a cache, a saved view. `example` is one that can be read.
    """

    @property
    def example(self) -> str: ...

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Return the tokens with their `values`. Raises InputError for a text that is no such input."""
        ...
