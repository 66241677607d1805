"""What BERT reads: its numbers computed again on a small random model."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, lanes, said, token_rows
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.serving.engine import default
from viz.course.bert import wordpiece
from viz.course.bert.bert_input import exhibit, input_sum
from viz.course.bert.bert_input.params import WHOSE, Params
from viz.labels import percent

engine = stand_ins({"bert-mini": ("bert", {})})
page = StepPages("bert_input", shared=("text", "pair"))


def cells(test, row: int) -> list[str]:
    return list(token_rows(test).values())[row]


def looks(test, place: int = 0) -> list[str]:
    return [f"{look['piece']}: {look['told']}" for look in drawn_rows(test, mark="rect", place=place)]


@pytest.mark.slow
def test_playing_is_cut_into_play_and_ing_and_what_follows_is_covered():
    """C081."""
    before = page()
    assert looks(before) == ["playing: no", "playin: no", "playi: no", "play: yes", "##ing: yes"]
    assert looks(before, 1) == [] and page.answer(before, "cut") == "[UNK]"
    test = answered(before)
    assert looks(test, 1)[-1] == "##i: no" and states(said(test), "7 letters", "5 lookups", "8", "2 pieces")


@pytest.mark.slow
def test_another_vocabulary_has_another_answer_and_buttons_edit_it():
    for pieces, first, last in (
        ("my dog play ##in ##g", "play ##in ##g", "[UNK]"),
        ("he likes playing play ##ing pl ##ay", "playing", "play ##ing"),
    ):
        test = page(pieces=pieces, word=6)
        assert page.answer(test, "cut") == last and f"cut into {first}" in said(test)
    unknown = page(pieces="he")
    assert states(said(unknown), "every letter")
    unknown.button(key="bert_input.edit:Add all ").click().run()
    assert "p ##l ##a ##y ##i ##n ##g" in said(unknown)
    unknown.button(key="bert_input.edit:own").click().run()
    assert "cut into play ##ing" in said(unknown)


def test_both_vocabularies_stand_beside_each_other_and_unknown_words_are_red():
    """C081."""
    test = page(2, text="my 🎉 dog", pair="playing")
    tokenizer = default().open("bert-mini").tokenizer
    assert cells(test, 1) == ["my", "[UNK]", "dog", "play|##ing"]
    n = len(tokenizer.encode("my 🎉 dog playing").tokens)
    assert f"bert-mini's {len(tokenizer):,}: {n} tokens, 1 unknown" in said(test)
    assert states(said(test), "8 pieces", "5 tokens", "1 unknown")


@pytest.mark.slow
def test_the_table_of_the_documents():
    """C080."""
    test = answered(page(3))
    assert cells(test, 0) == [
        "[CLS]",
        "my",
        "dog",
        "is",
        "cute",
        "[SEP]",
        "he",
        "likes",
        "play",
        "##ing",
        "[SEP]",
    ]
    assert cells(test, 1) == ["A"] * 6 + ["B"] * 5 and cells(test, 2) == [str(i) for i in range(11)]
    assert states(said(test), "11 tokens", "6 of text A", "5 of text B", "0 to 10")
    assert cells(answered(page(3, whose=WHOSE[1])), 0) == list(exhibit.compute(Params()).tokens)
    one = answered(page(3, pair=""))
    assert cells(one, 0)[-1] == "[SEP]" and states(said(one), "6 of text A", "0 of text B")


def test_three_vectors_and_their_sum():
    data = exhibit.compute(Params())
    test = page(4, place=3)
    vectors = [*(data.parts[name][3] for name in input_sum.PARTS), data.total[3]]
    np.testing.assert_allclose(lanes(test), [vector[:16] for vector in vectors], atol=6e-4)
    a, b, c, total = (f"{float(vector[0]):.4f}".replace("-", "−") for vector in vectors)
    assert f"First number: {a} + {b} + {c} = {total}." in said(test) and data.exact


def test_one_of_the_three_is_switched_off():
    model = default().open("bert-mini")
    found = {part: input_sum.ablate(model, *wordpiece.EXAMPLE, part) for part in input_sum.PARTS}
    most = max(found, key=lambda part: found[part].turned.mean())
    test = answered(page(5, off="segment"))
    assert page.answer(test, "off") == f"{most} embedding"
    off = found["segment"]
    np.testing.assert_allclose(lanes(test)[1], off.turned, atol=6e-4)
    assert states(said(test), f"{off.turned.mean():.3f}")
    assert states(said(test), percent(off.follows[0]), percent(off.follows[1]))
