"""The next token: the conditionals of a text, the block without cross-attention, both masks, the window; all recomputed."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, instruments, layers, said

from core.serving.engine import default
from viz.course.gpt.conditionals import conditionals
from viz.course.gpt.next_token import charts, plan
from viz.course.gpt.next_token.exhibit import (
    MODEL,
    Params,
    block,
    compute,
    dropped_part,
    guess,
    two_masks,
    window,
    words_of,
)

TEXTS = (Params.text, "Psychology is the study of the mind.")


def kinds(chart) -> set[str]:
    return {row["kind"] for layer in layers(chart) for row in layer}


@pytest.mark.parametrize("text", TEXTS)
def test_the_bars_are_the_conditionals_and_wait_for_the_guess(text: str) -> None:
    """C101."""
    full = conditionals(default().open(MODEL), text)
    view, words = guess(Params(text), compute(Params(text))), words_of(full.tokens)
    assert view.answer == words[1 + int(full.logprobs[1:].argmin())]
    assert view.rows["ln P"].tolist() == full.logprobs.tolist()
    covered = [row for layer in layers(view.chart(False)) for row in layer]
    assert {row["said"] for row in covered} == {"?"} and not any("value" in row for row in covered)
    rows = drawn_rows(view.chart(True), "kind")
    np.testing.assert_allclose([row["value"] for row in rows], full.logprobs)
    np.testing.assert_allclose([row["sum"] for row in rows], np.cumsum(full.logprobs))
    assert [row["token"] for row in rows if row["kind"] == charts.MARKED] == [view.answer]
    mean = -full.total / len(words)
    assert f"{mean:.4f} nats" in view.summary and f"cross_entropy: {mean:.4f}" in view.summary


@pytest.mark.slow
def test_the_block_is_the_transformers_without_cross_attention() -> None:
    """C100: the diagram, struck out after the guess; each box shows what leaves it."""
    assert dropped_part() == block(Params(), compute(Params())).answer == "cross-attention"
    own = sum(weight.numel() for weight in default().open(MODEL).network.layers[0].parameters())
    page = StepPages("next_token")
    for part in (None, *plan.PARTS):
        test = page(2, box=part.name, guess={"gone": "cross-attention"}) if part else page(2)
        (diagram,) = instruments(test, "nodes")
        struck = {node["name"] for node in diagram["nodes"] if node["struck"]}
        assert struck == (set(plan.DROPPED) if part else set())
        if part:
            assert part.does in said(test) and bool(test.get("plotly_chart")) == bool(part.leaf)
    assert f"6 blocks of {own:,}" in said(test)


@pytest.mark.parametrize("text", TEXTS)
def test_gpt_masks_what_is_ahead_and_bert_nothing(text: str) -> None:
    """C100: BERT and GPT masks for the same sentence."""
    n = len(default().open(MODEL).tokenizer.encode(text).ids)
    view = two_masks(Params(text), compute(Params(text)))
    assert view.answer == n * (n - 1) // 2 and view.rows.to_numpy().tolist() == np.tri(n).tolist()
    assert np.triu(view.arrays["gpt"], 1).sum() == 0 < np.triu(view.arrays["bert"], 1).sum()
    assert "BERT masks 0 of" in view.preview and f"GPT masks {n * (n - 1) // 2} of {n * n}" in view.summary


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, 40])
def test_the_window_forgets(k: int) -> None:
    """E51, C101: k."""
    full, one, near = (conditionals(default().open(MODEL), Params.text, at) for at in (None, 1, k))
    view = window(Params(k=k), compute(Params(k=k)))
    assert view.answer == words_of(full.tokens)[2 + int((full.logprobs - one.logprobs)[2:].argmax())]
    assert kinds(view.chart(False)) == {charts.ALL}
    bars = {layer[0]["kind"]: [row["value"] for row in layer] for layer in layers(view.chart(True))[::2]}
    for kind, values in ((charts.ALL, full.logprobs), (charts.NOW, near.logprobs)):
        if kind in bars:
            np.testing.assert_allclose(bars[kind], values)
    assert ("are the same" in view.summary) == (k == 40)
    assert view.rows["difference"].sum() == pytest.approx(near.total - full.total)
