"""Crafted folders of the BERT kind: its config, and the vocab.txt that only this kind has."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import save_file

from core.checkpoints import open_model
from core.checkpoints.foreign.bert import FORMAT, takes
from core.models.bert import BERTConfig

MB = 2**20
CONFIG = {
    "model_type": "bert",
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "hidden_size": 33,
    "intermediate_size": 13,
    "vocab_size": 12,
    "max_position_embeddings": 17,
    "type_vocab_size": 2,
}
SHAPE = BERTConfig(n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=12, n_ctx=17)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "A", "sat", "."]


def bert_folder(folder, *, config=CONFIG, words=WORDS, said=None):
    """A BERT with a vocab.txt that opens, or a damaged one; `words` and `said` may be bytes as they are."""
    folder.mkdir()
    draw = torch.Generator().manual_seed(0)
    save_file(
        {FORMAT.full(take.name): torch.randn(take.shape, generator=draw) for take in takes(SHAPE)},
        folder / "model.safetensors",
    )
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if words is not None:
        (folder / "vocab.txt").write_bytes(words if isinstance(words, bytes) else "\n".join(words).encode())
    if said is not None:
        (folder / "tokenizer_config.json").write_bytes(
            said if isinstance(said, bytes) else json.dumps(said).encode()
        )
    return folder


def test_the_good_one_opens(tmp_path):
    model = open_model(bert_folder(tmp_path / "model"))
    assert model.run("The cats [MASK].").tokens == ("[CLS]", "the", "cat", "##s", "[MASK]", ".", "[SEP]")


FIELDS = {
    "0 heads": ({"num_attention_heads": 0}, "num_attention_heads is 0"),
    "heads that do not divide": ({"num_attention_heads": 4}, "d_model=33", "n_heads=4"),
    "layers that are true": ({"num_hidden_layers": True}, "num_hidden_layers is True"),
    "100,000 layers": ({"num_hidden_layers": 100_000}, "num_hidden_layers is 100000"),
    "width 1e12": ({"hidden_size": 10**12}, "hidden_size is 1000000000000"),
    "inner width missing": ({"intermediate_size": None}, "intermediate_size is missing"),
    "no segments": ({"type_vocab_size": 0}, "type_vocab_size is 0"),
    "a million segments": ({"type_vocab_size": 10**6}, "type_vocab_size is 1000000"),
    "another number of segments": ({"type_vocab_size": 3}, "token_type_embeddings", "(2, 33)", "(3, 33)"),
    "more layers than stored": ({"num_hidden_layers": 500}, "missing", "encoder.layer.2."),
    "fewer layers than stored": ({"num_hidden_layers": 1}, "left over", "encoder.layer.1."),
    "eps NaN in words": ({"layer_norm_eps": "NaN"}, "layer_norm_eps is 'NaN'"),
    "unknown activation": ({"hidden_act": "swish"}, "hidden_act is 'swish'"),
    "relative positions": (
        {"position_embedding_type": "relative_key"},
        "position_embedding_type is 'relative_key'",
    ),
    "a decoder": ({"is_decoder": True}, "is_decoder is True"),
    "a decoder, oddly": ({"is_decoder": 1}, "is_decoder is 1"),
    "cross-attention": ({"add_cross_attention": True}, "add_cross_attention"),
    "heads cut out": ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
    "untied": ({"tie_word_embeddings": False}, "tie_word_embeddings"),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_crafted_field_is_refused(refused, tmp_path, case):
    changes, *words = FIELDS[case]
    refused(bert_folder(tmp_path / "model", config=CONFIG | changes), *words)


VOCABULARIES = {
    "empty": (b"", "[UNK]"),
    "no [UNK]": ([word for word in WORDS if word != "[UNK]"], "vocab.txt is refused", "[UNK]"),
    "not UTF-8": ("\n".join(WORDS).encode() + b"\n\xff", "vocab.txt is refused", "UTF-8"),
    "more words than rows": ([*WORDS, "a", "b", "c"], "14 entries", "12 rows"),
    "a line far down": ("\n".join(WORDS).encode() + b"\n" * 5000 + b"far", "5,010"),
    "33 MB": (b"x" * (33 * MB), "vocab.txt has 34,603,008 bytes"),
    "no marks": ([word for word in WORDS if word != "[CLS]"], "no marks"),
    "none at all": (None, "tokenizer.json is missing"),
}


@pytest.mark.parametrize("case", VOCABULARIES)
def test_a_crafted_vocabulary_is_refused(refused, tmp_path, case):
    given, *words = VOCABULARIES[case]
    refused(bert_folder(tmp_path / "model", words=given), *words)


RULES = {
    "a switch that is text": ({"do_lower_case": "no"}, "tokenizer_config.json: do_lower_case is 'no'"),
    "a switch that is a number": ({"strip_accents": 1}, "tokenizer_config.json: strip_accents is 1"),
    "a switch that is a list": (
        {"tokenize_chinese_chars": [True]},
        "tokenizer_config.json: tokenize_chinese_chars",
    ),
    "not JSON": (b"{do_lower_case: true}", "tokenizer_config.json cannot be read"),
    "a list": (b"[]", "tokenizer_config.json holds no JSON object"),
    "a key twice": (b'{"do_lower_case": true, "do_lower_case": false}', "tokenizer_config.json", "twice"),
    "2 MB": (b'{"x": "' + b"y" * 2**21 + b'"}', "tokenizer_config.json", "2,097,"),
}


@pytest.mark.parametrize("case", RULES)
def test_crafted_rules_are_refused(refused, tmp_path, case):
    said, *words = RULES[case]
    refused(bert_folder(tmp_path / "model", said=said), *words)


@pytest.mark.parametrize(
    "words",
    [[*WORDS[:7], "the", *WORDS[8:]], [*WORDS[:7], "", *WORDS[8:]], [*WORDS[:7], "x" * MB, *WORDS[8:]]],
    ids=["a word twice", "an empty line", "a word of 1 MB"],
)
def test_odd_lines_are_no_harm(tmp_path, words):
    assert open_model(bert_folder(tmp_path / "model", words=words)).tokenizer.encode("The cat").tokens == (
        "the",
        "cat",
    )


def test_links_out_of_the_folder_are_refused(refused, tmp_path):
    folder = bert_folder(tmp_path / "model", words=None)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    (folder / "vocab.txt").symlink_to(tmp_path / "vocab.txt")
    refused(folder, "vocab.txt is a link")
