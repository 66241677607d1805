"""A model of the transformers library in memory becomes one of ours, with its numbers, its words and nothing shared."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kinds import CASES
from parity import SAME, redraw
from test_kinds_parity import MADE, gap, pieces
from transformers import (
    BeitConfig,
    BeitModel,
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    DiffLlamaConfig,
    DiffLlamaForCausalLM,
    FNetConfig,
    FNetModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPTBigCodeConfig,
    GPTBigCodeForCausalLM,
    MegatronBertConfig,
    MegatronBertForMaskedLM,
    PreTrainedTokenizerFast,
    RwkvConfig,
    RwkvModel,
    WhisperConfig,
    WhisperModel,
)

import core
import viz
from core.checkpoints.library_model import LibraryModel
from core.edits import PatchHead, ScaleHead, ZeroHead
from core.errors import InputError


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


# ---------------- Models of kinds that are not read here: the library's own numbers, and edits of heads that equal a changed weight.


TEXT, OTHER = "She has a white car.", "She was a white car."
BERT = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
}
MARKS = {"bos_token_id": 0, "eos_token_id": 0}


def decoder(n):
    config = GPTBigCodeConfig(vocab_size=n, n_layer=2, n_head=4, n_embd=24, n_positions=64, **MARKS)
    return GPTBigCodeForCausalLM(config), "causal", "transformer.h.1.attn.c_proj"


def encoder(n):
    config = MegatronBertConfig(vocab_size=n, **BERT)
    return MegatronBertForMaskedLM(config), "self", "bert.encoder.layer.1.attention.output.dense"


@pytest.fixture(scope="module")
def tokenizer():
    return PreTrainedTokenizerFast(tokenizer_object=MADE["decoder"], eos_token="<|endoftext|>")


@pytest.mark.parametrize("build", [decoder, encoder])
def test_patterns_logits_and_edits_are_those_of_the_library(build, tokenizer):
    torch.manual_seed(0)
    network, kind, projection = build(len(tokenizer))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    network.train().requires_grad_(build is decoder)  # the other is frozen
    before = network.config._attn_implementation
    model = core.wrap(network, tokenizer, "mine")
    assert isinstance(model, LibraryModel) and "patterns; edits at layer.0.self_attn.heads" in repr(model)
    run = model.run(TEXT)
    assert network.training and network.config._attn_implementation == before, "as it was given"
    assert run.kinds == (kind,) and list(run.ids) == tokenizer(TEXT)["input_ids"]
    assert "".join(run.tokens).strip() == TEXT and len(run.tokens) == len(run.ids)
    network.eval()

    def library(**options):
        with torch.no_grad():
            return network(torch.tensor([run.ids]), **options)

    assert gap(run.logits, library().logits[0]) <= SAME
    network.set_attn_implementation("eager")
    patterns = torch.cat(library(output_attentions=True).attentions)
    assert gap(run.attention().weights, patterns) <= SAME
    stream = run.hidden()
    assert stream.shape == (3, len(run.ids), 24)

    path = "layer.1.self_attn.heads"
    assert run.trace[path].shape == (4, len(run.ids), 6)
    other = model.run(OTHER)
    same = model.run(TEXT, edits=PatchHead(path, 2, run.trace[path][2]))
    assert gap(same.logits, torch.tensor(run.logits)) <= SAME
    found = model.run(TEXT, edits=[ZeroHead(path, head=1)])
    half = model.run(TEXT, edits=ScaleHead("layer.*.self_attn.heads", 1, 0.5))
    assert not found.trace[path][1].any() and np.abs(half.logits - found.logits).max() > 1e-3
    patched = model.run(TEXT, edits=PatchHead(path, 1, other.trace[path][1]))
    np.testing.assert_array_equal(patched.trace[path][1], other.trace[path][1])
    assert "mine" in viz.head_view(run).name and viz.heatmap(run, 1, 2)._repr_html_()

    weight = network.get_submodule(projection).weight
    with torch.no_grad():
        weight[:, 6:12] = 0
    assert gap(found.logits, library().logits[0]) <= SAME
    with pytest.raises(InputError, match=r"no 'layer.0.resid_in' to edit .* no other values"):
        model.run(TEXT, edits=ZeroHead("layer.0.resid_in", 1))
    with pytest.raises(AttributeError, match="no 'run_many': it is run by the transformers library"):
        model.run_many([TEXT])


def test_an_encoder_decoder_has_three_kinds_and_is_given_its_target(tokenizer):
    sizes = {
        f"{side}_{part}": n
        for side in ("encoder", "decoder")
        for part, n in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 16))
    }
    config = BlenderbotConfig(vocab_size=len(tokenizer), d_model=24, max_position_embeddings=64, **sizes)
    model = core.wrap(BlenderbotForConditionalGeneration(config), tokenizer)
    run = model.run(TEXT, target="Ella tiene")
    assert run.kinds == ("self", "causal", "cross") and model.name == "blenderbot"
    queries, keys = len(run.tokens), len(run.source.tokens)
    assert run.attention("cross").weights.shape == (2, 4, queries, keys) and run.logits.shape[0] == queries
    assert run.attention("self").weights.shape[2:] == (keys, keys)
    assert viz.head_view(run, kind="cross")._repr_html_() and "no edits" in model.limits
    with pytest.raises(InputError, match="There is no target"):
        model.run(TEXT)
    with pytest.raises(InputError, match="Leave edits out"):
        model.run(TEXT, target="Ella", edits=ZeroHead("layer.0.self_attn.heads", 1))


def test_heads_that_are_mixed_before_the_projection_are_not_edited(tokenizer):
    sizes = {name: BERT[name] for name in list(BERT)[:4]}
    network = DiffLlamaForCausalLM(
        DiffLlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, **sizes, **MARKS)
    )
    model = core.wrap(network, tokenizer)
    assert model.run(TEXT).kinds == ("causal",) and not model.projections and "no edits" in repr(model)


def test_what_has_no_patterns_is_refused_in_a_true_sentence(tokenizer):
    n = len(tokenizer)
    fourier = FNetModel(FNetConfig(vocab_size=n, hidden_size=8, num_hidden_layers=1, intermediate_size=8))
    state = RwkvModel(RwkvConfig(vocab_size=n, hidden_size=8, num_hidden_layers=2, attention_hidden_size=8))
    pixels = BeitModel(
        BeitConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    )
    for network, wrong in (
        (fourier, "this FNetModel cannot be shown: It does not return a pattern for every layer"),
        (state, "rwkv, which is not read.* layers without attention"),
        (pixels, "does not run on the tokens of a text alone"),
    ):
        with pytest.raises(InputError, match=wrong):
            core.wrap(network, tokenizer)
    with pytest.raises(InputError, match="model_type is 'beit'"):
        core.wrap(pixels)


def test_a_network_of_a_known_kind_can_stay_where_it_is(tokenizer):
    """In bfloat16, not copied; in float32 its patterns and an edit of a head are those of the copy."""
    config = GPT2Config(vocab_size=len(tokenizer), n_layer=2, n_head=4, n_embd=24, n_positions=64, **MARKS)
    network = GPT2LMHeadModel(config).eval()
    off = ZeroHead("layer.1.self_attn.heads", 2)
    copied, same = core.wrap(network, tokenizer), core.wrap(network, tokenizer, in_place=True)
    assert same.network is network and isinstance(same, LibraryModel)
    for edits in ((), (off,)):
        one, other = (model.run(TEXT, edits=edits) for model in (copied, same))
        np.testing.assert_allclose(one.attention().weights, other.attention().weights, atol=SAME)
        np.testing.assert_allclose(one.logits, other.logits, atol=SAME)
    half = core.wrap(network.to(torch.bfloat16), tokenizer, in_place=True).run(TEXT)
    assert next(network.parameters()).dtype == torch.bfloat16
    np.testing.assert_allclose(half.attention().weights.sum(-1), 1, atol=0.02)
    np.testing.assert_allclose(half.logits, copied.run(TEXT).logits, atol=0.1)
