"""The shapes in the signatures of core are true: jaxtyping checks them while tests and doctests run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCTESTS = ("core/layers", "core/analysis", "core/run", "core/models")
TESTS = (
    *("attention", "block_sparse", "layers", "seq2seq", "snail"),
    *("families", "head_survey", "ablation", "attribution", "ripple", "head_similarity", "head_measures"),
)


@pytest.mark.slow
def test_shapes_in_signatures_are_true_and_every_layer_was_called() -> None:
    files = (*DOCTESTS, *(f"tests/core/test_{name}.py" for name in TESTS))
    command = [sys.executable, "-m", "tests.shapes", "--doctest-modules", *files]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0 and "NEVER CALLED: \n" in result.stdout, (
        result.stdout[-4000:] + result.stderr
    )
