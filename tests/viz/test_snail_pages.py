"""SNAIL on the pages of the workspace: with attention as any causal model, without it in words."""

from __future__ import annotations

import pytest
from test_links import refused, said, visited

import core
from core.analysis.predictions import top_predictions

PAIRS = "k3F m7Q k7B m3R k7?"


def test_look_says_what_a_network_of_convolutions_alone_has_and_what_it_says():
    name = "snail-recall-convolutions"
    test = visited("look", {"model": name, "text": PAIRS})
    run = core.open_model(name).run(PAIRS)
    assert "its convolutions" in said(
        test
    ) and f"predicts “{top_predictions(run, run.side.n_real - 1, 1)[0][0]}”" in said(test)
    assert "encoder" not in said(test)


@pytest.mark.quick(8)
@pytest.mark.parametrize("slug", ["look", "compare", "decode", "what_if", "importance", "inside", "find"])
@pytest.mark.parametrize("name", ["snail-recall", "snail-recall-attention", "snail-recall-convolutions"])
def test_every_page_shows_it_or_says_why_not(slug, name):
    test = visited(slug, {"model": name, "text": PAIRS})
    assert "went wrong" not in said(test)
    assert slug in ("look", "decode", "compare", "inside") or refused(test) == (
        name == "snail-recall-convolutions"
    )


@pytest.mark.parametrize("by", ["guesses", "who", "ripple"])
def test_inside_reads_features_that_stand_side_by_side(by):
    test = visited("inside", {"model": "snail-recall", "text": PAIRS, "inside.by": by})
    assert "went wrong" not in said(test) and test.get("vega_lite_chart")
    assert by != "who" or "the convolutions" in said(test)
