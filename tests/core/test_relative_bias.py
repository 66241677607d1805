"""The picture of a relative bias holds the very numbers that a run adds to its scores."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.analysis.heads.relative_bias import bias_by_distance
from core.models import Batch, families
from core.trace import record


def drawn(name):
    """A network with random weights, and what is added in each of its attentions to a text that goes beyond the last bucket."""
    spec = families()[name]
    torch.manual_seed(3)
    network = spec.network(spec.config.tiny()).eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    ids = torch.arange(network.cfg.n_ctx)[None]
    with torch.no_grad():
        _, trace = record(network, Batch(ids=ids, real=ids >= 0, source=ids, source_real=ids >= 0))
    return network, trace


@pytest.mark.parametrize(
    ("name", "kind", "stack"),
    [
        ("t5", "self", "encoder.layer"),
        ("t5", "causal", "decoder.layer"),
        ("mpnet", "self", "layer"),
        ("bloom", "causal", "layer"),
    ],
)
def test_each_number_that_is_added_is_that_of_its_distance(name, kind, stack):
    network, trace = drawn(name)
    found = bias_by_distance(SimpleNamespace(network=network), kind)
    assert found is not None and found.values.shape == (network.cfg.n_heads, len(found.buckets))
    met = set()
    for layer in range(network.cfg.n_layers):
        added = np.asarray(trace[f"{stack}.{layer}.self_attn.bias"])[0]
        for i, j in np.ndindex(added.shape[1:]):
            if kind == "causal" and j > i:
                continue
            (column,) = (
                at
                for at, bucket in enumerate(found.buckets)
                if (bucket.first is None or bucket.first <= j - i)
                and (bucket.last is None or j - i <= bucket.last)
            )
            met.add(column)
            assert (found.values[:, column] == added[:, i, j]).all()
    assert met == set(range(len(found.buckets))) or (not found.endless and len(met) == network.cfg.n_ctx)


def test_what_looks_across_and_other_models_have_no_table():
    assert bias_by_distance(SimpleNamespace(network=drawn("t5")[0]), "cross") is None
    bare = families()["bert"]
    assert bias_by_distance(SimpleNamespace(network=bare.network(bare.config.tiny())), "self") is None


def test_near_distances_stand_alone_and_far_ones_are_shared():
    spec = families()["t5"]
    shape = (
        spec.config()
    )  # as wide as it may be, and of one layer of few numbers: the buckets are as they are
    network = spec.network(replace(spec.config.tiny(), n_buckets=shape.n_buckets, furthest=shape.furthest))
    encoder, decoder = (
        bias_by_distance(SimpleNamespace(network=network), kind) for kind in ("self", "causal")
    )
    assert (len(encoder.buckets), encoder.exact_distance, encoder.shared_from) == (31, 7, 91)
    assert (len(decoder.buckets), decoder.exact_distance, decoder.shared_from) == (32, 15, 113)
    assert decoder.buckets[-1].nearest == 0 and encoder.buckets[-1].last is None
