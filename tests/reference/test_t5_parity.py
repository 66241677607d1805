"""Folders of T5 and Flan-T5 give the numbers of the transformers library: biases, both stacks, what is written."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from safetensors.torch import load_file
from test_marian_parity import SHORT, TARGET, TEXT, agree
from tokenizers import processors
from transformers import (
    AutoModelForSeq2SeqLM,
    MT5Config,
    MT5ForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5Attention

from core.analysis.arithmetic.cell import lines_of, row_of
from core.checkpoints import open_model
from core.errors import InputError
from core.layers.relative_attention import buckets
from core.text.learn import byte_level_bpe
from core.tools import export

SIZES = {
    "num_layers": 2,
    "num_heads": 3,
    "d_model": 30,
    "d_kv": 8,
    "d_ff": 41,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "layer_norm_epsilon": 3e-4,
    "pad_token_id": 2,
    "eos_token_id": 1,
    "decoder_start_token_id": 2,
    "attn_implementation": "eager",
}
MADE = {"t5": (T5ForConditionalGeneration, T5Config), "mt5": (MT5ForConditionalGeneration, MT5Config)}
KINDS = {
    "t5": {},
    "mt5": {"kind": "mt5"},
    "flan": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "gated-relu": {"feed_forward_proj": "gated-relu", "num_heads": 1, "d_kv": 7},
    "long": {
        "feed_forward_proj": "gelu_new",
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 20,
    },
}


@pytest.fixture(scope="module", params=KINDS)
def written(request, tmp_path_factory):
    """A random model of a kind, and its folder as the library saves it, with a tokenizer that ends every text."""
    backend = byte_level_bpe([TEXT, SHORT, TARGET] * 3, 277, ["<s>", "</s>", "<pad>"])
    ends = processors.TemplateProcessing(single="$A </s>", pair="$A $B", special_tokens=[("</s>", 1)])
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), ends])
    changes = {**SIZES, **KINDS[request.param]}
    kind = changes.pop("kind", "t5")
    made, config = MADE[kind]
    model = redraw(made(config(**changes, vocab_size=backend.get_vocab_size() + 2)))
    folder = tmp_path_factory.mktemp("written") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder, model


def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model = written
    opened = open_model(folder)
    run = agree(opened, model)[1]
    assert run.source.n_real < len(run.source.ids)
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())
    assert opened.config.scaled_output == (
        model.config.feed_forward_proj != "gated-gelu"
    )  # mT5 has that gate
    with torch.no_grad():
        first = model.decoder.block[0].layer[0].SelfAttention
        n = len(run.side.ids)
        wanted = first.compute_bias(n, n)[0].numpy()
    assert np.abs(run.trace["decoder.layer.0.self_attn.bias"] - wanted).max() <= 1e-6
    assert not run.trace.names("*cross_attn.bias")


@pytest.mark.quick(1)
def test_it_writes_what_the_library_writes(written):
    folder, model = written
    run = open_model(folder).run(SHORT)
    with torch.no_grad():
        out = model.generate(
            torch.tensor([run.source.ids]), max_new_tokens=len(run.ids) - 1, do_sample=False, num_beams=1
        )
    assert list(run.ids) == out[0].tolist()[: len(run.ids)]


@pytest.mark.quick(2)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    opened = open_model(written[0])
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out", attn_implementation="eager").eval()
    agree(again, loaded)


def test_an_output_layer_of_its_own_is_read_where_the_config_does_not_tie_it(written, tmp_path):
    folder, model = written
    state = load_file(folder / "model.safetensors")
    own = torch.randn(state["shared.weight"].shape, generator=torch.Generator().manual_seed(3))
    change = {"tie_word_embeddings": False, "scale_decoder_outputs": False}
    apart = variant(folder, tmp_path / "apart", lambda held: {**held, "lm_head.weight": own}, change)
    run = open_model(apart).run(TEXT, target=TARGET)
    with torch.no_grad():
        hidden = model.decoder(
            torch.tensor([run.ids]), encoder_hidden_states=model.encoder(torch.tensor([run.source.ids]))[0]
        )[0]
    assert np.abs(run.logits - (hidden @ own.T)[0].numpy()).max() <= SAME
    with pytest.raises(InputError, match="lm_head"):
        open_model(variant(folder, tmp_path / "tied", lambda held: {**held, "lm_head.weight": own}))


def test_the_arithmetic_on_screen_is_that_of_the_run(written):
    opened = open_model(written[0])
    run = opened.run(TEXT, target=TARGET)
    for kind in ("self", "causal", "cross"):
        row = row_of(run, kind, 0, 0, 3)
        assert row.residue < 1e-4 and (not row.terms[1:]) == (kind == "cross")
        assert lines_of(run, kind, 0, 0, 3, 1).residue < 1e-4


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("n", "furthest"), [(8, 12), (32, 128), (6, 100)])
def test_buckets_are_the_librarys(both, n, furthest):
    distance = torch.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(distance, both, n, furthest)
    assert torch.equal(buckets(distance, both=both, n=n, furthest=furthest), theirs)


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    folder = tmp_path_factory.mktemp("t5") / "model"
    T5ForConditionalGeneration(T5Config(**SIZES, vocab_size=50)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_decoder_layers": 1}, "num_decoder_layers is 1"),
        ({"feed_forward_proj": "gated-magic"}, "feed_forward_proj is 'gated-magic'"),
        ({"feed_forward_proj": "gated-relu"}, "missing"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder is False"),
        ({"relative_attention_num_buckets": 7}, "relative_attention_num_buckets=7"),
        ({"relative_attention_num_buckets": 10**9}, "relative_attention_num_buckets is 1000000000"),
        ({"relative_attention_max_distance": 3}, "relative_attention_max_distance=3"),
        ({"d_kv": 9}, "has the shape"),
        ({"d_kv": "8"}, "d_kv is '8'"),
        ({"n_positions": 0}, "n_positions is 0"),
        ({"scale_decoder_outputs": "yes"}, "scale_decoder_outputs is 'yes'"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(t5, tmp_path, change, said):
    with pytest.raises(InputError) as error:
        open_model(variant(t5, tmp_path, config=change))
    assert said in str(error.value)


@pytest.mark.quick(1)
def test_a_division_and_a_bias_that_is_left_out_are_seen(written, monkeypatch):
    folder, model = written
    opened = open_model(folder)
    monkeypatch.setattr(opened.network.encoder[0].self_attn, "divisor", math.sqrt(opened.config.d_head))
    with pytest.raises(AssertionError):
        agree(opened, model)
    again = open_model(folder)
    monkeypatch.setattr(again.network.decoder_bias, "forward", lambda n, m: torch.zeros(1, 1, n, m))
    with pytest.raises(AssertionError):
        agree(again, model)
