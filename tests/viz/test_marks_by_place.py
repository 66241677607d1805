"""Known by its place: what a model adds to a text is a mark, a word that is spelled like one is a word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tokenizers

import core
import viz
from core.analysis.heads.habits import measures
from core.text import Tokenizer
from tests.bert_helpers import IDS, build
from viz.workspace.decode.pictures import pieces
from viz.workspace.shared.blank import Blanks
from viz.workspace.shared.head_ref import target_words

SPELLED = ("This is THE END of it", "Put the PAD on it", "START and END", "[SEP] the [CLS]", "<s> START </s>")


@pytest.mark.parametrize("text", SPELLED)
@pytest.mark.parametrize("name", ["gpt-mini", "bert-mini", "translator-en-es"])
def test_a_typed_word_is_drawn_whatever_it_is_called(name, text):
    run = core.open_model(name).run(text)
    for kind in run.kinds:
        across = kind == "cross"
        attention = run.attention(kind, by="word", writing=across)
        keys = run.axis(run.model.spec.kind(kind).keys)
        typed = keys.text.lower() if name == "bert-mini" else keys.text
        words = [
            word for place, word in enumerate(attention.keys) if place not in attention.special_positions[1]
        ]
        assert "".join("".join(words).split()).lower() == "".join(typed.split()).lower()
        drawn = [word for word, _ in target_words(attention)]
        assert drawn == list(attention.queries[: len(attention.queries) - across])  # all but the last END
        header = viz.words(run, kind=kind).packet.header
        assert header["special"] == [list(places) for places in attention.special_positions]


def test_marks_by_another_name_are_measured_alike():
    """RoBERTa calls BERT's [CLS] and [SEP] <s> and </s>: the same numbers give the same measures."""
    model = build()
    rules = model.tokenizer.to_json()
    for name, other in (("[CLS]", "<s>"), ("[SEP]", "</s>"), ("[PAD]", "<pad>"), ("[MASK]", "<mask>")):
        rules = rules.replace(name, other)
    renamed = replace(model, tokenizer=Tokenizer(tokenizers.Tokenizer.from_str(rules), **IDS))
    mine, yours = (one.run("She has a white car.").attention(by="word") for one in (model, renamed))
    assert (
        mine.special_positions == yours.special_positions
        and mine.special_positions[1][0] == 0
        and yours.keys[-1] == "</s>"
    )
    one, other = measures(mine), measures(yours)
    assert list(one) == list(other) and one["separator"].any()
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


@pytest.mark.parametrize("name", ["bert-mini", "albert-mini", "bigbird-mini"])
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("[CLS] Who was Jim? [SEP] Jim [MASK] was a man [SEP]", 1),
        ("The [UNK] cat [MASK] and ___", 1),
        ("[MASK][SEP][MASK]", 2),
    ],
)
def test_a_blank_beside_the_name_of_another_mark_is_a_blank(name, text, n):
    run = core.open_model(name).run(text)
    assert run.ids.count(run.model.tokenizer.mask) == n == len(Blanks.from_run(run).words)
    assert run.ids.count(run.model.tokenizer.end) == 1  # its own; typed names are letters


def test_a_piece_that_is_spelled_like_a_mark_is_tied_as_any():
    assert pieces(["START", "ed", "END"]) == ["START", "‿ed", "‿END"]
    assert pieces(["START", "ed", "END"], (0, 2)) == ["START", "ed", "END"]
