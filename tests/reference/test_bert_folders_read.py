"""Which folders of BERT are read, and which are refused by name: heads, weights, arithmetic, vocabularies."""

from __future__ import annotations

import copy
import json
import logging

import numpy as np
import pytest
import torch
from parity import (
    variant,
)
from test_bert_names import repeated
from test_bert_parity import LINES, PAIR, TEXT, TEXTS, agree, body, saved
from test_bert_parity import backend as backend  # the fixture
from test_bert_parity import bert as bert  # the fixture
from test_bert_parity import written as written  # the fixture
from transformers import (
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    BertTokenizer,
)

from core.checkpoints import open_model
from core.data.passages import framed, padded
from core.errors import InputError
from core.models import Batch
from core.text.learn import BERT_SPECIAL
from viz.course.bert.sentence_pairs.maths.next_sentence import negative_logs


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
def test_each_class_of_the_library_opens_with_the_heads_it_has(
    bert, backend, tmp_path, logged, kind, heads, tuned
):
    lines = logged("core.checkpoints", logging.INFO)
    other = kind(copy.deepcopy(bert.config))
    state = bert.bert.state_dict() if kind is BertModel else bert.state_dict()
    missing, _ = other.load_state_dict(state, strict=False)
    assert sorted(missing) == sorted(tuned)
    opened = agree(saved(other, backend, tmp_path / "model"), bert, heads=heads)
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


def heads_of_words_without(state):
    kept = {name: value for name, value in state.items() if not name.startswith("cls.predictions.")}
    return kept | {"cls.predictions.decoder.weight": state["bert.embeddings.word_embeddings.weight"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (less("cls.predictions.bias"), r"missing: cls\.predictions\.bias\."),
        (
            less("cls.predictions.transform.dense.weight"),
            r"missing: cls\.predictions\.",
        ),
        (less("cls.seq_relationship.bias"), r"missing: cls\.seq_relationship\.bias\."),
        (less("bert.pooler.dense.bias"), r"missing: pooler\.dense\.bias\."),
        (
            less("bert.pooler.dense.weight", "bert.pooler.dense.bias"),
            r"missing: pooler\.dense\.weight, pooler\.dense\.bias\.",
        ),
        (heads_of_words_without, r"missing: cls\.predictions"),
        (lambda state: state | {"bert.cls.x": torch.ones(2)}, r"left over: bert\.cls\.x"),
        (lambda state: state | {"cls.other.weight": torch.ones(2)}, r"left over: cls\.other\.weight"),
        (
            lambda state: (
                repeated(state)
                | {"cls.predictions.decoder.weight": repeated(state)["cls.predictions.decoder.weight"] + 1}
            ),
            r"'cls\.predictions\.decoder\.weight' differs from 'embeddings\.word_embeddings\.weight'",
        ),
        (
            lambda state: (
                repeated(state) | {"cls.predictions.decoder.bias": state["cls.predictions.bias"] + 1}
            ),
            r"'cls\.predictions\.decoder\.bias' differs from 'cls\.predictions\.bias'",
        ),
        (
            lambda state: state | {"embeddings.LayerNorm.weight": torch.ones(33)},
            r"'embeddings\.LayerNorm\.weight' is stored twice",
        ),
        (
            lambda state: state | {"bert.embeddings.LayerNorm.gamma": torch.ones(33)},
            r"'embeddings\.LayerNorm\.weight' is stored twice",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(written, tmp_path, change, words):
    with pytest.raises(InputError, match=words):
        open_model(variant(written, tmp_path, change))


@pytest.mark.parametrize(
    "config",
    [
        {"position_embedding_type": "relative_key"},
        {"position_embedding_type": "relative_key_query"},
        {"is_decoder": True},
        {"add_cross_attention": True},
        {"hidden_act": "silu"},
        {"tie_word_embeddings": False},
        {"type_vocab_size": 0},
        {"layer_norm_eps": 0},
        {"quantization_config": {"bits": 4}},
    ],
    ids=lambda config: next(iter(config)),
)
def test_arithmetic_that_is_not_implemented_is_refused_by_name(written, tmp_path, config):
    with pytest.raises(InputError, match=f"config.json: {next(iter(config))} is"):
        open_model(variant(written, tmp_path, config=config))


def test_a_body_that_is_not_tied_has_nothing_to_tie(written, bert, tmp_path):
    agree(variant(written, tmp_path, body, {"tie_word_embeddings": False}), bert, heads=("pooled",))


SAMPLES = [
    TEXT.replace("[MASK]", "cross"),
    PAIR,
    "  Two  spaces\n",
    "É e\u0301 日本 한국어 👩‍👩‍👧",
    "[mask] typed, x\u0000y",
    "a" * 101,
    "white-car's",
]


def with_words_alone(written, backend, tmp_path, said=None, words=None):
    """The folder with vocab.txt instead of tokenizer.json."""
    folder = variant(written, tmp_path)
    (folder / "tokenizer.json").unlink()
    vocab = backend.get_vocab()
    (folder / "vocab.txt").write_text(
        "\n".join(words or sorted(vocab, key=vocab.__getitem__)) + "\n", encoding="utf-8"
    )
    if said is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return folder


def test_a_vocabulary_without_a_tokenizer_json(written, bert, backend, tmp_path):
    opened, whole = agree(with_words_alone(written, backend, tmp_path), bert), open_model(written)
    for text in (*SAMPLES, TEXT):
        assert opened.tokenizer.encode(text) == whole.tokenizer.encode(text)
        assert (
            opened.tokenizer.encode(text, special=True).ids == whole.tokenizer.encode(text, special=True).ids
        )


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "said",
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
def test_a_vocabulary_is_read_as_the_library_reads_it(written, backend, tmp_path, said):
    words = [*sorted(backend.get_vocab(), key=backend.get_vocab().__getitem__), "The", "日"]
    words[40:42] = ["É", "é"]
    folder = with_words_alone(written, backend, tmp_path, said, words)
    lower = True if said is None or said.get("do_lower_case") is None else said["do_lower_case"]
    rest = {
        name: value
        for name, value in (said or {}).items()
        if name not in ("do_lower_case", "model_max_length")
    }
    other = BertTokenizer(
        vocab={word: index for index, word in enumerate(words)}, do_lower_case=lower, **rest
    )
    ours = open_model(folder).tokenizer
    for text in SAMPLES:
        assert list(ours.encode(text).ids) == other.encode(text, add_special_tokens=False)


def test_the_library_frames_a_pair_alike(written, backend, tmp_path):
    folder = with_words_alone(
        written, backend, tmp_path, {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    )
    run, other = open_model(folder).run(TEXT, pair=PAIR), BertTokenizer.from_pretrained(folder)(TEXT, PAIR)
    assert list(run.ids) == other["input_ids"]
    assert list(run.segments) == other["token_type_ids"]


def test_marks_that_the_file_does_not_call_special_are_found_by_name(written, bert, tmp_path):
    folder = variant(written, tmp_path)
    held = json.loads((folder / "tokenizer.json").read_text())
    held["added_tokens"], held["post_processor"] = [], None
    (folder / "tokenizer.json").write_text(json.dumps(held))
    assert set(agree(folder, bert).tokenizer.special_tokens) == set(BERT_SPECIAL) - {"[UNK]"}


def test_a_tokenizer_without_marks_is_refused(written, tmp_path):
    folder = variant(written, tmp_path)
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text().replace("[SEP]", "[END]"))
    with pytest.raises(
        InputError, match=r"no marks to put around a text\. .* needs \[CLS\] or <s> and \[SEP\] or </s>\."
    ):
        open_model(folder)


def test_the_loss_of_pre_training(written, bert):
    """C085."""
    model = open_model(written)
    rows = [
        framed(model.tokenizer, *(np.array(model.tokenizer.encode(text).ids) for text in pair))
        for pair in ((TEXTS[1], PAIR), (PAIR, LINES[3]))
    ]
    ids, segments, real = (torch.from_numpy(array) for array in padded(rows, 0))
    labels = torch.where(torch.arange(ids.shape[1]) % 3 == 1, ids, -100).masked_fill(~real, -100)
    follow = torch.tensor([True, False])
    with torch.no_grad():
        words, pairs, chances = negative_logs(
            model.network, Batch(ids=ids, real=real, segments=segments), labels, follow
        )
        theirs = bert(
            input_ids=ids,
            attention_mask=real.long(),
            token_type_ids=segments,
            labels=labels,
            next_sentence_label=(~follow).long(),
        )
    np.testing.assert_allclose(float(words.mean() + pairs.mean()), float(theirs.loss), rtol=1e-5)
    np.testing.assert_allclose(
        chances.numpy(), theirs.seq_relationship_logits.softmax(-1)[:, 0].numpy(), rtol=1e-4
    )
