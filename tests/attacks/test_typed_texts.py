"""The longest and the oddest texts that may be typed: the work is bounded before it begins, and the page says what it reads."""

from __future__ import annotations

import pytest
from crafting import good_tokenizer
from streamlit.testing.v1 import AppTest

import core
from core import bounds, engine, model
from core.errors import InputError
from core.serving.cache import ByteCache
from core.serving.gate import Gate
from core.text import Tokenizer
from core.text.tokenizer import LONGEST

TEXTS = {
    "an unusual script": "\U00010400\U00010428" * 10_000,
    "a combining stack": "a" + "\u0301" * 30_000,
    "zero-width joiners": "\u200d" * 20_000,
    "an emoji family": "👩‍👩‍👧‍👦" * 4_000,
    "private use": "\ue000" * 20_000,
    "controls": "\x01\x02" * 10_000,
    "one letter": "q" * 20_000,
    "white space": " \n\t" * 7_000,
    "words": "The cat sat on a mat. " * 1_000,
    "a million letters": "Each word counts. " * 60_000,
}
MODELS = ("gpt-mini", "bert-mini", "translator-en-es", "bahdanau-en-es")
PAGES = {
    "look": {}, "what_if": {}, "find": {}, "compare": {}, "inside": {}, "be_the_head": {}, "decode": {},
    "importance": {}, "importance, words": {"importance.by": "words"}, "importance, patch": {"importance.by": "patch"},
}  # fmt: skip
PASSES = {"be_the_head": 3.0}
"""So many times the bound a page may do: the row of a translation is chosen among its first ones."""


def test_more_letters_than_the_longest_never_reach_the_library(monkeypatch):
    tokenizer = Tokenizer(good_tokenizer())
    assert tokenizer.encode("a" * LONGEST).ids
    monkeypatch.setattr(tokenizer, "_literal", None)
    with pytest.raises(InputError, match="20,001 letters"):
        tokenizer.encode("a" * (LONGEST + 1))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("case", TEXTS)
def test_a_part_is_never_more_tokens_than_asked_for(name, case):
    reader, text = core.open_model(name), TEXTS[case][:LONGEST]
    for first, n in ((0, 16), (3, 17), (1000, 48)):
        found = bounds.part(reader, text, first, n)
        assert found in text
        assert len(reader.tokenizer.encode(found).ids) <= n


@pytest.mark.parametrize("name", MODELS)
def test_what_a_page_reads_is_within_the_bound(name):
    reader = core.open_model(name)
    for runs, each in ((1, 0), (4, 1), (52, 0), (4, reader.config.n_layers)):
        n = bounds.most(reader, runs=runs, each=each)
        written = model.WRITES if reader.spec.has_source else 0
        assert 1 <= n <= reader.config.n_ctx
        assert n == bounds.LEAST or (runs + each * n) * (n + written + bounds.FIXED) * reader.n_parameters <= bounds.WORK


def test_a_translator_that_does_not_end_is_stopped(monkeypatch):
    reader, limits = core.open_model("translator-en-es"), []

    def greedy(*given, limit, **more):
        limits.extend(limit)
        return [[reader.tokenizer.end]] * len(limit)

    monkeypatch.setattr(model, "greedy", greedy)
    for text in ("q", "q" * 40, "q" * 200):
        reader.run(text)
    sources = [len(reader.tokenizer.encode(text).ids) for text in ("q", "q" * 40, "q" * 200)]
    assert limits == [3 * sources[0] + 10, max(64, 3 * sources[1] // 2), 255]


class Work:
    """What is asked of models and tokenizers while a page is drawn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.letters, self.cost = 0, 0.0
        encode, forward = Tokenizer.encode, model.Model._forward

        def counted(tokenizer, text, **options):
            self.letters = max(self.letters, len(text))
            return encode(tokenizer, text, **options)

        def weighed(reader, batch, *given):
            side = 0 if batch.source is None else batch.source.shape[1]
            rows, tokens = batch.ids.shape
            self.cost += rows * (tokens + side + bounds.FIXED) * reader.n_parameters
            return forward(reader, batch, *given)

        patch.setattr(Tokenizer, "encode", counted)
        patch.setattr(model.Model, "_forward", weighed)


@pytest.fixture
def fresh(monkeypatch):
    """An engine that remembers the models and no answer."""
    served = engine.default()
    monkeypatch.setattr(served, "_cache", ByteCache(2**28))
    monkeypatch.setattr(served, "_gate", Gate(served._cache))
    yield
    served._gate.close()


def drawn(slug, **chosen):
    """A page as it is when this was chosen on it: a text so long is no part of a link."""
    test = AppTest.from_string(
        f"from viz import pages\nfrom viz.ui import errors, state\nentry = next(entry for entry in pages.discover() if entry.slug == {slug!r})\n"
        "with errors.guard(), state.visit(entry.slug):\n    entry.page()", default_timeout=120,
    )  # fmt: skip
    test.session_state["atlas.chosen"] = chosen
    return test.run()


@pytest.mark.parametrize("name", ["gpt-mini", "translator-en-es"])
@pytest.mark.parametrize("case", PAGES)
def test_a_page_of_an_endless_text_does_bounded_work_and_says_what_it_reads(fresh, monkeypatch, caplog, case, name):
    slug, text = case.partition(",")[0], "\U00010400x \u0301" * 250_000
    drawn(slug, model=name, text="The cat sat on a mat.", **PAGES[case])  # what is measured once a model is none of this text's work
    work = Work(monkeypatch)
    test = drawn(slug, model=name, text=text, **PAGES[case])
    assert not test.exception
    assert work.letters <= LONGEST
    assert work.cost <= PASSES.get(slug, 1.0) * bounds.WORK
    told = [caption.value for caption in test.caption]
    assert "This text has 1,000,000 letters. The first 20,000 are read." in told
    named = [slider.label for slider in test.slider if slider.label.startswith("The text has ")]
    said = [line.value for line in test.text if " reads the last " in line.value or " reads at most " in line.value]
    assert named or said
    assert not [record for record in caplog.records if "atlas-engine" in record.getMessage()], "a computation touches no session"
