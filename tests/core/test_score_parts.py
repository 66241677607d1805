"""A score as a sum over the parts of a model that wrote to the stream before: it adds up, and single parts equal a written-out product."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from deep import deep
from test_families import CASES, build, called, example, traced

import core
from core.analysis.attention.measures import offset_weight
from core.analysis.attribution.composition import composition, head_maps
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.score_parts import (
    Part,
    needed_for_parts,
    query_and_key_parts,
    score_parts,
    scores_of_attending,
)
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.residual.held_network import HeldNetwork, StreamTap, _HeldActivation
from core.errors import InputError

TEXT = "The king and the queen"


@pytest.mark.quick(12)
@pytest.mark.parametrize("case", CASES, ids=called)
def test_the_parts_of_a_query_and_of_a_key_add_up_to_them_in_every_family(case):
    family, network = build(*case)
    batch, trace = example(family), traced(network, example(family))[1]
    for kind in family.kinds_of(network.cfg):
        if not kind.layered or kind.has_learned_queries:
            continue
        layer = kind.n_layers(network.cfg) - 1
        q, k = (trace[kind.path(layer, leaf)][0, -1].detach().numpy() for leaf in ("q", "k"))
        of_query, of_key = query_and_key_parts(network, family, batch, kind.name, layer, -1, 2, 1)
        np.testing.assert_allclose(sum(of_query.values()), q[2], atol=1e-5)
        np.testing.assert_allclose(sum(of_key.values()), k[1], atol=1e-5)
        heads = {part.layer for part in of_query if part.name == "head" and part.kind == kind.name}
        assert heads <= set(range(layer)), "only earlier layers write into a query"


def test_products_are_those_of_the_weights_written_out_and_add_up_to_the_score():
    model = core.open_model("gpt-mini")
    run = model.run(TEXT)
    found = score_parts(run, "causal", 3, 5, query=4, key=1)
    assert abs(found.total - found.score) < 1e-4
    assert found.score == pytest.approx(float(run.trace["layer.3.self_attn.scores"][5, 4, 1]))

    def normed(part, position, norm):  # the norm of layer 3 on one part, its scale held, without its bias
        x = run.trace["layer.3.resid_in"][position].astype(np.float64)
        gain = norm.weight.double().numpy()
        return (part - part.mean()) / np.sqrt(x.var() + norm.eps) * gain

    block = model.network.layers[3]
    attend, d_head = block.self_attn, model.config.d_head
    rows = slice(5 * d_head, 6 * d_head)
    token = run.trace["embed.token"][4].astype(np.float64)
    head = run.trace["layer.2.self_attn.heads"][6, 1].astype(np.float64)
    merge = model.network.layers[2].self_attn.to_out.weight.double().numpy()
    wrote = merge[:, 6 * d_head : 7 * d_head] @ head
    q = attend.to_q.weight.double().numpy()[rows] @ normed(token, 4, block.norm1)
    k = attend.to_k.weight.double().numpy()[rows] @ normed(wrote, 1, block.norm1)
    at = found.query_parts.index(Part("token embedding")), found.key_parts.index(Part("head", "causal", 2, 6))
    assert found.products[at] == pytest.approx(float(q @ k) / np.sqrt(d_head), abs=1e-6)


def test_within_inference_mode_the_parts_are_the_same():
    model = core.open_model("translator-en-es")
    run = model.run("The cat sleeps.")
    with torch.inference_mode():
        inside = score_parts(run, "cross", 2, 0, 1, 1)
    np.testing.assert_allclose(inside.products, score_parts(run, "cross", 2, 0, 1, 1).products)


def test_an_induction_head_reads_what_the_head_that_attends_to_the_previous_token_wrote():
    run = core.open_model("induction-tiny").run("a b c d a b")
    pattern = run.attention("causal").weights
    previous = int(pattern[0].diagonal(-1, 1, 2).mean(-1).argmax())
    found = score_parts(run, "causal", 1, 0, query=len(run.tokens) - 1, key=len(run.tokens) - 4)
    asks, answers, value = found.largest(1)[0]
    assert (asks.name, answers) == ("token embedding", Part("head", "causal", 0, previous))
    assert value > 0.4 * found.score > 0


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    deep(
        [
            ("gpt-mini", TEXT, "causal"),
            ("bert-mini", "The king and the queen went home.", "self"),
            ("translator-en-es", "The cat sleeps.", "cross"),
        ],
        quick=lambda case: case[0] != "bert-mini",
    ),
)
def test_what_attending_adds_to_the_words_sums_up_to_the_attribution_of_the_head(name, text, kind):
    model = core.open_model(name)
    run, found = model.run(text), model.spec.kind(kind)
    layer, head, row = found.n_layers(model.config) - 1, 1, 3
    weights = run.trace[found.path(layer, "pattern")][head, row]
    word = int(run.logits[row].argmax())
    added = [scores_of_attending(run, kind, layer, head, row, key) for key in range(len(weights))]
    parts = attribute(run, OutputTarget(row=row, token=word))
    assert sum(w * scores[word] for w, scores in zip(weights, added, strict=True)) == pytest.approx(
        parts.heads[kind][layer, head], abs=1e-4
    )


def test_the_encoder_of_a_translator_reaches_no_word_directly():
    run = core.open_model("translator-en-es").run("The cat sleeps.")
    with pytest.raises(InputError, match="does not reach a score of words"):
        scores_of_attending(run, "self", 0, 0, 1, 1)


def test_what_is_needed_is_enough_and_a_recurrent_decoder_has_no_parts():
    model = core.open_model("gpt-mini")
    few = model.run(TEXT, keep=needed_for_parts(model.run(TEXT), "causal", 2))
    whole = score_parts(model.run(TEXT), "causal", 2, 1, 4, 2)
    np.testing.assert_allclose(score_parts(few, "causal", 2, 1, 4, 2).products, whole.products, atol=1e-6)
    recurrent = core.open_model("bahdanau-en-es").run("The cat sleeps.")
    with pytest.raises(InputError, match="no earlier parts"):
        score_parts(recurrent, "alignment", 0, 0, 1, 1)


def test_an_activation_that_is_held_as_a_gate_is_itself_also_at_zero_and_one():
    x = torch.tensor([-2.0, 0.0, 0.5, 1.0, 3.0])
    owner = SimpleNamespace(hold=lambda compute: compute())
    for activation in (torch.nn.functional.gelu, torch.relu, torch.tanh):
        torch.testing.assert_close(_HeldActivation(activation, owner)(x), activation(x))


# ---------------- Composition of heads: equal to the matrices written out, and in every family to what the held network makes of a head's value.


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
