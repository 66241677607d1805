"""Marian folders as Opus-MT has them on the Hub: two SentencePiece models and one vocabulary in place of a tokenizer.json."""

from __future__ import annotations

import unicodedata
import warnings

import pytest
import torch
from kinds import STACKS
from parity import redraw
from spm_writer import USER, model, put, table, vocabulary, words
from transformers import MarianConfig, MarianMTModel

from core.checkpoints import open_model
from core.checkpoints.inspect import report
from core.data.texts import texts
from core.tools.export import export_model

TEXT, TARGET = "She has a white car.", "Ella tiene un coche blanco."
CODES = (">>fra<<", ">>spa<<")
TABLE = table({b"W": "w", b"\t": " ", "é".encode()[:1] + "é".encode()[1:]: "e"}, size=2048)
ODD = (
    TEXT,
    "",
    "   two  spaces,   and more   ",
    "tab\tand\nline\r\nend",
    "nbsp\u00a0x\u3000y\u2003z",
    "\u200bzero\u200dwidth\ufeff",
    "naïve café, déjà vu",
    unicodedata.normalize("NFD", "Việt Nam đất nước"),
    "ﬁ ﬂ ½ ① ㎞ Ⅷ",
    "ﾊﾟﾋﾞﾊ",
    "\u1100\u1161\u11a8",
    "日本語 العربية हिन्दी",
    "👩‍👩‍👧‍👦🇪🇸",
    "a▁b ▁ c▁",
    "▁",
    "¨ ´a",
    "\x01\x02a\x7f",
    "a\x00b",
    "...'''\"\"",
    "x" * 300,
    "Ａｂｃ１２３",
    "a\u0301\u0323\u0302",
    "İstanbul ß ẞ",
    "line\u2028sep\u2029par",
    "€ £ ¥ ₿ 𝒜𝔹𝕔",
    " \t ",
    "trailing   ",
    ">>spa<< She has a car.",
    ">>spa<<",
    ">>xyz<< She has a car.",
    "in the middle >>spa<< it is text",
    ">>open and never closed",
    "¿Qué tal? ¡Bien!",
)


def network(folder, vocab, seed=3):
    """Return a small random Marian with the marks of a vocabulary."""
    marks = {"pad_token_id": vocab["<pad>"], "decoder_start_token_id": vocab["<pad>"], "eos_token_id": 0}
    config = MarianConfig(**{**STACKS, **marks, "vocab_size": len(vocab), "max_position_embeddings": 400})
    torch.manual_seed(seed)
    theirs = redraw(MarianMTModel(config))
    theirs.save_pretrained(folder)
    return theirs


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    """Return a folder whose two tokenizers were written piece by piece; the target's has a user-defined piece, " and"."""
    folder = tmp_path_factory.mktemp("opus") / "model"
    source = [*words(TEXT), ("lost", -20.0)]
    target = [*words(TARGET), ("und", 0.0, USER)]
    vocab = vocabulary([row for row in source if row[0] != "lost"], target, codes=CODES)
    network(folder, vocab)
    put(folder, model(source, charsmap=TABLE), model(target), vocab)
    return folder, vocab


def test_each_side_is_cut_by_its_own_model_and_numbered_by_one_vocabulary(opus):
    folder, vocab = opus
    opened = open_model(folder)
    run = opened.run(TEXT, target=TARGET)
    assert list(run.source.ids) == [*(vocab[f"▁{word}"] for word in TEXT.split()), vocab["</s>"]]
    assert list(run.ids) == [vocab["<pad>"], *(vocab[f"▁{word}"] for word in TARGET.split())]
    assert run.source.tokens[:3] == (" She", " has", " a")
    assert [word.text for word in run.source.words][:5] == TEXT.split()
    crossed = opened.run(TARGET.replace("Ella", "She"), target=TEXT)
    assert crossed.source.ids[0] == vocab["▁She"] and vocab["▁She"] not in crossed.ids[1:4]


def test_what_a_side_does_not_have_is_read_as_the_library_reads_it(opus):
    """Check that a piece without an id is unknown, and that one of the other side alone is found by its name."""
    folder, vocab = opus
    reader = open_model(folder).reader
    assert reader.encode("lost").ids == (vocab["▁"], vocab["<unk>"])
    assert reader.encode("a b").ids[-2:] == (vocab["▁"], vocab["b"])  # " b": only the target has the letter
    assert reader.encode("a zz").ids[-1] == vocab["<unk>"] and reader.encode("a zz").spans[-1] == (2, 4)


def test_a_language_code_at_the_start_is_one_token(opus):
    folder, vocab = opus
    reader = open_model(folder).reader
    found = reader.encode(">>spa<< She has")
    assert found.ids == (vocab[">>spa<<"], vocab["▁She"], vocab["▁has"])
    assert found.tokens[0] == ">>spa<<" and found.spans == ((0, 7), (8, 11), (12, 15))
    assert reader.encode(">>deu<< She").ids == (vocab["<unk>"], vocab["▁She"])
    assert vocab[">>spa<<"] not in reader.encode("She >>spa<<").ids


def test_letters_are_rewritten_and_stand_where_they_were_typed(opus):
    folder, vocab = opus
    found = open_model(folder).reader.encode("  \tShé  haS\t")
    assert found.ids[:2] == (vocab["▁She"], vocab["▁"]) and found.spans[0] == (3, 6)
    assert found.uncovered == () and found.spans[-1] == (10, 11)


def test_names_of_marks_are_letters_unless_asked_for(opus):
    folder, vocab = opus
    model = open_model(folder)
    assert vocab["</s>"] not in model.reader.encode("a </s>").ids
    read = model.reader.encode("She</s>has", special=True)
    assert read.ids == (vocab["▁She"], vocab["</s>"], vocab["▁has"]) and read.spans[1] == (3, 7)
    assert model.tokenizer.encode("Ella und").ids == (vocab["▁Ella"], vocab["▁"], vocab["und"])
    assert model.tokenizer.decode(model.tokenizer.encode(TARGET).ids) == TARGET


def test_what_is_written_back_is_the_same_folder(opus, tmp_path):
    folder, _ = opus
    opened = open_model(folder)
    again = open_model(export_model(opened, tmp_path / "out"))
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()
    assert again.config == opened.config
    one, other = (model.run(">>fra<< " + TEXT) for model in (opened, again))
    assert one.ids == other.ids and (one.logits == other.logits).all() and len(one.ids) > 2


def test_inspect_says_what_it_found(opus):
    folder, vocab = opus
    lines, problems = report(folder)
    said = next(line for line in lines if "SentencePiece" in line)
    n, m = len(words(TEXT)) + 1, len(words(TARGET)) + 1
    assert not problems and f"tokenizer: {len(vocab):,} entries" in said
    assert f"source {n} pieces (1 of them not in vocab.json, read as unknown); target {m} pieces" in said
    assert said.endswith("languages >>fra<< >>spa<<")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder whose tokenizers the library trained, and the library's tokenizer of it."""
    learner = pytest.importorskip(
        "sentencepiece", reason="the sentencepiece library trains and reads the models"
    )
    from transformers import MarianTokenizer

    folder = tmp_path_factory.mktemp("opus") / "trained"
    folder.mkdir()
    rows = [row for row in texts("presets") if row.kind == "translate"]
    vocab = {"</s>": 0, "<unk>": 1, ">>spa<<": 2}
    for side, lines in (("source", [row.text for row in rows]), ("target", [row.second for row in rows])):
        lines = [*lines, *ODD[6:9], *("Ünd", "¿Qué?")] * 3
        place = str(folder / side)
        learner.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=place,
            vocab_size=300,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        held = learner.SentencePieceProcessor(model_file=f"{place}.model")
        pieces = (held.id_to_piece(i) for i in range(3, len(held)))
        for piece in pieces:
            if piece != "e":  # a piece that Opus-MT left out
                vocab.setdefault(piece, len(vocab))
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
    vocab["<pad>"] = len(vocab)
    theirs = network(folder, vocab)
    put(folder, *((folder / f"{side}.spm").read_bytes() for side in ("source", "target")), vocab)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends sacremoses, which it never uses
        return open_model(folder), theirs, MarianTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_read_as_the_library_reads_them(trained, text):
    opened, _, theirs = trained
    end = (opened.tokenizer.end,)
    assert [*opened.reader.encode(text).ids, *end] == theirs(text)["input_ids"]
    assert [*opened.tokenizer.encode(text).ids, *end] == theirs(text_target=text)["input_ids"]
    marked = f"{text}</s>She <unk>"
    assert [*opened.reader.encode(marked, special=True).ids, *end] == theirs(marked)["input_ids"]


def test_all_shipped_sentences_are_read_as_the_library_reads_them(trained):
    opened, _, theirs = trained
    lines = [line for row in texts("presets") for line in (row.text, row.second) if line]
    assert opened.reader.encode_many(lines) == [ids[:-1] for ids in theirs(lines)["input_ids"]]
    assert opened.tokenizer.encode_many(lines) == [ids[:-1] for ids in theirs(text_target=lines)["input_ids"]]
    for line in lines[:40]:
        ids = opened.tokenizer.encode(line).ids
        assert opened.tokenizer.decode(ids).strip() == theirs.decode(ids, skip_special_tokens=True)


def test_the_same_is_written(trained):
    opened, theirs, tokenizer = trained
    for text in (TEXT, ">>spa<< The dog ran."):
        run = opened.run(text)
        given = tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            out = theirs.generate(**given, max_new_tokens=len(run.ids) - 1, do_sample=False, num_beams=1)
        assert list(run.ids) == out[0].tolist()[: len(run.ids)] and len(run.ids) > 4
        assert run.target_text.strip() == tokenizer.decode(run.ids, skip_special_tokens=True)
