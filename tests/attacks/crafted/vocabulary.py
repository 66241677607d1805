"""How a tokenizer.json is changed: its ids, its steps, its model."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from crafted.case import Values

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "A", "sat", "."]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def added(index: int, content: str, special: bool = False, **more: bool) -> Values:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": index, "content": content, **flags, "special": special, **more}


def adding(*tokens: Values) -> Callable[[Values], object]:
    return lambda held: held["added_tokens"].extend(tokens)


def replace(text: str, content: str) -> Values:
    return {"type": "Replace", "pattern": {"String": text}, "content": content}


def sequence(*steps: Values) -> Values:
    return {"type": "Sequence", "normalizers": list(steps)}


def part(name: str, value: Any) -> Callable[[Values], object]:
    return lambda held: held.update({name: value})


def in_model(**changes: Any) -> Callable[[Values], object]:
    return lambda held: held["model"].update(changes)


def in_vocab(**changes: Any) -> Callable[[Values], object]:
    return lambda held: held["model"]["vocab"].update(changes)


def cut(regex: str, then: Values = BYTES) -> Callable[[Values], object]:
    """Texts cut by a regular expression, then into bytes."""
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return part("pre_tokenizer", {"type": "Sequence", "pretokenizers": [split, then]})


def template(
    *single: Values, special: Values | None = None, pair: list[Values] | None = None
) -> Callable[[Values], object]:
    known = {"type": "TemplateProcessing", "pair": pair or [], "special_tokens": special or {}}
    return part("post_processor", {**known, "single": list(single)})


A, START = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 0}}
MARK = {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}


def padding(length: int) -> Values:
    sides = {"direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
    return {"strategy": {"Fixed": length}, **sides, "pad_token": "<|endoftext|>"}


def truncation(most: int, stride: int = 0) -> Values:
    return {"max_length": most, "strategy": "LongestFirst", "stride": stride, "direction": "Right"}


def unigram(vocab: list[Any], **more: Any) -> Callable[[Values], object]:
    """In the place of the model one of SentencePiece's kind."""

    def change(held: Values) -> None:
        held.update(model={"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False, **more})
        held.update(
            pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        )

    return change


PIECES = [[word, -1.0] for word in ("<unk>", "<s>", "</s>", "▁the", "▁", "a", "s")]


def table(data: bytes) -> Values:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


def words(**more: Any) -> Callable[[Values], object]:
    return part(
        "model",
        {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {w: i for i, w in enumerate(WORDS)},
            **more,
        },
    )


def without_marks(held: Values) -> None:
    held.update(added_tokens=[])
    unigram([["▁a", -1.0], ["▁", -2.0]])(held)
