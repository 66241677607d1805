"""BERT under the names and with the configs that folders of the hub have."""

from __future__ import annotations

import copy

import pytest
import torch
from parity import (
    variant,
)
from test_bert_parity import agree, saved
from test_bert_parity import backend as backend  # the fixture
from test_bert_parity import bert as bert  # the fixture
from test_bert_parity import written as written  # the fixture
from transformers import (
    BertForPreTraining,
)


def without_prefix(state):
    return {name.removeprefix("bert."): value for name, value in state.items()}


def repeated(state):
    table = next(value for name, value in state.items() if name.endswith("word_embeddings.weight"))
    return state | {
        "cls.predictions.decoder.weight": table,
        "cls.predictions.decoder.bias": state["cls.predictions.bias"],
    }


def with_weight_alone(state):
    return {name: value for name, value in repeated(state).items() if name != "cls.predictions.decoder.bias"}


def with_old_buffers(state):
    return state | {"bert.embeddings.position_ids": torch.arange(61)[None]}


def with_bare_old_buffers(state):
    return without_prefix(state) | {"embeddings.position_ids": torch.arange(61)[None]}


def with_old_norms(state):
    old = {".weight": ".gamma", ".bias": ".beta"}
    return {
        name.replace(end, old[end]) if "LayerNorm" in name else name: value
        for name, value in state.items()
        for end in (name[name.rindex(".") :],)
    }


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "change",
    [
        without_prefix,
        repeated,
        with_weight_alone,
        with_old_buffers,
        with_bare_old_buffers,
        with_old_norms,
        lambda state: with_old_norms(with_old_buffers(repeated(state))),
        lambda state: repeated(without_prefix(state)),
    ],
    ids=[
        "no prefix",
        "decoder repeated",
        "its weight alone",
        "old buffers",
        "no prefix, old buffers",
        "gamma and beta",
        "as of 2019",
        "no prefix, decoder repeated",
    ],
)
def test_names_vary(written, bert, tmp_path, change):
    agree(variant(written, tmp_path, change), bert)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "absent"},
        {
            "type_vocab_size": 2,
            "position_embedding_type": "absolute",
            "is_decoder": False,
            "chunk_size_feed_forward": 2,
        },
        {
            "hidden_act": "gelu_python",
            "auto_map": {"AutoModel": "evil.py"},
            "_attn_implementation": "evil/kernel",
        },
        {
            "hidden_act": None,
            "tie_word_embeddings": "absent",
            "torch_dtype": "float7",
            "bos_token_id": 9,
            "eos_token_id": 9,
        },
        {
            "pad_token_id": "absent",
            "gradient_checkpointing": False,
            "id2label": {"0": "a"},
            "classifier_dropout": None,
        },
    ],
)
def test_configs_vary(written, bert, tmp_path, config):
    assert agree(variant(written, tmp_path, config=config), bert).tokenizer.end == 3


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("theirs", "ours"), [("gelu_new", "gelu_tanh"), ("gelu_pytorch_tanh", "gelu_tanh"), ("relu", "relu")]
)
def test_activations_vary(bert, backend, tmp_path, theirs, ours):
    config = copy.deepcopy(bert.config)
    config.hidden_act = theirs
    other = BertForPreTraining(config).eval()
    other.load_state_dict(bert.state_dict())
    assert agree(saved(other, backend, tmp_path / "other"), other).config.activation == ours
