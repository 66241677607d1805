"""Beam search: the tree, the best of all sentences, and agreement with the search over many sentences at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from decoding_helpers import build, counted

from core import edits
from core.decoding import Beam, Greedy, counterexample, decode
from core.decoding.beam import _Search
from core.decoding.decode import write
from core.decoding.prompt import Prompt
from core.maths import softmax
from core.models import Batch
from core.run.batched import beam as batched_beam


@pytest.fixture(params=["gpt", "transformer"])
def m(request):
    return build(request.param)


@pytest.fixture
def forwards(m):
    return m, counted(m)


def random_tree(seed, n_vocab, n_words):
    draw = np.random.default_rng(seed)
    rows = itertools.chain.from_iterable(itertools.product(range(n_vocab), repeat=n) for n in range(n_words))
    return {row: softmax(draw.normal(size=n_vocab) * 2) for row in rows}


def test_greedy_can_be_worse_than_the_best():
    assert counterexample.write_sentence(Greedy()) == ("aa", 0.2)
    assert counterexample.write_sentence(Beam(width=2)) == counterexample.best_sentence() == ("bb", 0.36)


@pytest.mark.parametrize("seed", range(12))
def test_a_full_width_beam_finds_the_best_sentence(seed):
    tree = random_tree(seed, 3, 4)
    assert counterexample.write_sentence(Beam(width=27), 4, tree) == counterexample.best_sentence(4, tree)


@pytest.mark.parametrize("seed", range(12))
def test_a_beam_of_one_is_greedy(seed):
    tree = random_tree(seed, 4, 4)
    assert counterexample.write_sentence(Beam(width=1), 4, tree) == counterexample.write_sentence(
        Greedy(), 4, tree
    )


def test_the_tree_of_the_counterexample():
    steps = list(
        write(
            counterexample.LookupModel(), Prompt((), counterexample.Letters(), room=3), Beam(width=2), 2, {}
        )
    )
    first, last = steps[0].tree, steps[1].tree
    assert [(n.token, n.parent, round(float(np.exp(n.logprob)), 3)) for n in last.nodes] == [
        ("a", -1, 0.5),
        ("b", -1, 0.4),
        ("c", -1, 0.1),
        ("b", 1, 0.36),
        ("a", 0, 0.2),
        ("b", 0, 0.15),
        ("c", 0, 0.15),
    ]
    assert (first.open, first.finished, first.pruned_nodes()) == ((0, 1), (), frozenset({2}))
    assert last.open == ()
    assert [place for place, _ in last.finished] == [3, 4]
    assert last.finished[0][1] == pytest.approx(np.log(0.36) / 2)
    assert last.pruned_nodes() == {2, 5, 6}
    assert last.path(last.best) == (1, 3)
    run = _Search(Prompt((), counterexample.Letters(), room=3), Beam(width=2), list(last.nodes))
    assert [run.ids_to(place) for place in (-1, 0, 3, 4)] == [(), (0,), (1, 1), (0, 0)]


def test_a_token_that_cannot_come_adds_nothing_to_the_entropy():
    model, prompt = (
        counterexample.LookupModel({(): (0.5, 0.5, 0.0)}),
        Prompt((), counterexample.Letters(), room=3),
    )
    (step,) = write(model, prompt, Beam(width=2), 1, {})
    assert step.rows.entropy.tolist() == [pytest.approx(np.log(2))]


@pytest.mark.quick(1)
@pytest.mark.parametrize("width", [1, 3])
def test_one_sentence_at_a_time_and_many_at_once_find_the_same(width):
    ended = 0
    for seed in range(6):
        m = build("transformer", seed=seed)
        row = m.network.embed["token"].weight[2]
        m.network.decoder_norm.bias += 8 * row / row.square().sum()  # 8 more for the logit of END
        source = torch.tensor([m.tokenizer.encode("the old cat").ids])
        batch = Batch(ids=source, real=source >= 0, source=source, source_real=source >= 0)
        with torch.inference_mode():
            many = batched_beam(m.network, batch, width=width, start=1, end=2, limit=30)[0]
        found = list(decode(m, "the old cat", Beam(width=width), max_new_tokens=30))[-1]
        if found.reason == "end":
            ended += 1
            assert [i for i in found.ids if i != 2] == many
    assert ended >= 2


def test_a_beam_with_edits_equals_the_cached_one_when_the_edit_is_neutral(m):
    where = f"{m.spec.kind('causal').stack}.0.self_attn.heads"
    plain, edited = (
        list(decode(m, "the old cat", Beam(width=3), max_new_tokens=6, edits=changes))
        for changes in ((), [edits.ScaleHead(where, 0, 1.0)])
    )
    assert plain[-1].ids == edited[-1].ids
    assert plain[-1].tree.nodes[-1].logprob == pytest.approx(edited[-1].tree.nodes[-1].logprob, abs=1e-4)


def test_forcing_a_token_forces_every_branch(m):
    steps = list(decode(m, "the old cat", Beam(width=3), max_new_tokens=4, force=[(1, 60)]))
    assert {node.id for node in steps[-1].tree.nodes if node.step == 1} == {60}


def test_a_beam_can_be_stopped(forwards):
    m, count = forwards
    steps = decode(m, "the old cat", Beam(width=2), max_new_tokens=20)
    next(steps), next(steps)
    before = count[0]
    steps.close()
    assert count[0] == before
