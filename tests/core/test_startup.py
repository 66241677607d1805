"""What a start of the app must not pay for."""

import sys

import torch
from opened_once import COMPILERS, IMPORTED_BY_CORE

from core.checkpoints import find


def test_listing_the_shipped_models_does_not_import_a_compiler(monkeypatch) -> None:
    assert IMPORTED_BY_CORE == []
    for name in COMPILERS:
        monkeypatch.setitem(sys.modules, name, None)  # whoever imports it now fails
        monkeypatch.delitem(vars(torch), name.rpartition(".")[2], raising=False)
    monkeypatch.setattr(find, "_CHECKED", {})
    assert all(model.ok for model in find.listing())
