"""Look, Compare and the bench with a model that reads sentence by sentence: two weightings, the class, and who says why not."""

from __future__ import annotations

import numpy as np
import pytest
from packets import opened, unpacked
from streamlit.testing.v1 import AppTest
from tiny_models import served

import viz
from core.maths import softmax
from core.text.sentences import sentences_of
from viz.labels import percent, shorten
from viz.shell.selection import Selection
from viz.workspace.compare import data
from viz.workspace.shared import attention_kinds, head_ref

TEXT = "The gale came down on us. A heavy sea broke over the bow! Zyx had a key?"


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), "tiny-han", "tiny-gpt") as engine,
    ):
        yield engine


def page(slug: str, **link: str) -> AppTest:
    test = AppTest.from_string(
        f"from viz.shell import pages, state\nwith state.visit({slug!r}):\n    pages.find({slug!r}).page()",
        default_timeout=120,
    )
    for name, value in {"model": "tiny-han", "text": TEXT, **link}.items():
        test.query_params[name] = value
    test.session_state["fold:look.arithmetic"] = True
    test.session_state["look.cell"] = {"near": True}
    test.run()
    assert not test.exception
    return test


def said(test: AppTest) -> str:
    found = "\n".join(str(e.value) for kind in (test.text, test.markdown, test.caption) for e in kind)
    return found.replace("\\", "")


def drawn(test: AppTest, *names: str) -> list[bytes]:
    sent = [one.proto.bytes for one in test.get("bidi_component") if one.proto.bytes]
    return [packet for packet in sent if all(name in opened(packet)[0] for name in names)]


@pytest.mark.parametrize("kind", ["words", "sentences"])
@pytest.mark.parametrize("view", ["", "full"])
def test_look_draws_both_weightings_and_tells_the_class(engine, kind, view):
    test = page("look", kind=kind, **({"view": view} if view else {}))
    run = engine.open("tiny-han").run(TEXT)
    attention = run.attention(kind, by="word")
    words = drawn(test, "layout", "caption")[0]
    assert opened(words)[0]["layout"] == "two"
    everything = drawn(test)
    np.testing.assert_allclose(unpacked(words, page=everything), attention.weights[0, 0], atol=1e-3)
    chances = softmax(run.classes)
    best = int(chances.argmax())
    assert f"**{run.model.config.classes[best]} {percent(chances[best])}**" in said(test)
    assert "“Zyx”" in said(test) and "unknown word" in said(test)
    if view:
        assert drawn(test, "axis") and any(
            f"Within “{shorten(query, head_ref.BEGINNING)}”" in said(test) for query in attention.queries
        )


def test_rows_are_named_by_the_beginning_of_their_sentence(engine):
    run = engine.open("tiny-han").run(TEXT)
    found = head_ref.attention_of(run, "words")
    whole = [TEXT[slice(*place)] for place in sentences_of(TEXT)]
    assert list(found.queries) == [shorten(one, head_ref.BEGINNING) for one in whole]
    assert (
        attention_kinds.axis_names("words") == ("sentence", "word (key)")
        and attention_kinds.layout("sentences") == "two"
    )


def test_compare_opens_beside_the_text_without_its_last_sentence():
    one, other = data.opening(Selection("tiny-han", TEXT))
    assert one.kind == other.kind == "sentences" and TEXT.startswith(other.text)
    assert len(sentences_of(other.text)) == len(sentences_of(one.text)) - 1
    test = page("compare")
    assert len(drawn(test, "axis")) >= 2 and "went wrong" not in said(test)


@pytest.mark.parametrize(
    ("slug", "why"),
    [
        ("what_if", "one weighting of words and one of sentences, and no heads in layers"),
        ("inside", "one weighting of words and one of sentences, and no heads in layers"),
        ("importance", "one weighting of words and one of sentences, and no heads in layers"),
        ("find", "one weighting of words and one of sentences, and no heads in layers"),
        ("be_the_head", "one weighting of words and one of sentences, and no heads in layers"),
        ("decode", "outputs its class; it cannot continue it word by word"),
    ],
)
def test_a_page_that_cannot_says_why_and_keeps_the_text(slug, why):
    test = page(slug)
    assert "cannot show tiny-han" in said(test) and why in said(test)
    assert test.text_input[0].value == TEXT and (test.pills or test.button)


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", ["words", "sentences"])
@pytest.mark.parametrize("name", ["words", "heatmap", "strip", "head_view", "grid", "arithmetic", "source"])
def test_a_notebook_draws_both_weightings(engine, name, kind):
    run = engine.open("tiny-han").run(TEXT)
    picture = getattr(viz, name)(run, kind=kind)
    assert (
        picture.html().startswith("<!doctype html>") and "tiny-han" in picture.name and kind in picture.name
    )
    if name in ("words", "heatmap", "strip"):
        wanted = run.attention(kind, by="word").weights[0, 0]
        np.testing.assert_allclose(unpacked(picture.packet.to_bytes()), wanted, atol=1e-3)
