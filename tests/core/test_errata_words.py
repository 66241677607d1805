"""No number in the sentences of the errata is typed, and none of them claims what is false of some model."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from viz.course import errata
from viz.course.errata import ERRATA, Erratum, find

HOME = Path(errata.__file__).parent


NAMES = re.compile(r"GPT-[123]|Fig\. 10|s_\{t−1\}|1/√p")

TYPED = re.compile(
    r"\d|\b(three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million)\b"
)


def _sentences(tree: ast.AST) -> list[tuple[int, str]]:
    """The written parts of every sentence: what is assigned to `sentence` or `told`, or given as the second argument of Evidence."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in ("sentence", "told") for t in node.targets
        ):
            found.append(node.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Evidence" and len(node.args) > 1:
            found.append(node.args[1])
    words = [
        word
        for each in found
        for call in ast.walk(each)
        if isinstance(call, ast.Call)
        for word in call.keywords
    ]
    filled_in = [value for each in found for value in ast.walk(each) if isinstance(value, ast.FormattedValue)]
    filled_in += [word.value for word in words if not isinstance(word.value, ast.Constant)]
    inside = {id(part) for value in filled_in for part in ast.walk(value)}
    return [
        (part.lineno, str(part.value))
        for each in found
        for part in ast.walk(each)
        if isinstance(part, ast.Constant)
        and id(part) not in inside
        and (isinstance(part.value, str) or part in [word.value for word in words])
    ]


def is_typed(text: str) -> bool:
    """Return whether a sentence has a number of its own, beside the fields that are filled in and names."""
    named = NAMES.sub("", text.replace("{{", "{").replace("}}", "}"))
    return bool(TYPED.search(re.sub(r"\{[^}]*\}", "", named)))


@pytest.mark.parametrize("path", sorted(HOME.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_no_number_in_a_sentence_is_typed(path: Path):
    """C112."""
    typed = [(line, text) for line, text in _sentences(ast.parse(path.read_text("utf-8"))) if is_typed(text)]
    assert not typed


def test_the_search_finds_typed_numbers():
    tree = ast.parse(
        'sentence = f"about 5.64 of {x:.2f}"\nEvidence({}, "in four rows")\n'
        'Evidence({}, _("{n} of {all:,.2f}", n=7, all=x))\nEvidence({}, _("{n:.3f} of GPT-2", n=x))'
    )
    assert [text for _, text in _sentences(tree) if is_typed(text)] == ["about 5.64 of ", "in four rows", "7"]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.id)
def test_what_we_say_ourselves_has_no_figures(entry: Erratum):
    """A document's figures are quoted in `says`, or between quotation marks; ours are computed."""
    for text in (entry.title, entry.right, entry.note):
        ours = re.sub(r"“[^”]*”|\b(19|20)\d\d\b", "", text)
        assert not re.search(r"\d\.\d|\d,\d{3}|\d{3}", ours), ours
