"""The captioner: its convolutions, what its attention makes of the cells, and the scenes that it reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core import edits
from core.data.scenes import language, pixels, sampling
from core.errors import InputError
from core.models import Batch
from core.models.captioner import Captioner, CaptionerConfig
from core.trace import record

TEXT = "red cat 1,0; blue house 0,2; blue house 2,1"


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    found = Captioner(CaptionerConfig.tiny()).eval()
    for weight in found.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return found


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
