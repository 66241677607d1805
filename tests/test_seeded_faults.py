"""Faults that were seeded once are noticed by a test that runs with every push."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.seeded_faults import LIST, ROOT


def test_each_seeded_fault_has_the_test_that_notices_it_or_a_reason_why_none_can() -> None:
    rows = json.loads(LIST.read_text("utf-8"))
    assert len(rows) == 300
    assert all(("::" in row.get("noticed", "")) != bool(row.get("equivalent")) for row in rows)


@pytest.mark.slow
def test_no_seeded_fault_survives() -> None:
    command = [sys.executable, "-m", "tests.seeded_faults"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:]
