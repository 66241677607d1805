"""Each ticked line of checklist.md names tests that exist and are not skipped."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINE = re.compile(r"- \[(?P<tick>[ x])\] (?P<code>C\d{3}) (?P<text>.+?)(?: \| (?P<tests>tests/.+))?$")
LINES = [
    LINE.match(line)
    for line in (ROOT / "tests" / "checklist.md").read_text("utf-8").splitlines()
    if line.startswith("- [")
]
TICKED = [line for line in LINES if line and line["tick"] == "x"]


@functools.cache
def catalogue(file: str) -> dict[str, set[str]]:
    """The tests of a file by name (`Class::test` inside classes), each with its decorators and the file's marks."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    everywhere = {
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(ast.unparse(target) == "pytestmark" for target in node.targets)
    }
    found: dict[str, set[str]] = {}
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for item in inside:
            if isinstance(item, ast.FunctionDef) and item.name.startswith("test"):
                name = f"{node.name}::{item.name}" if isinstance(node, ast.ClassDef) else item.name
                found[name] = everywhere | {ast.unparse(mark) for mark in item.decorator_list}
    return found


def problem(test: str) -> str | None:
    """What is wrong with a test id (a parametrised one may end with [...]), or None."""
    file, _, name = test.partition("::")
    name, _, case = name.partition("[")
    if not (ROOT / file).is_file():
        return f"no file {file}"
    marks = catalogue(file).get(name)
    if marks is None:
        return f"no test {name} in {file}"
    if case and not any("parametrize" in mark for mark in marks):
        return f"{name} has no cases"
    if any(re.search(r"mark\.(skip|xfail)\b", mark) for mark in marks):
        return f"{name} is skipped"
    return None


def test_all_118_lines_are_there_in_order() -> None:
    assert [line["code"] if line else None for line in LINES] == [f"C{number:03}" for number in range(1, 119)]


def test_a_line_names_tests_exactly_when_it_is_ticked() -> None:
    assert [line["code"] for line in LINES if line and (line["tick"] == "x") != bool(line["tests"])] == []


@pytest.mark.parametrize("line", TICKED, ids=lambda line: line["code"])
def test_a_ticked_line_is_proved(line: re.Match[str]) -> None:
    assert [found for test in re.split(r",\s*(?=tests/)", line["tests"]) if (found := problem(test))] == []


def test_the_check_itself_finds_faults() -> None:
    here = "tests/test_checklist.py"
    assert problem(f"{here}::test_all_118_lines_are_there_in_order") is None
    assert problem("tests/nowhere.py::test_x") == "no file tests/nowhere.py"
    assert problem(f"{here}::test_x") == f"no test test_x in {here}"
    assert problem(f"{here}::test_all_118_lines_are_there_in_order[a]") == (
        "test_all_118_lines_are_there_in_order has no cases"
    )
