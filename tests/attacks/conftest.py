from __future__ import annotations

from pathlib import Path

import cheap_pages
import pytest
from cheap_pages import _drawn_anew, _held_against_the_schema  # noqa: F401 - fixtures
from crafting import Refusal, good_folder
from tried_once import HONEST

from core.checkpoints import open_model, tokenizer

cheap_pages.begin()


@pytest.fixture(autouse=True)
def _each_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tokenizer has a child of its own here."""
    monkeypatch.setattr(tokenizer, "Trial", HONEST)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Refusal:
    return Refusal(monkeypatch, tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _good_one_opens(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folder that all the crafted ones are made from is fine (and everything is imported once)."""
    open_model(good_folder(tmp_path_factory.mktemp("good") / "model")).run("the street")
