"""Folders of a visitor beside the shipped models: what is listed, under which names, and what the engine serves."""

from __future__ import annotations

import json

import pytest
from test_store import CARD, damage, parts
from test_store import models as models  # the fixture
from test_store import tokenizer as tokenizer  # the fixture

from core.checkpoints import listing, open_model, store
from core.errors import InputError
from core.training.recipe import recipes


@pytest.fixture
def shelf(tmp_path, tokenizer):
    """A folder of model folders, beside things that are none."""
    shelf = tmp_path / "shelf"
    for name in ("alpha", "one"):
        store.save_model(shelf / name, tokenizer=tokenizer, **parts()[1])
    (shelf / "notes").mkdir()
    (shelf / "README.md").write_text("not a model")
    return shelf


def test_local_folders_are_listed_under_names_of_their_own(models, shelf, tmp_path, monkeypatch):
    single = store.save_model(
        tmp_path / "other" / "alpha", tokenizer=models / "two" / "tokenizer.json", **parts("transformer")[1]
    )
    monkeypatch.setenv("ATLAS_MODELS", f"{shelf}:{single}:")
    found = {entry.name: entry for entry in listing()}
    assert list(found) == ["one", "two", "alpha", "one-2", "alpha-2"]
    assert all(entry.ok for entry in found.values())
    assert (found["one-2"].folder, found["alpha-2"].family) == (shelf / "one", "transformer")
    assert open_model("alpha-2").family == "transformer"
    assert open_model("one-2").name == "one-2"
    assert open_model("one").card == CARD


def test_local_folders_that_are_broken_are_listed_with_the_reason(models, shelf, tmp_path, monkeypatch):
    damage(shelf / "alpha", "cut off")
    held = json.loads((shelf / "one" / "config.json").read_text())
    (shelf / "one" / "config.json").write_text(json.dumps(held | {"n_heads": 0}))
    monkeypatch.setenv("ATLAS_MODELS", f"{shelf}:{tmp_path / 'nowhere'}")
    found = {entry.name: entry for entry in listing()}
    assert {name: entry.ok for name, entry in found.items()} == {
        "one": True,
        "two": True,
        "alpha": False,
        "one-2": False,
        "nowhere": False,
    }
    assert "model.safetensors is damaged: it is cut off" in found["alpha"].problem
    assert "n_heads is 0" in found["one-2"].problem
    assert "no folder 'nowhere'" in found["nowhere"].problem
    assert not any(str(tmp_path) in entry.problem for entry in found.values())
    with pytest.raises(InputError, match="n_heads is 0"):
        open_model("one-2")


def test_a_hub_snapshot_is_named_after_its_model(models, tmp_path, tokenizer, monkeypatch):
    snapshot = tmp_path / "models--owner--name" / "snapshots" / "0123"
    store.save_model(snapshot, tokenizer=tokenizer, **parts()[1])
    monkeypatch.setenv("ATLAS_MODELS", str(snapshot))
    assert [entry.name for entry in listing()] == ["one", "two", "owner/name"]
    assert open_model("owner/name").name == "owner/name"


def test_the_engine_serves_what_is_listed(models, shelf, monkeypatch):
    from core.serving.engine import Engine, RunRequest

    monkeypatch.setenv("ATLAS_MODELS", str(shelf))
    damage(models / "one", "missing")
    with Engine(opener=open_model, listing=listing) as engine:
        assert {entry.name: entry.ok for entry in engine.models()} == {
            "one": False,
            "two": True,
            "alpha": True,
            "one-2": True,
        }
        assert engine.run(RunRequest("alpha", "we go")).model.name == "alpha"
        with pytest.raises(InputError, match=r"one/model\.safetensors is missing"):
            engine.run(RunRequest("one", "we go"))
        with pytest.raises(InputError, match="There is no model"):
            engine.run(RunRequest(str(shelf / "alpha"), "we go"))


def test_what_ships_is_in_order():
    models = store.shipped_folder()
    entries = store.read_manifest(models)
    assert {"gpt-mini", "translator-en-es"} <= set(entries)
    for name, entry in entries.items():
        assert store.verify(name) == models / name
        assert entry.licence == "Apache-2.0"
        assert "core.tools.train" in entry.command
        drawn = (
            "drawn at random" if recipes()[name].measure else "Tatoeba (https://tatoeba.org), CC BY 2.0 FR"
        )
        others = {"vit": "Quick, Draw!", "mae": "Quick, Draw!", "las": "espeak-ng"}
        assert others.get(recipes()[name].family, drawn) in entry.attribution
        assert {"README.md", "config.json", "model.safetensors", "tokenizer.json", "training.json"} <= set(
            entry.files
        )
    assert sum(file.bytes for entry in entries.values() for file in entry.files.values()) <= 120e6
