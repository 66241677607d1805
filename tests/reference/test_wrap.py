"""A model of the transformers library in memory becomes one of ours, with its numbers, its words and nothing shared."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    WhisperConfig,
    WhisperModel,
)

import core
import viz
from core.errors import InputError
from core.text.learn import byte_level_bpe, wordpiece

TEXT = "She has a white car."
LINES = [TEXT, "Once upon a time"] * 3


@pytest.fixture(scope="module")
def bytes_of():
    backend = byte_level_bpe(LINES, 277, ["<|endoftext|>"])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>")


@pytest.fixture(scope="module")
def pieces_of():
    backend = wordpiece(LINES, 97)
    backend.enable_truncation(4)
    backend.enable_padding(length=40)
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "pad_token": "[PAD]"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **marks)


def theirs(network, ids):
    with torch.no_grad():
        out = network(torch.tensor([ids]), output_attentions=True)
    return out.logits[0].float().numpy(), np.stack([layer[0].float().numpy() for layer in out.attentions])


def network(kind, config, **sizes):
    return redraw(kind(config(**sizes, attn_implementation="eager")))


CAUSAL = {
    "gpt2": (GPT2LMHeadModel, GPT2Config, {"n_layer": 2, "n_head": 3, "n_embd": 33, "n_positions": 61}),
    "llama": (
        LlamaForCausalLM,
        LlamaConfig,
        {
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "hidden_size": 32,
            "intermediate_size": 40,
        },
    ),
}


@pytest.mark.parametrize("kind", CAUSAL)
def test_a_wrapped_model_gives_its_numbers_and_is_a_copy(kind, bytes_of):
    made, config, sizes = CAUSAL[kind]
    there = network(made, config, **sizes, vocab_size=len(bytes_of))
    model = core.wrap(there, bytes_of, "mine")
    run = model.run(TEXT)
    logits, patterns = theirs(there, run.ids)
    assert model.name == "mine" and list(run.ids) == bytes_of(TEXT, add_special_tokens=False)["input_ids"]
    assert (
        np.abs(run.logits - logits).max() <= SAME and np.abs(run.attention().weights - patterns).max() <= SAME
    )
    assert "mine" in viz.head_view(run).name
    with torch.no_grad():
        for weight in there.parameters():
            weight.zero_()
    assert np.array_equal(model.run(TEXT).logits, run.logits)


def test_a_wrapped_bert_frames_its_text_whatever_its_tokenizer_would_cut(pieces_of):
    there = network(
        BertForMaskedLM,
        BertConfig,
        num_hidden_layers=2,
        num_attention_heads=3,
        hidden_size=33,
        intermediate_size=40,
        vocab_size=len(pieces_of),
    )
    model = core.wrap(there, pieces_of)
    run = model.run(TEXT)
    assert (
        model.name == "bert"
        and run.tokens[0] == "[CLS]"
        and run.tokens[-1] == "[SEP]"
        and len(run.tokens) > 6
    )
    logits, patterns = theirs(there, run.ids)
    assert (
        np.abs(run.logits - logits).max() <= SAME and np.abs(run.attention().weights - patterns).max() <= SAME
    )
    half = core.wrap(there.half(), pieces_of).run(TEXT)
    assert np.abs(half.logits - run.logits).max() < 0.2


def test_what_cannot_be_wrapped_is_refused_in_words(bytes_of):
    small = {"vocab_size": 300, "n_layer": 1, "n_head": 1, "n_embd": 4, "n_positions": 8}
    there = GPT2LMHeadModel(GPT2Config(**small))
    with pytest.raises(InputError, match="its kind is whisper, which is not read.*our own speller"):
        core.wrap(
            WhisperModel(
                WhisperConfig(
                    d_model=8,
                    encoder_layers=1,
                    decoder_layers=1,
                    encoder_attention_heads=2,
                    decoder_attention_heads=2,
                    vocab_size=300,
                    pad_token_id=0,
                )
            ),
            bytes_of,
        )
    with pytest.raises(InputError, match="no fast tokenizer"):
        core.wrap(there, lambda text: [1, 2])
    with pytest.raises(InputError, match="no model of the transformers library"):
        core.wrap(torch.nn.Linear(2, 2), bytes_of)
    with torch.no_grad():
        there.transformer.wte.weight[0, 0] = float("nan")
    with pytest.raises(InputError, match="NaN or infinite"):
        core.wrap(there, bytes_of)
    narrow = GPT2LMHeadModel(GPT2Config(**{**small, "vocab_size": 100}))
    with pytest.raises(InputError, match="Every token needs a row"):
        core.wrap(narrow, bytes_of)
