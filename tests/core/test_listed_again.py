"""A folder put into ATLAS_MODELS while the server runs is listed, one that is taken away is not, and the others go on."""

from __future__ import annotations

import shutil

import pytest
from foreign_folders import write

import core
from core.checkpoints import find
from core.errors import InputError
from core.serving.engine import Engine, RunRequest


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, str(tmp_path / "shelf"))
    (tmp_path / "shelf").mkdir()
    with Engine() as engine:
        engine._registry.glance = 0.0
        yield engine


def names(engine):
    return {entry.name for entry in engine.models() if entry.foreign and entry.ok}


def test_a_folder_comes_changes_and_goes(engine, tmp_path):
    shelf = tmp_path / "shelf"
    before = names(engine)
    write(tmp_path / "made")
    shutil.move(tmp_path / "made" / "tiny-llama", shelf / "new")
    assert names(engine) == before | {"new"}
    first = engine.run(RunRequest("new", "the street"), session="a")
    assert first.tokens and engine.open("new") is engine.open("new")
    (shelf / "publisher").mkdir()
    shutil.move(shelf / "new", shelf / "publisher" / "new")
    assert names(engine) == before | {"new"}
    with pytest.raises(InputError, match=r"holds folders of models.*publisher/new"):
        core.open_model(shelf)
    shutil.move(shelf / "publisher" / "new", tmp_path / "away")
    shutil.rmtree(shelf / "publisher")
    assert names(engine) == before
    with pytest.raises(InputError, match="There is no model 'new'"):
        engine.run(RunRequest("new", "the street"), session="a")
    assert engine.run(RunRequest("gpt-mini", "the street"), session="a").tokens
    (shelf / "new").mkdir()
    (shelf / "new" / "config.json").write_text("{}")
    assert names(engine) == before and "new" in {entry.name for entry in engine.models()}
    shutil.rmtree(shelf)
    assert names(engine) == before


def test_only_what_changed_is_judged_again(engine, tmp_path, monkeypatch):
    engine.models()
    judged = []
    look = find.ModelFolder.check
    monkeypatch.setattr(find.ModelFolder, "check", lambda place: judged.append(place.name) or look(place))
    write(tmp_path / "shelf")
    assert "tiny-llama" in names(engine) and judged == ["tiny-llama"]
