"""Look, Compare and the bench with a model that reads sentence by sentence: two weightings, the class, and who says why not."""

from __future__ import annotations

import numpy as np
import pytest
from packets import packets_of, unpacked
from tiny_models import serving
from workspace_pages import NEAR, page, said, sent

import viz
from core.maths import softmax
from core.text.sentences import sentences_of
from viz.labels import percent, shorten
from viz.shell.selection import Selection
from viz.workspace.compare import data
from viz.workspace.shared import attention_kinds, head_ref

TEXT = "The gale came down on us. A heavy sea broke over the bow! Zyx had a key?"
TINY = {"model": "tiny-han", "text": TEXT}
KINDS = pytest.mark.parametrize("kind", ["words", "sentences"])


engine = serving("tiny-han", "tiny-gpt", autouse=True)


@KINDS
@pytest.mark.parametrize("view", ["", "full"])
def test_look_draws_both_weightings_and_tells_the_class(engine, kind, view):
    test = page("look", {"fold:look.arithmetic": True} | NEAR, kind=kind, view=view, **TINY)
    run = engine.open("tiny-han").run(TEXT)
    attention, chances = run.attention(kind, by="word"), softmax(run.classes)
    words = unpacked(sent(test, "layout", "caption")[0], page=packets_of(test))
    np.testing.assert_allclose(words, attention.weights[0, 0], atol=1e-3)
    best = int(chances.argmax())
    assert f"**{run.model.config.classes[best]} {percent(chances[best])}**" in said(test)
    assert "“Zyx”" in said(test) and "unknown word" in said(test)
    if view:
        assert sent(test, "axis") and any(
            f"Within “{shorten(query, head_ref.BEGINNING)}”" in said(test) for query in attention.queries
        )


def test_rows_are_named_by_the_beginning_of_their_sentence(engine):
    found = head_ref.attention_of(engine.open("tiny-han").run(TEXT), "words")
    whole = [TEXT[slice(*place)] for place in sentences_of(TEXT)]
    assert list(found.queries) == [shorten(one, head_ref.BEGINNING) for one in whole]
    assert attention_kinds.axis_names("words") == ("sentence", "word (key)")
    assert attention_kinds.layout("sentences") == "two"


def test_compare_opens_beside_the_text_without_its_last_sentence():
    one, other = data.opening(Selection("tiny-han", TEXT))
    assert one.kind == other.kind == "sentences" and TEXT.startswith(other.text)
    assert len(sentences_of(other.text)) == len(sentences_of(one.text)) - 1
    assert len(sent(page("compare", **TINY), "axis")) >= 2


@pytest.mark.parametrize("slug", ["what_if", "inside", "importance", "find", "be_the_head", "decode"])
def test_a_page_that_cannot_says_why_and_keeps_the_text(slug):
    test = page(slug, **TINY)
    assert "cannot show tiny-han" in said(test)
    assert ("outputs its class" if slug == "decode" else "heads in layers") in said(test)
    assert test.text_input[0].value == TEXT and (test.pills or test.button)


@pytest.mark.quick(2)
@KINDS
@pytest.mark.parametrize("name", ["words", "heatmap", "strip", "head_view", "grid", "arithmetic", "source"])
def test_a_notebook_draws_both_weightings(engine, name, kind):
    run = engine.open("tiny-han").run(TEXT)
    picture = getattr(viz, name)(run, kind=kind)
    assert picture.html().startswith("<!doctype html>")
    assert "tiny-han" in picture.name and kind in picture.name
    if name in ("words", "heatmap", "strip"):
        wanted = run.attention(kind, by="word").weights[0, 0]
        np.testing.assert_allclose(unpacked(picture.packet.to_bytes()), wanted, atol=1e-3)
