"""ViT and MAE: patches are a convolution, counts of the paper, what is hidden is not there, the texts that are read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import core
from core.checkpoints.safety.load_plan import meta_network
from core.data import doodles, patches
from core.data.drawings import Drawings, augment, read_drawings
from core.model import Model
from core.models import Batch, families
from core.models.mae import MAE, MAEConfig
from core.models.vit import PatchEmbedding, ViT, ViTConfig
from core.text import Tokenizer

SMALL = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "image": 28, "patch": 4, "channels": 1}


def model(family, network):
    torch.manual_seed(5)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Model(
        "drawn", families()[family], network.cfg, network, Tokenizer(patches.patch_tokenizer(7), pad=0)
    )


@pytest.fixture(scope="module")
def vit():
    return model("vit", ViT(ViTConfig(**SMALL, classes=("a", "b", "c"))))


@pytest.fixture(scope="module")
def mae():
    return model("mae", MAE(MAEConfig(**SMALL, n_decoder_layers=1)))


def test_vit_b_16_has_197_places_and_the_parameters_of_the_paper():
    cfg = ViTConfig()
    made = meta_network(families()["vit"], cfg)
    assert cfg.n_ctx == 14 * 14 + 1 == 197 and cfg.n_numbers == cfg.d_model == 768
    assert sum(weight.numel() for weight in made.parameters()) == 86_567_656


def test_a_patch_embedding_is_a_convolution_and_unfold_with_a_linear_map():
    picture, embed = torch.rand(2, 3, 15, 10), PatchEmbedding(75, 7)
    cut = patches.to_patches(picture, 5)
    unfold = torch.nn.functional.unfold(picture, 5, stride=5).mT
    assert torch.equal(cut, unfold) and torch.equal(patches.from_patches(cut, (3, 2), 3), picture)
    convolved = torch.nn.functional.conv2d(
        picture, embed.project.weight.view(7, 3, 5, 5), embed.project.bias, stride=5
    )
    found = embed(torch.arange(1, 7).expand(2, -1), cut)
    torch.testing.assert_close(found, convolved.flatten(2).mT)
    assert torch.equal(embed(torch.zeros(2, 6, dtype=torch.long), cut)[1, 3], embed.class_token)
    with pytest.raises(ValueError, match="4 x 4"):
        patches.to_patches(picture, 4)


def test_a_hidden_patch_is_as_if_it_were_not_there(vit):
    hidden = patches.with_hidden_mark(vit.reader.example, [3, 8, 9])
    run = vit.run(hidden)
    kept = [place for place in range(50) if place not in (3, 8, 9)]
    side = vit.reader.encode(vit.reader.example)
    few = Batch(
        ids=torch.tensor([kept]),
        real=torch.ones(1, 47, dtype=torch.bool),
        values=torch.tensor(side.values[kept])[None],
    )
    with torch.no_grad():
        alone = vit.network.classes(vit.network(few))
    torch.testing.assert_close(torch.tensor(run.trace["classes"]), alone[0])
    assert (np.asarray(run.trace["encoder.layer.0.self_attn.pattern"])[..., [3, 8, 9]] == 0).all()
    assert not np.allclose(run.trace["classes"], vit.run(vit.reader.example).trace["classes"])


def test_an_encoder_that_is_given_the_seen_patches_alone_decodes_to_the_same_picture(mae):
    run = mae.run(mae.reader.example)
    side = mae.reader.encode(mae.reader.example)
    ids = torch.tensor([side.ids])
    kept = torch.tensor([[place for place in side.ids if place < 50]])
    assert kept.shape == (1, 50 - int(49 * patches.HIDDEN))
    values = torch.tensor(side.values)[kept[0]][None]
    with torch.no_grad():
        encoded = mae.network.encode(Batch(ids=kept, real=kept >= 0, values=values))
        spread = torch.full((1, 50, 8), 7.0).scatter(1, kept[..., None].expand(-1, -1, 8), encoded)
        found = mae.network.patches(mae.network.decode(Batch(ids=ids, real=ids >= 0), spread))
    torch.testing.assert_close(torch.tensor(run.trace["patches"]), found[0])


def test_what_is_read_is_the_doodle_and_what_is_hidden_of_it(vit):
    pixels = np.arange(784, dtype=np.uint8).reshape(28, 28)
    text = patches.with_hidden_mark(doodles.as_text(pixels), [49, 2])
    side = vit.reader.encode(text)
    assert side.tokens[:4] == ("class", "1,1", "1,2 hidden", "1,3") and side.tokens[-1] == "7,7 hidden"
    assert side.ids[2] == 52 and side.values.shape == (50, 16)
    np.testing.assert_allclose((side.values[1] + 1) * 127.5, pixels[:4, :4].flatten(), atol=1e-4)
    assert (side.values[[0, 2, 49]] == 0).all()
    assert patches.with_hidden_mark(text, []).endswith(" hidden:0") and patches.hidden_positions(
        text, 49
    ) == (2, 49)
    assert [vit.tokenizer.token(i) for i in side.ids] == list(side.tokens)


@pytest.mark.parametrize(
    "text",
    ["", "a cat", "doodle:???", "doodle:Y2AYBaNgFMAAAA hidden:1", "doodle:Y2AYBaNgFMAAAA hidden:" + "f" * 99],
)
def test_what_is_no_doodle_is_refused_in_words(vit, text):
    with pytest.raises(core.InputError):
        vit.run(text)


def test_a_size_that_no_doodle_has_is_refused_in_words():
    with pytest.raises(core.InputError, match="384 x 384"):
        patches.PatchReader(384, 16, 3).encode(patches.PatchReader(28, 4, 1).example)
    assert patches.PatchReader(224, 16, 3).encode(patches.PatchReader(28, 4, 1).example).values.shape == (
        197,
        768,
    )


def test_drawings_are_read_and_moved(tmp_path):
    pixels = np.zeros((4, 28, 28), dtype=np.uint8)
    pixels[:, 10:18, 10:14] = 255
    np.savez(
        tmp_path / "few.npz", classes=["a", "b"], x_test=pixels, y_test=np.array([0, 1, 0, 1], dtype=np.uint8)
    )
    held = read_drawings(tmp_path / "few.npz", "test")
    assert held.classes == ("a", "b") and held.first_of_each(1).labels.tolist() == [0, 1]
    found = augment(held.pixels, np.random.default_rng(0))
    assert found.dtype == np.uint8 and (found != pixels).any() and 0.5 < found.sum() / pixels.sum() < 1.5
    assert np.array_equal(found, augment(pixels, np.random.default_rng(0)))
    for name in ("few.npz", "none.npz"):
        with pytest.raises(core.InputError, match="does not hold train drawings"):
            read_drawings(tmp_path / name, "train")
    assert isinstance(held, Drawings)
