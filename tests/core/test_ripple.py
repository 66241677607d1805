"""A changed word: exactly nothing to its left in a causal model, everywhere in an encoder; who reaches whom, by masks and by trying."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_models import build

import core
from core.analysis.residual.ripple import KEEP, changed_positions, changed_text, reach, ripple
from core.edits import AddVector, Forbid
from viz.course.gpt.families import two_chains
from viz.course.gpt.families.influence import influence

ONE, OTHER = "She has a white car.", "She was a white car."


def pair(model: core.Model, **options) -> tuple[core.Run, core.Run]:
    return model.run(ONE, keep=KEEP, **options), model.run(OTHER, keep=KEEP, **options)


def test_a_causal_model_cannot_look_ahead_bit_for_bit():
    before, after = pair(build("gpt"))
    moved, (first, *_) = ripple(before, after), changed_positions(before, after)
    assert moved.shape == (3, len(before.tokens)) and 0 < first < len(before.tokens) - 1
    assert (moved[:, :first] == 0).all(), "exactly"
    assert (moved[1:, first:] > 0).all() and moved[0, first] > 0
    assert (moved[0, first + len(changed_positions(before, after)) :] == 0).all(), (
        "before any layer only the word itself has changed"
    )
    np.testing.assert_array_equal(before.logits[:first], after.logits[:first])


def test_it_is_the_length_of_the_difference_over_the_length():
    before, after = pair(build("gpt"))
    one, other = before.hidden(), after.hidden()
    wanted = [
        [np.sqrt(sum((b - a) ** 2)) / np.sqrt(sum(a**2)) for a, b in zip(*rows, strict=True)]
        for rows in zip(one, other, strict=True)
    ]
    np.testing.assert_allclose(ripple(before, after), wanted, rtol=1e-4)


def test_a_translator_is_moved_in_both_stacks():
    before, after = pair(build("transformer"), target="Ella tiene un auto.")
    encoder, decoder = ripple(before, after, "encoder"), ripple(before, after, "decoder")
    assert (encoder[1:] > 0).all() and (decoder[1:] > 0).all() and (decoder[0] == 0).all()
    assert changed_positions(before, after, "encoder") and not changed_positions(before, after, "decoder")


def test_texts_of_different_length_are_refused():
    model = build("gpt")
    with pytest.raises(core.InputError, match="position by position"):
        ripple(model.run(ONE), model.run(ONE + " It was"))


def tried(model: core.Model, run: core.Run, path: str, n: int, **options) -> np.ndarray:
    """(output, input): whether the output moves at all when one input vector is moved."""
    found = np.zeros((run.side.n_real, n), dtype=bool)
    push = np.full(model.config.d_model, 0.5, dtype=np.float32)
    push[::2] = -0.25
    for place in range(n):
        moved = model.run(
            run.source.text if run.source else ONE,
            edits=(*options.get("edits", ()), AddVector(path, push, place)),
            target=run.target_text if run.source else None,
        )
        found[:, place] = (moved.logits != run.logits).any(-1)
    return found


@pytest.mark.parametrize("window", [False, True])
def test_who_reaches_whom_in_a_causal_model_is_what_trying_says(window):
    """With a narrow window in both layers a word reaches two places back, no further."""
    model = build("gpt")
    n = len(model.run(ONE).tokens)
    far = (
        [Forbid("layer.*.self_attn.allowed", query=q, key=k) for q in range(n) for k in range(q - 1)]
        if window
        else []
    )
    run = model.run(ONE, edits=far)
    found = reach(run)
    np.testing.assert_array_equal(found, tried(model, run, "embed.out", n, edits=far))
    assert found.sum() == (3 * n - 3 if window else n * (n + 1) // 2)


def test_who_reaches_whom_in_a_translator_is_what_trying_says():
    model = build("transformer")
    run = model.run(ONE, target="Ella tiene.")
    np.testing.assert_array_equal(
        reach(run, "source"), tried(model, run, "encoder.embed.out", len(run.source.tokens))
    )
    np.testing.assert_array_equal(reach(run), tried(model, run, "decoder.embed.out", run.side.n_real))
    with pytest.raises(core.InputError):
        reach(build("gpt").run(ONE), "source")


@pytest.mark.parametrize("build", [lambda: build("gpt"), build])
def test_a_neighbour_differs_in_one_word_and_has_as_many_pieces(build):
    model = build()
    other = changed_text(model, "She has a tired car.")
    assert other != "She has a tired car." and len(model.run(other).tokens) == len(
        model.run("She has a tired car.").tokens
    )
    assert sum(a != b for a, b in zip(other.split(), ["She", "has", "a", "tired", "car."], strict=True)) == 1
    assert changed_text(model, ".") == "."


# ---------------- Who moves whom: by moving each input, by the masks, and by autograd; two chains as ELMo joins them.


TEXT = "She has a white car."


@pytest.mark.parametrize("make", [build, lambda: build("gpt")])
def test_what_moves_is_what_the_masks_allow(make):
    model = make()
    run, found = model.run(TEXT), influence(model, TEXT)
    n = len(run.tokens)
    assert found.shape == (n, model.config.n_layers + 1, n)
    np.testing.assert_array_equal(found[:, -1].T > 0, reach(run))
    np.testing.assert_array_equal(found[:, 0] > 0, np.eye(n, dtype=bool))


def test_a_translator_by_source_and_by_target():
    model = build("transformer")
    run = model.run(TEXT, target="Ella tiene.")
    for of in ("source", "target"):
        np.testing.assert_array_equal(influence(model, TEXT, of, "Ella tiene.")[:, -1].T > 0, reach(run, of))
    with pytest.raises(core.InputError, match="source"):
        influence(build("gpt"), TEXT, "source")


def test_two_chains_are_one_way_each_and_the_jacobian_says_so():
    n = 5
    found = two_chains.influence(n)
    after, before = np.tril(np.ones((n, n))), np.triu(np.ones((n, n)))
    for name, pattern in zip(two_chains.SIDES, (after, before, np.ones((n, n))), strict=True):
        np.testing.assert_array_equal(found[name] > 0, pattern)
    x = torch.randn(1, n, two_chains.WIDTH)
    slope = torch.autograd.functional.jacobian(
        lambda x: two_chains.top_states(two_chains.chain(backward=False), x, backward=False), x
    )
    np.testing.assert_array_equal(slope[:, :, 0].abs().sum((1, 3)).numpy() > 0, after)
    assert (two_chains.influence(16)["both, joined"] > 0).all()
