"""All heads of gpt-mini taken away on 24 tokens, as the page does it. `pytest -m bench -s`."""

from __future__ import annotations

import time

import pytest

import core
from core.analysis.attribution.ablation_sweep import (
    ModelInput,
    ablation_effects,
    all_heads,
    gradient_estimates,
    head_ablation,
)
from core.analysis.attribution.target_token import OutputTarget

pytestmark = pytest.mark.bench

BUDGET, SHARE = 4.0, 0.6
TEXT = "The animal didn't cross the street because it was too tired, and the man who saw it stood still for a long time."


def test_a_sweep_over_all_heads_takes_at_most_four_seconds():
    model = core.open_model("gpt-mini")
    spans = model.tokenizer.encode(TEXT).spans
    item = ModelInput(TEXT[: spans[23][1]])
    assert len(item.run(model).tokens) == 24
    asked = OutputTarget(22, 7)
    begun = time.perf_counter()
    for layer, head in all_heads(model, "causal"):
        asked.value(item.run(model, keep=(), edits=(head_ablation(model, "causal", layer, head),)).scores)
    alone = time.perf_counter() - begun
    begun = time.perf_counter()
    ablation_effects(model, item, asked, "causal")
    swept = time.perf_counter() - begun
    begun = time.perf_counter()
    gradient_estimates(model, item, asked.goal, "causal")
    guessed = time.perf_counter() - begun
    print(
        f"\n48 heads, 24 tokens: {swept:.2f} s (budget {BUDGET}), each alone {alone:.2f} s; by gradient {guessed:.3f} s"
    )
    assert swept <= BUDGET and swept <= SHARE * alone
