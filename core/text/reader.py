"""The interface of readers of inputs other than sentences, such as pictures and sounds."""

from __future__ import annotations

from typing import Protocol

from core.text.tokenizer import Encoded


class Reader(Protocol):
    """A reader of pictures, scenes or sounds that are written as a short text: it gives tokens, and numbers for each.

    As text it travels like a sentence does: in a link, a cache, a saved view. `example` is one that can be read.
    """

    @property
    def example(self) -> str: ...

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Return the tokens with their `values`. Raises InputError for a text that is no such input."""
        ...
