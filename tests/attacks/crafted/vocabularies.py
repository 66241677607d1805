"""tokenizer.json files, and the older files of words, that hang, panic, grow, abort or run away: at loading, or with a text."""

from __future__ import annotations

import json
from typing import Any

from crafted.case import MB, TOKENIZER, Case, folder
from crafted.vocabulary import (
    GPT2,
    MARK,
    PIECES,
    START,
    A,
    added,
    adding,
    cut,
    in_model,
    in_vocab,
    padding,
    part,
    replace,
    sequence,
    table,
    template,
    truncation,
    unigram,
    without_marks,
    words,
)

Lies = dict[str, tuple[Any, ...]]
LIES: dict[str, Lies] = {
    "ids": {
        "more than rows": (
            adding(*(added(288 + i, f"<extra{i}>") for i in range(7))),
            "295 entries",
            "292 rows",
        ),
        "a billion": (in_vocab(ab=10**9), "1,000,000,000"),
        "2^40": (in_vocab(ab=2**40), "refuses it"),
        "below zero": (in_vocab(ab=-1), "not a whole number"),
        "text": (in_vocab(ab="7"), "not a whole number"),
        "true": (in_vocab(ab=True), "not a whole number"),
        "a fraction": (in_vocab(ab=7.0), "not a whole number"),
        "twice": (in_vocab(zzz=25), "the same id"),
        "an added one of a billion": (adding(added(10**9, "<far>")), "1,000,000,000"),
        "an added one below zero": (adding(added(-1, "<before>")), "refuse"),
        "an added one that is text": (adding(added("9", "<nine>")), "refuse"),  # type: ignore[arg-type]
        "none": (in_model(vocab={}), "no vocabulary"),
        "a vocabulary that is text": (in_model(vocab="abc"), "no vocabulary"),
        "a vocabulary that is nested": (in_model(vocab={"a": {"b": 1}}), "not a whole number"),
    },
    "added tokens": {
        "20,000": (
            part("added_tokens", [added(300 + i, f"<{i}>") for i in range(20_000)]),
            "adds more than 10,000",
        ),
        "without a name": (adding(added(287, "")), "without a name"),
        "that are no list": (part("added_tokens", {"<s>": 3}), "adds more than"),
        "that are names": (part("added_tokens", ["<s>"]), "without a name"),
        "of markup": (adding(added(287, "<img src=x onerror=alert(1)>", special=True)),),
        "of one letter": (adding(added(287, "e", special=True)),),
        "of blanks, stripping both sides": (adding(added(287, " ", lstrip=True, rstrip=True)),),
        "of a megabyte": (adding(added(287, "z" * MB)),),
    },
    "normalizer": {
        "26 doublings": (sequence(*[replace("a", "aa")] * 26), "more than 16 steps"),
        "40 nested doublings": (sequence(*[sequence(*[replace("a", "aa")] * 10)] * 4), "more than 16 steps"),
        "16 doublings": (sequence(*[replace("a", "aa")] * 16), "65,536 times longer"),
        "one replacement of a megabyte": (replace("e", "e" * MB), "times longer"),
        "nothing replaced by something": (replace("", "eeeeeeeeeeeeeeee"), "times longer"),
        "a prefix of a megabyte": ({"type": "Prepend", "prepend": "e" * MB}, "long text"),
        "a prefix that is a list": ({"type": "Prepend", "prepend": ["e"]}, "refuses it"),
        "a sequence 200 deep": (
            json.loads('{"type":"Sequence","normalizers":[' * 200 + "]}" * 200),
            "not understood",
        ),
        "unknown": ({"type": "Transliterate"}, "'Transliterate' is not among"),
        "of markup": ({"type": "<script>alert(1)</script>"}, "'<script>"),
        "a list": ([1], "not understood"),
        "a number": (7, "not understood"),
        "a type that is a list": ({"type": ["NFC"]}, "is not among"),
        "an expression at every letter": (
            {"type": "Replace", "pattern": {"Regex": "(z+)+y"}, "content": "z"},
            "normalizer has the regular expression",
        ),
        "text decomposed 16 times": (sequence(*[{"type": "NFKD"}, {"type": "NFKC"}] * 8),),
        "a table of letters that is cut off": (table(bytes(900)), "table of letters"),
        "a table of letters out of itself": (
            table((1024).to_bytes(4, "little") + b"\xff\xff\xff\x7f" * 256),
            "table of letters",
        ),
        "a table of letters that is a list": (
            {"type": "Precompiled", "precompiled_charsmap": [1]},
            "table of letters",
        ),
    },
    "pre-tokenizer": {
        "a choice of the same": (cut("(a|a)+$(?!a)x?\\d"), "regular expression"),
        "nested repetition": (cut("(a+)+$(?!a)x"), "regular expression"),
        "nested behind a letter": (cut(r"^(?=z)(a+)+$|\p{L}+"), "regular expression"),
        "a look-behind that no trial meets": (cut(r"(?<=q)(x+x+)+y|\p{L}+"), "regular expression"),
        "a look-ahead": (cut(r"(?=(z+)+$)z|\p{L}+"), "regular expression"),
        "a back reference": (cut(r"(z*)*\1q|\p{L}+"), "regular expression"),
        "one letter more than a known one": (cut(GPT2 + "|"), "regular expression"),
        "a toy's own with a group": (cut(r"(?:z+)+(?=:)|\S"), "regular expression"),
        "broken": (cut("(("), "regular expression"),
        "nothing": (cut(""), "regular expression"),
        "a megabyte of it": (cut("a?" * 500_000), "regular expression"),
        "an expression that is a list": (cut(["a"]), "regular expression"),  # type: ignore[arg-type]
        "unknown": ({"type": "Shell", "command": "ls"}, "'Shell' is not among"),
        "pieces of no length": ({"type": "FixedLength", "length": 0}, "'FixedLength' is not among"),
        "cut at two letters": ({"type": "CharDelimiterSplit", "delimiter": "ab"}, "refuses it"),
        "cut in an unknown way": ({"type": "Punctuation", "behavior": "Explode"}, "refuses it"),
        "a blank of two letters": (
            {"type": "Metaspace", "replacement": "__", "prepend_scheme": "always"},
            "refuses it",
        ),
        "17 steps": (
            {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}] * 17},
            "more than 16 steps",
        ),
        "no steps": ({"type": "Sequence", "pretokenizers": []},),
        "the known expression": (cut(GPT2),),
    },
    "decoder": {
        "unknown": ({"type": "Exec"}, "'Exec' is not among"),
        "an expression of its own": (
            {
                "type": "Sequence",
                "decoders": [{"type": "Replace", "pattern": {"Regex": "(z+)+y"}, "content": "z"}],
            },
            "decoder has the regular expression",
        ),
        "a thousand times longer": (replace("e", "e" * 1000), "times longer"),
        "more stripped than there is": (
            {"type": "Strip", "content": "e", "start": 2**40, "stop": 2**40},
            "refuses it",
        ),
        "three stripped of each": ({"type": "Strip", "content": "e", "start": 3, "stop": 3}, "refuses it"),
        "one stripped of each": ({"type": "Strip", "content": "\u0120", "start": 1, "stop": 0},),
        "stripped below zero": ({"type": "Strip", "content": "e", "start": -1, "stop": 0}, "refuses it"),
        "a strip of two letters": ({"type": "Strip", "content": "ee", "start": 1, "stop": 0}, "refuses it"),
    },
    "template": {
        "a token that is absent": (template({"SpecialToken": {"id": "[X]", "type_id": 0}}), "refuses it"),
        "a type of 2^40": (
            template(START, {"Sequence": {"id": "A", "type_id": 2**40}}, special=MARK),
            "refuses it",
        ),
        "a text C": (template(START, {"Sequence": {"id": "C", "type_id": 0}}, special=MARK), "refuses it"),
        "an id outside the table": (
            template(START, A, special={"<s>": {"id": "<s>", "ids": [10**6], "tokens": ["<s>"]}}),
            "1,000,000",
        ),
        "ids without tokens": (
            template(START, A, special={"<s>": {"id": "<s>", "ids": [3, 3], "tokens": []}}),
        ),
        "10,000 marks": (template(*[START] * 10_000, A, special=MARK), "far more marks"),
        "unknown": (
            part("post_processor", {"type": "Jinja", "template": "{{ config }}"}),
            "'Jinja' is not among",
        ),
        "BERT's with marks that are elsewhere": (
            part(
                "post_processor", {"type": "BertProcessing", "sep": ["[SEP]", 10**6], "cls": ["[CLS]", 10**6]}
            ),
            "1,000,000",
        ),
    },
    "model": {
        "unknown": (part("model", {"type": "Neural", "vocab": {"a": 0}}), "its model is not among"),
        "text": (part("model", "BPE"), "its model is not among"),
        "nothing": (part("model", None), "its model is not among"),
        "a type that is a list": (in_model(type=["BPE"]), "its model is not among"),
        "dropout": (in_model(dropout=0.5), "dropout"),
        "a merge to a missing token": (in_model(merges=[["q", "z"]]), "refuses it"),
        "a merge longer than any word": (
            lambda held: held["model"]["merges"].insert(0, ["a" * 999, "b"]),
            "refuses it",
        ),
        "merges that are numbers": (in_model(merges=[[1, 2]]), "refuses it"),
        "merges of three": (in_model(merges=[["a", "b", "c"]]), "refuses it"),
        "merges that are text": (in_model(merges="a b"), "refuses it"),
        "a merge twice": (lambda held: held["model"]["merges"].append(held["model"]["merges"][0]),),
        "a suffix of a megabyte": (in_model(end_of_word_suffix="x" * MB), "long text at every piece"),
        "an unknown sign that is not there": (in_model(unk_token="<nowhere>"),),
        "words of any length": (words(max_input_chars_per_word=10**6), "more than 1,000 letters"),
        "words of a fraction of a letter": (words(max_input_chars_per_word=0.5), "more than 1,000 letters"),
        "a prefix of a megabyte": (words(continuing_subword_prefix="#" * MB), "long text at every piece"),
        "an unknown sign that is a list": (words(unk_token=["[UNK]"]), "refuses it"),
        "words without an unknown sign": (
            part("model", {"type": "WordLevel", "vocab": {"the": 0}, "unk_token": "?"}),
            "refuses it",
        ),
        "pieces without scores": (unigram([["the"]]), "not understood"),
        "pieces that are numbers": (unigram([[1, 2]]), "not understood"),
        "a piece of 1,001 letters": (unigram([*PIECES, ["a" * 1001, -1.0]]), "more than 1,000 letters"),
        "a score of text": (unigram([*PIECES, ["b", "-1"]]), "refuses it"),
        "an unknown piece that is not there": (unigram(PIECES, unk_id=99), "refuses it"),
        "no unknown piece": (unigram(PIECES, unk_id=None), "refuses it"),
        "no pieces": (unigram([]), "no vocabulary"),
    },
    "file": {
        "not JSON": (lambda held: b"{", "not readable JSON"),
        "not UTF-8": (lambda held: b'{"\xff": 1}', "not readable JSON"),
        "a list": (lambda held: b"[]", "not a JSON object"),
        "300,000 lists deep": (lambda held: b"[" * 300_000, "not readable JSON"),
        "empty": (lambda held: b"", "not readable JSON"),
        "33 MB": (lambda held: b" " * (33 * MB), "34,603,008 bytes"),
        "a pickle": (lambda held: b"\x80\x04.", "not readable JSON"),
        "of another version": (part("version", "99.0"), "refuses it"),
        "a model alone": (lambda held: [held.pop(name) for name in list(held) if name != "model"] and None,),
    },
    "padding": {
        "to 10^12": (part("padding", padding(10**12)),),
        "to 5 * 10^7": (part("padding", padding(5 * 10**7)),),
        "in words": (part("padding", "long"),),
        "cut to nothing": (part("truncation", truncation(0)),),
        "cut to 2^60": (part("truncation", truncation(2**60)),),
        "a stride wider than the cut": (part("truncation", truncation(4, 9)),),
    },
}
"""Each in the tokenizer.json of a model that needs no marks: what is done to it, or what its part of that name is."""

KINDS = ("llama", "gpt2", "gpt_neox", "qwen3", "gemma", "mistral", "gpt_neo", "gemma2", "qwen2", "openai-gpt")

CASES = [
    *(
        Case(
            f"{where} of {kind}: {name}",
            folder(kind, tokenizer=change if callable(change) else part(where.replace("-", "_"), change)),
            tuple(said),
            late=name
            == "10,000 marks",  # of a file that no pipe holds more is heard when its weights are read
        )
        for where, lies in LIES.items()
        for kind, (name, (change, *said)) in zip(KINDS * 9, lies.items(), strict=False)
    ),
    Case("roberta: a tokenizer without its marks", folder("roberta", tokenizer=without_marks), ("no marks",)),
    Case("t5: a tokenizer without its marks", folder("t5", tokenizer=without_marks)),
    Case("llama: no tokenizer", folder("llama", without=(TOKENIZER,)), ("tokenizer.json is missing",)),
    Case(
        "marian: only its pieces",
        folder("marian", without=(TOKENIZER,), files={"source.spm": b"\n", "target.spm": b"\n"}),
        ("tokenizer.json is missing",),
    ),
]
