"""Crafted SentencePiece models: each is refused in the child, the file named and why, and a long text never hangs the parent."""

from __future__ import annotations

import json
import time

import pytest
from spm_writer import BYTE, LEAF, MARKS, UNKNOWN, UNUSED, USER, message, model, table, vocabulary, words

from core.checkpoints.safety import sentencepiece
from core.checkpoints.tokenizer import SOURCE, try_in_child
from core.errors import InputError
from core.text import Cutter

PIECES = words("a white car.")
GOOD = model(PIECES)
VOCAB = vocabulary(PIECES)
BROKEN = {
    "not a message": b"\xff" * 40,
    "text": b"this is no SentencePiece model at all",
    "a group": b"\x0b\x0c",
    "a number that never ends": b"\x0a" + b"\x80" * 12,
    "longer than the file": b"\x0a\xff\xff\xff\x7f",
    "a piece that is a number": message((1, 5)),
    "specs that are numbers": GOOD + message((2, 1)),
    "no pieces": b"",
}
CRAFTED = {
    "BPE": (model(PIECES, trainer={3: 2}), "its model type is BPE, and only Unigram is read"),
    "a kind nobody knows": (model(PIECES, trainer={3: 99}), "its model type is unknown"),
    "byte fallback": (model(PIECES, trainer={35: 1}), "byte_fallback"),
    "byte pieces": (model([*PIECES, ("<0x41>", 0.0, BYTE)]), "byte_fallback"),
    "spaces behind words": (model(PIECES, trainer={24: 1}), "marks spaces otherwise"),
    "spaces as spaces": (model(PIECES, rules={5: 0}), "marks spaces otherwise"),
    "no unknown": (model(PIECES, marks=MARKS[1:]), "no piece for what is unknown"),
    "two unknown": (model([*PIECES, ("<u>", 0.0, UNKNOWN)]), "several pieces for what is unknown"),
    "marks alone": (model([]), "not understood"),
    "a type nobody knows": (model([*PIECES, ("x", 0.0, 9)]), "not understood"),
    "twice": (model([*PIECES, PIECES[0]]), "occurs twice"),
    "an empty piece": (model([*PIECES, ("", 0.0)]), "without a text"),
    "no number": (model([*PIECES, ("q", float("nan"))]), "without a score"),
    "endless": (model([*PIECES, ("q", float("-inf"))]), "without a score"),
    "no letters": (model(PIECES, more=message((1, message((1, b"\xff\xfe"))))), "no text"),
    "a long piece": (model([*PIECES, ("a" * 1001, 0.0)]), "more than 1,000 letters"),
    "many named pieces": (model([*PIECES, *((f"<{i}>", 0.0, USER) for i in range(1001))]), "more than 1,000"),
    "rewrites what is written": (model(PIECES, more=message((5, message((2, b"x"))))), "rewrites"),
    "a table that leads out": (
        model(PIECES, charsmap=table({b"W": "w"}, units={0: 4000 << 10})),
        "leads out",
    ),
    "a table that is none": (model(PIECES, charsmap=b"\x01\x02"), "cut off"),
}


def tried(tmp_path, source=GOOD, target=GOOD, vocab=VOCAB):
    held = vocab if isinstance(vocab, bytes) else json.dumps(vocab).encode()
    for name, data in (("1", source), ("2", target), ("3", held)):
        (tmp_path / name).write_bytes(data)
    return try_in_child([tmp_path / "1", tmp_path / "2", tmp_path / "3"], SOURCE)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_no_model(case):
    with pytest.raises(sentencepiece.Unreadable):
        sentencepiece.read(BROKEN[case])


@pytest.mark.parametrize("n", range(1, len(GOOD), 7))
def test_a_file_that_is_cut_off_anywhere_is_refused_or_whole(n):
    """Cut between two fields it is a message still, of fewer pieces."""
    try:
        found = sentencepiece.read(GOOD[:n])
    except sentencepiece.Unreadable:
        return
    assert found["vocab"][1:] == sentencepiece.read(GOOD)["vocab"][1 : len(found["vocab"])]


@pytest.mark.parametrize("case", CRAFTED)
def test_what_is_not_computed_or_cannot_be_is_refused(case, tmp_path):
    data, words = CRAFTED[case]
    if "table" in case or "long" in case:  # found by what looks at every Unigram
        with pytest.raises(InputError, match=words):
            tried(tmp_path, data)
    else:
        with pytest.raises(sentencepiece.Unreadable, match=words):
            sentencepiece.read(data)


def test_the_refusal_names_the_file(tmp_path):
    with pytest.raises(InputError, match="target.spm is refused: its model type is BPE"):
        tried(tmp_path, target=CRAFTED["BPE"][0])
    with pytest.raises(InputError, match="vocab.json is refused: it is not readable JSON"):
        tried(tmp_path, vocab=b"{")
    with pytest.raises(InputError, match="vocab.json is refused: it has no <unk>"):
        tried(tmp_path, vocab={"a": 0})
    with pytest.raises(InputError, match="vocab.json is refused: two tokens"):
        tried(tmp_path, vocab={"<unk>": 0, "a": 0})


def test_what_is_let_in_is_what_was_written(tmp_path):
    facts = tried(tmp_path, model([*PIECES, ("gone", -1.0, UNUSED), ("<b>", 0.0, USER)], rules={3: 0, 4: 0}))
    assert (facts["n_ids"], facts["largest_id"]) == (len(VOCAB), len(VOCAB) - 1)
    cutter = Cutter.from_facts(**facts["cutters"]["source"])
    assert {*cutter.pieces} == {"<b>", *(piece for piece, _ in PIECES)}
    assert cutter.normalize(" a  <b>") == ("▁a▁▁<b>", [(i, i + 1) for i in range(4)] + [(4, 7)] * 3)


def test_a_table_that_goes_in_circles_ends_for_every_letter(tmp_path):
    place = 256 ^ ord("a")
    units = {place: (place ^ 256) << 10 | LEAF | ord("a"), 256: 1 << 31}
    facts = tried(tmp_path, model(PIECES, charsmap=table({b"W": "w"}, units=units)))
    cutter, begun = Cutter.from_facts(**facts["cutters"]["source"]), time.perf_counter()
    plain, _ = cutter.normalize("a" * 20_000)
    assert time.perf_counter() - begun < 5 and len(plain) > 100
