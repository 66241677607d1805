"""The lesson on attention across two sentences, on the shipped translator: against torch, and what moves and is kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import core
from viz.course.shared import cross_shapes


@pytest.fixture(scope="module")
def model() -> core.Model:
    return core.open_model("translator-en-es")


@pytest.fixture(scope="module")
def run(model):
    return model.run("She has a white car.")


def test_a_source_word_moves_keys_and_values_and_no_query_of_the_first_layer(model, run):
    other = model.run("She has a black car.", target=run.target_text)
    change = cross_shapes.largest_change(run, other)
    assert (
        change.shape == (3, 3)
        and change[0, 0] == 0.0
        and (change[0, 1:] > 0.5).all()
        and (change[1:] > 0.1).all()
    )
    spanish = cross_shapes.largest_change(
        run, model.run("She has a white car.", target=run.target_text.replace("blanco", "negro"))
    )
    assert (spanish[:, 1:] == 0.0).all() and (spanish[:, 0] > 0).all(), "no Spanish word enters the encoder"


def test_the_source_is_projected_once_and_the_logits_stay(run):
    found = cross_shapes.decode_with_cache(run)
    n, m = len(run.source.ids), len(run.ids)
    assert found.source == (n,) + (0,) * (m - 1) and found.own_rows == (1,) * m and found.source_cached
    assert found.uncached_rows == tuple(t + 1 + n for t in range(m)) and found.gap < 1e-4
    with pytest.raises(ValueError, match="one stack"):
        cross_shapes.decode_with_cache(core.open_model("gpt-mini").run("Once"))


def test_a_decoder_layer_without_cross_attention_is_an_encoder_layer(model):
    """C072."""
    ours, base = cross_shapes.counts(model), cross_shapes.counts()
    assert base.decoder - base.without_cross == 1_051_648 and base.without_cross == base.encoder == 3_152_384
    assert ours.without_cross == ours.encoder and sum(ours.parts.values()) == ours.decoder
    assert ours.encoder == sum(p.numel() for p in model.network.encoder[1].parameters())
