"""The exhibit on Vision Transformers: each number that it says is computed again from runs of the shipped models."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, said
from exhibit_visits import answered
from packets import opened, packets_of, unpacked
from shown_values import states

import core
from core.analysis.attention.aggregate import rollout
from core.data import doodles, patches
from viz.course.vision.picture_as_words import charts, maths
from viz.course.vision.picture_as_words.params import HEADS, LAYERS, OPENING, Params
from viz.labels import percent

FISH = doodles.as_text(doodles.example("fish"))
BLACK = doodles.as_text(np.zeros((28, 28), dtype=np.uint8))
page = StepPages("picture_as_words", shared=())


def test_the_shape_of_the_shipped_models_is_what_the_controls_offer():
    vit, mae = core.open_model(maths.MODEL), core.open_model(maths.FILLER)
    assert (vit.config.n_layers, vit.config.n_heads, vit.config.patch) == (LAYERS, HEADS, 4)
    assert mae.config.side == vit.config.side == 7 and vit.config.n_ctx == maths.n_tokens(28, 4)
    assert tuple(vit.config.classes) == doodles.NAMES
    assert np.array_equal(doodles.from_text(Params().own), doodles.example("cat"))


@pytest.mark.quick(1)
@pytest.mark.parametrize("patch", maths.SIZES)
def test_the_patches_stand_in_a_row_behind_the_class_token(patch):
    """C096."""
    test, side = answered(page(patch=patch)), 28 // patch
    n = side**2 + 1
    assert maths.n_tokens(28, patch) == n and f"{n} × {n} = {n * n:,} scores" in said(test)
    assert f"the class token: {n}." in said(test) and "(224 / 16)² + 1 = 197" in said(test)
    cut = maths.cut(doodles.from_text(OPENING), patch)
    tiles = [tile["image"] for tile in drawn_rows(test, "image", place=1)]
    assert tiles == [charts.png(part) for part in cut] and len(cut) == n - 1
    grid = np.reshape(cut, (side, side, patch, patch))
    assert np.array_equal(np.block([[*row] for row in grid]), doodles.from_text(OPENING))


@pytest.mark.parametrize(("head", "layer"), [(maths.MEAN, 3), ("1", 0), (maths.ROLLOUT, 2)])
def test_the_map_on_the_picture_is_the_class_tokens_row(head, layer):
    """C096: the class token's look, by head and layer."""
    model = core.open_model(maths.MODEL)
    run = model.run(FISH)
    weights = run.attention("self").weights
    means = {maths.MEAN: weights[layer].mean(0), maths.ROLLOUT: rollout(weights)[layer]}
    row = means[head][0] if head in means else weights[layer, int(head), 0]
    before = page(2, own=FISH, head=head, layer=layer)
    sent, test = packets_of(before), answered(before)
    (packet,) = (data for data in packets_of(test) if "special" in opened(data)[0])
    np.testing.assert_allclose(unpacked(packet, page=sent)[0], row, atol=2e-3)
    header = opened(packet)[0]
    assert (header["special"], header["cells"], header["keys"][0]) == (1, [7, 7], "class token")
    scores = np.asarray(run.trace["classes"], dtype=np.float64)
    chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = model.config.classes[int(chances.argmax())]
    assert states(said(test), f"“{best}”", percent(chances.max()))
    assert states(said(test), percent(row[0]))
    assert bar_labels(test) == [percent(chance) for chance in chances]


@pytest.mark.parametrize(("share", "draw"), [(75, 0), (40, 3)])
def test_what_is_filled_in_is_the_decoders_at_hidden_places_and_the_drawing_elsewhere(share, draw):
    hidden = patches.sample_hidden(49, share / 100, draw)
    run = core.open_model(maths.FILLER).run(patches.with_hidden_mark(FISH, hidden))
    found, true = np.asarray(run.trace["patches"]), patches.patch_values(doodles.from_text(FISH), 4)
    seen = [place for place in range(1, 50) if place not in hidden]
    error, mean = (
        float(np.square(guess - true)[list(hidden)].mean() / 4)
        for guess in (np.clip(found, -1, 1), true[seen].mean(0))
    )
    test = answered(page(3, own=FISH, share=share, draw=draw))
    assert states(said(test), f"{error:.4f}", f"{mean:.4f}", len(seen))
    made = maths.filled(FISH, share / 100, draw)
    gone = np.isnan(made.visible)
    assert gone.sum() == 16 * len(hidden)
    np.testing.assert_allclose(made.filled[~gone], doodles.from_text(FISH)[~gone] / 255, atol=1e-6)


@pytest.mark.quick(2)
@pytest.mark.parametrize("own", [BLACK, "doodle:nonsense", "a cat", "?", FISH + " hidden:ffff"])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_odd_doodles_are_answered_calmly(step, own):
    page(step, own=own)
