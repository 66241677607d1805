"""The captioner: its convolutions, what its attention makes of the cells, and the scenes that it reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import small_network

from core import edits
from core.data.scenes import language, pixels, sampling
from core.data.scenes.language import COUNTS, caption, read, scene_text
from core.errors import InputError
from core.model import Model
from core.models import Batch, families
from core.scoring import captions
from core.trace import record
from core.training.recipe import initial_network as fresh
from core.training.recipe import recipes
from core.training.recipes.captioner import POINTED, SPREAD

TEXT = "red cat 1,0; blue house 0,2; blue house 2,1"


@pytest.fixture(scope="module")
def network():
    return small_network("captioner")


def batch(values, ids=(1, 2, 3, 4)):
    ids = torch.tensor([ids])
    cells = torch.arange(values.shape[1])[None]
    return Batch(ids=ids, real=ids > 0, source=cells, source_real=cells >= 0, values=values)


@pytest.fixture(scope="module")
def values():
    return torch.from_numpy(pixels.windows(pixels.picture(language.read(TEXT, 3), 3)))[None]


def test_cell_by_cell_is_the_convolution_of_the_whole_picture(network, values):
    grid = network.encoder
    image = torch.from_numpy(pixels.picture(language.read(TEXT, 3), 3)).permute(2, 0, 1)[None]
    maps = F.relu(F.conv2d(F.pad(image, (1,) * 4), grid.first.weight, grid.first.bias, stride=2))
    kernel = grid.second.weight.unflatten(1, (-1, 6, 6))
    seen = F.relu(F.conv2d(maps, kernel, grid.second.bias, stride=6))
    wanted = grid.to_out(seen.flatten(2).mT)
    with torch.no_grad():
        _, trace = record(network, batch(values))
    torch.testing.assert_close(trace["encoder.features"], wanted, rtol=1e-4, atol=1e-4)


def test_weights_sum_to_one_a_word_and_the_context_is_the_gated_mean_of_the_cells(network, values):
    with torch.no_grad():
        _, trace = record(network, batch(values))
    pattern, cells = trace["decoder.attn.pattern"][:, 0], trace["encoder.annotations"]
    assert pattern.shape == (1, 4, 9)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(1, 4))
    gate = trace["decoder.attn.gate"][:, 0]
    assert ((gate > 0) & (gate < 1)).all()
    torch.testing.assert_close(trace["decoder.attn.context"], gate * (pattern @ cells))
    query, score = trace["decoder.attn.q"][:, 0], network.decoder.attend.score
    torch.testing.assert_close(score(query, cells), trace["decoder.attn.scores"][:, 0])


def test_cells_in_another_order_have_the_same_weights_in_that_order(network, values):
    """With their places: what is attended to is a set."""
    order = torch.tensor([4, 0, 8, 2, 6, 1, 3, 7, 5])
    with torch.no_grad():
        _, trace = record(network, batch(values))
        cells = trace["encoder.annotations"][:, order]
        turned = edits.Patch("encoder.annotations", cells)
        hidden, other = record(network, batch(values), edits=[turned])
        torch.testing.assert_close(hidden, network(batch(values)))
    torch.testing.assert_close(
        other["decoder.attn.pattern"], trace["decoder.attn.pattern"][..., order], rtol=1e-5, atol=1e-6
    )


def test_it_begins_with_the_mean_of_the_cells_and_asks_with_the_state_before(network, values):
    with torch.no_grad():
        _, trace = record(network, batch(values))
    torch.testing.assert_close(trace["decoder.start.context"], trace["encoder.annotations"].mean(1))
    asked = trace["decoder.attn.q"][:, 0]
    assert torch.equal(asked[:, 1:], trace["decoder.layer.1.hidden"][:, :-1])


def test_a_network_without_pixels_says_what_it_needs(network):
    with pytest.raises(ValueError, match=r"Batch\.values"):
        network(
            Batch(ids=torch.ones(1, 1).long(), real=torch.ones(1, 1) > 0, source=torch.zeros(1, 9).long())
        )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" ; ;", "empty"),
        ("a red cat", "'a red cat' is not a thing"),
        ("red cat 1", "is not a thing"),
        ("pink cat 1,1", "'pink' cannot be drawn"),
        ("red dog 1,1", "'dog' cannot be drawn"),
        ("red cat 5,0", "outside"),
        ("red cat 0,99999999999999999999", "outside"),
        ("red cat 1,1; blue star 1,1", "Two things stand at 1,1"),
        ("red cat 1,1 <b>x</b>", "is not a thing"),
        ("red cat 1,1\ud800", "surrogate"),
        ("x" * 200_000, "letters"),
        ("red cat ١,٢", "is not a thing"),
    ],
)
def test_what_is_no_scene_is_refused_in_words(text, says):
    with pytest.raises(InputError, match=says):
        language.read(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("red cat 0,0", "a red cat ."),
        ("red cat 0,0; red cat 3,3; red cat 1,2", "three red cats ."),
        ("red cat 0,4; blue house 1,0; blue house 0,1", "a red cat is below two blue houses ."),
        ("red cat 0,1; blue house 3,1", "a blue house is right of a red cat ."),
        ("black cat 0,1; blue house 3,2", "a black cat is left of a blue house ."),
        ("black cat 0,0; blue house 3,3", "a black cat is above a blue house ."),
        (
            "red cat 0,0; red cat 1,4; blue house 2,2; blue house 4,2",
            "two blue houses are right of two red cats .",
        ),
        ("red cat 4,1; blue house 3,1; blue house 2,2", "a red cat is right of two blue houses ."),
        ("red cat 2,1; blue house 1,1; blue house 3,1", None),
        ("red cat 0,0; blue house 1,1; green tree 2,2", None),
        ("red cat 0,0; red cat 1,0; red cat 2,0; red cat 3,0", None),
    ],
)
def test_the_sentence_of_a_scene_follows_from_the_grammar(text, wanted):
    assert language.caption(language.read(text)) == wanted
    assert language.caption(language.read(text)[::-1]) == wanted, "the order in the text says nothing"


def test_a_noun_means_the_group_of_its_colour():
    scene = language.read("red cat 0,0; blue cat 0,3; blue cat 3,4")
    words = ["a", "red", "cat", "is", "above", "two", "blue", "cats", "."]
    found = language.named_things(scene, words)
    assert [place for place, group in enumerate(found) if group] == [2, 7]
    assert [thing.colour for thing in found[2]] == ["red"] and len(found[7]) == 2
    assert not any(language.named_things(scene, ["a", "green", "tree", "."]))


def test_every_thing_is_another_picture_and_an_own_text_comes_back():
    tiles = {name: pixels.picture((language.Thing(*name.split(), 2, 2),)) for name in sampling.THINGS}
    assert len({tile.tobytes() for tile in tiles.values()}) == len(tiles)
    for kind, ink in pixels.drawings().items():
        assert ink.shape == (pixels.PATCH, pixels.PATCH), kind
        assert not ink[[0, -1]].any() and not ink[:, [0, -1]].any(), "cells stand apart"
    assert (
        language.scene_text(language.read(" RED  cat 1 ,0;;blue HOUSE 0,2 ;"))
        == "red cat 1,0; blue house 0,2"
    )


def test_what_is_learnt_from_is_never_tested():
    rng = np.random.default_rng(0)
    learnt = [sampling.sample_scene(rng, "train") for _ in range(300)]
    tested = [sampling.sample_scene(rng, "test") for _ in range(100)]
    combinations = [{sampling.combination(scene) for scene in some} for some in (learnt, tested)]
    assert not combinations[0] & combinations[1]
    assert not {thing.name for scene in (*learnt, *tested) for thing in scene} & sampling.UNSEEN
    new = [sampling.sample_scene(rng, "test", unseen=True) for _ in range(50)]
    assert all({thing.name for thing in scene} & sampling.UNSEEN for scene in new)
    assert all(language.caption(scene) for scene in (*learnt, *tested, *new))
    colours = {thing.colour for scene in learnt for thing in scene}
    assert colours == set(language.COLOURS)


def test_the_reader_names_cells_and_points_into_the_text():
    found = pixels.SceneReader().encode(f"{TEXT}; black star 4,4")
    assert len(found.tokens) == 25 and found.values.shape == (25, 3 * 14 * 14)
    at = found.tokens.index("red cat")
    assert at == 1 and TEXT[slice(*found.spans[at])] == "red cat 1,0"
    assert found.tokens[0] == "0,0" and found.spans[0] is None
    assert found.values.min() >= 0 and found.values.max() <= 1


# ---------------- What the captioner learns from: the windows that are read once are those of the pictures, and its measure means what it says.


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captioner")
    return recipes()["captioner"].prepare(folder, folder, 0, torch.device("cpu"))


@pytest.fixture(scope="module")
def untrained_network():
    recipe = recipes()["captioner"]
    return fresh(families()["captioner"], recipe.config, 0, recipe.begin).eval()


def test_windows_of_the_bank_are_those_of_the_pictures(task):
    inputs, cells, *_ = task._sample(np.random.default_rng(3), 12, "train")
    rng = np.random.default_rng(3)
    scenes = [sampling.sample_scene(rng, "train") for _ in range(12)]
    wanted = pixels.windows(np.stack([pixels.picture(scene) for scene in scenes]))
    assert np.array_equal(task.windows[0][cells].numpy(), wanted) and inputs.source.shape == cells.shape


def test_the_loss_is_the_caption_the_doubly_stochastic_term_and_what_lies_on_the_named_thing(
    task, untrained_network, monkeypatch
):
    batch, _ = task.batch(0)
    inputs, cells, wanted, there = batch
    monkeypatch.setattr("core.training.recipes.captioner.NOISE", 0.0)
    memory = task._read(untrained_network, task.windows, cells)
    with torch.no_grad():
        hidden, trace = record(untrained_network, inputs, keep=("decoder.attn.pattern",), memory=memory)
        logits = untrained_network.logits(hidden)
        found = task.loss(untrained_network, batch)
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
def test_the_measure_counts_whole_captions_and_cells_under_nouns(task, untrained_network, monkeypatch):
    """With what is said and looked at put in its place, all shares are known."""
    recipe = recipes()["captioner"]
    model = Model("captioner", families()["captioner"], recipe.config, untrained_network, task.tokenizer)
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


def test_captions_of_one_batch_look_as_each_does_alone(task, untrained_network):
    model = Model(
        "captioner", families()["captioner"], untrained_network.cfg, untrained_network, task.tokenizer
    )
    words, scenes = task.tokenizer.encode("a red heart").ids, captions.sample_scenes(2)
    rows = [words[:1], words]
    both = captions._looks(model, captions._source(model, scenes), rows, ())
    for look, row, scene in zip(both, rows, scenes, strict=True):
        (alone,) = captions._looks(model, captions._source(model, [scene]), [row], ())
        assert look.shape == (1 + len(row), 25)
        np.testing.assert_allclose(look, alone, atol=1e-6)


def test_the_baseline_of_equal_weights_reads_every_cell_alike(task, untrained_network, monkeypatch):
    """Each word's weights are one over the number of cells, not all 0."""
    model = Model(
        "captioner", families()["captioner"], untrained_network.cfg, untrained_network, task.tokenizer
    )
    even, describe = [], captions.describe

    def noted(model, scenes, *, edits=()):
        found = describe(model, scenes, edits=edits)
        even.extend(found[1] if edits else ())
        return found

    monkeypatch.setattr(captions, "describe", noted)
    captions.measure(model, 2)
    assert len(even) == 2 and all(np.allclose(weights, 1 / 25) for weights in even)
