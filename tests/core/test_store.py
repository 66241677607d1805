"""The store: saving and loading our own models, the manifest, what is listed, what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from core.checkpoints import eight_bit, listing, manifest, open_model, store
from core.checkpoints.weights import SINGLE
from core.errors import InputError
from core.model import Model
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.tools.card_sections import architecture
from core.training.recipe import recipes

IDS = {"start": 1, "end": 2, "pad": 0}

CARD, CARD_SUM = "# One\n", "5add2e4a6306bb1bb52c92869f20756aa1c9d514dbb2c9c4d2a94bc8378b0eb5"

TRAINING = {"command": 'python -m core.tools.train "a name" --data DATA', "seed": 0, "steps": 3}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    learn_byte_level_bpe(
        ["round and round we go"] * 3, 270, ["<pad>", "<start>", "<end>"], prefix_space=True
    ).save(str(path))
    return path


def parts(family="gpt", seed=0, **changes):
    """A random network of a family, and what save_model wants to know about it."""
    spec = families()[family]
    shown = (
        {"dropout": 0.1}
        if hasattr(spec.config, "dropout")
        else {"window": 3}
        if hasattr(spec.config, "window")
        else {"n_filters": 5}
    )  # a field that is not as in tiny()
    config = replace(spec.config.tiny(), n_vocab=270, **shown, **changes)
    torch.manual_seed(seed)
    network = spec.network(config)
    for weight in network.parameters():
        nn.init.normal_(weight, std=0.3)
    return network, {
        "family": family,
        "config": config,
        "weights": network.state_dict(),
        "ids": IDS,
        "training": TRAINING,
    }


@pytest.fixture
def models(tmp_path, tokenizer, monkeypatch):
    """A folder of shipped models of our own: two good ones, listed in a manifest."""
    folder = tmp_path / "assets" / "models"
    monkeypatch.setattr(manifest, "shipped_folder", lambda: folder)
    monkeypatch.setattr(store, "shipped_folder", lambda: folder)
    monkeypatch.delenv("ATLAS_MODELS", raising=False)
    for number, (name, family) in enumerate([("one", "gpt"), ("two", "transformer")]):
        store.save_model(folder / name, tokenizer=tokenizer, **parts(family, seed=number)[1])
    (folder / "one" / "README.md").write_text(CARD)
    manifest.write_manifest(folder)
    return folder


WORDED = [
    name for name, spec in families().items() if "n_vocab" in {field.name for field in fields(spec.config)}
]
"""Families with a table of words; what reads patches alone has as many rows as places."""


@pytest.mark.quick(6)
@pytest.mark.parametrize("family", WORDED)
def test_a_model_comes_back_as_it_was_saved(tmp_path, tokenizer, family):
    network, given = parts(family)
    folder = store.save_model(tmp_path / "it", tokenizer=tokenizer, **given)
    halves = {name: value.half().float() for name, value in network.state_dict().items()}
    loaded = store.load_weights(folder)
    assert loaded.keys() == halves.keys()
    assert all(
        torch.equal(loaded[name], halves[name]) and loaded[name].dtype == torch.float32 for name in halves
    )
    network.load_state_dict(halves)
    spec, tokens = families()[family], Tokenizer.from_file(tokenizer, **IDS)
    target = {"target": "we go"} if spec.has_source else {}
    text = spec.reads(given["config"]).example if spec.reads else "round we go"
    before = Model("it", spec, given["config"], network, tokens).run(text, **target)
    model = store.load_model(folder, "it")
    after = model.run(text, **target)
    values = [
        run.outputs.value(model.main_output) if model.outputs else run.outputs.hidden
        for run in (before, after)
    ]
    assert torch.equal(*values)
    assert before.tokens == after.tokens
    assert (model.name, model.family, model.config, model.card) == ("it", family, given["config"], "")
    assert (model.tokenizer.start, model.tokenizer.end, model.tokenizer.pad) == (1, 2, 0)
    assert not any(
        weight.requires_grad or weight.is_meta
        for weight in (*model.network.parameters(), *model.network.buffers())
    )


def test_what_is_written(tmp_path, tokenizer):
    folder = store.save_model(tmp_path / "deep" / "it", tokenizer=tokenizer, **parts()[1])
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "training.json",
    ]
    held = json.loads((folder / "config.json").read_text())
    assert (held["family"], held["ids"], held["n_heads"]) == ("gpt", IDS, 3)
    assert json.loads((folder / "training.json").read_text()) == TRAINING
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}  # noqa: SIM118 - no dictionary
    assert (folder / "tokenizer.json").read_bytes() == tokenizer.read_bytes()
    assert (folder / "config.json").stat().st_mode & 0o777 == 0o644
    assert folder.stat().st_mode & 0o777 == 0o755


def test_saving_again_replaces_everything(tmp_path, tokenizer):
    store.save_model(tmp_path / "it", tokenizer=tokenizer, **parts(seed=1)[1])
    (tmp_path / "it" / "README.md").write_text("The card of the old weights.")
    second = parts(seed=2)[1]
    store.save_model(tmp_path / "it", tokenizer=tokenizer, **second)
    assert torch.equal(
        store.load_weights(tmp_path / "it")["final_norm.bias"],
        second["weights"]["final_norm.bias"].half().float(),
    )
    assert not (tmp_path / "it" / "README.md").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


@pytest.mark.parametrize("fault", ["tokenizer", "rename"])
def test_a_save_that_fails_leaves_the_old_model_whole(tmp_path, tokenizer, monkeypatch, fault):
    old = parts(seed=1)[1]
    store.save_model(tmp_path / "it", tokenizer=tokenizer, **old)
    if fault == "rename":
        real = Path.rename
        monkeypatch.setattr(
            Path, "rename", lambda path, to: _disk_full() if ".new-" in str(path) else real(path, to)
        )
    with pytest.raises(OSError, match=r"disk full|No such file"):
        store.save_model(
            tmp_path / "it",
            tokenizer=tmp_path / "none" if fault == "tokenizer" else tokenizer,
            **parts(seed=2)[1],
        )
    assert torch.equal(
        store.load_weights(tmp_path / "it")["final_norm.bias"],
        old["weights"]["final_norm.bias"].half().float(),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def _disk_full():
    raise OSError("disk full")


@pytest.mark.parametrize("number", [float("nan"), 1e6])
def test_numbers_that_float16_cannot_hold_are_not_saved(tmp_path, tokenizer, number):
    given = parts()[1]
    given["weights"]["final_norm.bias"][3] = number
    with pytest.raises(InputError, match=r"'final_norm\.bias' does not fit into float16"):
        store.save_model(tmp_path / "it", tokenizer=tokenizer, **given)
    assert not list(tmp_path.iterdir())


def test_weights_of_another_shape_are_not_saved(tmp_path, tokenizer):
    given = parts()[1]
    del given["weights"]["final_norm.bias"]
    with pytest.raises(InputError, match=r"final_norm\.bias"):
        store.save_model(tmp_path / "it", tokenizer=tokenizer, **given)
    with pytest.raises(InputError, match=r"ffn\.to_hidden"):
        store.save_model(
            tmp_path / "it", tokenizer=tokenizer, **parts()[1] | {"config": replace(parts()[0].cfg, d_ff=14)}
        )


def test_load_weights_of_nothing(tmp_path):
    with pytest.raises(InputError, match="no model folder 'none'"):
        store.load_weights(tmp_path / "none")


def test_the_manifest_names_each_file_and_keeps_the_terms(models):
    path = models.parent / "MANIFEST.toml"
    text = path.read_text().replace('attribution = ""', 'attribution = "Von Tom, \\"frei\\"."', 1)
    path.write_text(text.replace('licence = "Apache-2.0"', 'licence = "CC0"', 1))
    manifest.write_manifest(models)
    held = tomllib.loads(path.read_text())["models"]
    assert (held["one"]["licence"], held["one"]["attribution"]) == ("CC0", 'Von Tom, "frei".')
    assert held["two"]["licence"] == "Apache-2.0"
    assert held["one"]["command"] == TRAINING["command"]
    assert sorted(held["one"]["files"]) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "training.json",
    ]
    assert held["one"]["files"]["README.md"] == {"sha256": CARD_SUM, "bytes": 6}
    assert manifest.verify("one") == models / "one"


def test_the_command_prints_what_ships_and_asks_for_attribution(models, capsys):
    assert store.main() == 1
    out = capsys.readouterr().out
    assert "one" in out
    assert "write its attribution" in out
    path = models.parent / "MANIFEST.toml"
    path.write_text(path.read_text().replace('attribution = ""', 'attribution = "Our own."'))
    assert store.main() == 0
    out = capsys.readouterr().out
    assert out.count("in order") == 2
    assert out.count("Our own.") == 2


def damage(folder, how):
    path = folder / "model.safetensors"
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "cut off":
        path.write_bytes(data[: len(data) // 2])
    elif how == "altered":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif how == "longer":
        path.write_bytes(data + b"x")


@pytest.mark.parametrize(
    ("how", "word"),
    [("missing", "is missing"), ("cut off", "cut off"), ("altered", "altered"), ("longer", "altered")],
)
def test_a_damaged_model_is_listed_with_its_file_and_refused(models, how, word):
    damage(models / "one", how)
    one, two = listing()
    assert (one.name, one.ok, two.name, two.ok, two.family) == ("one", False, "two", True, "transformer")
    assert "one/model.safetensors" in one.problem
    assert word in one.problem
    assert str(models) not in one.problem
    with pytest.raises(InputError) as caught:
        open_model("one")
    assert str(caught.value) == one.problem
    assert "git checkout" in caught.value.remedy
    assert open_model("two").name == "two"


def test_a_folder_that_is_gone_is_listed(models):
    (models / "one").rename(models.parent / "elsewhere")
    assert [(entry.name, entry.ok) for entry in listing()] == [("one", False), ("two", True)]
    with pytest.raises(InputError, match="one/README.md is missing"):
        open_model("one")


def test_a_model_the_manifest_does_not_know_is_not_trusted(models):
    (models / "one").rename(models / "new")
    assert {entry.name: entry.ok for entry in listing()} == {"new": False, "one": False, "two": True}
    with pytest.raises(InputError, match=r"new is not in assets/MANIFEST\.toml"):
        open_model("new")


@pytest.mark.parametrize(
    "text", ["[models", "models = 3", "[models.one]\nfiles = 5", '[models.one.files."x"]\nsize = 3', "\xff"]
)
def test_a_broken_manifest_is_said_of_every_model(models, text):
    (models.parent / "MANIFEST.toml").write_bytes(text.encode("latin-1"))
    assert [(entry.name, entry.ok) for entry in listing()] == [("one", False), ("two", False)]
    assert all("assets/MANIFEST.toml cannot be read" in entry.problem for entry in listing())
    assert open_model(models / "one").name == "one"  # by its path, as any other folder


def test_a_link_in_place_of_a_shipped_file_is_refused(models):
    (models / "one" / "config.json").rename(models.parent / "config.json")
    (models / "one" / "config.json").symlink_to(models.parent / "config.json")
    with pytest.raises(InputError, match=r"config\.json is a link"):
        open_model("one")


def test_a_shipped_name_opens_with_its_card_from_any_directory(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").mkdir()  # a folder of the same name does not stand in the way
    model = open_model("one")
    assert (model.name, model.family, model.card) == ("one", "gpt", CARD)
    assert len(model.run("we go").tokens) >= 2


def test_a_path_opens_our_own_format(models):
    for path in (models / "two", str(models / "two")):
        assert open_model(path).family == "transformer"


def test_an_unknown_name_lists_the_known_ones(models):
    damage(models / "one", "missing")
    with pytest.raises(
        InputError, match=r"no model 'twoo'\. Models that can be opened: two\. Did you mean two\?"
    ):
        open_model("twoo")


@pytest.mark.slow
def test_the_store_is_found_from_another_directory(tmp_path):
    root = Path(__file__).parents[2]
    code = "from core.checkpoints import store; print(store.shipped_folder())"
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert out.stdout.strip() == str(root / "assets" / "models"), out.stderr


# ---------------- Folders of a visitor beside the shipped models: what is listed, under which names, and what the engine serves.


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


# ---------------- Weights in 8 bits: how far a number may move, what opens, and what is refused.


LARGE = "embed.token.weight"


@pytest.fixture
def folder(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(eight_bit, "SMALLEST", 64)
    return store.save_model(tmp_path / "it", tokenizer=tokenizer, **parts()[1])


def test_no_number_moves_by_more_than_half_a_step_of_its_row():
    torch.manual_seed(0)
    matrix = torch.randn(64, 96) * torch.logspace(-6, 3, 64)[:, None]
    matrix[7] = 0
    kept = eight_bit.packed({"w": matrix})
    again = kept["w"].float() * kept["w.scale"][:, None]
    assert ((again - matrix).abs() <= matrix.abs().amax(1, keepdim=True) / 254 * 1.0001).all()
    largest = matrix.abs().argmax(1)
    rows = torch.arange(64)
    torch.testing.assert_close(again[rows, largest], matrix[rows, largest], rtol=1e-6, atol=0)


def test_a_packed_folder_opens_says_so_and_is_half_as_large(folder, capsys):
    before, halves = store.load_model(folder, "it"), load_file(folder / SINGLE)
    assert eight_bit.main(["it", "--out", str(folder.parent)]) == 0
    told = capsys.readouterr().out
    after, stored = store.load_model(folder, "it"), load_file(folder / SINGLE)
    assert stored[LARGE].dtype == torch.int8 and f"{(folder / SINGLE).stat().st_size:,} after" in told
    sizes = {name: value.numel() for name, value in stored.items() if value.dtype == torch.int8}
    assert len(sizes) > 5 and all(size == halves[name].numel() for name, size in sizes.items())
    assert after.n_parameters == before.n_parameters
    assert "8 bits with a scale a row" in architecture(folder) and f"{after.n_parameters:,}" in architecture(
        folder
    )
    for (name, one), other in zip(
        before.network.state_dict().items(), after.network.state_dict().values(), strict=True
    ):
        bound = one.abs().amax(-1, keepdim=True) / 254 * 1.0001 if name in sizes else 0
        assert ((one - other).abs() <= bound).all(), name
    assert not torch.equal(before.network.state_dict()[LARGE], after.network.state_dict()[LARGE])
    assert eight_bit.main(["it", "--out", str(folder.parent)]) == 2
    assert "in 8 bits already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.pop(f"{LARGE}.scale"), f"'{LARGE}' is stored as I8"),
        (lambda held: held.update({f"{LARGE}.scale": torch.ones(3)}), "left over: " + LARGE + r"\.scale"),
        (lambda held: held[f"{LARGE}.scale"].fill_(float("nan")), f"'{LARGE}' is NaN or infinite at"),
        (
            lambda held: held.update({f"{LARGE}.scale": torch.ones(len(held[LARGE]), dtype=torch.int32)}),
            "left over: " + LARGE + r"\.scale",
        ),
    ],
)
def test_a_scale_that_is_missing_misshapen_or_no_number_is_refused(folder, change, said):
    eight_bit.pack(folder)
    held = load_file(folder / SINGLE)
    change(held)
    save_file(held, folder / SINGLE, metadata={"format": "pt"})
    with pytest.raises(InputError, match=said):
        store.load_model(folder, "it")
