"""Self-attention on small numbers: against torch, against hand numbers, as printed, and the worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import core
from core import edits
from core.errors import InputError
from core.layers.attention import MultiHeadAttention
from viz.course.self_attention.many_heads import maths
from viz.course.self_attention.many_heads.maths import Sizes
from viz.course.self_attention.permutation import maths as permutation_maths
from viz.course.self_attention.position_criteria import CRITERIA, judge
from viz.course.self_attention.positions import position_ideas, without_positions
from viz.course.shared import self_attention
from viz.course.shared.positions import Formula


def run(
    d: int = 4, p: int = 3, r: int = 5, n: int = 7, lot: int = 11, **options: bool
) -> self_attention.Attended:
    words = ["the", "old", "dog", "sees", "a", "new", "cat"][:n]
    return self_attention.attend(
        self_attention.word_vectors(words, d, lot), *self_attention.weight_matrices(d, p, r, lot), **options
    )


@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize(("d", "p", "r", "n"), [(4, 3, 5, 7), (5, 2, 3, 4), (6, 5, 1, 2), (1, 1, 6, 3)])
def test_equals_scaled_dot_product_attention_also_where_r_is_not_p(d, p, r, n, itself):
    found = run(d, p, r, n, itself=itself)
    for made, weights in ((found.q, found.w_q), (found.k, found.w_k), (found.v, found.w_v)):
        np.testing.assert_allclose(made, found.x @ weights)
    np.testing.assert_allclose(found.dots, found.q @ found.k.T)
    q, k, v = (torch.from_numpy(part.astype(np.float32))[None] for part in (found.q, found.k, found.v))
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.from_numpy(found.allowed)[None])[
        0
    ].numpy()
    np.testing.assert_allclose(found.z.astype(np.float32), theirs, atol=1e-6)
    assert found.z.shape == (n, r) and self_attention.torch_difference(found) <= 1e-6
    exact = F.scaled_dot_product_attention(
        *(torch.from_numpy(part)[None] for part in (found.q, found.k, found.v)),
        attn_mask=torch.from_numpy(found.allowed)[None],
    )[0].numpy()
    np.testing.assert_allclose(found.z, exact, atol=1e-14)


def test_without_itself_the_diagonal_is_exactly_zero_and_a_lone_word_gets_zeros():
    found = run(itself=False)
    assert (np.diag(found.weights) == 0).all()
    np.testing.assert_allclose(found.weights.sum(1), 1)
    alone = run(n=1, itself=False)
    assert not alone.weights.any() and not alone.z.any() and self_attention.torch_difference(alone) == 0
    assert run(n=1).weights.tolist() == [[1.0]]


def test_as_printed_is_the_sum_over_columns():
    """E1: in the documents' columns V A, with A the softmax over rows."""
    found = run()
    printed = self_attention.as_printed(found)
    np.testing.assert_allclose(printed.z.T, found.v.T @ found.weights)
    np.testing.assert_allclose(printed.sums, [sum(row[j] for row in found.weights) for j in range(7)])
    assert printed.gap == pytest.approx(
        np.abs(found.v.T @ found.weights - (found.v.T @ found.weights.T)).max()
    )
    assert np.abs(printed.sums - 1).max() > 0.05 and printed.gap > 0.05


def test_a_smaller_size_cuts_and_changes_no_number():
    large, small = run(6, 5, 4), run(3, 2, 1)
    np.testing.assert_array_equal(small.x, large.x[:, :3])
    np.testing.assert_array_equal(small.w_q, large.w_q[:3, :2])
    assert set(np.unique(large.x)) <= {-1.0, 0.0, 1.0}
    assert len({large.w_q.tobytes(), large.w_k.tobytes(), large.w_v[:, :4].tobytes()}) == 3


def test_a_change_sets_one_weight_and_one_outside_sets_none():
    before = self_attention.weight_matrices(4, 3, 2, 0)
    after = self_attention.weight_matrices(
        4, 3, 2, 0, [self_attention.Change("W_K", 3, 2, 5.0), self_attention.Change("W_V", 5, 5, 9.0)]
    )
    assert after[1][3, 2] == 5 and (after[0] == before[0]).all() and (after[2] == before[2]).all()
    assert (after[1] != before[1]).sum() == 1


@pytest.mark.parametrize(
    ("name", "weights"), [("student", (0.7, 0.2, 0.1)), ("apple", (0.1, 0.1, 0.5, 0.1, 0.2))]
)
def test_the_examples_of_the_documents_come_back_from_their_scores(name, weights):
    """C028, C029: softmax(log a) = a; the word itself is left out."""
    example = self_attention.EXAMPLES[name]
    values = np.random.default_rng(0).normal(size=(len(example.words), 3))
    found = self_attention.mixed(example.scores, values)
    np.testing.assert_allclose(found.weights, (*weights, 0.0), atol=1e-15)
    np.testing.assert_allclose(found.mix, np.array(weights) @ values[:-1])
    with_itself = self_attention.mixed(example.scores, values, itself=True)
    np.testing.assert_allclose(with_itself.weights, np.array((*weights, 0.1)) / 1.1)
    assert example.words[-1] == name and self_attention.EXAMPLES["apple"].scores[2] == pytest.approx(
        math.log(5)
    )


def test_words_are_counted_and_none_is_an_error_that_helps():
    words, total = self_attention.words_of("word " * 5000)
    assert (len(words), total) == (8, 5000)
    for text in ("", "  \n "):
        with pytest.raises(InputError, match="no word"):
            self_attention.words_of(text)


# ---------------- Several heads followed number by number: against nn.MultiheadAttention, by hand, and in closed form.


SIZES = [Sizes(), Sizes(1, 2, 4, 4), Sizes(3, 6, 12, 3), Sizes(1, 5, 6, 1)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("redrawn", [0, 2])
def test_every_step_is_that_of_torch(sizes, redrawn):
    way, attend = maths.run_layer(sizes, 3, redrawn), maths.layer(sizes, 3, redrawn)
    oracle = nn.MultiheadAttention(sizes.d, sizes.h, batch_first=True, dtype=torch.float64)
    maps = (attend.to_q, attend.to_k, attend.to_v)
    with torch.no_grad():
        oracle.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
        oracle.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
        oracle.out_proj.weight.copy_(attend.to_out.weight)
        oracle.out_proj.bias.copy_(attend.to_out.bias)
        x = torch.from_numpy(way.x)
        out, each = oracle(x, x, x, average_attn_weights=False)
        mean = oracle(x, x, x, average_attn_weights=True)[1]
        np.testing.assert_allclose(way.project, attend.to_q(x), atol=1e-14)
    np.testing.assert_allclose(way.out, out, atol=1e-13)
    np.testing.assert_allclose(way.pattern, each, atol=1e-14)
    np.testing.assert_allclose(way.pattern.mean(1), mean, atol=1e-14)
    assert (
        way.parameters == sum(weight.numel() for weight in oracle.parameters()) == 4 * (sizes.d**2 + sizes.d)
    )
    assert maths.parameters(512) == 1_050_624


def test_shapes_and_whose_number_is_where():
    sizes = Sizes(2, 3, 8, 4)
    way = maths.run_layer(sizes)
    steps = {stage.name: stage for stage in maths.stages(way)}
    assert tuple(steps) == maths.NAMES
    expected = {
        "x": (2, 3, 8),
        "project": (2, 3, 8),
        "view": (2, 3, 4, 2),
        "swap": (2, 4, 3, 2),
        "scores": (2, 4, 3, 3),
        "softmax": (2, 4, 3, 3),
        "out": (2, 4, 3, 2),
        "transpose back": (2, 3, 4, 2),
        "flatten": (2, 3, 8),
        "W_O": (2, 3, 8),
    }
    assert {name: stage.shape for name, stage in steps.items()} == expected
    assert all(stage.head_of.shape == stage.word_of.shape == stage.shape for stage in steps.values())
    for name in ("swap", "scores", "softmax", "out"):
        assert (steps[name].head_of == np.arange(4)[:, None, None]).all() and (
            steps[name].word_of == np.arange(3)[:, None]
        ).all()
    assert (steps["flatten"].head_of[0] == np.arange(8) // 2).all() and (
        np.arange(3) == steps["flatten"].word_of[0].T
    ).all()
    np.testing.assert_array_equal(way.merged[1, 2], way.heads[1, :, 2].ravel())
    wrong = {stage.name: stage for stage in maths.stages(way, swapped=False)}
    np.testing.assert_array_equal(wrong["flatten"].value, way.heads.reshape(2, 3, 8))
    right = (wrong["flatten"].head_of == steps["flatten"].head_of) & (
        wrong["flatten"].word_of == steps["flatten"].word_of
    )
    assert right[0].sum() == maths.in_place(sizes) < 24
    assert way.off > 0.1 and (way.unswapped == way.merged)[right].all()


def test_with_one_head_or_one_word_the_swap_changes_nothing():
    for sizes in (Sizes(1, 4, 6, 1), Sizes(2, 1, 6, 3)):
        assert maths.in_place(sizes) == sizes.n * sizes.d and maths.run_layer(sizes).off == 0


def test_a_head_drawn_anew_leaves_the_others_as_they_are_to_the_bit():
    """E15."""
    sizes = Sizes(2, 5, 16, 4)
    before, after = maths.run_layer(sizes), maths.run_layer(sizes, redrawn=1)
    moved = maths.changed(before, after)
    assert moved[0] > 0.1 and (moved[1:] == 0).all()
    assert before.heads[:, 1:].tobytes() == after.heads[:, 1:].tobytes()
    assert before.pattern[:, 1:].tobytes() == after.pattern[:, 1:].tobytes()
    assert np.abs(before.out - after.out).max() > 0.05  # W_O mixes all heads


def test_a_head_reads_the_whole_word():
    """E30."""
    assert maths.chunk(Sizes(1, 4, 8, 2)) > 0.1
    assert maths.chunk(Sizes(1, 4, 8, 1)) == pytest.approx(0, abs=1e-14)


def test_heads_that_do_not_divide_the_width_are_told_in_three_parts():
    with pytest.raises(InputError, match="8 numbers cannot be divided among 3 heads") as told:
        maths.run_layer(Sizes(1, 4, 8, 3))
    assert "divisible" in told.value.rule and "d = 6 or d = 9" in told.value.remedy
    with pytest.raises(InputError, match="take d = 8,"):
        maths.run_layer(Sizes(1, 4, 4, 8))


@pytest.mark.parametrize("wanted", [2, 3, 4])
def test_one_head_keeps_the_worth_of_one_part(wanted):
    for heads in range(1, wanted + 2):
        assert maths.measured_loss(wanted, heads) == pytest.approx(maths.lost_share(wanted, heads), abs=0.02)


# ---------------- Another order of the words: equivariance, the closed forms, and the layer itself, each against an oracle.


WORDS, SIZE, HEADS = 7, 15, 3


@pytest.fixture
def layer() -> MultiHeadAttention:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return permutation_maths.in_double(MultiHeadAttention(SIZE, HEADS))


def rows(n: int = WORDS) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, SIZE))


def oracle(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    other = nn.MultiheadAttention(SIZE, HEADS, batch_first=True).double().eval()
    maps = (layer.to_q, layer.to_k, layer.to_v)
    other.load_state_dict(
        {
            "in_proj_weight": torch.cat([each.weight for each in maps]),
            "in_proj_bias": torch.cat([each.bias for each in maps]),
            "out_proj.weight": layer.to_out.weight,
            "out_proj.bias": layer.to_out.bias,
        }
    )
    return other


@pytest.mark.parametrize("causal", [False, True])
def test_the_layer_is_torch_s(layer, causal):
    x = rows()
    mask = torch.ones(WORDS, WORDS, dtype=torch.bool).triu(1) if causal else None
    with torch.no_grad():
        expected, weights = oracle(layer)(
            *[torch.tensor(x)[None]] * 3, attn_mask=mask, average_attn_weights=False
        )
    out, pattern = permutation_maths.attend(layer, x, causal)
    np.testing.assert_allclose(out, expected[0], atol=1e-12)
    np.testing.assert_allclose(pattern, weights[0], atol=1e-12)


def test_equivariant_not_invariant_and_the_weights_are_p_a_p_transposed(layer):
    """C038, C039."""
    x, order = rows(), (4, 0, 6, 1, 5, 3, 2)
    p = permutation_maths.matrix(order)
    assert np.array_equal(p @ x, x[list(order)]) and np.array_equal(p @ p.T, np.eye(WORDS))
    (out, a), (moved, b) = permutation_maths.attend(layer, x), permutation_maths.attend(layer, p @ x)
    np.testing.assert_allclose(moved, p @ out, atol=1e-13)
    np.testing.assert_allclose(b, p @ a @ p.T, atol=1e-13)
    found = permutation_maths.reordered(layer, x, p @ x, order)
    assert (
        found.kind == permutation_maths.MOVES
        and found.largest < 1e-12 < 0.01 < found.in_place
        and found.unchanged.all()
    )
    assert found.pooled_largest < 1e-13
    assert permutation_maths.reordered(layer, x, x, range(WORDS)).kind == permutation_maths.STAYS


def test_with_positions_and_with_a_mask_it_is_lost(layer):
    x, order = rows(), (0, 2, 1, 3, 4, 6, 5)
    places = np.random.default_rng(2).normal(size=(WORDS, SIZE))
    placed = permutation_maths.reordered(layer, x + places, x[list(order)] + places, order)
    assert (
        placed.kind == permutation_maths.CHANGES
        and placed.pooled_largest > 0.001
        and not placed.unchanged.any()
    )
    masked = permutation_maths.reordered(layer, x, x[list(order)], order, causal=True)
    assert masked.kind == permutation_maths.CHANGES
    assert (
        masked.unchanged.tolist()
        == permutation_maths.same_past(range(WORDS), order)
        == [True, False, False, True, True, False, False]
    )


def test_a_repeated_word_counts_and_only_shares_count(layer):
    x = rows()
    again = (*range(WORDS), 2, 2)
    before, after = (
        permutation_maths.attend(layer, x)[1],
        permutation_maths.attend(layer, x[list(again)])[1][:, :WORDS],
    )
    together = np.concatenate(
        [after[..., :2], after[..., [2]] + after[..., 7:].sum(-1, keepdims=True), after[..., 3:7]], axis=-1
    )
    np.testing.assert_allclose(
        together, permutation_maths.repeated(before, [1, 1, 3, 1, 1, 1, 1]), atol=1e-13
    )
    said = permutation_maths.reordered(layer, x, x[list(again)], again)
    assert said.kind == permutation_maths.CHANGES and not said.unchanged.any()
    whole = (*range(WORDS), *range(WORDS))
    assert permutation_maths.reordered(layer, x, x[list(whole)], whole).unchanged.all()


def test_the_model_s_own_first_layer_and_all_its_layers_agree():
    model = core.open_model("bert-mini")
    run = model.run("The dog saw the man.")
    x = permutation_maths.rows_of(model.network, run.ids, range(len(run.ids)))
    np.testing.assert_allclose(x, run.trace["embed.out"], atol=1e-5)
    out, pattern = permutation_maths.attend(permutation_maths.in_double(model.network.layers[0].self_attn), x)
    np.testing.assert_allclose(out, run.trace["layer.0.self_attn.out"], atol=1e-4)
    np.testing.assert_allclose(pattern, run.trace["layer.0.self_attn.pattern"], atol=1e-5)
    np.testing.assert_allclose(permutation_maths.run_layers(model.network, x), run.hidden()[-1], atol=1e-4)
    bare = model.run("The dog saw the man.", edits=[core.edits.NoPositions("embed.position")])
    np.testing.assert_allclose(
        permutation_maths.rows_of(model.network, run.ids), bare.trace["embed.out"], atol=1e-5
    )


# ---------------- Position ideas, and trained models whose positions are shuffled or removed: each number by another way.


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
    assert position_ideas.grounds(found["fraction"], 5, 20)[1] == "0.25 or 0.05 per step"
    assert position_ideas.grounds(found["learned"], 5, 20)[2] == "the table ends"


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
    assert without_positions.twins(bert.run(TEXT), 1, 4)[-1] == pytest.approx(expected, abs=1e-5)
    assert expected > 0.1
    run = gpt.run("so so so so", edits=[edits.NoPositions("embed.position")])
    assert run.tokens[1] == run.tokens[3]
    assert without_positions.twins(run, 1, 3)[0] == 0 < without_positions.twins(run, 1, 3)[-1]


def test_one_token_has_no_order():
    with pytest.raises(InputError, match="one token"):
        without_positions.unplaced(core.open_model("gpt-mini"), ".", 0)
