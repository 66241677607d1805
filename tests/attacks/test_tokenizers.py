"""What a tokenizer may be that is no attack: known expressions, literals, padding that is taken off, the older files of words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crafted.case import TOKENIZER, Values, folder
from crafted.vocabulary import GPT2, WORDS, cut, padding, part, replace, truncation
from tokenizers import Regex, pre_tokenizers

from core.checkpoints import open_model
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.safety import tokenizer_sandbox
from core.checkpoints.tokenizer import try_in_child
from core.text.tokenizer import LONGEST


def opened(place: Path, **changes: Any) -> Any:
    folder(**changes)(place)
    return open_model(place)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "change",
    [
        part("padding", padding(10**12)),
        part("padding", padding(5 * 10**7)),
        part("padding", "long"),
        part("truncation", truncation(0)),
    ],
)
def test_padding_and_truncation_are_taken_off(tmp_path: Path, change: Callable[[Values], object]) -> None:
    model = opened(tmp_path / "model", kind="gpt2", tokenizer=change)
    assert len(model.run("the street").tokens) == len(model.tokenizer.encode("the street").ids) > 1


LITERAL = {"type": "Split", "pattern": {"String": "(a+)+$"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    "change",
    [cut(GPT2), part("normalizer", replace("``", '"')), part("pre_tokenizer", LITERAL)],
    ids=["GPT-2's own", "a literal in a normalizer", "a literal that looks like an expression"],
)
def test_known_ones_and_literals_are_read(tmp_path: Path, change: Callable[[Values], object]) -> None:
    assert opened(tmp_path / "model", kind="gpt2", tokenizer=change).tokenizer.encode("the street").ids


def test_a_file_of_words_cuts_as_bert_does(tmp_path: Path) -> None:
    files = {"vocab.txt": "\n".join(WORDS).encode()}
    model = opened(tmp_path / "model", kind="bert", without=(TOKENIZER,), files=files)
    assert model.run("The cats [MASK].").tokens == ("[CLS]", "the", "cat", "##s", "[MASK]", ".", "[SEP]")


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "name", ["gpt-mini", "bert-mini", "translator-en-es", "prompt-tiny", "induction-tiny", "vectors-mini"]
)
def test_our_own_are_among_the_known_ones(name: str) -> None:
    assert "tokenizer" in try_in_child([shipped_folder() / name / TOKENIZER], TOKENIZER)


@pytest.mark.quick(5)
@pytest.mark.parametrize("regex", sorted(tokenizer_sandbox.REGEXES))
def test_every_known_expression_stands_every_run_of_letters(regex: str) -> None:
    """None of them meets the library's limit of steps, or leaves a letter out, whatever is repeated."""
    cutting = pre_tokenizers.Split(Regex(regex), "isolated")
    for unit in ("a", " ", "1", "\n", " \n", "'s", "\u0301", "日", "!", " a", "a\u200d", "\u0000"):
        text = unit * (LONGEST // len(unit))
        assert "".join(piece for piece, _ in cutting.pre_tokenize_str(text)) == text
