"""SNAIL on the pages of the workspace: with attention as any causal model, without it in words."""

from __future__ import annotations

import pytest
from test_links import refused
from workspace_pages import page, said

import core
from core.analysis.predictions import top_predictions

PAIRS = "k3F m7Q k7B m3R k7?"
ALONE = "snail-recall-convolutions"


def test_look_says_what_a_network_of_convolutions_alone_has_and_what_it_says():
    told, run = said(page("look", model=ALONE, text=PAIRS)), core.open_model(ALONE).run(PAIRS)
    (best, _), *_ = top_predictions(run, run.side.n_real - 1, 1)
    assert "its convolutions" in told and f"predicts “{best}”" in told and "encoder" not in told


@pytest.mark.quick(8)
@pytest.mark.parametrize("slug", ["look", "compare", "decode", "what_if", "importance", "inside", "find"])
@pytest.mark.parametrize("name", ["snail-recall", "snail-recall-attention", ALONE])
def test_every_page_shows_it_or_says_why_not(slug, name):
    test = page(slug, model=name, text=PAIRS)
    assert slug in ("look", "decode", "compare", "inside") or refused(test) == (name == ALONE)


@pytest.mark.parametrize("by", ["guesses", "who", "ripple"])
def test_inside_reads_features_that_stand_side_by_side(by):
    test = page("inside", model="snail-recall", text=PAIRS, inside__by=by)
    assert test.get("vega_lite_chart") and (by != "who" or "the convolutions" in said(test))
