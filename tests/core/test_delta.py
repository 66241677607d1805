"""What a change changed: exact zeros before it, distances against scipy, the words that are expected, means over texts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from core import edits
from core.analysis.attribution.ablate_heads import ablate_each_head, ablate_heads
from core.analysis.attribution.means import mean_outputs
from core.analysis.residual.delta import (
    attention_change,
    prediction_change,
    stream_change,
    target_change,
    target_probabilities,
)
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build as build_other

TEXT, OTHER = "The animal didn't cross.", "She has a white car."


@pytest.fixture(scope="module")
def gpt():
    return build_other("gpt")


def test_layers_before_a_change_are_equal_to_the_bit_and_later_ones_move_as_scipy_says(gpt):
    before, after = gpt.run(TEXT), gpt.run(TEXT, edits=[edits.ZeroHead("layer.0.self_attn.heads", 1)])
    found = attention_change(before, after, "causal")
    assert found.shape == (2, 3) and (found[0] == 0).all() and (found[1] > 1e-5).all()
    a, b = (run.attention().weights[1, 2].astype(np.float64) for run in (before, after))
    wanted = np.mean([jensenshannon(p, q, base=2) ** 2 for p, q in zip(a, b, strict=True)])
    assert found[1, 2] == pytest.approx(wanted, rel=1e-3)


def test_the_stream_is_equal_to_the_left_and_below_a_change(gpt):
    before = gpt.run(TEXT)
    after = gpt.run(TEXT, edits=[edits.Forbid("layer.1.self_attn.allowed", query=4, key=1)])
    found = stream_change(before, after)
    assert found.shape == (3, len(before.ids)) and np.flatnonzero(found).tolist() == [
        2 * len(before.ids) + 4
    ], "one row of one layer"
    a, b = before.hidden()[2, 4], after.hidden()[2, 4]
    assert found[2, 4] == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-5)


def test_both_sides_of_a_translator_have_a_stream():
    model = build_other("transformer")
    off = [edits.ZeroHead("decoder.layer.0.cross_attn.heads", 0)]
    before, after = (model.run(OTHER, target="Ella tiene.", edits=each) for each in ((), off))
    assert (stream_change(before, after, "encoder") == 0).all() and (
        stream_change(before, after, "decoder")[1:] > 0
    ).all()
    outcome = target_change(before, after)
    assert outcome.words[-1] == "END" and len(outcome.words) == len(before.ids) == len(outcome.before)
    logits = torch.tensor(before.logits)
    wanted = logits.softmax(-1)[range(len(before.ids)), [*before.ids[1:], model.tokenizer.end]]
    np.testing.assert_allclose(target_probabilities(before), wanted, rtol=1e-4)


def test_the_words_expected_are_the_best_of_both_runs(gpt):
    before, after = gpt.run(TEXT), gpt.run(TEXT, edits=[edits.ZeroHead("layer.0.self_attn.heads", 1)])
    found = prediction_change(before, after, -1, n=3)
    chances = [torch.tensor(run.logits[-1]).softmax(-1) for run in (before, after)]
    wanted = {int(i) for each in chances for i in each.topk(3).indices}
    assert {*found.words} == {gpt.tokenizer.token(i) for i in wanted} and 3 <= len(found.words) <= 6
    assert list(found.before) == sorted(found.before, reverse=True)
    assert found.before[found.first[0]] == pytest.approx(float(chances[0].max()), rel=1e-4)
    assert found.after[found.first[1]] == pytest.approx(float(chances[1].max()), rel=1e-4)


@pytest.mark.parametrize("family", ["gpt", "transformer", "bert", "albert"])
def test_one_batch_says_of_each_head_what_single_runs_say(family):
    model = build_bert(family) if family in ("albert", "bert") else build_other(family)
    target = "Ella tiene." if model.spec.has_source else None
    kind = model.spec.kinds[-1]
    found = ablate_each_head(model, OTHER, kind.name, lambda run: run.logits[1], target=target)
    assert found.shape == (2, 3, model.config.n_vocab)
    options = {"target": target} if target else {}
    for place in ((0, 2), (1, 0)):
        run = model.run(OTHER, edits=[edits.ZeroHead(kind.path(place[0], "heads"), place[1])], **options)
        np.testing.assert_allclose(found[place], run.logits[1], atol=1e-4, rtol=1e-4)


def test_a_row_of_each_head_can_be_changed_too(gpt):
    def even(pattern):
        new = pattern.clone()
        new[-1] = 1 / len(new)
        return new

    found = ablate_each_head(gpt, TEXT, "causal", lambda run: run.logits[-1], leaf="pattern", change=even)
    n = len(gpt.run(TEXT).ids)
    run = gpt.run(TEXT, edits=[edits.SetPattern("layer.1.self_attn.pattern", n - 1, (1 / n,) * n, head=1)])
    np.testing.assert_allclose(found[1, 1], run.logits[-1], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["gpt", "transformer"])
def test_the_mean_of_a_head_is_that_over_all_words_and_no_padding(family):
    model = build_other(family)
    texts = [TEXT, "She has a white car and it was tired."]
    targets = ["Ella", "tiene un auto."] if model.spec.has_source else None
    runs = [
        model.run(text, **({"target": target} if target else {}))
        for text, target in zip(texts, targets or [None] * 2, strict=True)
    ]
    for kind in model.spec.kinds[:2]:  # of a translator, its source and its own text
        found, rows = (
            mean_outputs(model, texts, kind.name, targets),
            [run.trace[kind.path(1, "heads")] for run in runs],
        )
        assert found.shape == (2, 3, 11) and rows[0].shape != rows[1].shape
        np.testing.assert_allclose(found[1], np.concatenate(rows, axis=1).mean(1), atol=1e-5)


@pytest.mark.parametrize("family", ["gpt", "transformer"])
def test_some_heads_are_those_of_all(family):
    model, heads = build_other(family), [(1, 2), (0, 0)]
    target, kind = "Ella tiene." if model.spec.has_source else None, model.spec.kinds[-1].name
    some, every = (
        ablate_heads(model, OTHER, kind, lambda run: run.logits[1], heads, target=target),
        ablate_each_head(model, OTHER, kind, lambda run: run.logits[1], target=target),
    )
    np.testing.assert_allclose(some, every[[1, 0], [2, 0]], atol=1e-5)
