"""Folders as savers, wrappers and older versions leave them: the numbers are those of the model that was saved."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from kinds import CASES, LLAMA
from parity import redraw
from safetensors.torch import load_file, save_file, save_model
from test_kinds_parity import MADE
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, model_type_to_module_name

import core
from core.checkpoints import open_model
from core.checkpoints.foreign import Format, formats, plan_foreign
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.weights import Weights
from core.errors import InputError
from tests.kind_shapes import tiny

TEXT = "She has a white car."
BPE = MADE["decoder"]
ROWS = BPE.get_vocab_size()
SAME = 1e-5


def random_model(kind: str, **changes):
    """Return a random model of the transformers library, by the name of its class."""
    made = getattr(transformers, kind)
    values = next(case.values for case in CASES.values() if case.config is made.config_class)
    values = {key: value for key, value in values.items() if (key, value) != ("head_dim", None)}
    config = made.config_class(**{**values, "vocab_size": ROWS, "pad_token_id": 0, **changes})
    config._attn_implementation = "eager"
    model = redraw(made(config))
    model.tie_weights()
    return model


def folder(place: Path, model) -> Path:
    model.save_pretrained(place)
    BPE.save(str(place / "tokenizer.json"))
    return place


def differences(opened, model) -> float:
    """Return the largest difference of patterns, and of logits where both have them."""
    run = opened.run(TEXT)
    with torch.no_grad():
        out = model(torch.tensor([run.ids]), output_attentions=True)
    gaps = [np.abs(run.attention().weights - np.stack([layer[0] for layer in out.attentions])).max()]
    if "logits" in opened.outputs:
        gaps.append(np.abs(run.logits - out.logits[0].numpy()).max())
    return max(gaps)


def files_of(kind: str) -> tuple[dict, dict[str, Entry], Format]:
    """Return the config of a tiny folder of a kind, its headers and its format."""
    form, config = formats()[kind], tiny(kind)
    said = form.values(config) or formats()["bert"].values(config)
    entries = {form.full(take.name): Entry(Path("w"), "F32", take.shape) for take in form.takes(config)}
    return {"model_type": kind, "tie_word_embeddings": True, **said}, entries, form


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["GPT2LMHeadModel", "GPTNeoForCausalLM"])
def test_tied_weights_under_the_other_name_are_read(tmp_path, kind):
    model = random_model(kind)
    place = folder(tmp_path / "kept", model)
    (place / "model.safetensors").unlink()
    save_model(model, str(place / "model.safetensors"))
    assert "lm_head.weight" in load_file(place / "model.safetensors")
    assert "transformer.wte.weight" not in load_file(place / "model.safetensors")
    assert differences(open_model(place), model) <= SAME


@pytest.mark.quick(10)
@pytest.mark.parametrize("kind", formats())
def test_any_copy_of_a_tied_tensor_may_be_the_one_that_is_kept(kind):
    values, entries, form = files_of(kind)
    plan, _ = plan_foreign(values, Weights(entries))
    for take in (take for take in plan.takes if take.copies):
        for copy in take.copies:
            name = form.full(take.name)
            moved = {form.full(copy) if each == name else each: entry for each, entry in entries.items()}
            found, weights = plan_foreign(values, Weights(moved))
            assert found.takes == plan.takes and weights.stored[take.name] == form.full(copy)


def test_a_table_is_not_read_as_that_of_an_untied_model(tmp_path):
    model = random_model("LlamaForCausalLM", tie_word_embeddings=False)
    place = folder(tmp_path / "untied", model)
    state = load_file(place / "model.safetensors")
    del state["model.embed_tokens.weight"]
    save_file(state, place / "model.safetensors")
    with pytest.raises(InputError, match=r"Weights missing: embed_tokens\.weight"):
        open_model(place)


PASSED = {
    "attn.bias": "h.0.attn.bias",
    "crossattention.bias": "h.0.crossattention.bias",
    "attn.masked_bias": "h.0.attn.masked_bias",
    "inv_freq": "encoder.layers.0.attn.rotary_emb.inv_freq",
    "original_inv_freq": "encoder.layers.0.attn.rotary_emb.original_inv_freq",
    "position_embeddings.weight": "embeddings.position_embeddings.weight",
    "attention.bias": "layers.0.attention.bias",
    "attention.masked_bias": "layers.0.attention.masked_bias",
    "encoder.version": "encoder.version",
    "decoder.version": "decoder.version",
    "position_embeddings": "position_embeddings.weight",
    "mask_predictions.*": "mask_predictions.dense.weight",
    "decoder": "decoder.final_layer_norm.weight",
    **dict.fromkeys(["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] * 2),
}
"""A tensor for each pattern that the library passes over when it reads a file; the last is one by its whole name."""
OLDER = {
    "bert": ["embeddings.position_ids", "classifier.weight", "qa_outputs.bias"],
    "big_bird": ["qa_classifier.intermediate.dense.weight", "qa_classifier.output.LayerNorm.bias"],
    "gpt2": ["h.0.attn.masked_bias"],
    "gpt_neo": ["h.1.attn.attention.bias", "h.1.attn.attention.masked_bias"],
    "gpt_neox": ["layers.0.attention.rotary_emb.inv_freq"],
    "llama": ["layers.1.self_attn.rotary_emb.inv_freq"],
    "marian": ["encoder.embed_positions.weight", "decoder.embed_positions.weight"],
    "roberta": ["embeddings.position_ids"],
}
"""What versions before the fifth named, or wrote into every file."""


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", sorted(formats().keys() - {"jina_bert"}))  # a class of its makers alone
def test_what_the_library_passes_over_is_passed_over(kind):
    name = model_type_to_module_name(kind)
    module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    classes = (each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__)
    named = {
        pattern
        for each in classes
        if "Encoder" not in getattr(each, "__name__", "")
        for pattern in getattr(each, "_keys_to_ignore_on_load_unexpected", None) or ()
    }
    values, entries, form = files_of(kind)
    extra = [PASSED[pattern] or pattern for pattern in sorted(named)] + OLDER.get(kind, [])
    more = {form.full(one): Entry(Path("w"), "F32", (4,)) for one in extra}
    assert plan_foreign(values, Weights({**entries, **more}))[0].takes == form.takes(tiny(kind))


HEADLESS = [
    "LlamaModel",
    "LlamaForSequenceClassification",
    "LlamaForTokenClassification",
    "Qwen2Model",
    "Qwen3Model",
    "Qwen3ForSequenceClassification",
    "MistralModel",
    "Gemma3TextModel",
    "GPT2Model",
    "GPT2ForSequenceClassification",
    "GPTNeoModel",
    "GPTNeoXModel",
    "OpenAIGPTModel",
]


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", HEADLESS)
def test_a_decoder_without_an_output_layer_opens_and_offers_no_words(tmp_path, kind):
    model = random_model(kind)
    opened = open_model(folder(tmp_path / "it", model))
    assert "logits" not in opened.outputs
    base = getattr(model, model.base_model_prefix, model)
    assert differences(opened, base) <= SAME
    wrapped = core.wrap(model, BPE)
    assert "logits" not in wrapped.outputs and differences(wrapped, base) <= SAME


def test_an_output_layer_that_is_cut_off_is_missing(tmp_path):
    place = folder(tmp_path / "it", random_model("LlamaForCausalLM", tie_word_embeddings=False))
    state = load_file(place / "model.safetensors")
    del state["lm_head.weight"]
    save_file(state, place / "model.safetensors")
    with pytest.raises(InputError, match=r"Weights missing: lm_head\.weight"):
        open_model(place)


@pytest.mark.parametrize(
    "before", ["_orig_mod.", "module.", "module._orig_mod.", "model.", "0.auto_model.", "student."]
)
@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
def test_what_wrapping_puts_before_every_name_is_taken_off(kind, before):
    values, entries, form = files_of(kind)
    plan, weights = plan_foreign(values, Weights({before + name: one for name, one in entries.items()}))
    assert plan.takes == form.takes(tiny(kind))
    assert set(weights.stored.values()) == {before + name for name in entries}


def test_a_name_within_that_a_compiled_layer_has_is_read():
    values, entries, form = files_of("gpt2")
    inner = {name.replace("h.0.", "h.0._orig_mod."): one for name, one in entries.items()}
    assert plan_foreign(values, Weights(inner))[0].takes == form.takes(tiny("gpt2"))


@pytest.mark.slow
def test_compiled_and_spread_models_in_memory_are_wrapped():
    model = random_model("GPT2LMHeadModel")
    for network in (torch.compile(model), torch.nn.DataParallel(model)):
        assert differences(core.wrap(network, BPE), model) <= SAME


def test_weights_that_are_not_loaded_are_refused_in_words():
    with torch.device("meta"):
        network = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**LLAMA, "vocab_size": ROWS}))
    with pytest.raises(InputError, match="not in memory: they are on the device 'meta'") as refused:
        core.wrap(network, BPE)
    assert "dispatch=True" in refused.value.remedy


def test_a_refusal_of_a_model_in_memory_speaks_of_no_file():
    model = random_model("GPT2LMHeadModel", scale_attn_by_inverse_layer_idx=True)
    with pytest.raises(InputError) as refused:
        core.wrap(model, BPE)
    assert "config.json" not in str(refused.value) and "ownload" not in str(refused.value)
    assert "GPT2LMHeadModel" in refused.value.wrong


def test_a_picture_model_in_memory_needs_no_tokenizer():
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48}
    config = transformers.ViTConfig(**sizes, image_size=28, patch_size=7, num_channels=1, num_labels=3)
    model = core.wrap(redraw(transformers.ViTForImageClassification(config)))
    assert model.run(model.reader.example).scores.shape[-1] == 3


def test_a_name_of_the_hub_is_told_how_to_be_written():
    for name in ("gpt2", "hf:gpt2"):
        with pytest.raises(InputError) as refused:
            open_model(name)
        assert "hf:openai-community/gpt2" in refused.value.remedy


def test_the_tokenizer_that_version_5_saves_for_a_deberta_is_read(tmp_path):
    vocabulary = [
        (piece, -1.0)
        for piece in ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "▁", "▁white", "▁car", *"Shehasa.", "[MASK]")
    ]
    theirs = transformers.DebertaV2Tokenizer(vocab=list(dict(vocabulary).items()))
    redraw(CASES["deberta, own maps"].model(len(theirs))).save_pretrained(tmp_path)
    theirs.save_pretrained(tmp_path)
    run = open_model(tmp_path).run(TEXT)
    assert list(run.ids) == theirs(TEXT)["input_ids"]


def test_a_long_card_and_odd_headers_keep_nothing_from_opening(tmp_path):
    model = random_model("GPT2LMHeadModel")
    place = folder(tmp_path / "it", model)
    (place / "README.md").write_text("# A card\n" + "word " * 300_000)
    data = (place / "model.safetensors").read_bytes()
    n = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + n]), data[8 + n :]
    header["__metadata__"] = None
    header["transformer.h.0.attn.bias"] = {
        "dtype": "F8_E4M3",
        "shape": [4],
        "data_offsets": [len(body), len(body) + 4],
    }
    text = json.dumps(header).encode()
    (place / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body + bytes(4))
    opened = open_model(place)
    assert differences(opened, model) <= SAME and len(opened.card) == 2**20


@pytest.mark.quick(1)
@pytest.mark.parametrize("word", ["<image>", " zebra"])
def test_a_token_that_has_no_row_is_left_out_and_refused_where_it_is_typed(tmp_path, word):
    backend = tokenizers.Tokenizer.from_str(BPE.to_str())
    backend.add_tokens([tokenizers.AddedToken(word, special=False, normalized=False)])
    assert backend.token_to_id(word) == ROWS
    model = random_model("LlamaForCausalLM")
    place = folder(tmp_path / "it", model)
    backend.save(str(place / "tokenizer.json"))
    for opened in (open_model(place), core.wrap(model, backend)):
        assert differences(opened, model) <= SAME
        with pytest.raises(InputError, match="has no vector for") as refused:
            opened.run(f"a{word}")
        assert "Leave it out" in refused.value.remedy
        with pytest.raises(InputError, match="has no vector for"):
            opened.tokenizer.encode_many([TEXT, f"a{word}"])


def test_a_mark_without_a_row_that_stands_around_every_text_is_refused_when_the_folder_is_opened(tmp_path):
    backend = tokenizers.Tokenizer.from_str(BPE.to_str())
    backend.add_special_tokens(["<bos>"])
    backend.post_processor = tokenizers.processors.TemplateProcessing("<bos> $A", None, [("<bos>", ROWS)])
    place = folder(tmp_path / "it", random_model("LlamaForCausalLM"))
    backend.save(str(place / "tokenizer.json"))
    with pytest.raises(InputError, match="'<bos>' is a token that this model has no vector for"):
        open_model(place)


def test_a_vocabulary_of_another_model_is_refused(tmp_path):
    backend = tokenizers.Tokenizer.from_str(BPE.to_str())
    backend.add_tokens([f"more{i}" for i in range(4)])
    place = folder(tmp_path / "it", random_model("LlamaForCausalLM"))
    backend.save(str(place / "tokenizer.json"))
    with pytest.raises(InputError, match=f"{ROWS + 4} entries up to id {ROWS + 3}, the model {ROWS} rows"):
        open_model(place)


@pytest.mark.parametrize(
    ("kind", "change", "example"),
    [
        ("bart", {"decoder_attention_heads": 1}, "facebook/bart-base"),
        ("marian", {"decoder_ffn_dim": 99}, "facebook/bart-base"),
        ("bart", {"is_encoder_decoder": False}, "ForConditionalGeneration"),
    ],
)
def test_a_refusal_of_a_shape_names_a_model_that_has_another(kind, change, example):
    values, entries, _ = files_of(kind)
    with pytest.raises(InputError) as refused:
        plan_foreign({**values, **change}, Weights(entries))
    assert example in refused.value.remedy and next(iter(change)) in refused.value.wrong


@pytest.mark.parametrize("kind", ["HeliumForCausalLM", "MixtralForCausalLM"])
def test_a_base_of_rotation_that_is_not_written_is_the_one_of_the_kind(tmp_path, kind):
    model = random_model(kind)
    place = folder(tmp_path / "model", model)
    config = json.loads((place / "config.json").read_text())
    del config["rope_parameters"]
    (place / "config.json").write_text(json.dumps(config))
    assert differences(open_model(place), model) < SAME


FITTING = {
    *("head_dim", "num_key_value_heads", "ffn_dim", "decoder_ffn_dim", "decoder_layers"),
    "relative_attention",  # a file without it has no tensors of distances
    "attention_types",  # the library's own default is for 24 layers alone
    "block_size",  # of more rows than the table has: every text is read in full
}
"""Keys whose default may be another here: the stored tensors fit the right value alone, or it changes no number."""


@pytest.mark.quick(9)
@pytest.mark.parametrize("name", [*CASES, "vit", "deit"])
def test_what_a_config_leaves_out_is_read_as_the_library_reads_it(name):
    made = CASES[name].config if name in CASES else CONFIG_MAPPING[name]
    form, usual = formats()[made.model_type], made(vocab_size=ROWS).to_dict()
    few = CASES[name].values if name in CASES else usual
    for values in ({"vocab_size": ROWS, "type_vocab_size": 2, **few}, usual):
        for key in {"", *values} - FITTING:
            rest = {each: value for each, value in values.items() if each != key and value is not None}
            text = json.dumps(rest)
            try:
                ours, _ = form.read(Fields(json.loads(text)), ["classifier.weight"])
            except InputError:
                assert key or values is usual
                continue
            theirs = json.loads(made(**json.loads(text)).to_json_string(use_diff=False))
            assert form.read(Fields(theirs), ["classifier.weight"])[0] == ours, key
