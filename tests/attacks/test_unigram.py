"""Tokenizers of SentencePiece's kind: ALBERT's opens, and a crafted table of letters never reaches the library."""

from __future__ import annotations

import base64
import json

import pytest
from crafting import good_folder
from spm_writer import LEAF, table
from transformers import AlbertConfig, AlbertForPreTraining, AlbertTokenizer

import core
from core.checkpoints import open_model
from core.checkpoints.safety import unigram
from core.checkpoints.tokenizer import FILE, try_in_child

PIECES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["▁she", "▁has", "▁a", "▁white", "▁car", "▁", ".", "s", *"abcdefghijklmnopqrtuvwxyz"]
VOCAB = [(piece, -float(i) / 10) for i, piece in enumerate([*PIECES, *WORDS])]


GOOD = table({b"W": "w", "é".encode()[:1]: "e"}, size=1536)


def said(data: bytes) -> str:
    return unigram.letters(base64.b64encode(data).decode())


def written(folder, charsmap=None):
    """A small random ALBERT with the tokenizer that the library makes for its kind."""
    tokenizer = AlbertTokenizer(vocab=VOCAB, _spm_precompiled_charsmap=charsmap)
    shape = {"hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 16, "embedding_size": 4}
    config = AlbertConfig(vocab_size=len(VOCAB), num_hidden_layers=2, max_position_embeddings=40, **shape)
    AlbertForPreTraining(config).save_pretrained(folder)
    (folder / FILE).write_text(tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
    return tokenizer


@pytest.mark.parametrize("charsmap", [None, GOOD])
def test_a_folder_of_albert_with_its_own_tokenizer_opens(tmp_path, charsmap):
    tokenizer = written(tmp_path / "model", charsmap)
    model = open_model(tmp_path / "model")
    assert {name: getattr(model.tokenizer, name) for name in ("pad", "start", "end", "mask")} == {
        "pad": 0,
        "start": 2,
        "end": 3,
        "mask": 4,
    }
    text = "She has a white car."
    run = model.run(text, pair="A car.")
    assert list(run.ids) == tokenizer(text, "A car.")["input_ids"]
    assert run.tokens[:4] == ("[CLS]", " she", " has", " a")
    assert [word.text for word in run.side.words][:7] == ["[CLS]", "She", "has", "a", "white", "car", "."]
    assert model.run("She has a [MASK].").tokens[4] == "[MASK]"


def test_a_table_of_letters_that_is_whole_is_let_in():
    assert said(GOOD) == ""
    assert said(table({b"ab": "x" * 18}, size=1536)) == ""


BAD = {
    "not base64": ("%%%", "not understood"),
    "cut off": (base64.b64encode(GOOD[:900]).decode(), "cut off"),
    "no units": (base64.b64encode(bytes(8)).decode(), "cut off"),
    "texts that are no letters": (base64.b64encode(GOOD + b"\xff").decode(), "not understood"),
}
LEADS_OUT = {
    "the root leads out": {0: 4000 << 10},
    "a letter leads out": {256 ^ ord("W"): (1 << 20) << 10 | LEAF | ord("W")},
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_is_none_is_refused(case):
    text, words = BAD[case]
    assert words in unigram.letters(text)


@pytest.mark.parametrize("case", LEADS_OUT)
def test_a_table_that_leads_out_of_itself_is_refused(case):
    assert "out of itself" in said(table({b"W": "w"}, units=LEADS_OUT[case]))


def test_what_a_leaf_points_to_must_be_there_whole_and_short():
    beyond = table({b"W": "w"}, units={512: 1 << 31 | 5000})
    assert "nothing that is" in said(beyond)
    assert "cuts a letter" in said(table({b"W": "é"}, units={512: 1 << 31 | 1}))
    assert "more than 18 letters" in said(table({b"W": "w" * 19}))


def test_a_trie_that_goes_in_circles_is_walked_once():
    place = 256 ^ ord("W")
    circle = table({b"W": "w"}, units={place: (place ^ 256) << 10 | ord("W")})
    assert said(circle) == ""


@pytest.mark.parametrize("case", LEADS_OUT)
def test_the_child_refuses_a_folder_with_such_a_table(tmp_path, case):
    written(tmp_path / "model", GOOD)
    path = tmp_path / "model" / FILE
    held = json.loads(path.read_text("utf-8"))
    wrong = base64.b64encode(table({b"W": "w"}, units=LEADS_OUT[case])).decode()
    step = next(step for step in held["normalizer"]["normalizers"] if step["type"] == "Precompiled")
    step["precompiled_charsmap"] = wrong
    path.write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(core.InputError, match="leads out of itself"):
        open_model(tmp_path / "model")


def test_a_long_piece_and_a_piece_without_a_score_are_refused(tmp_path):
    written(tmp_path / "model")
    path = tmp_path / "model" / FILE
    for piece, words in ((["a" * 1001, -1.0], "more than 1,000 letters"), (["a"], "not understood")):
        held = json.loads(path.read_text("utf-8"))
        held["model"]["vocab"][-1] = piece
        path.write_text(json.dumps(held), encoding="utf-8")
        with pytest.raises(core.InputError, match=words):
            try_in_child([path], FILE)


def test_the_good_folder_of_another_kind_still_opens(tmp_path):
    assert open_model(good_folder(tmp_path / "model")).family == "gpt"
