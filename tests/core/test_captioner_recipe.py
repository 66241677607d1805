"""What the captioner learns from: the windows that are read once are those of the pictures, and its measure means what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.data.scenes import pixels, sampling
from core.data.scenes.language import COUNTS, caption, read, scene_text
from core.model import Model
from core.models import families
from core.scoring import captions
from core.trace import record
from core.training.recipe import initial_network as fresh
from core.training.recipe import recipes
from core.training.recipes.captioner import POINTED, SPREAD


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captioner")
    return recipes()["captioner"].prepare(folder, folder, 0, torch.device("cpu"))


@pytest.fixture(scope="module")
def network():
    recipe = recipes()["captioner"]
    return fresh(families()["captioner"], recipe.config, 0, recipe.begin).eval()


def test_windows_of_the_bank_are_those_of_the_pictures(task):
    inputs, cells, *_ = task._sample(np.random.default_rng(3), 12, "train")
    rng = np.random.default_rng(3)
    scenes = [sampling.sample_scene(rng, "train") for _ in range(12)]
    wanted = pixels.windows(np.stack([pixels.picture(scene) for scene in scenes]))
    assert np.array_equal(task.windows[0][cells].numpy(), wanted) and inputs.source.shape == cells.shape


def test_the_loss_is_the_caption_the_doubly_stochastic_term_and_what_lies_on_the_named_thing(
    task, network, monkeypatch
):
    batch, _ = task.batch(0)
    inputs, cells, wanted, there = batch
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
    named = [
        -trace["decoder.attn.pattern"][row, 0, word, there[row, word]].sum().log()
        for row, word in there.any(-1).nonzero()
    ]
    pointed = POINTED * torch.stack(named).mean()
    torch.testing.assert_close(
        found, said + SPREAD * ((even - looked) ** 2).mean() + pointed, rtol=1e-4, atol=1e-5
    )
    assert (
        not {thing.name for text in recipes()["captioner"].examples() for thing in read(text.text)}
        & sampling.UNSEEN
    )


def test_while_a_thing_is_named_its_cells_are_what_the_attention_is_told_of(task):
    *_, wanted, there = task._sample(np.random.default_rng(3), 12, "train")
    rng = np.random.default_rng(3)
    for row in range(12):
        scene = sampling.sample_scene(rng, "train")
        words = task.tokenizer.decode(wanted[row].tolist()).split()
        told = [{cell for cell in range(25) if there[row, word, cell]} for word in range(len(words) + 1)]
        for place, word in enumerate(words):
            if word in COUNTS:
                colour, noun = words[place + 1 : place + 3]
                group = {thing.cell() for thing in scene if thing.name == f"{colour} {noun.rstrip('s')}"}
                assert told[place] == told[place + 1] == told[place + 2] == group
        assert sum(map(bool, told)) == 3 * sum(word in COUNTS for word in words), "none for the rest"


def test_its_vocabulary_has_every_word_of_the_grammar(task):
    rng = np.random.default_rng(0)
    scenes = [sampling.sample_scene(rng, "test") for _ in range(200)]
    for scene in scenes:
        ids = task.tokenizer.encode(caption(scene)).ids
        assert task.tokenizer.decode(ids) == caption(scene) and 3 not in ids
    assert read(scene_text(scenes[0])) and len(task.tokenizer) == recipes()["captioner"].config.n_vocab


@pytest.mark.slow
def test_the_measure_counts_whole_captions_and_cells_under_nouns(task, network, monkeypatch):
    """With what is said and looked at put in its place, all shares are known."""
    recipe = recipes()["captioner"]
    model = Model("captioner", families()["captioner"], recipe.config, network, task.tokenizer)
    honest = captions.measure(model, 4)
    assert honest["items"] == 8 and 0 <= honest["noun_on_object"] <= 1 and honest["exact_match"] < 0.5

    def perfect(model, scenes, *, edits=()):
        texts = [caption(scene) for scene in scenes]
        looks = []
        for scene, text in zip(scenes, texts, strict=True):
            look = np.zeros((len(text.split()) + 1, 25))
            for row, group in enumerate(captions.named_things(scene, text.split())):
                look[row, group[-1].cell() if group else 0] = 1
            looks.append(look)
        return ([""] * len(texts), looks) if edits else (texts, looks)

    monkeypatch.setattr(captions, "describe", perfect)
    found = captions.measure(model, 20)
    assert found["exact_match"] == found["exact_match_unseen"] == found["noun_on_object"] == 1
    even, chance = found["beside"].values()
    assert even["exact_match"] == 0 and 0.03 < chance["noun_on_object"] < 0.13
    assert set(found["exact_match_by_relation"].values()) == {1.0}


def test_captions_of_one_batch_look_as_each_does_alone(task, network):
    model = Model("captioner", families()["captioner"], network.cfg, network, task.tokenizer)
    words, scenes = task.tokenizer.encode("a red heart").ids, captions.sample_scenes(2)
    rows = [words[:1], words]
    both = captions._looks(model, captions._source(model, scenes), rows, ())
    for look, row, scene in zip(both, rows, scenes, strict=True):
        (alone,) = captions._looks(model, captions._source(model, [scene]), [row], ())
        assert look.shape == (1 + len(row), 25)
        np.testing.assert_allclose(look, alone, atol=1e-6)


def test_the_baseline_of_equal_weights_reads_every_cell_alike(task, network, monkeypatch):
    """Each word's weights are one over the number of cells, not all 0."""
    model = Model("captioner", families()["captioner"], network.cfg, network, task.tokenizer)
    even, describe = [], captions.describe

    def noted(model, scenes, *, edits=()):
        found = describe(model, scenes, edits=edits)
        even.extend(found[1] if edits else ())
        return found

    monkeypatch.setattr(captions, "describe", noted)
    captions.measure(model, 2)
    assert len(even) == 2 and all(np.allclose(weights, 1 / 25) for weights in even)
