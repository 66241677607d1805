"""The lesson on positions: curves, profiles, the four criteria and the documents' numbers."""

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.layers.positions import LearnedPositions
from viz.course import errata
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
    share_of_variance,
    similarity_profile,
)

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


