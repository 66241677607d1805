"""How models of drawings are measured: against sums by hand, on a few drawings of our own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import core
from core.data import doodles, patches
from core.data.drawings import read_drawings
from core.model import Model
from core.models import families
from core.models.mae import MAE, MAEConfig
from core.models.vit import ViT, ViTConfig
from core.scoring import pictures
from core.text import Tokenizer
from core.training.recipe import recipes
from core.training.recipes.doodles import LabelledDrawings, MaskedDrawings, sample_patches

SMALL = {"n_layers": 1, "n_heads": 2, "d_model": 16, "d_ff": 12, "image": 28, "patch": 7, "channels": 1}


def model(family, network):
    return Model(
        "drawn", families()[family], network.cfg, network, Tokenizer(patches.patch_tokenizer(4), pad=0)
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    names = doodles.NAMES[:3]
    pixels = np.stack([doodles.example(name) for name in names])
    some = np.concatenate([pixels, pixels[:, :, ::-1]])
    labels = np.array([0, 1, 2] * 2, dtype=np.uint8)
    held = {
        f"{side}_{split}": value
        for split in ("train", "valid", "test")
        for side, value in (("x", some), ("y", labels))
    }
    file = tmp_path_factory.mktemp("drawings") / "own.npz"
    np.savez(file, classes=names, **held)
    return file


@pytest.fixture(scope="module")
def vit():
    torch.manual_seed(0)
    return model("vit", ViT(ViTConfig(**SMALL, classes=doodles.NAMES[:3])))


@pytest.fixture(scope="module")
def mae():
    torch.manual_seed(9)
    return model("mae", MAE(MAEConfig(**SMALL, n_decoder_layers=1)))


def test_accuracy_is_that_of_single_runs(vit, path):
    test = read_drawings(path, "test")
    said = [int(np.argmax(vit.run(doodles.as_text(pixels)).trace["classes"])) for pixels in test.pixels]
    found = pictures.measure(vit, path)
    assert found["accuracy"] == pytest.approx(np.mean(np.array(said) == test.labels))
    assert pictures.baselines(vit, path, path)["3 nearest drawings"]["items"] == len(test.labels)


def test_the_nearest_drawings_are_near_in_pixels(vit, tmp_path):
    """Six black and six white drawings are learnt; what is nearly white is of the class of the white ones."""
    names, shades = doodles.NAMES[:3], np.array([0] * 6 + [255] * 6, dtype=np.uint8)
    drawings = {"train": shades, "test": np.full(3, 200, dtype=np.uint8)}
    arrays = {
        f"{side}_{split}": value
        for split, shade in drawings.items()
        for side, value in (
            ("x", np.broadcast_to(shade[:, None, None], (len(shade), 28, 28))),
            ("y", (shade > 128).astype(np.uint8)),
        )
    }
    np.savez(tmp_path / "shades.npz", classes=names, **arrays)
    (beside,) = pictures.baselines(vit, tmp_path / "shades.npz", tmp_path / "shades.npz").values()
    assert beside["accuracy"] == 1


def test_test_drawings_alone_are_x_and_y(vit, mae, path, tmp_path):
    test = read_drawings(path, "test")
    alone, unnamed = tmp_path / "alone.npz", tmp_path / "unnamed.npz"
    np.savez(alone, x=test.pixels, y=test.labels, classes=test.classes)
    np.savez(unnamed, x=test.pixels, y=test.labels.astype(np.int64))
    assert pictures.measure(vit, alone) == pictures.measure(vit, path)
    assert read_drawings(unnamed, "test").classes == doodles.NAMES
    found = pictures.measure(mae, unnamed)
    error, of_mean, _ = pictures.squared_errors(mae, test, test)
    assert (found["squared_error"], found["beside"]) == (
        error,
        {"mean of the visible patches": {"squared_error": of_mean}},
    )


@pytest.mark.parametrize(
    "wrong", [{"x": np.zeros((2, 28, 28))}, {"y": np.array([0, 6])}, {"y": np.array(["a", "b"])}, {"y": None}]
)
def test_a_file_that_is_not_of_drawings_is_refused(tmp_path, wrong):
    held = {"x": np.zeros((2, 28, 28), dtype=np.uint8), "y": np.array([0, 5])} | wrong
    np.savez(tmp_path / "own.npz", **{name: value for name, value in held.items() if value is not None})
    with pytest.raises(core.InputError, match="or x and y alone"):
        read_drawings(tmp_path / "own.npz", "test")


def test_errors_are_sums_over_hidden_patches(mae, path):
    test, n = read_drawings(path, "test"), 16
    error, of_mean, _ = pictures.squared_errors(mae, test, test)
    order = np.random.default_rng(0).random((len(test.pixels), n)).argsort(1)
    lost, mean = [], []
    for pixels, row in zip(test.pixels, order, strict=True):
        gone = [place + 1 for place in range(n) if row[place] < int(n * patches.HIDDEN)]
        true = patches.patch_values(pixels, 7)
        made = np.asarray(mae.run(patches.with_hidden_mark(doodles.as_text(pixels), gone)).trace["patches"])
        seen = [place for place in range(1, n + 1) if place not in gone]
        lost.append(np.square(made - true)[gone].mean())
        mean.append(np.square(true[seen].mean(0) - true)[gone].mean())
    assert error == pytest.approx(np.mean(lost), rel=1e-4)
    assert of_mean == pytest.approx(np.mean(mean), rel=1e-4)


def test_a_vit_begins_with_the_encoder_or_with_nothing_and_the_autoencoder_stays(mae, path):
    few = read_drawings(path, "train").first_of_each(1)
    before = {name: part.clone() for name, part in mae.network.state_dict().items()}
    again = pictures.fine_tune(mae, few, knows=True, steps=2)
    other = pictures.fine_tune(mae, few, knows=False, steps=2)
    head = "encoder.0.self_attn.to_q.weight"
    assert all(torch.equal(part, before[name]) for name, part in mae.network.state_dict().items())
    assert again.cfg.classes == few.classes and not any(part.requires_grad for part in again.parameters())
    known, fresh = (net.state_dict()[head] - before[head] for net in (again, other))
    assert known.abs().max() < 0.01 < fresh.abs().max()
    torch.manual_seed(0)
    assert (other.state_dict()[head] - ViT(other.cfg).state_dict()[head]).abs().max() < 0.01


def test_drawings_of_other_classes_or_sizes_are_refused_in_words(path):
    wrong = model("vit", ViT(ViTConfig(**SMALL, classes=("a", "b", "c"))))
    with pytest.raises(core.InputError, match="has the classes apple"):
        pictures.measure(wrong, path)
    large = model("vit", ViT(ViTConfig(**{**SMALL, "image": 56}, classes=doodles.NAMES[:3])))
    with pytest.raises(core.InputError, match="28 x 28"):
        pictures.measure(large, path)


def test_the_recipe_reads_its_drawings_moved_and_thinned(path):
    held = read_drawings(path, "train")
    config, tokenizer = recipes()["vit-doodles"].config, Tokenizer(patches.patch_tokenizer(7), pad=0)
    many = type(held)(np.tile(held.pixels, (30, 1, 1)), np.tile(held.labels, 30), held.classes)
    task = LabelledDrawings(many, held, config, tokenizer, seed=0)
    (batch, right), n = task.batch(0)
    assert batch.ids.shape == (128, 26) and n == 128 * 26 and (batch.ids[:, 0] == 0).all()
    assert (batch.ids.diff(dim=1) > 0).all() and torch.equal(batch.values, task.batch(0)[0][0].values)
    assert task.batch(1400)[0][0].ids.shape == (128, 50) and len(right) == 128
    mae = MAE(MAEConfig(**{**SMALL, "patch": 4}, n_decoder_layers=1))
    hidden = MaskedDrawings(many, held, mae.cfg, tokenizer, seed=0)
    (whole, few), _ = hidden.batch(0)
    assert few.ids.shape == (128, 14) and whole.ids.shape == (128, 50)
    ids = (whole.ids + 50).scatter(1, few.ids, few.ids)
    read_as = type(whole)(ids=ids, real=whole.real, values=whole.values)
    filled = mae.patches(mae(read_as))
    gone = ids >= 50
    assert hidden.loss(mae, (whole, few)).item() == pytest.approx(
        (filled - whole.values).square().mean(-1)[gone].mean().item(), rel=1e-4
    )
    with torch.no_grad():
        assert hidden.check(mae)["squared_error"] > 0
    assert sample_patches(whole, 3, np.random.default_rng(0)).ids.shape == (128, 4)
