"""Folders of Marian and BART give the numbers of the transformers library: both stacks, cross-attention, what is written."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw, variant
from tokenizers import processors
from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    BartForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
)

from core.checkpoints import open_model
from core.errors import InputError
from core.text.learn import byte_level_bpe
from core.tools import export

TEXT, SHORT, TARGET = "The animal didn't cross the street.", "She has a white car.", "Ella tiene un coche."
SIZES = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "d_model": 30,
    "encoder_ffn_dim": 41,
    "decoder_ffn_dim": 41,
    "max_position_embeddings": 61,
    "pad_token_id": 2,
    "eos_token_id": 1,
    "bos_token_id": 0,
    "forced_eos_token_id": None,
}
MARIAN = {**SIZES, "decoder_start_token_id": 2}
BART = {**SIZES, "decoder_start_token_id": 1}
KINDS = {
    "marian": (
        MarianMTModel,
        MarianConfig,
        {**MARIAN, "scale_embedding": True, "activation_function": "swish"},
    ),
    "marian-plain": (MarianMTModel, MarianConfig, {**MARIAN, "activation_function": "relu"}),
    "marian-odd": (
        MarianMTModel,
        MarianConfig,
        {**MARIAN, "d_model": 33, "encoder_layers": 1, "decoder_layers": 1, "scale_embedding": True},
    ),
    "bart": (BartForConditionalGeneration, BartConfig, BART),
    "bart-scaled": (BartForConditionalGeneration, BartConfig, {**BART, "scale_embedding": True}),
    "bart-one-head": (
        BartForConditionalGeneration,
        BartConfig,
        {**BART, "encoder_attention_heads": 1, "decoder_attention_heads": 1, "activation_function": "relu"},
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def written(request, tmp_path_factory):
    """A random model of a kind, and its folder as the library saves it, with a tokenizer that ends every text."""
    kind, shape, changes = KINDS[request.param]
    backend = byte_level_bpe([TEXT, SHORT, TARGET] * 3, 277, ["<s>", "</s>", "<pad>"])
    marks = "$A </s>" if request.param.startswith("marian") else "<s> $A </s>"
    ends = processors.TemplateProcessing(single=marks, pair="$A $B", special_tokens=[("<s>", 0), ("</s>", 1)])
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), ends])
    model = drawn(kind(shape(**changes, vocab_size=backend.get_vocab_size(), attn_implementation="eager")))
    model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(1))
    folder = tmp_path_factory.mktemp("written") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder, model, backend


def drawn(model):
    """Every number that is learned anew: the sinusoids of Marian stay."""
    fixed = {name: value.clone() for name, value in model.state_dict().items() if "embed_positions" in name}
    redraw(model)
    if model.config.model_type == "marian":
        model.load_state_dict(fixed, strict=False)
    return model


def theirs(model, runs):
    def held(sides):
        ids = torch.tensor([side.ids for side in sides])
        return ids, torch.tensor([[int(i < side.n_real) for i in range(len(side.ids))] for side in sides])

    (source, real), (ids, own) = held([run.source for run in runs]), held([run.side for run in runs])
    with torch.no_grad():
        return model(
            source,
            attention_mask=real,
            decoder_input_ids=ids,
            decoder_attention_mask=own,
            output_attentions=True,
            output_hidden_states=True,
        )


def agree(opened, model):
    batch = opened.run_many([TEXT, SHORT], targets=[TARGET, "Ella."])
    for runs in ([opened.run(TEXT, target=TARGET)], batch):
        out = theirs(model, runs)
        for row, run in enumerate(runs):
            n, m = run.side.n_real, run.source.n_real
            for side, states, real in (
                ("encoder", out.encoder_hidden_states, m),
                ("decoder", out.decoder_hidden_states, n),
            ):
                for i, state in enumerate(states):
                    path = f"{side}.layer.{i - 1}.resid_out" if i else f"{side}.embed.out"
                    if i == len(states) - 1 and f"{side}.final_norm.out" in run.trace:
                        path = f"{side}.final_norm.out"
                    assert np.abs(run.trace[path][:real] - state[row, :real].numpy()).max() <= SAME, path
            for kind, patterns, real, read in (
                ("self", out.encoder_attentions, m, m),
                ("causal", out.decoder_attentions, n, n),
                ("cross", out.cross_attentions, n, m),
            ):
                wanted = np.stack([pattern[row].numpy() for pattern in patterns])
                gap = np.abs(run.attention(kind).weights - wanted[:, :, :real, :read])
                assert gap.max() <= SAME, kind
            assert np.abs(run.logits[:n] - out.logits[row, :n].numpy()).max() <= SAME
    return batch


@pytest.mark.quick(2)
def test_the_same_numbers_alone_and_in_a_padded_batch(written):
    folder, model, backend = written
    opened = open_model(folder)
    batch = agree(opened, model)
    assert batch[1].source.n_real < len(batch[1].source.ids)
    assert list(opened.run(TEXT, target="").source.ids) == backend.encode(TEXT).ids
    start, own = model.config.decoder_start_token_id, backend.encode(TARGET).ids[:-1]
    assert list(opened.run(TEXT, target=TARGET).ids) == [start, *own]


@pytest.mark.quick(2)
def test_it_writes_what_the_library_writes(written):
    folder, model, _ = written
    opened = open_model(folder)
    run = opened.run(SHORT)
    n = len(run.ids) - 1
    with torch.no_grad():
        out = model.generate(
            torch.tensor([run.source.ids]), max_new_tokens=n, min_new_tokens=0, do_sample=False, num_beams=1
        )
    assert list(run.ids) == out[0].tolist()[: len(run.ids)] and n > 3


@pytest.mark.quick(2)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    folder, model, _ = written
    opened = open_model(folder)
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out", attn_implementation="eager").eval()
    assert type(loaded) is type(model)
    agree(again, loaded)


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian") / "model"
    MarianMTModel(MarianConfig(**MARIAN, vocab_size=50)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"decoder_layers": 1}, "decoder_layers is 1"),
        ({"decoder_attention_heads": 1}, "decoder_attention_heads is 1"),
        ({"decoder_ffn_dim": 10**9}, "decoder_ffn_dim is 1000000000"),
        ({"encoder_layers": 10**6, "decoder_layers": 10**6}, "encoder_layers is 1000000"),
        ({"normalize_before": True}, "normalize_before"),
        ({"add_final_layer_norm": True}, "add_final_layer_norm"),
        ({"normalize_embedding": "maybe"}, "normalize_embedding is 'maybe'"),
        ({"static_position_embeddings": 1}, "static_position_embeddings is 1"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder is False"),
        ({"activation_function": "gelu_new2"}, "activation_function"),
        ({"scale_embedding": "yes"}, "scale_embedding"),
        ({"max_position_embeddings": 2**20, "d_model": 3 * 2**11}, "positions"),
        ({"model_type": "bert"}, "is_encoder_decoder"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(marian, tmp_path, change, said):
    with pytest.raises(InputError) as error:
        open_model(variant(marian, tmp_path, config=change))
    assert said in str(error.value)


@pytest.mark.quick(2)
def test_each_is_found_by_its_tensors(written, tmp_path):
    folder, model, _ = written
    unnamed = {"model_type": "absent", "architectures": "absent"}
    opened = open_model(variant(folder, tmp_path, config=unnamed))
    wanted = "halves" if model.config.model_type == "marian" else "learned"
    assert opened.config.positions == wanted
