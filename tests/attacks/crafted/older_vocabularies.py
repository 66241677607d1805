"""The older files of words, beside no tokenizer.json: BERT's vocab.txt, GPT-2's vocab.json and merges.txt."""

from __future__ import annotations

import json
from typing import Any

from crafted.case import MB, TOKENIZER, Case, folder
from crafted.vocabulary import WORDS

OLD_WORDS: dict[str, tuple[Any, ...]] = {
    "empty": (b"", "[UNK]"),
    "no [UNK]": ([word for word in WORDS if word != "[UNK]"], "vocab.txt is refused", "[UNK]"),
    "not UTF-8": ("\n".join(WORDS).encode() + b"\n\xff", "vocab.txt is refused", "UTF-8"),
    "more words than rows": ([*WORDS, *map(str, range(300))], "311 entries", "292 rows"),
    "a line far down": ("\n".join(WORDS).encode() + b"\n" * 5000 + b"far", "5,010"),
    "33 MB": (b"x" * (33 * MB), "vocab.txt has 34,603,008 bytes"),
    "no marks": ([word for word in WORDS if word != "[CLS]"], "no marks"),
    "a word twice": ([*WORDS[:7], "the", *WORDS[8:]],),
    "an empty line": ([*WORDS[:7], "", *WORDS[8:]],),
    "a word of 1 MB": ([*WORDS[:7], "x" * MB, *WORDS[8:]],),
    "words of markup": ([*WORDS, "<script>alert(1)</script>"],),
}
"""BERT's vocab.txt."""
RULES: dict[str, tuple[Any, ...]] = {
    "a switch that is text": ({"do_lower_case": "no"}, "tokenizer_config.json: do_lower_case is 'no'"),
    "a switch that is a number": ({"strip_accents": 1}, "tokenizer_config.json: strip_accents is 1"),
    "a switch that is a list": (
        {"tokenize_chinese_chars": [True]},
        "tokenizer_config.json: tokenize_chinese_chars",
    ),
    "not JSON": (b"{do_lower_case: true}", "tokenizer_config.json cannot be read"),
    "a list": (b"[]", "tokenizer_config.json holds no JSON object"),
    "a key twice": (b'{"do_lower_case": true, "do_lower_case": false}', "tokenizer_config.json", "twice"),
    "2 MB": (b'{"x": "' + b"y" * 2**21 + b'"}', "tokenizer_config.json", "2,097,"),
    "a template of a chat": ({"chat_template": "{{ ''.__class__.__mro__[1].__subclasses__() }}"},),
}
"""BERT's tokenizer_config.json beside a vocab.txt."""
PAIRS: dict[str, tuple[Any, ...]] = {
    "a line of three": (b'{"a": 0, "b": 1}', b"#version: 0.2\na b c\n", "not two pieces"),
    "a line of one": (b'{"a": 0, "b": 1}', b"#version: 0.2\nabc\n", "not two pieces"),
    "a merge to a missing token": (b'{"a": 0, "b": 1}', b"q z\n", "refuses it"),
    "words in a list": (b'["a"]', b"", "not a JSON object"),
    "no merges": (b'{"a": 0}', None, "tokenizer.json is missing"),
    "a line of 10 MB": (b'{"a": 0, "b": 1}', b"a" * (10 * MB), "not two pieces"),
}
"""GPT-2's vocab.json and merges.txt."""


def _lines(given: Any) -> bytes:
    return given if isinstance(given, bytes) else "\n".join(given).encode()


def _said(given: Any) -> bytes:
    return given if isinstance(given, bytes) else json.dumps(given).encode()


CASES = [
    *(
        Case(
            f"vocab.txt of bert: {name}",
            folder("bert", without=(TOKENIZER,), files={"vocab.txt": _lines(given)}),
            tuple(said),
        )
        for name, (given, *said) in OLD_WORDS.items()
    ),
    *(
        Case(
            f"rules of bert: {name}",
            folder(
                "bert",
                without=(TOKENIZER,),
                files={"vocab.txt": _lines(WORDS), "tokenizer_config.json": _said(given)},
            ),
            tuple(said),
        )
        for name, (given, *said) in RULES.items()
    ),
    *(
        Case(
            f"vocab.json of gpt2: {name}",
            folder(
                "gpt2",
                without=(TOKENIZER,),
                files={"vocab.json": vocab} | ({"merges.txt": merges} if merges is not None else {}),
            ),
            tuple(said),
        )
        for name, (vocab, merges, *said) in PAIRS.items()
    ),
]
