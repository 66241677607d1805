"""All heads of gpt-mini taken away on 24 tokens, as the page does it. `pytest -m bench -s`."""

from __future__ import annotations

import pytest

import core
from core.analysis.attribution import ablation_sweep as sweep
from core.analysis.attribution.target_token import OutputTarget
from tests.bench.measuring import judge, seconds

pytestmark = pytest.mark.bench

BUDGET, SHARE = 4.0, 0.6
TEXT = "The animal didn't cross the street because it was too tired, and the man who saw it stood still for a long time."


def test_a_sweep_over_all_heads_takes_at_most_four_seconds():
    model = core.open_model("gpt-mini")
    item = sweep.ModelInput(TEXT[: model.tokenizer.encode(TEXT).spans[23][1]])
    assert len(item.run(model).tokens) == 24
    asked = OutputTarget(22, 7)

    def one_by_one() -> None:
        for place in sweep.all_heads(model, "causal"):
            edits = (sweep.head_ablation(model, "causal", *place),)
            asked.value(item.run(model, keep=(), edits=edits).scores)

    alone = seconds(one_by_one)
    swept = seconds(lambda: sweep.ablation_effects(model, item, asked, "causal"))
    guessed = seconds(lambda: sweep.gradient_estimates(model, item, asked.goal, "causal"))
    judge("48 heads, 24 tokens", swept, BUDGET, "s", f"by gradient {guessed:.3f} s")
    judge("beside each alone", swept / alone, SHARE, "")
