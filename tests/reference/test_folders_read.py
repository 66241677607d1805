"""Folders of BERT and GPT-2 with other heads, names, vocabularies and weights: which open, and which are refused by name."""

from __future__ import annotations

import copy
import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from parity import variant
from test_kinds_own import repeated
from test_kinds_parity import LINES, MADE, TEXT, open_and_compare
from transformers import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    BertTokenizer,
    GPT2ForSequenceClassification,
)

from core.checkpoints import open_model
from core.data.passages import add_special_tokens, pad_rows
from core.errors import InputError
from core.models import Batch
from core.text.learn import BERT_SPECIAL
from viz.course.bert.sentence_pairs.next_sentence import negative_logs

PAIR = "She has a [MASK] car, and the café was closed!"


@pytest.fixture(scope="module")
def bert(case_of):
    return case_of("bert, pretraining")


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("kind", "heads", "tuned"),
    [
        (BertForMaskedLM, ("logits",), ()),
        (BertForNextSentencePrediction, ("pooled", "next_sentence"), ()),
        (BertForSequenceClassification, ("pooled", "classes"), ("classifier.bias", "classifier.weight")),
        (BertForTokenClassification, ("tags",), ("classifier.bias", "classifier.weight")),
        (BertForQuestionAnswering, ("answer",), ("qa_outputs.bias", "qa_outputs.weight")),
        (BertModel, ("pooled",), ()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_class_of_the_library_opens_with_the_heads_it_has(bert, tmp_path, logged, kind, heads, tuned):
    lines = logged("core.checkpoints", logging.INFO)
    model = bert[1]
    other = kind(copy.deepcopy(model.config))
    state = model.bert.state_dict() if kind is BertModel else model.state_dict()
    missing, _ = other.load_state_dict(state, strict=False)
    assert sorted(missing) == sorted(tuned)
    other.save_pretrained(tmp_path)
    MADE["encoder"].save(str(tmp_path / "tokenizer.json"))
    opened = open_and_compare(tmp_path, model)
    assert tuple(opened.outputs) == heads
    assert not [line for line in lines if "not used" in line.getMessage()]
    run = opened.run(TEXT, pair=PAIR)
    for name in {"logits", "pooled", "next_sentence"} - set(heads):
        with pytest.raises(InputError, match="This checkpoint has no") as caught:
            getattr(run, name)
        assert all(
            part.endswith((".", ")")) for part in (caught.value.wrong, caught.value.rule, caught.value.remedy)
        )


def less(*names):
    return lambda state: {name: value for name, value in state.items() if name not in names}


def more(**tensors):
    return lambda state: state | {name.replace("__", "."): value for name, value in tensors.items()}


def head_of_words_without(state):
    kept = {name: value for name, value in state.items() if not name.startswith("cls.predictions.")}
    return kept | {"cls.predictions.decoder.weight": state["bert.embeddings.word_embeddings.weight"]}


def another(copy):
    return lambda state: repeated(state) | {copy: repeated(state)[copy] + 1}


DECODER = "cls.predictions.decoder"
UNFIT = [
    (less("cls.predictions.bias"), r"missing: cls\.predictions\.bias\."),
    (less("cls.predictions.transform.dense.weight"), r"missing: cls\.predictions\."),
    (less("cls.seq_relationship.bias"), r"missing: cls\.seq_relationship\.bias\."),
    (less("bert.pooler.dense.bias"), r"missing: pooler\.dense\.bias\."),
    (
        less("bert.pooler.dense.weight", "bert.pooler.dense.bias"),
        r"missing: pooler\.dense\.weight, pooler\.dense\.bias\.",
    ),
    (head_of_words_without, r"missing: cls\.predictions"),
    (more(bert__cls__x=torch.ones(2)), r"left over: bert\.cls\.x"),
    (more(cls__other__weight=torch.ones(2)), r"left over: cls\.other\.weight"),
    (
        another(f"{DECODER}.weight"),
        r"'cls\.predictions\.decoder\.weight' differs from 'embeddings\.word_embeddings\.weight'",
    ),
    (another(f"{DECODER}.bias"), r"'cls\.predictions\.decoder\.bias' differs from 'cls\.predictions\.bias'"),
    (more(embeddings__LayerNorm__weight=torch.ones(33)), r"'embeddings\.LayerNorm\.weight' is stored twice"),
    (
        more(bert__embeddings__LayerNorm__gamma=torch.ones(33)),
        r"'embeddings\.LayerNorm\.weight' is stored twice",
    ),
]


@pytest.mark.parametrize(("change", "words"), UNFIT)
def test_weights_that_do_not_fit_are_refused_by_name(bert, tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        open_model(variant(bert[0], tmp_path, change))


def test_a_body_that_is_not_tied_has_nothing_to_tie(bert, tmp_path):
    def body(state):
        return {
            name.removeprefix("bert."): value for name, value in state.items() if not name.startswith("cls.")
        }

    opened = open_and_compare(variant(bert[0], tmp_path, body, {"tie_word_embeddings": False}), bert[1])
    assert tuple(opened.outputs) == ("pooled",)


SAMPLES = [
    TEXT,
    PAIR,
    "  Two  spaces\n",
    "É e\u0301 日本 한국어 👩‍👩‍👧",
    "[mask] typed, x\u0000y",
    "a" * 101,
    "white-car's",
]


def with_words_alone(folder, tmp_path, settings=None, words=None):
    """Return the folder with vocab.txt instead of tokenizer.json."""
    folder = variant(folder, tmp_path)
    (folder / "tokenizer.json").unlink()
    vocab = MADE["encoder"].get_vocab()
    text = "\n".join(words or sorted(vocab, key=vocab.__getitem__)) + "\n"
    (folder / "vocab.txt").write_text(text, encoding="utf-8")
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def same_tokens(one, other, texts):
    for text in texts:
        assert one.encode(text) == other.encode(text)
        assert one.encode(text, special=True).ids == other.encode(text, special=True).ids


def test_a_vocabulary_without_a_tokenizer_json(bert, tmp_path):
    opened = open_and_compare(with_words_alone(bert[0], tmp_path), bert[1])
    same_tokens(opened.tokenizer, open_model(bert[0]).tokenizer, SAMPLES)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "settings",
    [
        None,
        {},
        {"do_lower_case": True, "model_max_length": 10**30},
        {"do_lower_case": False},
        {"do_lower_case": None},
        {"do_lower_case": False, "strip_accents": True},
        {"strip_accents": False},
        {"tokenize_chinese_chars": False},
    ],
    ids=str,
)
def test_a_vocabulary_is_read_as_the_library_reads_it(bert, tmp_path, settings):
    vocab = MADE["encoder"].get_vocab()
    words = [*sorted(vocab, key=vocab.__getitem__), "The", "日"]
    words[40:42] = ["É", "é"]
    ours = open_model(with_words_alone(bert[0], tmp_path, settings, words)).tokenizer
    rest = {name: value for name, value in (settings or {}).items() if name != "model_max_length"}
    lower = rest.pop("do_lower_case", None)
    numbers = {word: index for index, word in enumerate(words)}
    other = BertTokenizer(vocab=numbers, do_lower_case=lower is None or lower, **rest)
    for text in SAMPLES:
        assert list(ours.encode(text).ids) == other.encode(text, add_special_tokens=False)


def test_the_library_frames_a_pair_alike(bert, tmp_path):
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    folder = with_words_alone(bert[0], tmp_path, settings)
    run, other = open_model(folder).run(TEXT, pair=PAIR), BertTokenizer.from_pretrained(folder)(TEXT, PAIR)
    assert list(run.ids) == other["input_ids"]
    assert list(run.segments) == other["token_type_ids"]


def test_marks_that_the_file_does_not_call_special_are_found_by_name(bert, tmp_path):
    folder = variant(bert[0], tmp_path)
    held = json.loads((folder / "tokenizer.json").read_text())
    held["added_tokens"], held["post_processor"] = [], None
    (folder / "tokenizer.json").write_text(json.dumps(held))
    opened = open_and_compare(folder, bert[1])
    assert set(opened.tokenizer.special_tokens) == set(BERT_SPECIAL) - {"[UNK]"}


def test_a_tokenizer_without_marks_is_refused(bert, tmp_path):
    folder = variant(bert[0], tmp_path)
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text().replace("[SEP]", "[END]"))
    with pytest.raises(
        InputError, match=r"no marks to put around a text\. .* needs \[CLS\] or <s> and \[SEP\] or </s>\."
    ):
        open_model(folder)


def test_the_loss_of_pre_training(bert):
    """Compare with the library's loss (C085)."""
    model = open_model(bert[0])
    rows = [
        add_special_tokens(model.tokenizer, *(np.array(model.tokenizer.encode(text).ids) for text in pair))
        for pair in ((LINES[1], PAIR), (PAIR, LINES[3]))
    ]
    ids, segments, real = (torch.from_numpy(array) for array in pad_rows(rows, 0))
    labels = torch.where(torch.arange(ids.shape[1]) % 3 == 1, ids, -100).masked_fill(~real, -100)
    follow = torch.tensor([True, False])
    with torch.no_grad():
        words, pairs, chances = negative_logs(
            model.network, Batch(ids=ids, real=real, segments=segments), labels, follow
        )
        theirs = bert[1](
            input_ids=ids,
            attention_mask=real.long(),
            token_type_ids=segments,
            labels=labels,
            next_sentence_label=(~follow).long(),
        )
    np.testing.assert_allclose(float(words.mean() + pairs.mean()), float(theirs.loss), rtol=1e-5)
    wanted = theirs.seq_relationship_logits.softmax(-1)[:, 0].numpy()
    np.testing.assert_allclose(chances.numpy(), wanted, rtol=1e-4)


def test_vocabulary_and_merges_without_a_tokenizer_json(case_of, tmp_path):
    original, model = case_of("gpt2")
    folder = variant(original, tmp_path)
    (folder / "tokenizer.json").unlink()
    MADE["decoder"].model.save(str(folder))
    opened = open_and_compare(folder, model, "decoder")
    texts = (TEXT, "  two  spaces\n", "é日👩‍👩‍👧", "<|endoftext|> typed")
    same_tokens(opened.tokenizer, open_model(original).tokenizer, texts)


def test_spans_do_not_depend_on_how_the_tokenizer_was_saved(case_of, tmp_path):
    original, model = case_of("gpt2")
    folder = variant(original, tmp_path)
    held = json.loads((folder / "tokenizer.json").read_text())
    held["post_processor"] |= {"add_prefix_space": True, "trim_offsets": False}
    held["padding"] = {
        "strategy": {"Fixed": 90},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }
    held["truncation"] = {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    (folder / "tokenizer.json").write_text(json.dumps(held))
    opened = open_and_compare(folder, model, "decoder")
    assert opened.tokenizer.encode(TEXT) == open_model(original).tokenizer.encode(TEXT)


def test_a_task_head_is_read_and_takes_the_place_of_words(case_of, tmp_path):
    model = case_of("gpt2")[1]
    classifier = GPT2ForSequenceClassification(copy.deepcopy(model.config))
    classifier.transformer.load_state_dict(model.transformer.state_dict())
    classifier.save_pretrained(tmp_path)
    MADE["decoder"].save(str(tmp_path / "tokenizer.json"))
    outputs = open_model(tmp_path).outputs
    assert "logits" not in outputs and "classes" in outputs


def test_a_snapshot_of_the_hubs_cache_is_made_of_links(case_of, tmp_path):
    original, model = case_of("gpt2")
    home = tmp_path / "models--owner--name"
    snapshot = home / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    shutil.copytree(original, home / "blobs")
    for path in (home / "blobs").iterdir():
        (snapshot / path.name).symlink_to(Path("../../blobs") / path.name)
    open_and_compare(snapshot, model, "decoder")


def test_another_output_layer_is_refused_by_name(case_of, tmp_path):
    def another_layer(state):
        return state | {"lm_head.weight": state["transformer.wte.weight"] + 1}

    with pytest.raises(ValueError, match=r"'lm_head\.weight' differs from 'wte\.weight'"):
        open_model(variant(case_of("gpt2")[0], tmp_path, another_layer))
