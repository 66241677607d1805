"""The exhibit on Vision Transformers: each number that it says is computed again from runs of the shipped models."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels, drawn, said
from packets import opened, packets_of, unpacked
from shown_values import states

import core
from core.analysis.attention.aggregate import rollout
from core.data import doodles, patches
from viz.course.vision.picture_as_words import charts, maths
from viz.course.vision.picture_as_words.params import HEADS, LAYERS, OPENING, SLUG, Params
from viz.labels import percent

FISH = doodles.as_text(doodles.example("fish"))
SENT: list[bytes] = []
"""The packets of a page before its question was answered: what is steady is not sent again."""
BLACK = doodles.as_text(np.zeros((28, 28), dtype=np.uint8))


def page(step, known=True, **link):
    query = {f"{SLUG}.step": str(step), **{f"{SLUG}.{name}": str(value) for name, value in link.items()}}
    test = drawn(SLUG, query, {})
    assert not test.exception
    SENT[:] = packets_of(test)
    if known:
        for pills in [each for each in test.button_group if str(each.key).startswith("predict:")]:
            test = drawn(SLUG, query, {pills.key: pills.options[1]})
        for button in [each for each in test.button if str(each.key).endswith(":commit")]:
            test = button.click().run()
        assert not test.exception
    return test


def test_the_shape_of_the_shipped_models_is_what_the_controls_offer():
    vit, mae = core.open_model(maths.MODEL), core.open_model(maths.FILLER)
    assert (vit.config.n_layers, vit.config.n_heads, vit.config.patch) == (LAYERS, HEADS, 4)
    assert mae.config.side == vit.config.side == 7 and vit.config.n_ctx == maths.n_tokens(28, 4)
    assert tuple(vit.config.classes) == doodles.NAMES


@pytest.mark.quick(1)
@pytest.mark.parametrize("patch", maths.SIZES)
def test_the_patches_stand_in_a_row_behind_the_class_token(patch):
    """C096."""
    hidden, shown = page(1, known=False, patch=patch), page(1, patch=patch)
    n = (28 // patch) ** 2 + 1
    assert maths.n_tokens(28, patch) == n and f"{n} × {n} = {n * n:,} scores" in said(shown)
    assert f"the class token: {n}." in said(shown) and "(224 / 16)² + 1 = 197" in said(shown)
    assert f"{n - 1} patches of" not in said(hidden) and len(hidden.get("vega_lite_chart")) == 1
    tiles = drawn_rows(shown, "image", place=1)
    cut = maths.cut(doodles.from_text(OPENING), patch)
    assert [tile["image"] for tile in tiles] == [charts.png(part) for part in cut] and len(cut) == n - 1
    whole = np.block(
        [[cut[row * (28 // patch) + column] for column in range(28 // patch)] for row in range(28 // patch)]
    )
    assert np.array_equal(whole, doodles.from_text(OPENING))


def test_tiles_have_room_for_their_numbers():
    tiles = charts.tiles([np.zeros((2, 2))] * 12, 5, first="class", numbered=True)
    assert [row["number"] for row in drawn_rows(tiles, "image")] == [str(i) for i in range(1, 13)]
    assert len(drawn_rows(tiles, mark="rect")) == 1
    assert [row["number"] for row in drawn_rows(tiles, "number", mark="text")] == [str(i) for i in range(13)]


@pytest.mark.parametrize(("head", "layer"), [(maths.MEAN, 3), ("1", 0), (maths.ROLLOUT, 2)])
def test_the_map_on_the_picture_is_the_class_tokens_row(head, layer):
    """C096: the class token's look, by head and layer."""
    model = core.open_model(maths.MODEL)
    run = model.run(FISH)
    weights = run.attention("self").weights
    wanted = {maths.MEAN: weights[layer].mean(0), maths.ROLLOUT: rollout(weights)[layer]}.get(head)
    wanted = weights[layer, int(head)] if wanted is None else wanted
    test = page(2, own=FISH, head=head, layer=layer)
    (packet,) = (data for data in packets_of(test) if "special" in opened(data)[0])
    np.testing.assert_allclose(unpacked(packet, page=SENT)[0], wanted[0], atol=2e-3)
    header = opened(packet)[0]
    assert header["special"] == 1 and header["cells"] == [7, 7] and header["keys"][0] == "class token"
    scores = np.asarray(run.trace["classes"], dtype=np.float64)
    chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = model.config.classes[int(chances.argmax())]
    assert states(said(test), f"“{best}”", percent(chances.max()))
    assert states(said(test), percent(wanted[0, 0]))
    assert bar_labels(test) == [percent(chance) for chance in chances]


@pytest.mark.parametrize(("share", "draw"), [(75, 0), (40, 3)])
def test_what_is_filled_in_is_the_decoders_at_hidden_places_and_the_drawing_elsewhere(share, draw):
    model = core.open_model(maths.FILLER)
    hidden = patches.sample_hidden(49, share / 100, draw)
    found = np.asarray(model.run(patches.with_hidden_mark(FISH, hidden)).trace["patches"])
    true = patches.patch_values(doodles.from_text(FISH), 4)
    seen = [place for place in range(1, 50) if place not in hidden]
    error = float(np.square(np.clip(found, -1, 1) - true)[list(hidden)].mean() / 4)
    mean = float(np.square(true[seen].mean(0) - true)[list(hidden)].mean() / 4)
    test = page(3, own=FISH, share=share, draw=draw)
    assert states(said(test), f"{error:.4f}", f"{mean:.4f}", len(seen))
    made = maths.filled(FISH, share / 100, draw)
    gone = np.isnan(made.visible)
    assert gone.sum() == 16 * len(hidden)
    np.testing.assert_allclose(made.filled[~gone], doodles.from_text(FISH)[~gone] / 255, atol=1e-6)
    before = page(3, known=False, own=FISH, share=share, draw=draw)
    assert f"{error:.4f}" not in said(before)


@pytest.mark.quick(2)
@pytest.mark.parametrize("own", [BLACK, "doodle:nonsense", "a cat", "\ud800", FISH + " hidden:ffff"])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_odd_doodles_are_answered_calmly(step, own):
    test = drawn(
        SLUG, {f"{SLUG}.step": str(step), f"{SLUG}.own": own.encode("utf-8", "replace").decode()}, {}
    )
    assert not test.exception and said(test)


def test_params_open_with_a_doodle_of_our_own():
    assert np.array_equal(doodles.from_text(Params().own), doodles.example("cat"))
