"""Texts that nobody types and somebody pastes, the pages that take one, and what a page asks of tokenizers and models for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from core import model
from core.reading import bounds
from core.text import Tokenizer
from viz.shell import pages, state
from viz.widgets import page_parts
from viz.workspace.decode import controls
from viz.workspace.find import page
from viz.workspace.importance import page as importance
from viz.workspace.inside import page as inside
from viz.workspace.many_texts import page as many_texts

TEXTS = {
    "an unusual script": "\U00010400\U00010428" * 10_000,
    "a combining stack": "a" + "\u0301" * 30_000,
    "zero-width joiners": "\u200d" * 20_000,
    "an emoji family": "👩‍👩‍👧‍👦" * 4_000,
    "private use": "\ue000" * 20_000,
    "controls": "\x01\x02" * 10_000,
    "one letter": "q" * 20_000,
    "hundreds of one letter": "q" * 400,
    "a paragraph": "The cat sat on a mat. " * 6 + "\u0301\u200d" * 20,
    "white space": " \n\t" * 7_000,
    "words": "The cat sat on a mat. " * 1_000,
    "a million letters": "Each word counts. " * 60_000,
}
MODELS = ("gpt-mini", "bert-mini", "translator-en-es", "bahdanau-en-es")
PAGES = {
    "look": {},
    "what_if": {},
    "find": {},
    "compare": {},
    "inside": {},
    "be_the_head": {},
    "many_texts": {},
    "decode": {},
    "importance": {},
    "importance, words": {"importance.by": "words"},
    "importance, patch": {"importance.by": "patch"},
}
VIEWS = {
    "look": ({}, {"view": "full"}),
    "decode": tuple({"decode.show": view} for view in controls.VIEWS),
    "what_if": ({}, {"view": "full"}),
    "compare": ({},),
    "be_the_head": ({},),
    "growth": ({},),
    "names": ({},),
    "homework": ({},),
    "find": tuple({"find.by": by} for by in page.BY),
    "inside": tuple({"inside.by": by} for by in inside.VIEWS),
    "importance": tuple({"importance.by": by} for by in importance.VIEWS),
    "many_texts": tuple({"many_texts.by": by} for by in many_texts.BY),
}
"""What is chosen in turn on each page for free work that takes a text."""


class Work:
    """What is asked of models and tokenizers while a page is drawn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.begin()
        encode, many, forward = Tokenizer.encode, Tokenizer.encode_many, model.Model._forward

        def counted(tokenizer, text, **options):
            self.letters = max(self.letters, len(text))
            return encode(tokenizer, text, **options)

        def all_counted(tokenizer, texts):
            self.letters = max(self.letters, sum(map(len, texts)) if len(texts) < 8 else 0)
            return many(tokenizer, texts)

        def weighed(reader, batch, *given):
            side = 0 if batch.source is None else batch.source.shape[1]
            rows, tokens = batch.ids.shape
            self.cost += rows * (tokens + side + bounds.FIXED) * reader.n_parameters
            return forward(reader, batch, *given)

        patch.setattr(Tokenizer, "encode", counted)
        patch.setattr(Tokenizer, "encode_many", all_counted)
        patch.setattr(model.Model, "_forward", weighed)

    def begin(self) -> None:
        """Count from nothing."""
        self.letters, self.cost = 0, 0.0


def drawn(slug, **chosen):
    """A page as it is when this was chosen on it: a text so long is no part of a link."""
    test = AppTest.from_string(
        f"from viz.shell import pages\nfrom viz.shell import errors, state\nentry = next(entry for entry in pages.discover() if entry.slug == {slug!r})\n"
        "with errors.guard(), state.visit(entry.slug):\n    entry.page()",
        default_timeout=120,
    )
    test.session_state["atlas.chosen"] = chosen
    return test.run()


def boxes(test):
    """What one types into on a page."""
    return [box for box in (*test.text_input, *test.text_area) if not box.proto.disabled]


def unfold(patch: pytest.MonkeyPatch) -> None:
    """Folds stand open, as a visitor who looks for boxes opens them."""
    honest = page_parts.fold

    @contextmanager
    def opened(name: str, key: str) -> Iterator[object]:
        with honest(name, key) as fold:
            yield fold if name == page_parts.TAKE or state.presenting() else SimpleNamespace(open=True)

    patch.setattr(page_parts, "fold", opened)


def states(slug: str) -> list[dict[str, str]]:
    """What is chosen in turn so that all boxes of a page are seen: each step of an exhibit, each view by each kind of model."""
    entry = next(entry for entry in pages.discover() if entry.slug == slug)
    if isinstance(entry.info, pages.ExhibitInfo):
        return [{f"{slug}.step": str(step)} for step in range(1, len(entry.steps) + 1)]
    models = MODELS if "model" in entry.fields else ("",)
    return [view | ({"model": model} if model else {}) for view in VIEWS.get(slug, ({},)) for model in models]
