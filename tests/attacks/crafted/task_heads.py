"""Models of the shapes that people bring: heads of tasks, no output, narrow heads, vocabularies that drop letters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from kind_shapes import tiny

from crafted.case import Case, Tensors, folder
from crafted.tensors import without


def tuned(kind: str, name: str, out: str, n: int, **config: Any) -> Callable[[Path], object]:
    """Return how a folder is written whose class has a head of `n` rows."""

    def headed(held: Tensors) -> Tensors:
        return {**held, f"{out}.weight": torch.ones(n, tiny(kind).d_model), f"{out}.bias": torch.ones(n)}

    return folder(kind, config={"architectures": [name], **config}, weights=headed)


LETTERS = {
    "version": "1.0",
    "added_tokens": [],
    "model": {"type": "BPE", "vocab": {"t": 1, "tt": 0}, "merges": [["t", "t"]]},
}
"""One letter and its double, no token for a space, and none for anything unknown."""
SHAPES: dict[str, tuple[Any, ...]] = {
    "bert: a classifier of no class": (
        tuned("bert", "BertForSequenceClassification", "classifier", 0),
        "'classifier' has 0 rows",
    ),
    "bert: 70,000 tags": (tuned("bert", "BertForTokenClassification", "classifier", 70_000), "70,000 rows"),
    "bert: tags of markup": (
        tuned("bert", "BertForTokenClassification", "classifier", 2, id2label={"0": "<b>", "1": "<script>"}),
    ),
    "bert: an answer with three ends": (tuned("bert", "BertForQuestionAnswering", "qa_outputs", 3),),
    "bert: a class for words without its head": (
        folder("bert", config={"architectures": ["BertForMaskedLM"]}, weights=without("cls.")),
    ),
    "bert: a mask of another name": (
        folder("bert", tokenizer=lambda held: json.dumps(held).replace("[MASK]", "<img src=x>").encode()),
    ),
    "gpt2: a head for each feature": (folder("gpt2", config={"n_head": tiny("gpt2").d_model}),),
    "gpt2: one letter": (folder("gpt2", tokenizer=json.dumps(LETTERS).encode()),),
    "t5: an end that begins": (folder("t5", config={"decoder_start_token_id": 0, "eos_token_id": 0}),),
}

CASES = [Case(name, write, tuple(words)) for name, (write, *words) in SHAPES.items()]
