"""Crafted tokenizer.json files: they may kill the child that tries them, never this process."""

from __future__ import annotations

import json

import pytest
from crafting import good_folder
from tokenizers import Regex, pre_tokenizers

from core.checkpoints import open_model
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.safety import tokenizer_sandbox
from core.checkpoints.tokenizer import try_in_child
from core.text.tokenizer import LONGEST

MB = 2**20


def crafted(tmp_path, change):
    """A good folder whose tokenizer.json went through `change`, which edits the object in place or returns bytes."""
    folder = good_folder(tmp_path / "model")
    path = folder / "tokenizer.json"
    held = json.loads(path.read_text())
    data = change(held)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(held).encode())
    return folder


def added(index, content, special=False):
    return {
        "id": index,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def replace(text, content):
    return {"type": "Replace", "pattern": {"String": text}, "content": content}


def sequence(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def part(name, value):
    return lambda held: held.update({name: value})


def in_model(**changes):
    return lambda held: held["model"].update(changes)


def more_ids(held):
    held["added_tokens"] += [added(277 + i, f"<extra{i}>") for i in range(5)]


BAD = {
    "more ids than rows": (more_ids, "282 entries", "277 rows"),
    "an id of a billion": (lambda held: held["model"]["vocab"].update({"ab": 10**9}), "1,000,000,000"),
    "an id of 2^40": (lambda held: held["model"]["vocab"].update({"ab": 2**40}), "refused"),
    "a negative id": (lambda held: held["model"]["vocab"].update({"ab": -1}), "whole number"),
    "an id that is text": (lambda held: held["model"]["vocab"].update({"ab": "7"}), "whole number"),
    "one id twice": (lambda held: held["model"]["vocab"].update({"zzz": 5}), "same id"),
    "an added id of a billion": (
        lambda held: held["added_tokens"].append(added(10**9, "<far>")),
        "1,000,000,000",
    ),
    "200,000 added tokens": (
        part("added_tokens", [added(300 + i, f"<{i}>") for i in range(20_000)]),
        "adds more",
    ),
    "an added token without a name": (
        lambda held: held["added_tokens"].append(added(276, "")),
        "without a name",
    ),
    "26 doublings": (part("normalizer", sequence(*[replace("a", "aa")] * 26)), "16 steps"),
    "40 nested doublings": (
        part("normalizer", sequence(*[sequence(*[replace("a", "aa")] * 10)] * 4)),
        "16 steps",
    ),
    "16 doublings": (part("normalizer", sequence(*[replace("a", "aa")] * 16)), "65,536 times longer"),
    "one replacement of a megabyte": (part("normalizer", replace("e", "e" * MB)), "times longer"),
    "a prefix of a megabyte": (part("normalizer", {"type": "Prepend", "prepend": "e" * MB}), "long text"),
    "a sequence 200 deep": (
        part("normalizer", json.loads('{"type":"Sequence","normalizers":[' * 200 + "]}" * 200)),
        "not understood",
    ),
    "an unknown normalizer": (
        part("normalizer", {"type": "Transliterate"}),
        "Transliterate",
    ),
    "a normalizer that is a list": (part("normalizer", [1]), "not understood"),
    "a backtracking regex": (
        part(
            "pre_tokenizer",
            {
                "type": "Split",
                "pattern": {"Regex": "(a|a)+$(?!a)x?\\d"},
                "behavior": "Isolated",
                "invert": False,
            },
        ),
        "refused",
    ),
    "another backtracking regex": (
        part(
            "pre_tokenizer",
            {"type": "Split", "pattern": {"Regex": "(a+)+$(?!a)x"}, "behavior": "Isolated", "invert": False},
        ),
        "refused",
    ),
    "a broken regex": (
        part(
            "pre_tokenizer",
            {"type": "Split", "pattern": {"Regex": "(("}, "behavior": "Isolated", "invert": False},
        ),
        "refused",
    ),
    "an unknown pre-tokenizer": (part("pre_tokenizer", {"type": "Shell", "command": "ls"}), "Shell"),
    "an unknown decoder": (part("decoder", {"type": "Exec"}), "Exec"),
    "a template with an unknown token": (
        part(
            "post_processor",
            {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "[X]", "type_id": 0}}],
                "pair": [],
                "special_tokens": {},
            },
        ),
        "refused",
    ),
    "an unknown model": (part("model", {"type": "Neural", "vocab": {"a": 0}}), "model"),
    "a model that is text": (part("model", "BPE"), "model"),
    "dropout": (in_model(dropout=0.5), "dropout"),
    "no vocabulary": (in_model(vocab={}), "vocabulary"),
    "a merge to a missing token": (in_model(merges=[["q", "z"]]), "refused"),
    "merges that are numbers": (in_model(merges=[[1, 2]]), "refused"),
    "not JSON": (lambda held: b"{", "JSON"),
    "not UTF-8": (lambda held: b'{"\xff": 1}', "JSON"),
    "a list": (lambda held: b"[]", "object"),
    "deep": (lambda held: b"[" * 300_000, "JSON"),
    "empty": (lambda held: b"", "JSON"),
    "33 MB": (lambda held: b" " * (33 * MB), "bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_crafted_tokenizer_is_refused(refused, tmp_path, case):
    change, *words = BAD[case]
    refused(crafted(tmp_path, change), "tokenizer", *words)


def padding(length):
    return {
        "strategy": {"Fixed": length},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("padding", padding(10**12)),
        ("padding", padding(5 * 10**7)),
        ("padding", "long"),
        ("truncation", {"max_length": 0, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
    ],
)
def test_padding_and_truncation_are_taken_off(tmp_path, name, value):
    model = open_model(crafted(tmp_path, part(name, value)))
    assert len(model.run("the street").tokens) == len(model.tokenizer.encode("the street").ids) > 1


def test_a_missing_tokenizer_is_named(refused, tmp_path):
    refused(good_folder(tmp_path / "model", tokenizer=False), "tokenizer.json is missing")


def test_a_vocabulary_without_merges_is_not_enough(refused, tmp_path):
    folder = good_folder(tmp_path / "model", tokenizer=False)
    (folder / "vocab.json").write_text('{"a": 0}')
    refused(folder, "tokenizer.json is missing")


@pytest.mark.parametrize("merges", ["a b c\n", "abc\n", "q z\n"])
def test_crafted_merges_are_refused(refused, tmp_path, merges):
    folder = good_folder(tmp_path / "model", tokenizer=False)
    (folder / "vocab.json").write_text('{"a": 0, "b": 1}')
    (folder / "merges.txt").write_text("#version: 0.2\n" + merges)
    refused(folder, "vocab.json")


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def split(regex):
    return part(
        "pre_tokenizer",
        {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ],
        },
    )


KILLERS = {
    "nested behind a letter": r"^(?=z)(a+)+$|\p{L}+",
    "a look-around that the trial never meets": r"(?<=q)(x+x+)+y|\p{L}+",
    "a look-ahead": r"(?=(z+)+$)z|\p{L}+",
    "a back reference": r"(z*)*\1q|\p{L}+",
    "one letter more than a known one": GPT2 + "|",
    "a toy's own with a group": r"(?:z+)+(?=:)|\S",
}


@pytest.mark.parametrize("case", KILLERS)
def test_a_regular_expression_of_its_own_is_refused(refused, tmp_path, case):
    refused(crafted(tmp_path, split(KILLERS[case])), "regular expression", "not among the known ones")


def test_it_is_refused_wherever_it_stands(refused, tmp_path):
    for number, (name, value) in enumerate(
        {
            "normalizer": {"type": "Replace", "pattern": {"Regex": "(z+)+y"}, "content": "z"},
            "decoder": {
                "type": "Sequence",
                "decoders": [{"type": "Replace", "pattern": {"Regex": "(z+)+y"}, "content": "z"}],
            },
        }.items()
    ):
        (tmp_path / str(number)).mkdir()
        refused(crafted(tmp_path / str(number), part(name, value)), f"its {name} has the regular expression")


@pytest.mark.parametrize(
    "name", ["gpt-mini", "bert-mini", "translator-en-es", "prompt-tiny", "induction-tiny", "vectors-mini"]
)
def test_our_own_are_among_the_known_ones(name):
    folder = shipped_folder() / name
    assert "tokenizer" in try_in_child([folder / "tokenizer.json"], "tokenizer.json")


@pytest.mark.parametrize(
    "given",
    [
        split(GPT2),
        part("normalizer", replace("``", '"')),
        part(
            "pre_tokenizer",
            {"type": "Split", "pattern": {"String": "(a+)+$"}, "behavior": "Isolated", "invert": False},
        ),
    ],
    ids=["GPT-2's own", "a literal in a normalizer", "a literal that looks like an expression"],
)
def test_known_ones_and_literals_are_read(tmp_path, given):
    assert open_model(crafted(tmp_path, given)).tokenizer.encode("the street").ids


def test_words_of_any_length_and_long_pieces_are_refused(refused, tmp_path):
    word = {
        "type": "WordPiece",
        "unk_token": "a",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 10**6,
        "vocab": {"a": 0},
    }
    for number, changes in enumerate(
        ({}, {"max_input_chars_per_word": 100, "continuing_subword_prefix": "#" * MB})
    ):
        (tmp_path / str(number)).mkdir()
        refused(crafted(tmp_path / str(number), part("model", word | changes)), "its model")


@pytest.mark.parametrize("regex", sorted(tokenizer_sandbox.REGEXES))
def test_every_known_expression_stands_every_run_of_letters(regex):
    """None of them meets the library's limit of steps, or leaves a letter out, whatever is repeated."""
    cut = pre_tokenizers.Split(Regex(regex), "isolated")
    for unit in ("a", " ", "1", "\n", " \n", "'s", "\u0301", "日", "!", " a", "a\u200d", "\u0000"):
        text = unit * (LONGEST // len(unit))
        assert "".join(piece for piece, _ in cut.pre_tokenize_str(text)) == text
