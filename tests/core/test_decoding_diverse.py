"""Diverse beam search against a plain one written for this test, and the ranking of what a beam found.

The oracle is ours: transformers 5 keeps group beam search in a repository of its own, which is not installed with it.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from decoding_helpers import build
from deep import deep
from test_decoding_beam import random_tree

from core.decoding import Beam, decode, n_best, prompt_of
from core.decoding.counterexample import Letters, LookupModel
from core.decoding.decode import write
from core.decoding.prompt import Prompt
from core.errors import InputError


def plain(tree, n_words, strategy, end):
    """Vijayakumar et al. 2018, algorithm 1, one dictionary {text: score} a group. Gives the finished ones of each."""
    width = strategy.width // strategy.groups
    open_texts = [{(): 0.0} for _ in range(strategy.groups)]
    finished = [{} for _ in range(strategy.groups)]
    over = [False] * strategy.groups
    for n in range(1, n_words + 1):
        used = Counter()
        for g in range(strategy.groups):
            if over[g]:
                continue
            grown = {
                (*text, word): score + np.log(p) - strategy.diversity * used[word]
                for text, score in open_texts[g].items()
                for word, p in enumerate(tree[text])
            }
            ranked = sorted(grown, key=grown.get, reverse=True)
            for text in ranked[:width]:
                if n == n_words or text[-1] == end:
                    finished[g][text] = grown[text] / n**strategy.length_penalty
            best = sorted(finished[g], key=finished[g].get, reverse=True)[:width]
            finished[g] = {text: finished[g][text] for text in best}
            going = [text for text in ranked if text[-1] != end][:width]
            used.update(text[-1] for text in going)
            open_texts[g] = {text: grown[text] for text in going}
            hope = max(open_texts[g].values(), default=-np.inf) / n**strategy.length_penalty
            over[g] = len(best) == width and (strategy.early_stopping or hope <= finished[g][best[-1]])
    return finished


def ours(tree, n_words, strategy, end):
    prompt = Prompt((), Letters(), room=n_words + 1, end=end)
    *_, last = write(LookupModel(tree), prompt, strategy, n_words, {})
    return last, n_best(last.tree, prompt)


@pytest.mark.quick(4)
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize(("groups", "width"), [(1, 3), (2, 4), (3, 3), (2, 6), (4, 4)])
@pytest.mark.parametrize("penalty", deep([0.0, 1.0, 2.0], {1.0}))
def test_groups_find_what_the_plain_search_finds(groups, width, penalty, early):
    met = set()
    for seed, diversity, end in itertools.product(range(4), (0.0, 0.3, 1.5), (None, 0)):
        strategy = Beam(width, penalty, early, groups, diversity)
        tree = random_tree(seed, 4, 5)
        wanted = plain(tree, 5, strategy, end)
        last, found = ours(tree, 5, strategy, end)
        for number, group in enumerate(wanted):
            mine = {one.ids: one.score for one in found if one.ended and one.group == number}
            assert mine == pytest.approx(group, abs=1e-9)
        assert last.ids in max(wanted, key=lambda group: max(group.values()))
        met.add(last.reason)
    assert met == {"end", "limit"}


def test_the_second_group_keeps_away_from_the_first():
    tree = random_tree(1, 4, 3)
    _, same = ours(tree, 3, Beam(4, groups=2, diversity=0.0), None)
    assert [one.ids for one in same[::2]] == [one.ids for one in same[1::2]]
    _, apart = ours(tree, 3, Beam(4, groups=2, diversity=50.0), None)
    first, second = ([one.ids for one in apart if one.group == group] for group in (0, 1))
    assert not {ids[0] for ids in first} & {ids[0] for ids in second}
    assert [one.ids for one in same if one.group == 0] == first


def test_a_node_tells_its_group_what_it_cost_and_the_models_own_probability():
    tree = {(): (0.5, 0.4, 0.1), (0,): (0.4, 0.3, 0.3), (1,): (0.05, 0.9, 0.05), (2,): (0.4, 0.3, 0.3)}
    last, found = ours(tree, 2, Beam(2, groups=2, diversity=1.0), None)
    nodes = [
        (n.token, n.group, round(float(np.exp(n.logprob)), 3), n.cost) for n in last.tree.nodes if n.step == 0
    ]
    assert nodes == [("a", 0, 0.5, 0.0), ("b", 0, 0.4, 0.0), ("b", 1, 0.4, 0.0), ("a", 1, 0.5, 1.0)]
    assert [(one.text, one.group, one.cost) for one in found] == [("bb", 1, 0.0), ("aa", 0, 0.0)]
    for one in found:
        assert one.score == pytest.approx((one.logprob - one.cost) / one.divisor)
    assert last.text == "bb"


def test_diversity_of_none_is_a_beam_in_every_group():
    m = build("gpt", seed=3)
    beam = list(decode(m, "the old cat", Beam(2), max_new_tokens=6))[-1]
    groups = list(decode(m, "the old cat", Beam(6, groups=3), max_new_tokens=6))[-1]
    wanted = [place for place, _ in beam.tree.finished]
    for group in range(3):
        texts = [
            one
            for one in n_best(groups.tree, prompt_of(m, "the old cat"))
            if one.group == group and one.ended
        ]
        assert [one.ids for one in texts] == [
            tuple(beam.tree.nodes[i].id for i in beam.tree.path(place)) for place in wanted
        ]
        assert [one.score for one in texts] == pytest.approx(
            [score for _, score in beam.tree.finished], abs=1e-6
        )


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_groups_over_a_network_follow_their_rows(name):
    """Each text's sum of log p is that of a decoding that is forced to write it."""
    m = build(name, seed=2)
    strategy = Beam(6, groups=3, diversity=0.8)
    steps = list(decode(m, "the old cat", strategy, max_new_tokens=5))
    found = [one for one in n_best(steps[-1].tree, prompt_of(m, "the old cat")) if one.ended]
    assert {one.group for one in found} == {0, 1, 2}
    for one in found:
        forced = list(decode(m, "the old cat", force=enumerate(one.ids), max_new_tokens=len(one.ids)))
        assert sum(step.logprob for step in forced) == pytest.approx(one.logprob, abs=1e-4)
        assert forced[-1].text == one.text


def test_the_n_best_of_a_plain_beam_while_it_grows_and_at_its_end():
    m = build("gpt")
    steps = list(decode(m, "the old cat", Beam(3, length_penalty=0.7), max_new_tokens=5))
    for step in steps:
        found = n_best(step.tree, prompt_of(m, "the old cat"))
        assert [(one.place, one.score) for one in found if one.ended] == [
            (place, pytest.approx(score)) for place, score in step.tree.finished
        ]
        assert [one.place for one in found if not one.ended] == list(step.tree.open)
        for one in found:
            assert (one.length, one.divisor, one.group, one.cost) == (len(one.ids), len(one.ids) ** 0.7, 0, 0)
    assert found[0].ids == steps[-1].ids
    assert found[0].text == steps[-1].text


@pytest.mark.parametrize(
    "wrong",
    [
        {"groups": 0},
        {"groups": 3},
        {"groups": 2.0},
        {"groups": True},
        {"width": 1, "groups": 2},
        {"diversity": -1},
        {"diversity": float("inf")},
        {"early_stopping": 1},
    ],
)
def test_groups_that_make_no_sense_are_refused_in_three_parts(wrong):
    with pytest.raises(InputError) as error:
        Beam(**wrong)
    assert all((error.value.wrong, error.value.rule, error.value.remedy))


def test_a_forced_token_costs_no_group_anything():
    table = random_tree(2, 4, 4)
    prompt = Prompt((), Letters(), room=5)
    *_, last = write(LookupModel(table), prompt, Beam(4, groups=2, diversity=2.0), 4, {0: 3, 1: 1})
    assert {(node.token, node.cost) for node in last.tree.nodes if node.step < 2} == {("d", 0.0), ("b", 0.0)}
    assert any(node.cost for node in last.tree.nodes if node.step == 2)
