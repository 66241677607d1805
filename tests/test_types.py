"""The types of both packages, by a second checker; `pyrefly check` of `.ci/run` asks the same in a tenth of the time."""

from __future__ import annotations

import subprocess
import sys

import pytest
from app_server import ROOT


@pytest.mark.slow
def test_pyright_finds_no_error() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "pyright"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout[-4000:]
