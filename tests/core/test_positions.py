"""Positions: closed forms, the documents' numbers, and the reference implementations."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.analysis.heads.relative_bias import bias_by_distance
from core.errors import InputError
from core.layers.positions import (
    LearnedPositions,
    Sinusoidal,
    alibi_bias,
    alibi_slopes,
    frequencies,
    rotary,
    sinusoidal,
    sinusoidal_at,
)
from core.models import Batch, families
from core.trace import record
from viz.course.self_attention import position_criteria
from viz.course.shared import position_evidence
from viz.course.shared.positions import (
    Formula,
    choose_dimensions,
    curves,
    distance_profile,
    dot_products,
    learned_table,
    match,
    score_by_distance,
    similarity_profile,
)

exact = {"dtype": torch.float64}


@pytest.mark.parametrize("d_model", [1, 2, 5, 8, 13])
def test_sinusoidal_is_the_closed_form_for_even_and_odd_widths(d_model):
    table = sinusoidal(7, d_model, base=300.0, **exact)
    assert table.shape == (7, d_model)
    for position in range(7):
        for i in range(d_model):
            angle = position / 300.0 ** (2 * (i // 2) / d_model)
            want = math.cos(angle) if i % 2 else math.sin(angle)
            assert table[position, i].item() == pytest.approx(want, abs=1e-14)


def test_fractional_positions_lie_on_the_same_curves():
    halves = sinusoidal_at(torch.arange(0, 9, 0.5, dtype=torch.float64), 6)
    assert torch.equal(halves[::2], sinusoidal(9, 6, **exact))
    assert halves[1, 1].item() == pytest.approx(math.cos(0.5), abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"d_model": 0}, "d_model=0"),
        ({"base": 0.0}, "base=0.0"),
        ({"base": math.inf}, "base=inf"),
        ({"variant": "odd"}, "variant='odd'"),
        ({"variant": "over_p"}, "p=None"),
        ({"p": 5}, "p=5"),
        ({"variant": "over_p", "p": -1}, "p=-1"),
        ({"n_positions": -1}, "n_positions=-1"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        sinusoidal(**{"n_positions": 3, "d_model": 4} | arguments)


def test_modules_look_up_rows_and_only_the_learned_table_is_saved():
    fixed, learned = Sinusoidal(11, 6), LearnedPositions(11, 6)
    positions = torch.tensor([3, 10, 3])
    assert torch.equal(fixed(positions), sinusoidal(11, 6)[positions])
    assert torch.equal(learned(positions), learned.weight[positions])
    assert fixed(positions.expand(2, 3)).shape == (2, 3, 6)
    assert list(fixed.state_dict()) == []
    assert list(fixed.parameters()) == []
    assert list(learned.state_dict()) == ["weight"]
    for part in (fixed, learned):
        with pytest.raises(IndexError):
            part(torch.tensor([11]))


@pytest.mark.reference
@pytest.mark.parametrize("base", [10000.0, 500.0])
def test_rotary_is_that_of_transformers(base):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(
        hidden_size=30, num_attention_heads=3, rope_parameters={"rope_type": "default", "rope_theta": base}
    )
    q, k = torch.randn(2, 3, 7, 10), torch.randn(2, 3, 7, 10)
    positions = torch.tensor([0, 1, 2, 5, 11, 60, 301])
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions[None])
    want = llama.apply_rotary_pos_emb(q, k, cos, sin)
    for ours, theirs in zip((rotary(q, positions, base), rotary(k, positions, base)), want, strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=5e-5)


def test_rotary_interleaved_is_roformers_matrix():
    x = torch.randn(1, 1, 5, 6, **exact)
    w = frequencies(6)[::2]
    for position in range(5):
        cos, sin = (position * w).cos(), (position * w).sin()
        blocks = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
        want = torch.block_diag(*blocks) @ x[0, 0, position]
        got = rotary(x, torch.arange(5), interleaved=True)[0, 0, position]
        assert torch.allclose(got, want, rtol=0, atol=1e-14)


def test_rotary_refuses_odd_heads_and_wrong_lengths():
    with pytest.raises(ValueError, match="d_head=5"):
        rotary(torch.zeros(1, 1, 2, 5), torch.arange(2))
    with pytest.raises(ValueError, match="has 2 positions"):
        rotary(torch.zeros(1, 1, 2, 4), torch.arange(3))


@pytest.mark.reference
@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 8, 12, 16, 20])
def test_alibi_is_that_of_transformers(n_heads):
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    theirs = bloom.build_alibi_tensor(torch.ones(1, 7, dtype=torch.long), n_heads, torch.float32)[:, 0]
    slopes = theirs[:, 1] - theirs[:, 0]
    assert torch.allclose(alibi_slopes(n_heads), slopes, rtol=1e-5, atol=0)
    ours = alibi_bias(n_heads, 1, 7)[:, 0]  # theirs counts from the first key: the softmax sees no constant
    assert torch.allclose(ours - ours[:, :1], theirs, rtol=1e-5, atol=1e-6)


def test_alibi_bias_counts_distance_from_the_last_queries():
    bias = alibi_bias(3, 2, 5)
    slopes = alibi_slopes(3)
    distance = torch.tensor([[3, 2, 1, 0, 1], [4, 3, 2, 1, 0]])
    assert torch.equal(bias, -(slopes[:, None, None] * distance))
    assert alibi_bias(3, 0, 5).shape == (3, 0, 5)
    with pytest.raises(ValueError, match="n_query=6"):
        alibi_bias(3, 6, 5)
    with pytest.raises(ValueError, match="n_heads=0"):
        alibi_slopes(0)


# ---------------- The lesson on positions: curves, profiles, the four criteria and the documents' numbers.


learned = np.random.default_rng(1).normal(size=(31, 5))


def test_dot_products_depend_on_the_offset_and_are_half_d_on_the_diagonal():
    products = dot_products(Formula(26).table(17))
    assert np.allclose(np.diagonal(products), 13)
    w = 1 / 10000 ** (np.arange(13) / 13)
    for k in range(17):
        assert np.allclose(np.diagonal(products, k), np.cos(k * w).sum())
    x, y = match(Formula(26), 3, 17)
    assert np.allclose(y[:: len(x) // 16], products[3])


def test_profiles_of_a_learned_table_cover_every_pair_of_places():
    found = distance_profile(learned, 31)
    for k in (1, 7, 30):
        gaps = [np.linalg.norm(learned[t + k] - learned[t]) for t in range(31 - k)]
        assert found.at_offset(k) == pytest.approx((np.mean(gaps), min(gaps), max(gaps)))
    alike = similarity_profile(learned, 31)
    cosine = learned[3] @ learned[0] / np.linalg.norm(learned[3]) / np.linalg.norm(learned[0])
    assert alike.at_offset(0) == pytest.approx((1, 1, 1))
    assert alike.at_offset(3)[1] <= cosine <= alike.at_offset(3)[2]


def test_rotary_s_mean_score_is_the_sinusoid_s_and_alibi_is_linear():
    rows = score_by_distance(20, d_head=14, base=500.0, learned=learned)
    sinusoid = np.sqrt(14) * (dot_products(Formula(14, base=500.0).table(20))[0] / 7 - 1)
    assert np.allclose(rows["rotary, sinusoid"].mean[::4], sinusoid)
    assert np.allclose(rows["ALiBi 1/32"].mean, -np.arange(20) / 32)
    assert rows["learned"].at_offset(4)[0] == pytest.approx(
        np.sqrt(14) * (similarity_profile(learned, 20).at_offset(4)[0] - 1)
    )
    assert all(row.at_offset(0)[0] == pytest.approx(0) for row in rows.values())


def test_a_wrong_dimension_is_told_in_three_parts():
    with pytest.raises(InputError) as caught:
        curves(Formula(6), 5, (0, 6))
    assert caught.value.wrong == "There is no dimension 6."
    assert choose_dimensions(3, 8, "spread") == (0, 1, 2)


def test_names_and_wavelengths_follow_the_exponent():
    assert [Formula(4).name_of(i) for i in range(4)] == [
        "sin(pos)",
        "cos(pos)",
        "sin(pos / 100)",
        "cos(pos / 100)",
    ]
    assert Formula(4, variant="unpaired").name_of(1) == "cos(pos / 10)"
    assert Formula(60).wavelengths()[-1] == pytest.approx(46222, abs=1)


def test_learned_table_is_read_from_the_network_and_its_absence_is_told():
    network = torch.nn.ModuleDict({"embed": torch.nn.ModuleDict({"position": LearnedPositions(7, 3)})})
    assert np.allclose(learned_table(network), network["embed"]["position"].weight.detach().numpy())
    with pytest.raises(InputError, match="no learned positions"):
        learned_table(torch.nn.Linear(2, 2))


def test_a_coin_toss_is_not_deterministic():
    toss = np.random.default_rng(0)
    assert not position_criteria.judge("random", lambda n: toss.normal(size=(n, 3))).deterministic


def test_worked_examples():
    assert [e.rounded for e in position_evidence.worked_d4(1)] == ["0.8415", "0.5403", "0.0100", "1.0000"]
    wide = position_evidence.worked_d512()
    assert [e.rounded for e in wide] == ["0.8415", "0.5403", "0.8219", "0.0001", "1.0000"]
    assert (
        [e.printed for e in wide]
        == [e.cut for e in wide]
        == ["0.8414", "0.5403", "0.8218", "0.0001", "0.9999"]
    )


# ---------------- The picture of a relative bias holds the very numbers that a run adds to its scores.


def drawn(name):
    """A network with random weights, and what is added in each of its attentions to a text that goes beyond the last bucket."""
    spec = families()[name]
    torch.manual_seed(3)
    network = spec.network(spec.config.tiny()).eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    ids = torch.arange(network.cfg.n_ctx)[None]
    with torch.no_grad():
        _, trace = record(network, Batch(ids=ids, real=ids >= 0, source=ids, source_real=ids >= 0))
    return network, trace


@pytest.mark.parametrize(
    ("name", "kind", "stack"),
    [
        ("t5", "self", "encoder.layer"),
        ("t5", "causal", "decoder.layer"),
        ("mpnet", "self", "layer"),
        ("bloom", "causal", "layer"),
    ],
)
def test_each_number_that_is_added_is_that_of_its_distance(name, kind, stack):
    network, trace = drawn(name)
    found = bias_by_distance(SimpleNamespace(network=network), kind)
    assert found is not None and found.values.shape == (network.cfg.n_heads, len(found.buckets))
    met = set()
    for layer in range(network.cfg.n_layers):
        added = np.asarray(trace[f"{stack}.{layer}.self_attn.bias"])[0]
        for i, j in np.ndindex(added.shape[1:]):
            if kind == "causal" and j > i:
                continue
            (column,) = (
                at
                for at, bucket in enumerate(found.buckets)
                if (bucket.first is None or bucket.first <= j - i)
                and (bucket.last is None or j - i <= bucket.last)
            )
            met.add(column)
            assert (found.values[:, column] == added[:, i, j]).all()
    assert met == set(range(len(found.buckets))) or (not found.endless and len(met) == network.cfg.n_ctx)


def test_what_looks_across_and_other_models_have_no_table():
    assert bias_by_distance(SimpleNamespace(network=drawn("t5")[0]), "cross") is None
    bare = families()["bert"]
    assert bias_by_distance(SimpleNamespace(network=bare.network(bare.config.tiny())), "self") is None


def test_near_distances_stand_alone_and_far_ones_are_shared():
    spec = families()["t5"]
    shape = (
        spec.config()
    )  # as wide as it may be, and of one layer of few numbers: the buckets are as they are
    network = spec.network(replace(spec.config.tiny(), n_buckets=shape.n_buckets, furthest=shape.furthest))
    encoder, decoder = (
        bias_by_distance(SimpleNamespace(network=network), kind) for kind in ("self", "causal")
    )
    assert (len(encoder.buckets), encoder.exact_distance, encoder.shared_from) == (31, 7, 91)
    assert (len(decoder.buckets), decoder.exact_distance, decoder.shared_from) == (32, 15, 113)
    assert decoder.buckets[-1].nearest == 0 and encoder.buckets[-1].last is None
