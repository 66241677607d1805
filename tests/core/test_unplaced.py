"""Position ideas, and trained models whose positions are shuffled or removed: each number by another way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import core
from core import edits
from core.errors import InputError
from viz.course.self_attention.position_criteria import CRITERIA, judge
from viz.course.self_attention.positions import position_ideas, without_positions
from viz.course.shared.positions import Formula

TEXT = "The dog saw the man."


def test_swaps_make_any_order():
    for lot in range(5):
        order = without_positions.shuffle(1, 9, lot)
        value = torch.arange(9.0)[:, None]
        for i, j in without_positions.swaps(order):
            value = edits.SwapPositions("p", i, j)(value)
        assert value.flatten().tolist() == list(order) != list(range(9)) and order[0] == 0


def test_the_criteria_fall_as_the_slides_say():
    found = {
        name: judge(name, code, 5, 20)
        for name, code in position_ideas.candidates(np.random.default_rng(0).normal(size=(64, 8))).items()
    }
    kept = {
        name: "".join("x" if getattr(verdict, leaf) else "-" for leaf in CRITERIA.values())
        for name, verdict in found.items()
    }
    assert kept == {
        "none": "-xxxx",
        "fraction": "x-xxx",
        "integer": "xx-xx",
        "sinusoid": "xxxxx",
        "sinusoid, i/d": "xxxx-",
        "learned": "xx-x-",
    }
    assert (
        position_ideas.grounds(found["fraction"], 5, 20)[1] == "0.25 or 0.05 per step"
        and position_ideas.grounds(found["learned"], 5, 20)[2] == "the table ends"
    )


def test_hands_are_the_angles_of_the_sinusoids():
    formula = Formula(8)
    angles, vector = position_ideas.hands(formula, 7), formula.table(8)[7]
    np.testing.assert_allclose(vector[::2], np.sin(angles), atol=1e-12)
    np.testing.assert_allclose(vector[1::2], np.cos(angles), atol=1e-12)
    np.testing.assert_allclose(
        position_ideas.hands(formula, 9) - position_ideas.hands(formula, 4),
        position_ideas.hands(formula, 5),
        atol=1e-12,
    )


def test_the_thread_keeps_distances_of_a_plane():
    plane = (
        np.random.default_rng(1).normal(size=(11, 2))
        @ np.linalg.qr(np.random.default_rng(2).normal(size=(5, 2)))[0].T
    )
    places, share = position_ideas.thread(plane)
    far = np.linalg.norm(plane[:, None] - plane[None], axis=-1)
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places[None], axis=-1), far, atol=1e-9)
    assert share == pytest.approx(1)
    assert position_ideas.neighbours(np.eye(3)[[0, 1, 0, 1]]) == 0


def test_gpt_s_surprise_is_the_cross_entropy_under_each_way():
    model = core.open_model("gpt-mini")
    found = without_positions.unplaced(model, TEXT, 3)
    ids = torch.tensor(model.run(TEXT).ids)
    table = model.network.embed["position"].weight[: len(ids)]
    for way, rows in {
        without_positions.AS_TRAINED: table,
        without_positions.REMOVED: 0 * table,
        without_positions.SHUFFLED: table[list(without_positions.shuffle(0, len(ids), 3))],
    }.items():
        run = model.run(TEXT, edits=[edits.Patch("embed.position", rows, ("test", way))])
        assert found.ways[way].surprise == pytest.approx(
            float(F.cross_entropy(torch.tensor(run.logits[:-1]), ids[1:])), abs=1e-4
        )
        np.testing.assert_allclose(
            found.ways[way].pattern, run.attention("causal").weights[found.head], atol=1e-5
        )
    assert np.diagonal(found.ways[without_positions.AS_TRAINED].pattern, -1)[1:].mean() > 0.4


def test_bert_s_surprise_hides_each_word_in_turn():
    model = core.open_model("bert-mini")
    run = model.run(TEXT)
    by_hand = []
    for place in range(1, len(run.ids) - 1):
        hole = edits.ReplaceToken(
            "embed.token", place, "[MASK]", model.network.embed["token"].weight[model.tokenizer.mask]
        )
        by_hand.append(
            float(
                F.cross_entropy(
                    torch.tensor(model.run(TEXT, edits=[hole]).logits[place]), torch.tensor(run.ids[place])
                )
            )
        )
    np.testing.assert_allclose(without_positions.hidden_surprises(model, TEXT), by_hand, atol=1e-3)
    found = without_positions.unplaced(model, TEXT, 0)
    assert found.ways[without_positions.AS_TRAINED].surprise == pytest.approx(np.mean(by_hand), abs=1e-3)
    assert (
        found.hidden == "saw"
        and found.ways[without_positions.SHUFFLED].surprise
        > found.ways[without_positions.AS_TRAINED].surprise
    )


def test_a_translator_without_positions_forgets_who_saw_whom():
    model = core.open_model("translator-en-es")
    found = without_positions.unplaced(model, TEXT, 0)
    target = found.ways[without_positions.AS_TRAINED].says[0][0]
    bare = model.run(TEXT, target=target, edits=[edits.NoPositions("encoder.embed.position")])
    ids = [*bare.ids[1:], model.tokenizer.end]
    assert found.ways[without_positions.REMOVED].surprise == pytest.approx(
        float(F.cross_entropy(torch.tensor(bare.logits), torch.tensor(ids))), abs=1e-4
    )
    other = model.run("The man saw the dog.", edits=[edits.NoPositions("encoder.embed.position")])
    if [*map(str.lower, bare.source.tokens)] == [*map(str.lower, model.run(TEXT).source.tokens)]:
        assert found.ways[without_positions.REMOVED].says[0][0] == other.target_text


def test_twins_are_equal_without_positions_in_bert_and_not_under_a_mask():
    bert, gpt = core.open_model("bert-mini"), core.open_model("gpt-mini")
    bare = without_positions.twins(bert.run(TEXT, edits=[edits.NoPositions("embed.position")]), 1, 4)
    assert bare.max() < 1e-5 and len(bare) == bert.config.n_layers + 1
    states = bert.run(TEXT).hidden()
    expected = (
        np.linalg.norm(states[-1, 1] - states[-1, 4])
        / (np.linalg.norm(states[-1, 1]) + np.linalg.norm(states[-1, 4]))
        * 2
    )
    assert (
        without_positions.twins(bert.run(TEXT), 1, 4)[-1] == pytest.approx(expected, abs=1e-5)
        and expected > 0.1
    )
    run = gpt.run("so so so so", edits=[edits.NoPositions("embed.position")])
    assert (
        run.tokens[1] == run.tokens[3]
        and without_positions.twins(run, 1, 3)[0] == 0 < without_positions.twins(run, 1, 3)[-1]
    )


def test_one_token_has_no_order():
    with pytest.raises(InputError, match="one token"):
        without_positions.unplaced(core.open_model("gpt-mini"), ".", 0)
