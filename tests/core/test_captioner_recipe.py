"""What the captioner learns from: the windows that are read once are those of the pictures, and its measure means what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.data.scenes import drawn, pixels
from core.data.scenes.language import caption, read, written
from core.models import families
from core.scoring import captions
from core.trace import record
from core.training.recipe import drawn as fresh
from core.training.recipe import recipes
from core.training.recipes.captioner import SPREAD


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captioner")
    return recipes()["captioner"].prepare(folder, folder, 0, torch.device("cpu"))


@pytest.fixture(scope="module")
def network():
    recipe = recipes()["captioner"]
    return fresh(families()["captioner"], recipe.config, 0, recipe.begin).eval()


def test_windows_of_the_bank_are_those_of_the_pictures(task):
    inputs, cells, _ = task._drawn(np.random.default_rng(3), 12, "train")
    rng = np.random.default_rng(3)
    scenes = [drawn.scene(rng, "train") for _ in range(12)]
    wanted = pixels.windows(np.stack([pixels.picture(scene) for scene in scenes]))
    assert np.array_equal(task.windows[0][cells].numpy(), wanted) and inputs.source.shape == cells.shape


def test_the_loss_is_the_caption_and_the_doubly_stochastic_term(task, network, monkeypatch):
    batch, _ = task.batch(0)
    inputs, cells, wanted = (
        batch[0],
        batch[1],
        batch[2],
    )
    monkeypatch.setattr("core.training.recipes.captioner.NOISE", 0.0)
    memory = task._read(network, task.windows, cells)
    with torch.no_grad():
        hidden, trace = record(network, inputs, keep=("decoder.attn.pattern",), memory=memory)
        logits = network.logits(hidden)
        found = task.loss(network, batch)
    real = wanted != 0
    said = -logits.log_softmax(-1).gather(2, wanted[..., None]).squeeze(-1)[real].mean()
    looked = (trace["decoder.attn.pattern"][:, 0] * real[..., None]).sum(1)
    even = real.sum(1, keepdim=True) / 25
    torch.testing.assert_close(found, said + SPREAD * ((even - looked) ** 2).mean(), rtol=1e-4, atol=1e-5)
    assert (
        not {thing.name for text in recipes()["captioner"].examples() for thing in read(text.text)}
        & drawn.UNSEEN
    )


def test_its_vocabulary_has_every_word_of_the_grammar(task):
    rng = np.random.default_rng(0)
    scenes = [drawn.scene(rng, "test") for _ in range(200)]
    for scene in scenes:
        ids = task.tokenizer.encode(caption(scene)).ids
        assert task.tokenizer.decode(ids) == caption(scene) and 3 not in ids
    assert read(written(scenes[0])) and len(task.tokenizer) == recipes()["captioner"].config.n_vocab


def test_the_measure_counts_whole_captions_and_cells_under_nouns(task, network, monkeypatch):
    """With what is said and looked at put in its place, all shares are known."""
    from core.model import Model

    recipe = recipes()["captioner"]
    model = Model("captioner", families()["captioner"], recipe.config, network, task.tokenizer)
    honest = captions.measure(model, 4)
    assert honest["items"] == 8 and 0 <= honest["noun_on_object"] <= 1 and honest["exact_match"] < 0.5

    def perfect(model, scenes, *, edits=()):
        texts = [caption(scene) for scene in scenes]
        looks = []
        for scene, text in zip(scenes, texts, strict=True):
            look = np.zeros((len(text.split()) + 1, 25))
            for row, group in enumerate(captions.meant(scene, text.split())):
                look[row, group[-1].place() if group else 0] = 1
            looks.append(look)
        return ([""] * len(texts), looks) if edits else (texts, looks)

    monkeypatch.setattr(captions, "told", perfect)
    found = captions.measure(model, 20)
    assert found["exact_match"] == found["exact_match_unseen"] == found["noun_on_object"] == 1
    even, chance = found["beside"].values()
    assert even["exact_match"] == 0 and 0.03 < chance["noun_on_object"] < 0.13
    assert set(found["exact_match_by_relation"].values()) == {1.0}
