"""The product of conditionals against torch and against single runs; examples in front of a question, counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import core
from core.models import Batch
from tests.core.decoding_helpers import build
from viz.course.gpt.conditionals import LONGEST, conditionals
from viz.course.gpt.prompting import data as maths
from viz.course.shared.prompts import answers

TEXT = "the old cat sat"


@pytest.fixture(scope="module")
def gpt():
    return build("gpt")


def alone(model, ids: list[int]) -> torch.Tensor:
    batch = Batch(ids=torch.tensor([ids]), real=torch.ones(1, len(ids), dtype=torch.bool))
    with torch.inference_mode():
        return model.network.logits(model.network(batch))[0].double()


def test_the_sum_is_the_cross_entropy_and_the_logarithm_of_the_product(gpt):
    """C101: -L_1 / n is torch's cross_entropy of the shifted text."""
    found = conditionals(gpt, TEXT)
    ids, n = list(found.ids), len(found.ids)
    wanted = float(F.cross_entropy(alone(gpt, [gpt.tokenizer.start, *ids[:-1]]), torch.tensor(ids)))
    assert (
        n > 3
        and -found.total / n == pytest.approx(wanted, abs=1e-6)
        and found.mean_by_torch == pytest.approx(wanted, abs=1e-6)
    )
    assert math.log(found.product) == pytest.approx(found.total) and found.running[-1] == pytest.approx(
        found.total
    )
    assert found.perplexity == pytest.approx(math.exp(wanted), rel=1e-6)
    assert (
        found.least_probable == int(np.argmin(found.logprobs))
        and (found.best_p >= np.exp(found.logprobs) - 1e-12).all()
    )


@pytest.mark.parametrize("k", [1, 2])
def test_a_window_is_read_as_a_text_of_its_own(gpt, k):
    found = conditionals(gpt, TEXT, k)
    ids = list(found.ids)
    for place, index in enumerate(ids):
        behind = [gpt.tokenizer.start, *ids[:place]] if place <= k else ids[place - k : place]
        assert found.logprobs[place] == pytest.approx(
            float(alone(gpt, behind)[-1].log_softmax(-1)[index]), abs=1e-5
        )
    assert found.mean_by_torch == pytest.approx(-found.total / len(ids))


@pytest.mark.parametrize(("text", "k"), [("", None), (" ", None), ("cat " * (LONGEST + 1), None), ("cat", 0)])
def test_what_cannot_be_judged_is_said(gpt, text, k):
    with pytest.raises(core.InputError):
        conditionals(gpt, text, k)


def test_prompts_are_built_of_other_questions_and_scored_by_four_answers(gpt):
    for task in maths.TASKS.values():
        for at, (question, answer) in enumerate(task.pairs):
            lines = maths.prompt(task, question, maths.MOST).split("\n")
            assert (
                len(lines) == maths.MOST + 1
                and lines[-1] == f"{question} ="
                and all(not line.startswith(f"{question} =") for line in lines[:-1])
            )
            assert (
                maths.choices(task, at)[0] == answer and len(set(maths.choices(task, at))) == maths.CANDIDATES
            )
    for bad in (lambda: maths.prompt(task, " ", 1), lambda: maths.prompt(task, "a", 9)):
        with pytest.raises(core.InputError):
            bad()
    found = maths.score(gpt, maths.TASKS["homes"], 1)
    first = answers(
        gpt, "bird = nest\nfish =", [f" {each}" for each in maths.choices(maths.TASKS["homes"], 0)]
    )
    assert found.shares[0] == first[0].share and found.right[0] == (first[0].place == 1)
    assert found.accuracy == sum(found.right) / 8 and found.share == pytest.approx(np.mean(found.shares))
