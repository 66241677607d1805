"""A class told from [CLS]: its arithmetic, what [CLS] reads, and that the gradient reaches only the first place of the last layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.data import grammar
from core.errors import InputError
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS, collate, is_plain
from core.training.finetune.tuning import TUNINGS
from viz.course.bert.cls_and_pairs import maths

TEXT = "The soup was not awful."


@pytest.fixture(scope="module")
def body():
    return tuning.load_base()


@pytest.fixture(scope="module")
def model(body):
    return maths.with_new_head(TUNINGS["opinions-full"], body, 3)


def test_the_scores_are_one_linear_map_of_the_first_vector(body, model):
    """C086."""
    run = model.run(TEXT, keep=maths.KEEP)
    said = maths.classify(run)
    np.testing.assert_allclose(said.hidden @ said.weight.T + said.bias, said.scores, atol=1e-5)
    for label in range(2):
        assert said.terms(label).sum() + said.bias[label] == pytest.approx(said.scores[label], abs=1e-5)
    np.testing.assert_allclose(said.chances, torch.from_numpy(said.scores).softmax(-1).numpy(), atol=1e-12)
    assert said.best == int(np.argmax(run.classes))
    np.testing.assert_array_equal(maths.reads(run), body.run(TEXT).attention().weights[:, :, 0])
    with pytest.raises(InputError, match="no head"):
        maths.classify(body.run(TEXT, keep=maths.KEEP))


@pytest.mark.parametrize("pair", [None, "A dog slept."])
def test_the_gradient_arrives_at_one_place_of_the_last_layer_and_below_at_all(model, pair):
    """C086."""
    run = model.run(TEXT, pair=pair, keep=maths.KEEP)
    found = maths.arrives(run, 1)
    assert found.shape == (7, len(run.ids))
    assert (found[-1, 1:] == 0).all() and found[-1, 0] > 0 and (found[:-1] > 0).all()
    said = maths.classify(run)
    by_hand = (said.chances - np.eye(2)[1]) @ said.weight
    assert found[-1, 0] == pytest.approx(np.linalg.norm(by_hand), rel=1e-4)


@pytest.mark.slow
def test_the_gradient_where_words_enter_by_differences(model):
    """A small step along a random direction at one place changes the loss by about its product with the gradient: never by more than the length."""
    run = model.run("Bad soup.", keep=(*maths.KEEP, "embed.out"))
    found = maths.arrives(run, 0)
    network, step = model.network, 1e-2
    entering = torch.tensor(run.trace["embed.out"])[None]
    allowed = torch.ones(1, 1, 1, len(run.ids), dtype=torch.bool)

    def loss(x):
        for block in network.layers:
            x = block(x, allowed)
        return float(F.cross_entropy(network.classes(x), torch.tensor([0])))

    grad = []
    with torch.no_grad():
        for k in range(entering.shape[-1]):
            moved = torch.zeros_like(entering)
            moved[0, 2, k] = step
            grad.append((loss(entering + moved) - loss(entering - moved)) / (2 * step))
    assert np.linalg.norm(grad) == pytest.approx(found[0, 2], rel=0.05)


def test_checked_texts_are_those_on_which_a_tuning_is_measured(model):
    goal, n, seed = GOALS["opinions"], 40, 5
    found = maths.checked(model, goal, n, seed, at_once=16)
    rows = collate(goal.examples(model.tokenizer, n, seed, "test"), model.tokenizer.pad or 0)
    with torch.inference_mode():
        scores = goal.scores(model.network, rows.batch)
    assert found.right.tolist() == goal.mark_correct(scores, rows.targets).tolist()
    np.testing.assert_allclose(found.chances, scores.double().softmax(-1).numpy(), atol=1e-5)
    assert [grammar.OPINIONS[at] for at in found.targets] == [item.label for item in found.items]
    by = found.by(lambda item: "plain" if is_plain(item) else "turned")
    assert (
        sum(right for right, _ in by.values()) == found.right.sum() and sum(of for _, of in by.values()) == n
    )
    errors = found.errors()
    assert len(errors) == n - found.right.sum() and not found.right[errors].any()
    sure = found.chances[errors].max(-1)
    assert (np.diff(sure) <= 0).all()


def test_swapped_texts_have_other_segments_and_another_answer(body):
    """C087."""
    model = maths.with_new_head(replace(TUNINGS["pairs-full"]), body, 0)
    a, b = "A small dog slept.", "A dog slept."
    runs = [model.run(*pair[:1], pair=pair[1], keep=maths.KEEP) for pair in ((a, b), (b, a))]
    assert runs[0].segments != runs[1].segments and sorted(runs[0].ids) == sorted(runs[1].ids)
    one, two = (maths.classify(run) for run in runs)
    assert np.abs(one.scores - two.scores).max() > 1e-4 and np.array_equal(one.weight, two.weight)


def test_large_scores_have_a_softmax():
    np.testing.assert_allclose(maths.softmax(np.array([1000.0, 1000.0 + np.log(3)])), [0.25, 0.75])
