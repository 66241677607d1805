"""The command that trains: it saves, resumes, goes on from a model, and names what is missing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_training import Copies, recipe

from core.checkpoints import store
from core.data import corpora
from core.models import families
from core.text.learn import learn_byte_level_bpe
from core.tools import train


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A recipe by the name of copies; `python -m core.tools.train` in a folder of its own."""

    def prepare(folder: Path, work: Path, seed: int, _device: torch.device) -> Copies:
        corpora.find_file(folder, "some.txt")
        tokenizer = learn_byte_level_bpe(["the cat sat"], 300, ("<|endoftext|>",))
        tokenizer.save(str(work / "tokenizer.json"))
        task = Copies(n_vocab=11, seed=seed)
        made.append(task)
        return task

    made: list[Copies] = []
    config = replace(families()["gpt"].config.tiny(), d_model=36, n_vocab=300, n_ctx=8)
    monkeypatch.setattr(train, "recipes", lambda: {"copies": recipe(prepare=prepare, config=config, steps=4)})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.txt").write_text("a\n")
    return made


def test_the_command_trains_saves_resumes_and_goes_on_from_a_model(fake, tmp_path, capsys):
    common = ["copies", "--data", str(tmp_path), "--out", str(tmp_path / "models"), "--device", "cpu"]
    assert train.main([*common, "--steps", "3", "--seed", "5"]) == 0
    assert "saved" in capsys.readouterr().out
    record = json.loads((tmp_path / "runs/copies/training.json").read_text())
    assert (record["steps"], record["seed"], record["tokens"]) == (3, 5, 3 * 32 * 7)
    assert str(tmp_path) not in json.dumps(record)
    assert "--data DATA" in record["command"]
    assert len(fake[-1].losses) == 3
    assert train.main([*common, "--resume"]) == 0  # the recipe's 4 steps, 3 of them done
    assert len(fake[-1].losses) == 1
    model = store.load_model(tmp_path / "models/copies", "copies", shipped=True)
    trained = torch.load(tmp_path / "runs/copies/checkpoint.pt", weights_only=True)["network"]
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, trained[name].half().float()), name
    first = json.loads((tmp_path / "models/copies/training.json").read_text())
    assert train.main([*common, "--from", "copies", "--steps", "2", "--work", str(tmp_path / "other")]) == 0
    record = json.loads((tmp_path / "models/copies/training.json").read_text())
    assert fake[-1].steps == [4, 5] and (record["steps"], record["tokens"]) == (6, first["tokens"] * 6 // 4)
    assert (
        record["command"] == first["command"] + " && " + record["command"].split(" && ")[1]
        and "--from copies" in record["command"]
    )
    assert [row["step"] for row in record["log"]] == [*(row["step"] for row in first["log"]), 6]
    assert record["log"][-1]["tokens"] == record["tokens"]
    again = store.load_model(tmp_path / "models/copies", "copies", shipped=True)
    assert again.run("the").logits.shape == (len(model.run("the").ids), 300)


def test_the_command_names_what_is_missing(fake, tmp_path, capsys):
    assert (
        train.main(["copies", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path), "--device", "cpu"])
        == 2
    )
    assert "some.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        train.main(["copies", "--data", str(tmp_path), "--steps", "3", "--minutes", "1"])
    with pytest.raises(SystemExit):
        train.main(["unknown", "--data", str(tmp_path)])
    assert "invalid choice" in capsys.readouterr().err
    assert not list((tmp_path).glob("*/model.safetensors"))
    assert store.shipped_folder().name == "models"
