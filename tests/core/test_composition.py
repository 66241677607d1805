"""Composition of heads: equal to the matrices written out, and in every family to what the held network makes of a head's value."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_families import CASES, build, called, example

import core
from core.analysis.attention.measures import offset_weight
from core.analysis.attribution.composition import composition, head_maps
from core.analysis.residual.held_network import HeldNetwork, StreamTap
from core.errors import InputError


def test_the_scores_are_those_of_the_matrices_written_out():
    model = core.open_model("gpt-mini")
    found, over = composition(model, "causal"), composition(model, "causal", above_chance=True)
    width, d_head = model.config.d_model, model.config.d_head
    assert found.by_chance == pytest.approx(1 / 16) and np.isnan(found.key[2, :, 2:]).all()
    centring = np.eye(width) - 1 / width

    def circuits(layer, head):
        block, part = model.network.layers[layer], slice(head * d_head, (head + 1) * d_head)
        normed = np.diag(block.norm1.weight.double().numpy()) @ centring
        q, k, v = (
            getattr(block.self_attn, name).weight.double().numpy()[part] @ normed
            for name in ("to_q", "to_k", "to_v")
        )
        return q.T @ k, block.self_attn.to_out.weight.double().numpy()[:, part] @ v

    for later, earlier in (((3, 5), (1, 2)), ((5, 0), (4, 7))):
        (qk, ov), (_, wrote) = circuits(*later), circuits(*earlier)
        for scores, reads in (("query", qk.T), ("key", qk), ("value", ov)):
            product = np.einsum("ij,jk->ik", reads, wrote)
            wanted = np.linalg.norm(product) / np.linalg.norm(reads) / np.linalg.norm(wrote)
            assert getattr(found, scores)[*later, *earlier] == pytest.approx(wanted, rel=1e-4)
            assert getattr(over, scores)[*later, *earlier] == pytest.approx(wanted - 1 / 16, abs=1e-5)


def test_an_induction_head_reads_its_keys_from_the_head_that_attends_to_the_token_before():
    model = core.open_model("induction-tiny")
    weights = model.run("a b c d a b c d").attention("causal").weights
    previous = int(offset_weight(weights, -1)[0].argmax())
    found = composition(model, "causal")
    later, earlier, score = found.largest(1)[0]
    assert (later[0], earlier) == (1, (0, previous)) and score > 1.4 * found.by_chance
    assert score > max(found.largest(1, "query")[0][2], found.largest(1, "value")[0][2])


@pytest.mark.quick(6)
@pytest.mark.parametrize("case", CASES, ids=called)
def test_in_every_family_the_maps_are_what_a_query_a_key_and_a_value_take_from_an_earlier_head(case):
    family, network = build(*case)
    for kind in family.kinds_of(network.cfg):
        if not kind.layered or not kind.one_text or family.stream[0] != "resid_in":
            continue
        *_, (layer, reader, writers) = head_maps(network, family, kind.name)
        ends = tuple(kind.path(layer, leaf) for leaf in ("q", "k", "v"))
        tap = StreamTap(ends)
        HeldNetwork(network).run(lambda network, tap: network(example(family), tap=tap), tap)
        for path, maps in zip(ends, (reader.query, reader.key, reader.value), strict=True):
            for earlier, writer in enumerate(writers):
                value = tap.leaves[kind.path(earlier, "heads")][0]
                rows = [
                    torch.autograd.grad(each, value, retain_graph=True)[0][0, 1, 0]
                    for each in tap.end_values[path][0, 2, 0]  # at position 0, where nothing is rotated
                ]
                wanted, found = torch.stack(rows).flatten(), (maps[2] @ writer.out[1]).flatten()
                assert torch.cosine_similarity(wanted, found, dim=0) > 0.9999, (path, earlier)


@pytest.mark.parametrize(
    ("name", "kind", "wrong"),
    [
        ("bahdanau-en-es", "alignment", "does not compose along a residual stream"),
        ("elmo-mini", "self", "does not compose along a residual stream"),
        ("snail-recall", "causal", "does not compose along a residual stream"),
        ("translator-en-es", "cross", "of another text. .* Choose self or causal"),
    ],
)
def test_heads_without_a_stream_of_their_own_are_refused(name, kind, wrong):
    with pytest.raises(InputError, match=wrong):
        composition(core.open_model(name), kind)
