"""What a crafted folder is: how it is written, and the words of its refusal, or that it opens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from kind_shapes import tiny
from safetensors.torch import load, save

from core.checkpoints.foreign import formats
from core.models.gpt import GPT, GPTConfig
from core.text.learn import learn_byte_level_bpe

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
MARKS = [
    "<|endoftext|>",
    "<pad>",
    "<unk>",
    "<s>",
    "</s>",
    "<mask>",
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
]
LINES = ["the animal did not cross the street", "because it was too tired"] * 3
MB = 2**20
SPARE = 4
"""Rows of the table without a token."""

Values = dict[str, Any]
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Case:
    """One folder. `words` stand in what is said to be wrong with it; without any it is fine, and opens.

    `late`: refused only when its numbers are read. `then` is done to the folder between its judging and the reading of its weights.
    """

    name: str
    write: Callable[[Path], object]
    words: tuple[str, ...] = ()
    late: bool = False
    then: Callable[[Path], object] | None = None

    @property
    def kind(self) -> str:
        """The kind of model that it is made from."""
        return self.name.partition(":")[0].split()[-1]


SHAPE: dict[str, Any] = {"n_layers": 2, "n_heads": 3, "d_model": 33, "d_ff": 13, "n_vocab": 292, "n_ctx": 17}
"""Of the folder in our own format, whose kind is called own."""


@cache
def good(kind: str) -> Mapping[str, bytes]:
    """The three files of a tiny random model of a kind, which open."""
    if kind == "own":
        torch.manual_seed(0)
        state = GPT(GPTConfig(**SHAPE)).state_dict()
        values = {"family": "gpt", **SHAPE}
        return {**good("gpt2"), CONFIG: json.dumps(values).encode(), WEIGHTS: save(state)}
    form, config = formats()[kind], tiny(kind)
    files: dict[str, bytes] = {}
    if form.tokenizer is None:
        backend = learn_byte_level_bpe(LINES, 256 + len(MARKS) + 21, MARKS)
        files[TOKENIZER] = backend.to_str().encode()
        config = replace(config, n_vocab=backend.get_vocab_size() + SPARE)
    said = form.values(config) or formats()["bert"].values(config)  # an ELECTRA says what a BERT does
    values = {"model_type": kind, "tie_word_embeddings": True, **(said or {}), "eos_token_id": 0}
    draw = torch.Generator().manual_seed(0)
    tensors = {form.full(take.name): torch.randn(take.shape, generator=draw) for take in form.takes(config)}
    return {CONFIG: json.dumps(values).encode(), WEIGHTS: save(tensors), **files}


def folder(
    kind: str,
    *,
    config: Values | Callable[[Values], object] | bytes = b"",
    weights: Callable[[Tensors], Tensors | None] | bytes = b"",
    header: Callable[[Values], object] | None = None,
    tokenizer: Callable[[Values], object] | bytes = b"",
    without: tuple[str, ...] = (),
    files: Mapping[str, bytes] | None = None,
    after: Callable[[Path], object] | None = None,
) -> Callable[[Path], object]:
    """How a good folder of a kind is written with something changed in it: values, tensors, the list of tensors, whole files."""

    def write(place: Path) -> None:
        given = dict(good(kind))
        if config:
            given[CONFIG] = _json(given[CONFIG], config)
        if weights:
            given[WEIGHTS] = weights if isinstance(weights, bytes) else _tensors(given[WEIGHTS], weights)
        if header:
            given[WEIGHTS] = _header(given[WEIGHTS], header)
        if tokenizer:
            given[TOKENIZER] = _json(given[TOKENIZER], tokenizer)
        place.mkdir(parents=True, exist_ok=True)
        for name, data in {**given, **(files or {})}.items():
            if name not in without:
                (place / name).write_bytes(data)
        if after:
            after(place)

    return write


def _json(data: bytes, change: Values | Callable[[Values], object] | bytes) -> bytes:
    if isinstance(change, bytes):
        return change
    values = json.loads(data)
    told = values.update(change) if isinstance(change, dict) else change(values)
    return told if isinstance(told, bytes) else json.dumps(values).encode()


def _tensors(data: bytes, change: Callable[[Tensors], Tensors | None]) -> bytes:
    held = load(data)
    given = change(held)
    return save(given if isinstance(given, dict) else held)


def _header(data: bytes, change: Callable[[Values], object]) -> bytes:
    length = int.from_bytes(data[:8], "little")
    values = json.loads(data[8 : 8 + length])
    change(values)
    text = json.dumps(values).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + length :]
