"""Every score function against one line of torch, and what each of them cannot do."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from core.layers.scores import SCORES, Additive, Cosine, Dot, General, LinearAdditive, Location, ScaledDot
from core.trace import Recorder

BATCH, QUERY, KEY, D, D_KEY, D_FF, N_CTX = 2, 3, 7, 5, 11, 13, 17


def draw(*shape):
    return torch.randn(*shape)


@pytest.fixture
def same():
    return draw(BATCH, QUERY, D), draw(BATCH, KEY, D)


@pytest.fixture
def differing():
    return draw(BATCH, QUERY, D), draw(BATCH, KEY, D_KEY)


def test_dot_and_scaled_dot(same):
    q, k = same
    wanted = torch.einsum("bqd,bkd->bqk", q, k)
    torch.testing.assert_close(Dot(D, D)(q, k), wanted)
    torch.testing.assert_close(ScaledDot(D, D)(q, k), wanted / math.sqrt(D))
    mixed = ScaledDot(D, D)(q, k).softmax(-1) @ k
    torch.testing.assert_close(mixed, F.scaled_dot_product_attention(q, k, k))
    torch.testing.assert_close(
        Dot(D, D)(q, k).softmax(-1) @ k, F.scaled_dot_product_attention(q, k, k, scale=1.0)
    )


def test_general(same, differing):
    q, k = differing
    score = General(D, D_KEY)
    torch.testing.assert_close(score(q, k), torch.einsum("bqd,de,bke->bqk", q, score.to_key.weight, k))
    square = General(D, D)
    torch.nn.init.eye_(square.to_key.weight)
    assert torch.equal(square(*same), Dot(D, D)(*same)), "W = I is the dot product"


def test_additive_in_one_piece_and_split(differing):
    q, k = differing
    score = Additive(D, D_KEY, d_ff=D_FF)
    together = torch.cat(
        (q[:, :, None].expand(-1, -1, KEY, -1), k[:, None].expand(-1, QUERY, -1, -1)), dim=-1
    )
    whole = torch.cat((score.from_query.weight, score.from_key.weight), dim=1)  # W_a [s; h]
    torch.testing.assert_close(score(q, k), torch.tanh(together @ whole.T) @ score.v)


def test_linear_additive_cannot_attend(differing):
    """E8: the query cancels in the softmax; with tanh it does not."""
    q, k = differing
    linear, tanh = LinearAdditive(D, D_KEY), Additive(D, D_KEY, d_ff=D_FF)
    torch.testing.assert_close(linear(q, k), (q @ linear.query)[:, :, None] + (k @ linear.key)[:, None])
    moved = q + 5
    torch.testing.assert_close(linear(q, k).softmax(-1), linear(moved, k).softmax(-1))
    assert (tanh(q, k).softmax(-1) - tanh(moved, k).softmax(-1)).abs().max() > 1e-2


def test_cosine(same):
    q, k = same
    wanted = F.cosine_similarity(q[:, :, None], k[:, None], dim=-1)
    torch.testing.assert_close(Cosine(D, D)(q, k), wanted)
    torch.testing.assert_close(Cosine(D, D)(7 * q, k), wanted)
    torch.testing.assert_close(Cosine(D, D, sharpness=10.0)(q, k), 10 * wanted)
    weights = Cosine(D, D)(q, k).softmax(-1)
    assert (weights.amax(-1) / weights.amin(-1)).max() <= math.exp(2)


def test_location_does_not_see_the_keys(differing):
    q, k = differing
    score = Location(D, D_KEY, n_ctx=N_CTX)
    torch.testing.assert_close(score(q, k), (q @ score.to_position.weight.T)[..., :KEY])
    assert torch.equal(score(q, k), score(q, torch.randn_like(k)))
    with pytest.raises(ValueError, match="18 keys.*n_ctx=17"):
        score(q, draw(BATCH, 18, D_KEY))


@pytest.mark.parametrize("name", SCORES)
def test_every_score_by_one_interface(name, same):
    q, k = same
    score, tap = SCORES[name](D, D, D_FF, N_CTX), Recorder()
    scores = score(q, k, tap)
    assert scores.shape == (BATCH, QUERY, KEY) and torch.equal(tap.close()["scores"], scores)
    torch.testing.assert_close(
        score.compare(q[:, 1:2], score.prepare(k)), scores[:, 1:2], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kind", [Dot, ScaledDot, Cosine])
def test_a_product_of_unequal_widths_is_refused(kind):
    with pytest.raises(ValueError, match="d_query=5.*d_key=11"):
        kind(D, D_KEY)
