"""How induction works: probabilities, previous-token and induction heads, the parts of a score and ablations, all recomputed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from shown_values import states

import core
from core.edits import ZeroHead
from viz.course.gpt.induction.data import TINY, Twice, ablations, path_shares, read_text_twice, read_twice
from viz.course.gpt.induction.exhibit import (
    Params,
    ablated_heads,
    compute,
    look_up,
    previous_symbol,
    twice_read,
)


@pytest.fixture(scope="module")
def twice() -> Twice:
    return compute(Params())


def right_symbols(run: core.Run) -> np.ndarray:
    """Return the probability of each following symbol by torch."""
    ids = torch.tensor(run.side.ids)
    return torch.tensor(run.logits).double().softmax(-1)[:-1].gather(1, ids[1:, None])[:, 0].numpy()


def test_the_second_copy_is_known_and_the_first_is_not(twice: Twice) -> None:
    np.testing.assert_allclose(twice.probabilities, right_symbols(twice.run), rtol=1e-6)
    view = twice_read(Params(), twice)
    assert view.answer == twice.symbols[twice.position + 1] == "m"
    assert twice.probabilities[:5].max() < 0.01 and twice.probabilities[6:].min() > 0.99


def test_a_previous_token_head_and_an_induction_head(twice: Twice) -> None:
    weights, n = twice.weights, twice.n
    before = [np.mean([weights[0, head, q, q - 1] for q in range(2, 2 * n)]) for head in range(2)]
    view = previous_symbol(Params(), twice)
    np.testing.assert_allclose(view.table[view.answer], before, rtol=1e-5)
    layer, head = twice.induction_head
    assert weights[layer, head, twice.query].argmax() == twice.position + 1
    assert states(look_up(Params(), twice).answer, "m", "first f")


def test_the_parts_of_the_score_sum_to_it(twice: Twice) -> None:
    layer, head = twice.induction_head
    scores = twice.run.trace[f"layer.{layer % 2}.self_attn.scores"][head]
    products = twice.products()
    assert sum(products.values()) == pytest.approx(scores[twice.query, twice.position + 1], abs=1e-3)
    assert next(iter(products)) == "token embedding × head L0.H1"


def test_each_layer_is_needed_and_one_head_is_not(twice: Twice) -> None:
    shares, text = ablations(twice), twice.run.side.text
    edits = [ZeroHead("layer.0.self_attn.heads", head) for head in range(2)]
    run = core.open_model(TINY).run(text, edits=edits)
    assert shares["all heads of layer 0"] == pytest.approx(right_symbols(run)[twice.n :].mean(), rel=1e-5)
    assert ablated_heads(Params(), twice).answer == shares["all heads of layer 0"] < 0.01
    assert shares["head L0.H0"] > 0.9 and shares["all heads of layer 1"] < 0.01


def test_the_first_layer_reaches_the_induction_head_by_its_key(twice: Twice) -> None:
    shares = path_shares(twice)
    assert all(each.shape == (2,) for each in shares.values())
    assert (
        max(np.abs(shares["query"]).max(), np.abs(shares["value"]).max()) < 0.05 < 0.1 < shares["key"].max()
    )


@pytest.mark.parametrize("string", ["", "abc", "abcdefghi", "a b!c", "abababab"])
def test_a_string_that_cannot_be_looked_up_is_refused(string: str) -> None:
    with pytest.raises(core.InputError):
        read_twice(core.open_model(TINY), string)


def test_a_text_of_another_length_is_refused() -> None:
    with pytest.raises(core.InputError, match="tokens"):
        read_text_twice(core.open_model("gpt-mini"), "word " * 40)
