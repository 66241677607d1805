"""A head taken away: by an edit, by zeros in W_O, alone and with its layer; where a layer's heads look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import core
from core import edits
from viz.course.self_attention.heads_compared import maths
from viz.course.self_attention.heads_compared.maths import predicted_tokens, removal

TEXT = "She has a white car."


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["gpt-mini", "bert-mini", "translator-en-es"])
def test_taking_a_head_away_is_zeroing_its_columns_of_w_o(name: str) -> None:
    model = core.open_model(name)
    kind = model.spec.kinds_of(model.config)[0]
    found, head, size = removal(model, TEXT, kind.name), 3, model.config.d_head
    run = model.run(TEXT, keep=("logits",))
    rows, tokens = predicted_tokens(run)
    assert found.tokens == tuple(model.tokenizer.token(token) for token in tokens) and found.target == (
        run.target_text if model.spec.has_source else None
    )
    with torch.random.fork_rng():
        network = model.spec.network(model.config).eval().requires_grad_(False)
    network.load_state_dict(model.network.state_dict())
    other = replace(model, network=network)
    with torch.no_grad():
        kind.module(network, 1).to_out.weight[:, head * size : (head + 1) * size] = 0
    for changed, expected in (
        (other.run(TEXT, target=found.target, keep=("logits",)), found.without_head[1, head]),
        (
            model.run(
                TEXT,
                target=found.target,
                keep=("logits",),
                edits=[edits.ZeroHead(kind.path(1, "heads"), h) for h in range(model.config.n_heads)],
            ),
            found.without_layer[1],
        ),
        (run, found.before),
    ):
        chances = torch.from_numpy(changed.logits[rows].astype(np.float64)).log_softmax(-1)
        np.testing.assert_allclose(
            expected, chances[torch.arange(len(rows)), torch.tensor(tokens)].numpy(), atol=2e-4
        )
    factors = found.factors(1)
    assert factors.shape == (model.config.n_heads + 1,) and factors[head] == pytest.approx(
        np.exp((found.without_head[1, head] - found.before).sum())
    )


def test_the_word_that_asks_and_the_head_to_point_at() -> None:
    assert maths.word_position(["It", "fell", "."]) == 0 and maths.word_position([]) == 0
    weights = np.zeros((3, 4, 4))
    weights[0, 2] = [0, 1.0, 0, 0]  # the word before: a habit of place
    weights[1, 2] = [0.6, 0.4, 0, 0]
    weights[2, 2] = [0.5, 0, 0.5, 0]
    assert maths.pointing(weights, 2) == 1 and maths.favourites(weights, 2).tolist() == [1, 0, 0]
    assert maths.pointing(weights[:, :2, :2], 1) == 0
