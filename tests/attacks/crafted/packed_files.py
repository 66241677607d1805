"""GGUF files written byte by byte: counts, lengths, offsets, kinds of numbers and facts that lie."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load

from core.checkpoints.gguf_file import GLOBAL_NAMES, PARTS, SIZES
from crafted.case import CONFIG, TOKENIZER, WEIGHTS, Case, good

U8, U32, F32, BOOL, TEXT, LIST, U64 = 0, 4, 6, 7, 8, 9, 10
FORMS = {U8: "<B", U32: "<I", F32: "<f", BOOL: "<?", U64: "<Q"}
HUGE = 2**60


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def fact(value: Any) -> bytes:
    """A kind, and a value of it; bytes are both, as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return struct.pack("<I", TEXT) + text(value)
    if isinstance(value, list):
        inner = b"".join(text(each) if isinstance(each, str) else struct.pack("<I", each) for each in value)
        return struct.pack("<IIQ", LIST, TEXT if isinstance(value[0], str) else U32, len(value)) + inner
    kind = BOOL if isinstance(value, bool) else U32 if isinstance(value, int) else F32
    return struct.pack("<I", kind) + struct.pack(FORMS[kind], value)


@dataclass
class Packed:
    """A GGUF file before it is bytes: facts by name, tensors as (shape with the columns first, kind of numbers, offset), and what is lied about."""

    facts: dict[str, Any]
    tensors: dict[str, tuple[tuple[int, ...], int, int]]
    data: bytes
    magic: bytes = b"GGUF"
    version: int = 3
    counts: tuple[int | None, int | None] = (None, None)
    twice: str = ""
    step: int = 32
    more: list[bytes] = field(default_factory=list)

    def bytes(self) -> bytes:
        n_tensors, n_facts = self.counts
        pairs = [text(name) + fact(value) for name, value in self.facts.items()]
        pairs += [pair for pair in pairs if self.twice and pair.startswith(text(self.twice))]
        rows = [
            text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at)
            for name, (shape, kind, at) in self.tensors.items()
        ]
        count = struct.pack(
            "<IQQ",
            self.version,
            len(rows) if n_tensors is None else n_tensors,
            len(pairs) if n_facts is None else n_facts,
        )
        head = self.magic + count + b"".join(pairs + rows + self.more)
        return head + bytes(-len(head) % self.step) + self.data


@cache
def _llama() -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], int, int]], bytes]:
    files = good("llama")
    config, held = json.loads(files[CONFIG]), json.loads(files[TOKENIZER])
    facts: dict[str, Any] = {"general.architecture": "llama", "general.name": "tiny <b>model</b>"}
    facts |= {f"llama.{ours}": config[theirs] for ours, theirs in SIZES.items() if config.get(theirs)}
    vocab = {**held["model"]["vocab"], **{mark["content"]: mark["id"] for mark in held["added_tokens"]}}
    names = sorted(vocab, key=lambda word: vocab[word])
    special = {mark["content"] for mark in held["added_tokens"]}
    facts |= {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": names,
        "tokenizer.ggml.token_type": [3 if name in special else 1 for name in names],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in held["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": 0,
    }
    back = {theirs: ours for ours, theirs in {**GLOBAL_NAMES, **PARTS}.items()}
    tensors, data = {}, b""
    for name, value in load(files[WEIGHTS]).items():
        layer = name.removeprefix("model.layers.").partition(".") if ".layers." in name else None
        ours = f"blk.{layer[0]}.{back[layer[2].removesuffix('.weight')]}.weight" if layer else back[name]
        tensors[ours] = (tuple(reversed(value.shape)), 0, len(data))
        data += value.to(torch.float32).numpy().tobytes()
        data += bytes(-len(data) % 32)
    return facts, tensors, data


def whole() -> Packed:
    """A good file of the Llama kind."""
    facts, tensors, data = _llama()
    return Packed(deepcopy(facts), dict(tensors), data)


def packed(change: Callable[[Packed], object] | None = None) -> Callable[[Path], object]:
    """How a good file is written with something changed in it; what `change` returns as bytes is the file."""

    def write(place: Path) -> None:
        it = whole()
        told = change(it) if change else None
        place.mkdir(parents=True, exist_ok=True)
        (place / "it.gguf").write_bytes(told if isinstance(told, bytes) else it.bytes())

    return write


def facts(given: Mapping[str, Any]) -> Callable[[Packed], object]:
    return lambda it: it.facts.update(given)


def has(**changes: Any) -> Callable[[Packed], object]:
    return lambda it: [setattr(it, name, value) for name, value in changes.items()] and None


def tensor(name: str, **changes: Any) -> Callable[[Packed], object]:
    def change(it: Packed) -> None:
        shape, kind, at = it.tensors[name]
        it.tensors[name] = (changes.get("shape", shape), changes.get("kind", kind), changes.get("at", at))

    return change


def cut(share: float) -> Callable[[Packed], object]:
    def change(it: Packed) -> bytes:
        whole = it.bytes()
        return whole[: int(len(whole) * share)]

    return change


TABLE, QUERY = "token_embd.weight", "blk.0.attn_q.weight"
EARLY: dict[str, tuple[Any, ...]] = {
    "user_defined": (None,),
    "empty": (lambda it: b"", "shorter than a header"),
    "another magic": (has(magic=b"GGML"), "does not begin with GGUF"),
    "a web page": (lambda it: b"<!doctype html>" + bytes(60), "does not begin with GGUF"),
    "version 1": (has(version=1), "of version 1"),
    "version 2^31, the other way round": (has(version=3 << 24), "it is big-endian"),
    "2^60 tensors": (has(counts=(HUGE, None)), "it lists 1,152,921,504,606,846,976 tensors"),
    "2^60 facts": (has(counts=(None, HUGE)), "1,152,921,504,606,846,976 facts"),
    "a tensor too many": (has(counts=(22, None)), "damaged"),
    "a fact too many": (has(counts=(None, 30)), "damaged"),
    "a fact too few": (has(counts=(None, 3)), "damaged"),
    "a name of 2^60 bytes": (
        has(facts={}, counts=(0, 1), tensors={}, more=[struct.pack("<Q", HUGE)]),
        "a string has 1,152,",
    ),
    "a text of 2^60 bytes": (facts({"a": struct.pack("<IQ", TEXT, HUGE)}), "a string has 1,152,"),
    "a text of 70,000 letters": (facts({"general.name": "x" * 70_000}), "a string has 70,000 bytes"),
    "a list of 2^60 items": (facts({"a": struct.pack("<IIQ", LIST, U32, HUGE)}), "a list has 1,152,"),
    "a list of lists": (facts({"a": struct.pack("<IIQ", LIST, LIST, 1)}), "a list is of the kind 9"),
    "a list of an unknown kind": (facts({"a": struct.pack("<IIQ", LIST, 77, 1)}), "a list is of the kind 77"),
    "a fact of an unknown kind": (facts({"a": struct.pack("<IQ", 99, 0)}), "a fact is of the kind 99"),
    "a fact twice": (has(twice="general.name"), "'general.name' occurs twice"),
    "a name that is no text": (facts({"a": struct.pack("<IQ", TEXT, 1) + b"\xff"}), "is no text"),
    "alignment 0": (facts({"general.alignment": 0}), "no power of two"),
    "alignment 33": (facts({"general.alignment": 33}), "no power of two"),
    "alignment 2^31": (facts({"general.alignment": 2**31}), "no power of two"),
    "alignment that is text": (facts({"general.alignment": "32"}), "no power of two"),
    "five axes": (tensor(TABLE, shape=(1, 1, 1, 30, 292)), "has 5 axes"),
    "no axes": (tensor(TABLE, shape=()), "has 0 axes"),
    "a size of nothing": (tensor(TABLE, shape=(0, 292)), "has the shape"),
    "a size of 2^63": (tensor(TABLE, shape=(2**63, 2)), "has the shape"),
    "more rows than words": (tensor(TABLE, shape=(30, 293)), "lm_head.weight", "(292, 30)", "(293, 30)"),
    "queries for no heads": (tensor(QUERY, shape=(30, 47)), "47 rows for 6 heads"),
    "an unknown kind of model": (facts({"general.architecture": "mamba"}), "the kind 'mamba'"),
    "no kind of model": (lambda it: it.facts.pop("general.architecture") and None, "the kind None"),
    "a kind of model that is a list": (facts({"general.architecture": ["llama"]}), "the kind ['llama']"),
    "no heads": (facts({"llama.attention.head_count": 0}), "llama.attention.head_count is 0"),
    "a list of heads": (
        facts({"llama.attention.head_count": [6, 6]}),
        "llama.attention.head_count is [6, 6]",
    ),
    "an eps that is NaN": (
        facts({"llama.attention.layer_norm_rms_epsilon": float("nan")}),
        "llama.attention.layer_norm_rms_epsilon is nan",
    ),
    "a base that is infinite": (facts({"llama.rope.freq_base": float("inf")}), "llama.rope.freq_base"),
    "a base that is NaN": (facts({"llama.rope.freq_base": float("nan")}), "llama.rope.freq_base"),
    "stretched positions": (facts({"llama.rope.scaling.type": "yarn"}), "kind 'yarn'"),
    "more answering heads than asking": (
        facts({"llama.attention.head_count_kv": 12}),
        "llama.attention.head_count_kv=12",
    ),
    "no context": (facts({"llama.context_length": 0}), "llama.context_length is 0"),
    "a tensor that no Llama has": (
        lambda it: it.tensors.update({"rope_freqs.weight": ((4,), 0, 0)}),
        "left over: rope_freqs.weight",
    ),
    "a path for a tensor": (
        lambda it: it.tensors.update({"../../etc/passwd": ((4,), 0, 0)}),
        "left over: ../../etc/passwd",
    ),
    "a missing tensor": (lambda it: it.tensors.pop(QUERY) and None, "Weights missing", "self_attn.q_proj"),
    "words of another tokenizer": (facts({"tokenizer.ggml.model": "t5"}), "of the kind 't5'"),
    "pieces without scores": (facts({"tokenizer.ggml.model": "llama"}), "not a score for each"),
    "scores that are texts": (
        lambda it: it.facts.update(
            {
                "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.scores": ["1"] * len(it.facts["tokenizer.ggml.tokens"]),
            }
        ),
        "their scores no numbers",
    ),
    "a factor of the positions that is not computed": (
        facts({"llama.rope.scale_linear": 4.0}),
        "llama.rope.scale_linear = 4.0",
    ),
    "a fact that nobody knows": (facts({"llama.attention.twist": 1.0}), "llama.attention.twist = 1.0"),
    "heads that are turned in part": (facts({"llama.rope.dimension_count": 2}), "a head has"),
    "a way to cut that is unknown": (facts({"tokenizer.ggml.pre": "deepseek"}), "'deepseek'"),
    "words that are numbers": (facts({"tokenizer.ggml.tokens": [1, 2, 3]}), "refuse"),
    "no words": (lambda it: it.facts.pop("tokenizer.ggml.tokens") and None, "no list of words"),
    "more words than rows": (
        lambda it: it.facts["tokenizer.ggml.tokens"].extend("1234567"),
        "up to id 294",
        "292 rows",
    ),
    "a word twice": (lambda it: it.facts["tokenizer.ggml.tokens"].__setitem__(5, "<s>"),),
    "a merge to a missing word": (lambda it: it.facts["tokenizer.ggml.merges"].append("qq zz"), "refuses it"),
    "a merge of three": (lambda it: it.facts["tokenizer.ggml.merges"].append("a b c"), "refuses it"),
    "fewer types than words": (facts({"tokenizer.ggml.token_type": [3]}),),
    "a first token outside": (
        facts({"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 10**6}),
    ),
    "a template of a chat": (facts({"tokenizer.chat_template": "{{ self.__init__.__globals__ }}"}),),
}
LATE: dict[str, tuple[Any, ...]] = {
    "a tenth of it": (cut(0.1), "cut off"),
    "two thirds of it": (cut(0.66), "are cut off"),
    "all but a byte": (cut(0.9999), "are cut off"),
    "a tensor beyond the end": (tensor(TABLE, at=2**40), "are cut off"),
    "a tensor at 2^63": (tensor(TABLE, at=2**63), "are cut off"),
    "numbers of an unknown kind": (tensor(TABLE, kind=250), "with the number 250"),
    "numbers of a kind that was taken away": (tensor(TABLE, kind=4), "with the number 4"),
    "whole numbers": (tensor(TABLE, kind=26), "stored as I32"),
    "blocks that do not divide": (tensor(TABLE, kind=8), "do not fit its shape"),
    "a tensor that is not where it says": (tensor(TABLE, at=7), "NaN or infinite"),
    "NaN": (lambda it: setattr(it, "data", b"\xff" * len(it.data)), "NaN or infinite"),
}

CASES = [
    *(Case(f"GGUF: {name}", packed(change), tuple(words)) for name, (change, *words) in EARLY.items()),
    *(
        Case(f"GGUF: {name}", packed(change), tuple(words), late=True)
        for name, (change, *words) in LATE.items()
    ),
]
