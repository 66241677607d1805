"""A model of the transformers library in memory becomes one of ours, with its numbers, its words and nothing shared."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kinds import CASES
from parity import SAME, redraw
from test_kinds_parity import MADE, gap, pieces
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    WhisperConfig,
    WhisperModel,
)

import core
import viz
from core.errors import InputError

TEXT = "She has a white car."


@pytest.fixture(scope="module")
def bytes_of():
    return PreTrainedTokenizerFast(tokenizer_object=MADE["decoder"], eos_token="<|endoftext|>")


@pytest.fixture(scope="module")
def pieces_of():
    backend = pieces()
    backend.enable_truncation(4)
    backend.enable_padding(length=40)
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "pad_token": "[PAD]"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **marks)


def compare(run, network):
    with torch.no_grad():
        out = network(torch.tensor([run.ids]), output_attentions=True)
    assert gap(run.logits, out.logits[0].float()) <= SAME
    assert gap(run.attention().weights, torch.cat(out.attentions).float()) <= SAME


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_wrapped_model_gives_its_numbers_and_is_a_copy(kind, bytes_of):
    there = redraw(CASES[kind].model(len(bytes_of)))
    model = core.wrap(there, bytes_of, "mine")
    run = model.run(TEXT)
    compare(run, there)
    assert model.name == "mine" and list(run.ids) == bytes_of(TEXT, add_special_tokens=False)["input_ids"]
    assert "mine" in viz.head_view(run).name
    with torch.no_grad():
        for weight in there.parameters():
            weight.zero_()
    assert np.array_equal(model.run(TEXT).logits, run.logits)


def test_a_wrapped_bert_frames_its_text_whatever_its_tokenizer_would_cut(pieces_of):
    there = redraw(CASES["bert"].model(len(pieces_of)))
    model = core.wrap(there, pieces_of)
    run = model.run(TEXT)
    assert model.name == "bert" and len(run.tokens) > 6
    assert (run.tokens[0], run.tokens[-1]) == ("[CLS]", "[SEP]")
    compare(run, there)
    half = core.wrap(there.half(), pieces_of).run(TEXT)
    assert np.abs(half.logits - run.logits).max() < 0.2


def test_what_cannot_be_wrapped_is_refused_in_words(bytes_of):
    small = {"vocab_size": 300, "n_layer": 1, "n_head": 1, "n_embd": 4, "n_positions": 8}
    there = GPT2LMHeadModel(GPT2Config(**small))
    stacks = {
        f"{side}_{part}": 1 for side in ("encoder", "decoder") for part in ("layers", "attention_heads")
    }
    speech = WhisperModel(WhisperConfig(**stacks, d_model=8, vocab_size=300, pad_token_id=0))
    with pytest.raises(InputError, match="its kind is whisper, which is not read.*our own speller"):
        core.wrap(speech, bytes_of)
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
