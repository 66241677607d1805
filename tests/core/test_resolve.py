"""Names that no list has: a kept moment of a training, a recorded run, what one visitor trained and no other may open."""

from __future__ import annotations

import shutil
import time

import pytest
import torch
from foreign_folders import write
from safetensors.torch import save_file

import core
from core.checkpoints import find, history
from core.errors import InputError
from core.jobs import names, trainer
from core.jobs.trainer import Trainer
from core.serving import registry
from core.serving.engine import Engine, RunRequest
from core.serving.registry import Listing, Registry
from core.training.toy import toy_training
from core.training.toy.toy_training import TASKS

TWICE = "7 k m x 2 q a 7 k m x 2"


def test_a_moment_opens_by_its_name_with_the_weights_of_its_step():
    named, asked = core.open_model("induction-tiny at step 0"), core.open_model("induction-tiny", step=0)
    assert named.name == "induction-tiny at step 0"
    assert all(
        torch.equal(named.network.state_dict()[key], value)
        for key, value in asked.network.state_dict().items()
    )


def test_the_engine_runs_a_moment_and_lists_none():
    with Engine() as engine:
        entry = engine.entry("induction-tiny at step 0")
        assert entry.ok and entry.family == "gpt"
        early = engine.run(RunRequest("induction-tiny at step 0", TWICE, keep=("logits",)))
        late = engine.run(RunRequest("induction-tiny", TWICE, keep=("logits",)))
        assert early.model.name == "induction-tiny at step 0" and abs(early.logits - late.logits).max() > 1
        assert not [listing.name for listing in engine.models() if history.STEP_MARK in listing.name]
        assert engine.entry("gpt-mini").name == "gpt-mini" and engine.entry("no such model") is None
        assert engine.entry("no such model at step 3") is None


@pytest.mark.quick(1)
@pytest.mark.parametrize(("step", "near"), [(441, "440"), (1, "0 or 10"), (999_999, "2000")])
def test_a_step_that_was_not_kept_is_refused_with_the_nearest_that_were(step, near):
    with Engine() as engine, pytest.raises(InputError, match="has no weights of step") as caught:
        engine.run(RunRequest(f"induction-tiny at step {step}", TWICE))
    assert near in caught.value.remedy


def test_an_unknown_name_is_still_unknown():
    with Engine() as engine:
        for name in (
            "induction-tiny at step x",
            "induction-tiny at step -1",
            "../induction-tiny at step 0",
            " at step 0",
            "recorded: nonsense",
        ):
            with pytest.raises(InputError):
                engine.open(name)


def test_what_opens_aside_is_asked_for_each_time_and_few_stay(monkeypatch):
    class Weighs(str):
        n_parameters = 10

    allowed, opened = {f"own {i}": Listing(f"own {i}", True) for i in range(5)}, []
    monkeypatch.setattr(registry, "MOST_ASIDE", 30)
    held = Registry(
        lambda name: opened.append(name) or Weighs(name.upper()),
        lambda: (Listing("a", True),),
        lambda name, _: allowed.get(name),
    )
    assert held.open("own 1") == held.open("own 1") == "OWN 1" and opened == ["own 1"]
    del allowed["own 1"]
    with pytest.raises(InputError, match="There is no model 'own 1'"):
        held.open("own 1")
    for name in ("a", "own 0", "own 2", "own 3", "own 4"):
        held.open(name)
    assert [
        name for name in ("a", "own 0", "own 1", "own 2", "own 3", "own 4") if held.model_in_memory(name)
    ] == ["a", "own 2", "own 3", "own 4"]
    monkeypatch.setattr(registry, "MOST_ASIDE", 5)
    assert held.open("own 0") and not held.model_in_memory("own 4") and held.model_in_memory("own 0"), (
        "one may be larger than all may be together"
    )


@pytest.fixture
def trained(monkeypatch):
    """The name of a training of Ana's that is over."""
    made = Trainer(lambda task, folder: ["true"])
    monkeypatch.setattr(trainer, "_default", made)
    name = made.start("Ana", "reverse")
    while not made.progress("Ana").over:
        time.sleep(0.01)
    job = made._jobs[name]
    (report, weights), *_ = toy_training.training(TASKS["reverse"], steps=1)
    save_file(weights, f"{job.folder.name}/{report.step}.safetensors")
    job.reports.append(report)
    job.state = "done"
    return name


def test_a_trained_model_opens_for_the_one_who_trained_it(trained):
    name = trained
    assert name.startswith("yours: reverse (")
    with Engine() as engine:
        assert engine.entry(name, "Ana").ok and engine.open(name, "Ana")
        run = engine.run(RunRequest(name, TASKS["reverse"].example), session="Ana")
        assert run.model.name == name and run.attention("causal").weights.shape[:2] == (2, 2)
        last = f"{name} at step 0"
        assert engine.run(RunRequest(last, TASKS["reverse"].example)).model.name == last
        with pytest.raises(InputError, match="no weights of step 7"):
            engine.entry(f"{name} at step 7")
        assert name not in [listing.name for listing in engine.models()]


def test_no_other_visitor_opens_it_even_when_it_is_loaded_already(trained):
    name, text = trained, TASKS["reverse"].example
    with Engine() as engine:
        engine.run(RunRequest(name, text), session="Ana")
        for ask in (engine.entry, engine.open, lambda *of: engine.run(RunRequest(of[0], text), of[1])):
            with pytest.raises(InputError, match="no longer here"):
                ask(name, "Bob")


def test_a_training_that_runs_is_not_opened_but_at_its_moments(trained):
    name = trained
    trainer.default()._jobs[name].state = "running"
    with pytest.raises(InputError, match="still learning"):
        names.resolve_name(name)
    assert names.resolve_name(f"{name} at step 0").ok


# ---------------- A folder put into ATLAS_MODELS while the server runs is listed, one that is taken away is not, and the others go on.


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, str(tmp_path / "shelf"))
    (tmp_path / "shelf").mkdir()
    with Engine() as engine:
        engine._registry.glance = 0.0
        yield engine


def listed_names(engine):
    return {entry.name for entry in engine.models() if entry.foreign and entry.ok}


def test_a_folder_comes_changes_and_goes(engine, tmp_path):
    shelf = tmp_path / "shelf"
    before = listed_names(engine)
    write(tmp_path / "made")
    shutil.move(tmp_path / "made" / "tiny-llama", shelf / "new")
    assert listed_names(engine) == before | {"new"}
    first = engine.run(RunRequest("new", "the street"), session="a")
    assert first.tokens and engine.open("new") is engine.open("new")
    (shelf / "publisher").mkdir()
    shutil.move(shelf / "new", shelf / "publisher" / "new")
    assert listed_names(engine) == before | {"new"}
    with pytest.raises(InputError, match=r"holds folders of models.*publisher/new"):
        core.open_model(shelf)
    shutil.move(shelf / "publisher" / "new", tmp_path / "away")
    shutil.rmtree(shelf / "publisher")
    assert listed_names(engine) == before
    with pytest.raises(InputError, match="There is no model 'new'"):
        engine.run(RunRequest("new", "the street"), session="a")
    assert engine.run(RunRequest("gpt-mini", "the street"), session="a").tokens
    (shelf / "new").mkdir()
    (shelf / "new" / "config.json").write_text("{}")
    assert listed_names(engine) == before and "new" in {entry.name for entry in engine.models()}
    shutil.rmtree(shelf)
    assert listed_names(engine) == before


def test_only_what_changed_is_judged_again(engine, tmp_path, monkeypatch):
    engine.models()
    judged = []
    look = find.ModelFolder.check
    monkeypatch.setattr(find.ModelFolder, "check", lambda place: judged.append(place.name) or look(place))
    write(tmp_path / "shelf")
    assert "tiny-llama" in listed_names(engine) and judged == ["tiny-llama"]
