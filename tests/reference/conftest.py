"""Folders of the rows of `kinds.py`, each written once."""

from __future__ import annotations

from functools import cache

import pytest
from kinds import CASES, Case


@pytest.fixture(scope="session")
def case_of(tmp_path_factory):
    """Return a function that gives the folder and the model of a row, with changes of its config."""
    from test_kinds_parity import saved

    @cache
    def write(name, **changes):
        case = CASES[name]
        folder = tmp_path_factory.mktemp("written") / "model"
        return folder, saved(Case(case.auto, case.config, {**case.values, **changes}, case.how), folder)

    return write
