"""The exhibit on families of models, on the shipped ones: masks, one word moved, who moves whom, two chains, the table."""

from __future__ import annotations

import numpy as np
import pytest
from exhibit_pages import drawn, said
from packets import opened
from streamlit.testing.v1 import AppTest

import core
from core.analysis.residual.ripple import reach
from viz.course.gpt.families import exhibit, pictures, read
from viz.course.gpt.families.maths.influence import influence
from viz.course.gpt.families.params import SENTENCES, Params

SLUG = "families"
FOLDS = (
    *(f"{SLUG}.{name}" for name in ("equation", "looking", "table", "take")),
    f"{exhibit.LESSON.text.info.title}.documents",
)
SHORT = "We ate."


def page(*folded: str, state: dict[str, object] | None = None, text: str = "", **link: str) -> AppTest:
    values = {f"{SLUG}.{name}": value for name, value in link.items()} | ({"text": text} if text else {})
    test = drawn(SLUG, values, {f"fold:{name}": True for name in folded} | (state or {}))
    assert not test.exception and "went wrong" not in said(test)
    return test


def packets(test: AppTest) -> list[dict]:
    found = [opened(element.proto.bytes)[0] for element in test.get("bidi_component") if element.proto.bytes]
    return [packet for packet in found if packet.get("scale") == "pattern"]


def test_two_masks_for_one_sentence_and_the_answer_follows_the_sentence():
    hidden = page(*FOLDS)
    assert len(packets(hidden)) == 1 and pictures.LATER in said(hidden) and "GPT 21 of 36" not in said(hidden)
    for text in (SENTENCES[0], SHORT):
        n = len(core.open_model(read.GPT).run(text).tokens)
        test = page(text=text, state={f"predict:{SLUG}.open": str(n * (n + 1) // 2)})
        assert (
            "Right." in said(test)
            and f"GPT {n * (n + 1) // 2} of {n * n}" in said(test)
            and len(packets(test)) == 3
        )
    data = exhibit.compute(Params())
    assert data.bert.allowed.all() and np.array_equal(
        data.gpt.allowed, np.tril(np.ones_like(data.gpt.allowed))
    )
    m = len(data.both.outputs)
    assert data.both.allowed[:, :-m].all() and np.array_equal(
        data.both.allowed[:, -m:], np.tril(np.ones((m, m), bool))
    )


def test_one_word_moves_what_comes_after_it():
    assert len(packets(page(*FOLDS, step="2"))) == 1
    for word, answer in ((4, "its own and all after"), (0, "all"), (5, "only its own")):
        test = page(step="2", word=str(word), state={f"predict:{SLUG}.moves": answer})
        assert "Right." in said(test), word
    n = len(exhibit.compute(Params()).gpt.outputs)
    assert "GPT 1 of 6" in said(test) and f"BERT {n + 2} of {n + 2}" in said(test)


@pytest.mark.slow
def test_who_moves_whom_is_what_the_masks_allow():
    """C110."""
    assert len(packets(page(*FOLDS, step="3"))) == 2
    data = exhibit.compute(Params())
    moved, m = read.moved(data), len(data.both.outputs)
    test = page(*FOLDS, step="3", state={f"predict:{SLUG}.places": str(m)})
    assert (
        "Right." in said(test)
        and "are the same as those that one layer leaves unmasked" in said(test)
        and "E39" in said(test)
    )
    for name, model in (("bert", read.BERT), ("gpt", read.GPT)):
        np.testing.assert_array_equal(moved.pattern(name), reach(core.open_model(model).run(data.text)))
    run = core.open_model(read.BOTH).run(data.text)
    np.testing.assert_array_equal(
        moved.pattern("both"), np.concatenate([reach(run, "source"), reach(run)], 1)
    )
    names: dict = {}
    exec(next(code.value for code in test.code if "influence" in code.value), names)
    np.testing.assert_array_equal(
        names["found"][:, -1].T > 0, influence(core.open_model(read.GPT), data.text)[:, -1].T > 0
    )


def test_two_chains_hear_one_side_each():
    hidden = page(*FOLDS, step="4")
    assert not packets(hidden) and "not a trained one" in said(hidden)
    for word in (1, 4):
        test = page(step="4", word=str(word), state={f"predict:{SLUG}.heard": str(word + 1)})
        assert "Right." in said(test)
    n = len(exhibit.compute(Params()).words)
    assert (
        len(packets(test)) == 3
        and f"From the left {n * (n + 1) // 2}, from the right {n * (n + 1) // 2}, joined {n * n} of {n * n}"
        in said(test)
    )


def test_the_table_counts_what_moves_each():
    """C110."""
    hidden = page(*FOLDS, step="5")
    assert list(hidden.table[0].value.iloc[:3, 3]) == ["?"] * 3
    test = page(step="5", word="2", state={f"predict:{SLUG}.two": "8 and 3"})
    table = test.table[0].value
    assert "Right." in said(test) and list(table.index) == [
        "BERT",
        "GPT",
        "ELMo (two chains, random)",
        "Translator",
    ]
    both = exhibit.compute(Params()).both
    source = len(both.inputs) - len(both.outputs)
    assert (
        list(table.iloc[:3, 3]) == ["8 of 8", "3 of 6", "6 of 6"]
        and f"{source + 1} of {len(both.inputs)}" in table.iloc[3, 3]
    )
