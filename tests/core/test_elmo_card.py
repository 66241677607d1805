"""What the card of elmo-mini prints is what the model says now: both chains at a blank, the bar that it had to reach, its mixtures."""

from __future__ import annotations

import re

import pytest
import torch

import core
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.models import Batch
from core.training.finetune import mixing
from tests.core.test_card_samples import paragraphs

NAME = "elmo-mini"
BLANK = "▁"


def at_a_blank(text: str, n: int = 3) -> tuple[list[str], list[str]]:
    """The n most probable tokens at the blank of a text: to the forward chain behind what stands before, to the backward one before what stands after."""
    model = core.open_model(NAME)
    before, after = text.split(BLANK)
    start, end = model.tokenizer.start, model.tokenizer.end
    rows = (
        [start, *model.tokenizer.encode(before.rstrip()).ids],
        [*model.tokenizer.encode(after).ids, end],
    )
    found: list[list[str]] = []
    for side, row in enumerate(rows):
        read = torch.tensor([row])
        with torch.inference_mode():
            hidden = model.network(Batch(ids=read, real=torch.ones_like(read, dtype=torch.bool)))
            scores = (model.network.backward_logits if side else model.network.logits)(hidden)[0]
        chances, ids = scores[0 if side else -1].softmax(-1).topk(n)
        found.append(
            [
                f"{model.tokenizer.token(int(i)).strip()} {100 * float(p):.0f}%"
                for p, i in zip(chances, ids, strict=True)
            ]
        )
    return found[0], found[1]


@pytest.mark.slow
def test_both_chains_say_at_a_blank_what_the_card_says():
    told = [re.fullmatch(r"> (.+): forward (.+); backward (.+)", line) for line in paragraphs(NAME, "> ")]
    assert len(told) == 15 and all(told)
    for line in told:
        assert line
        assert at_a_blank(line[1]) == (line[2].split(" / "), line[3].split(" / ")), line[1]


def values(split: str) -> dict[str, float]:
    return {
        score.measure: score.value
        for score in read_scores(shipped_folder() / NAME)
        if (score.subject, score.split) == (NAME, split)
    }


def test_both_directions_are_within_the_bar():
    valid = values("prose valid")
    assert valid["bits_per_byte_forward"] <= 1.5 and valid["bits_per_byte_backward"] <= 1.5
    assert {"bits_per_byte_forward", "bits_per_byte_backward"} <= values("prose test").keys()


@pytest.mark.parametrize("task", mixing.TASKS)
def test_the_learned_mixture_is_better_than_the_top_layer_alone(task):
    told = values(mixing.SPLIT)
    top = core.open_model(NAME).config.n_layers
    assert told[f"{task}_by_mixture, {mixing.MIXED}"] > told[f"{task}_by_mixture, layer {top} alone"]


@pytest.mark.slow
@pytest.mark.parametrize("task", mixing.TASKS)
def test_the_recorded_mixture_is_what_is_learnt_now(task):
    """Up to two standard errors of two trainings on a thousand answers: another processor rounds states of the layers in another way."""
    told = values(mixing.SPLIT)
    for found in mixing.compare_layers(core.open_model(NAME), task):
        assert found.accuracy == pytest.approx(told[f"{task}_by_mixture, {found.source}"], abs=0.03)
