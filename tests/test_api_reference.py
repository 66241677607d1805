"""The API reference of both packages is written: pdoc warns of nothing, and every public function and class has a docstring."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_reference import check_docstrings, write_reference


def test_every_public_function_and_class_has_a_docstring() -> None:
    pytest.importorskip("pdoc")
    check_docstrings()


@pytest.mark.slow
def test_the_reference_is_written_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    write_reference(tmp_path)
    assert (tmp_path / "core" / "analysis.html").stat().st_size > 10_000
