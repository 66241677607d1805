"""Faults that were seeded once are noticed by a test that runs with every push."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys

import pytest

from tests.seeded_faults import LIST, ROOT, changeable, functions, line_of, lines


def test_each_seeded_fault_has_the_test_that_notices_it_or_a_reason_why_none_can() -> None:
    rows = json.loads(LIST.read_text("utf-8"))
    assert len(rows) == 300
    assert all(("::" in row.get("noticed", "")) != bool(row.get("equivalent")) for row in rows)


def test_each_seeded_fault_has_its_line_and_its_test() -> None:
    rows = json.loads(LIST.read_text("utf-8"))
    trees = {
        path: dict(functions(ast.parse("\n".join(lines(path))))) for path in {row["path"] for row in rows}
    }

    def places(path: str, function: str, line: str) -> int:
        there = trees[path].get(function)
        return sum(line_of(path, node) == line for node in changeable(there)) if there else 0

    lost = [row for row in rows if row["nth"] >= places(row["path"], row["function"], row["line"])]
    assert lost == [], "a line was rewritten: put it right in seeded_faults.json"
    tests = {row["noticed"].partition("[")[0] for row in rows if "noticed" in row}
    assert [test for test in tests if not is_there(*test.split("::", 1))] == []


def is_there(file: str, name: str) -> bool:
    """Return whether a test of a file, or the function whose docstring is one, is still in it."""
    return (ROOT / file).is_file() and re.split(r"::|\.", name)[-1] in (ROOT / file).read_text("utf-8")


@pytest.mark.slow
def test_no_seeded_fault_survives() -> None:
    command = [sys.executable, "-m", "tests.seeded_faults"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:]
