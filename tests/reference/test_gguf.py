"""GGUF files that the gguf library writes open with the numbers of the model they were made of; broken ones are refused."""

from __future__ import annotations

import json
import struct

import gguf
import numpy as np
import pytest
import tokenizers
import torch
from parity import SAME, redraw
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

import core
from core.checkpoints import find, open_model
from core.checkpoints.gguf_file import GLOBAL_NAMES, PARTS, SIZES
from core.checkpoints.inspect import report
from core.checkpoints.safety.gguf_header import read_gguf_header
from core.errors import InputError
from core.text.learn import learn_byte_level_bpe

TEXT = "She has a white car."
LINES = [TEXT, "Once upon a time"] * 3
SHAPE = {
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "head_dim": 16,
    "max_position_embeddings": 61,
    "attn_implementation": "eager",
}
KINDS = {
    "llama": (LlamaForCausalLM, LlamaConfig, {}),
    "llama tied": (LlamaForCausalLM, LlamaConfig, {"tie_word_embeddings": True}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {}),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {}),
}
CUTS = {"llama": "llama-bpe", "qwen2": "qwen2", "qwen3": "qwen2"}
"""What the files of these kinds say."""
RULES = {
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
"""As the tokenizer.json of Llama 3 and of Qwen 2 have it."""
HARD = "I'LL see 12345 things\r\n\r\nnaïve  cafe\u0301!? 3.14 She'd\tgo\n"


@pytest.fixture(scope="module")
def backend():
    return learn_byte_level_bpe([*LINES, HARD] * 3, 288, ["<|endoftext|>"])


def cut_as(backend, name):
    """Return the tokenizer of these merges that cuts a text by the rule of that name."""
    held = json.loads(backend.to_str())
    if name in RULES:
        split = {"type": "Split", "pattern": {"Regex": RULES[name]}, "behavior": "Isolated", "invert": False}
        bytes_alone = {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": False,
        }
        held["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, bytes_alone]}
        held["normalizer"] = {"type": "NFC"} if name == "qwen2" else None
        held["model"]["ignore_merges"] = name == "llama-bpe"
    return tokenizers.Tokenizer.from_str(json.dumps(held))


def permuted(value, n_heads):
    """Return rows in the order of llama.cpp: features that are rotated together are neighbours."""
    return value.reshape(n_heads, 2, value.shape[0] // n_heads // 2, -1).swapaxes(1, 2).reshape(value.shape)


def write(
    path, model, backend, form=gguf.GGMLQuantizationType.F32, kind="llama", facts=None, tensors=None, pre=None
):
    """Write a library model as llama.cpp's converter does."""
    config, held = model.config, json.loads(backend.to_str())
    writer = gguf.GGUFWriter(path, kind)
    given = config.to_dict()
    given["rope_theta"] = config.rope_parameters["rope_theta"]
    for ours, theirs in SIZES.items():
        if given.get(theirs) is not None:
            value = given[theirs]
            add = writer.add_uint32 if isinstance(value, int) else writer.add_float32
            add(f"{kind}.{ours}", value)
    writer.add_string("general.name", "tiny <b>model</b>")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(CUTS[kind] if pre is None else pre)
    vocab = {**held["model"]["vocab"], **{token["content"]: token["id"] for token in held["added_tokens"]}}
    words = sorted(vocab, key=vocab.get)
    writer.add_token_list(words)
    special = {token["content"] for token in held["added_tokens"]}
    writer.add_token_types([3 if word in special else 1 for word in words])
    writer.add_token_merges([" ".join(merge) for merge in held["model"]["merges"]])
    writer.add_eos_token_id(0)
    for name, value in (facts or {}).items():
        adds = {
            bool: writer.add_bool,
            int: writer.add_uint32,
            float: writer.add_float32,
            list: writer.add_array,
        }
        adds.get(type(value), writer.add_string)(name, value)
    back = {theirs: ours for ours, theirs in {**GLOBAL_NAMES, **PARTS}.items()}
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        layer = (
            name.removeprefix("model.layers.").partition(".") if name.startswith("model.layers.") else None
        )
        part, _, end = layer[2].rpartition(".") if layer else ("", "", "")
        ours = f"blk.{layer[0]}.{back[part]}.{end}" if layer else back[name]
        numbers = value.float().numpy()
        if kind == "llama" and ("q_proj" in name or "k_proj" in name):
            n = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            numbers = permuted(numbers, n)
        flat = numbers.ndim == 1
        packed = gguf.quants.quantize(numbers, gguf.GGMLQuantizationType.F32 if flat else form)
        writer.add_tensor(ours, packed, raw_dtype=gguf.GGMLQuantizationType.F32 if flat else form)
    for name, numbers in (tensors or {}).items():
        writer.add_tensor(name, numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module", params=KINDS)
def model(request, backend):
    made, config, changes = KINDS[request.param]
    return redraw(made(config(**{**SHAPE, **changes, "vocab_size": 288})))


def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


@pytest.mark.quick(4)
@pytest.mark.parametrize(("form", "most"), [("F32", SAME), ("F16", 0.05), ("BF16", 0.5), ("Q8_0", 1.0)])
def test_a_file_opens_with_the_numbers_of_its_model(model, backend, tmp_path, form, most):
    kind = model.config.model_type
    (tmp_path / "it").mkdir()
    write(tmp_path / "it" / "tiny.gguf", model, backend, gguf.GGMLQuantizationType[form], kind)
    opened = open_model(tmp_path / "it")
    run = opened.run(TEXT)
    theirs = cut_as(backend, CUTS[kind])
    assert list(run.ids) == theirs.encode(TEXT).ids
    assert list(opened.tokenizer.encode(HARD).ids) == theirs.encode(HARD).ids
    gap = np.abs(run.logits - logits(model, run.ids))
    assert gap.max() <= most and (form == "F32" or gap.mean() > 0)
    assert f"numbers in {form}" in opened.card and "tiny <b>model</b>" in opened.card
    assert f"stored as {', '.join(sorted({form, 'F32'}))}" in "\n".join(report(tmp_path / "it")[0])
    assert opened.tokenizer.end == 0 and "<|endoftext|>" in opened.tokenizer.special_tokens
    weights = {name: value for name, value in opened.network.state_dict().items() if value.ndim == 2}
    assert len(weights) >= 15 and all(value.dtype == torch.float32 for value in weights.values())


@pytest.mark.quick(3)
@pytest.mark.parametrize(("bos", "marked"), [(0, True), (10**6, False)])
def test_the_mark_that_a_file_asks_for_stands_before_a_text(model, backend, tmp_path, bos, marked):
    (tmp_path / "it").mkdir()
    facts = {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": bos}
    write(tmp_path / "it" / "tiny.gguf", model, backend, kind=model.config.model_type, facts=facts)
    run = open_model(tmp_path / "it").run(TEXT)
    assert list(run.ids) == [0] * marked + backend.encode(TEXT).ids


@pytest.mark.quick(1)
def test_a_file_stands_in_the_list_under_its_own_name(model, backend, tmp_path, monkeypatch):
    (tmp_path / "shelf" / "a").mkdir(parents=True)
    write(tmp_path / "shelf" / "a" / "tiny.Q8.gguf", model, backend, kind=model.config.model_type)
    monkeypatch.setenv("ATLAS_MODELS", str(tmp_path / "shelf"))
    assert {(entry.name, entry.ok) for entry in find.listing() if entry.folder.parent.name == "shelf"} == {
        ("tiny.Q8", True)
    }
    assert core.open_model("tiny.Q8").family == "llama"


@pytest.fixture(scope="module")
def example(tmp_path_factory, backend):
    torch.manual_seed(0)
    model = redraw(LlamaForCausalLM(LlamaConfig(**SHAPE, vocab_size=288)))
    return model, write(tmp_path_factory.mktemp("gguf") / "it.gguf", model, backend).read_bytes()


def opened_from(folder, data):
    folder.mkdir()
    (folder / "it.gguf").write_bytes(data)
    return open_model(folder)


def test_a_file_that_is_cut_off_anywhere_is_refused_in_words(example, tmp_path):
    _, data = example
    begin = read_gguf_header(_saved(tmp_path, data)).begin
    places = [0, 3, 10, 23, 24, 30, *range(40, begin, begin // 30), begin, begin + 7, len(data) - 1]
    for at in places:
        with pytest.raises(InputError):
            opened_from(tmp_path / str(at), data[:at])


def _saved(tmp_path, data):
    (tmp_path / "whole.gguf").write_bytes(data)
    return tmp_path / "whole.gguf"


def header(n_tensors, n_facts, *parts):
    """Return the beginning of a file that says how many tensors and facts it has, with these bytes and padding behind."""
    return b"".join((b"GGUF", struct.pack("<IQQ", 3, n_tensors, n_facts), *parts, bytes(60)))


def pair(name, kind, body):
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + body


def tensor(n_axes, *sizes):
    return struct.pack("<Q", 1) + b"t" + struct.pack(f"<I{len(sizes)}Q", n_axes, *sizes)


LONG = struct.pack("<Q", 2**60)
CRAFTED = {
    "another magic": (b"GGML" + bytes(60), "does not begin with GGUF"),
    "version 1": (b"GGUF" + struct.pack("<I", 1) + bytes(60), "version 1"),
    "many tensors": (header(2**40, 1), "it lists"),
    "many facts": (header(1, 2**40), "it lists"),
    "a name of 2^60 bytes": (header(0, 1, LONG), "a string has"),
    "a text of 2^60 bytes": (header(0, 1, pair(b"a", 8, LONG)), "a string has"),
    "a list of 2^60 items": (header(0, 1, pair(b"a", 9, struct.pack("<IQ", 4, 2**60))), "a list has"),
    "a list of lists": (header(0, 1, pair(b"a", 9, struct.pack("<IQ", 9, 1))), "a list is of the kind 9"),
    "an unknown kind": (header(0, 1, pair(b"a", 99, bytes(8))), "of the kind 99"),
    "a fact twice": (header(0, 2, 2 * pair(b"a", 4, bytes(4))), "occurs twice"),
    "no text": (header(0, 1, pair(b"\xff", 4, bytes(4))), "is no text"),
    "five axes": (header(1, 0, tensor(5)), "has 5 axes"),
    "a huge tensor": (header(1, 0, tensor(2, 2**40, 2**40)), "has the shape"),
    "a crooked alignment": (
        header(0, 1, pair(b"general.alignment", 4, struct.pack("<I", 33))),
        "no power of two",
    ),
    "no kind": (header(0, 0), "holds a model of the kind None"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_header_is_refused_before_anything_is_read(name, tmp_path):
    data, refusal = CRAFTED[name]
    with pytest.raises(InputError, match=refusal):
        opened_from(tmp_path / "it", data)


@pytest.mark.parametrize(
    ("facts", "tensors", "refusal"),
    [
        ({"general.architecture": "mamba"}, {}, "kind 'mamba'"),
        ({"tokenizer.ggml.model": "bert"}, {}, "is of the kind 'bert'"),
        ({"tokenizer.ggml.model": "llama"}, {}, "not a score for each"),
        ({"llama.rope.scale_linear": 4.0}, {}, r"llama\.rope\.scale_linear = 4\.0"),
        ({"llama.attention.scale": 0.5}, {}, r"llama\.attention\.scale = 0\.5"),
        ({"llama.logit_scale": 0.5}, {}, r"llama\.logit_scale = 0\.5"),
        ({"llama.expert_count": 8}, {}, r"llama\.expert_count = 8"),
        ({"llama.rope.dimension_count": 8}, {}, "a head has 16"),
        ({"llama.attn_logit_softcapping": 50.0}, {}, "attn_logit_softcapping"),
        ({"tokenizer.ggml.pre": "deepseek"}, {}, "'deepseek'"),
        ({"llama.rope.scaling.type": "yarn"}, {}, "kind 'yarn'"),
        ({}, {"rope_freqs.weight": np.ones(8, np.float32)}, r"left over: rope_freqs\.weight"),
        (
            {},
            {"blk.0.attn_q.bias": np.ones(64, np.float32)},
            r"left over: layers\.0\.self_attn\.q_proj\.bias",
        ),
        ({"general.name": "x" * 70_000}, {}, "a string has"),
    ],
)
def test_what_is_not_read_is_named(facts, tensors, refusal, example, backend, tmp_path, monkeypatch):
    model, _ = example
    folder = tmp_path / "it"
    folder.mkdir()
    monkeypatch.setattr(gguf.GGUFWriter, "add_key_value", _last_wins(gguf.GGUFWriter.add_key_value))
    write(folder / "it.gguf", model, backend, facts=facts, tensors=tensors)
    with pytest.raises(InputError, match=refusal):
        open_model(folder)


def _last_wins(add):
    def added(self, key, value, *rest, **more):
        for pairs in self.kv_data:
            pairs.pop(key, None)
        return add(self, key, value, *rest, **more)

    return added


def test_facts_that_change_nothing_are_passed_over(example, backend, tmp_path):
    model, _ = example
    facts = {
        "llama.rope.scale_linear": 1.0,
        "llama.rope.dimension_count": 16,
        "llama.vocab_size": 288,
        "llama.expert_count": 0,
        "general.quantization_version": 2,
        "qwen2.logit_scale": 0.5,
    }
    (tmp_path / "it").mkdir()
    write(tmp_path / "it" / "it.gguf", model, backend, facts=facts)
    run = open_model(tmp_path / "it").run(TEXT)
    assert np.abs(run.logits - logits(model, run.ids)).max() <= SAME


def test_a_llama_with_a_window_is_a_mistral(example, backend, tmp_path):
    model, _ = example
    windowed = MistralForCausalLM(MistralConfig(**SHAPE, vocab_size=288, sliding_window=4)).eval()
    windowed.load_state_dict(model.state_dict())
    write(tmp_path / "it.gguf", model, backend, facts={"llama.attention.sliding_window": 4})
    run = open_model(tmp_path).run(TEXT)
    assert np.abs(run.logits - logits(windowed, run.ids)).max() <= SAME
    with pytest.raises(InputError, match=r"'it\.gguf' is a file"):
        open_model(tmp_path / "it.gguf")


@pytest.mark.quick(1)
@pytest.mark.parametrize(("kind", "cut"), [("llama tied", "gpt-2"), ("qwen3", "qwen2")])
def test_a_file_that_does_not_say_how_it_cuts_is_read_as_its_kind_does_and_says_so(
    kind, cut, backend, tmp_path, monkeypatch
):
    made, config, changes = KINDS[kind]
    model = redraw(made(config(**{**SHAPE, **changes, "vocab_size": 288})))
    monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_pre", lambda *_: None)
    write(tmp_path / "it.gguf", model, backend, kind=model.config.model_type)
    opened, theirs = open_model(tmp_path), cut_as(backend, cut)
    assert list(opened.tokenizer.encode(HARD).ids) == theirs.encode(HARD).ids
    assert f"tokenizer.ggml.pre is missing): it is cut as {cut}" in opened.card
    assert "tokenizer.ggml.pre is missing" in "\n".join(report(tmp_path)[0])


def test_a_tokenizer_beside_the_file_goes_before_its_own(example, backend, tmp_path):
    model, _ = example
    write(tmp_path / "it.gguf", model, backend, pre="tekken")
    with pytest.raises(InputError, match="'tekken'") as refused:
        open_model(tmp_path)
    assert "Put the tokenizer.json" in refused.value.remedy
    cut_as(backend, "llama-bpe").save(str(tmp_path / "tokenizer.json"))
    assert list(open_model(tmp_path).run(HARD).ids) == cut_as(backend, "llama-bpe").encode(HARD).ids


def test_a_tokenizer_of_pieces_with_scores_cuts_as_llama_2s(example, tmp_path, monkeypatch):
    model, _ = example
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    space = tokenizers.normalizers.Replace(" ", "▁")
    made.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("▁"), space])
    marks = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=288, special_tokens=marks, show_progress=False)
    made.train_from_iterator([TEXT, "see she"] * 3, trainer)
    held = json.loads(made.to_str())
    held["added_tokens"] = held["added_tokens"][:3]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(held))
    words = sorted(held["model"]["vocab"], key=held["model"]["vocab"].get)
    rank = {"".join(merge): -float(n) for n, merge in enumerate(held["model"]["merges"])}
    scores = [rank.get(word, 0.0 if at < 259 else -1e6) for at, word in enumerate(words)]
    types = [2, 3, 3, *[6] * 256, *[1] * (len(words) - 259)]
    facts = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    monkeypatch.setattr(gguf.GGUFWriter, "add_key_value", _last_wins(gguf.GGUFWriter.add_key_value))
    monkeypatch.setattr(gguf.GGUFWriter, "add_token_merges", lambda *_: None)
    write(tmp_path / "it.gguf", model, learn_byte_level_bpe(LINES, 288, ["<|endoftext|>"]), facts=facts)
    opened = open_model(tmp_path)
    assert json.loads(opened.tokenizer.to_json())["model"]["merges"] == held["model"]["merges"]
    for text in (TEXT, HARD, "a  b\n", "日本 she"):
        assert list(opened.tokenizer.encode(text).ids) == theirs.encode(text, add_special_tokens=False).ids
    run = opened.run(TEXT)
    assert run.ids[0] == 1 and opened.tokenizer.decode(run.ids) == TEXT
    assert np.abs(run.logits - logits(model, run.ids)).max() <= SAME


def test_a_folder_of_two_files_is_listed_with_its_reason(example, tmp_path, monkeypatch):
    (tmp_path / "shelf" / "both").mkdir(parents=True)
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / "shelf" / "both" / name).write_bytes(example[1])
    monkeypatch.setenv("ATLAS_MODELS", str(tmp_path / "shelf"))
    (entry,) = [entry for entry in find.listing() if entry.folder.parent.name == "shelf"]
    assert not entry.ok and "holds 2 GGUF files" in entry.problem


def test_two_files_in_a_folder_are_no_model_and_a_missing_library_is_named(example, tmp_path, monkeypatch):
    _, data = example
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match="holds 2 GGUF files"):
        open_model(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(InputError, match="pip install gguf"):
        opened_from(tmp_path / "one", data)
