"""Beam search: the tree, the best of all sentences, diverse groups, the steps of one of its texts, and two texts compared.

The oracle of groups is ours: transformers 5 keeps group beam search in a repository of its own, which is not installed with it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from decoding_helpers import TEXT, WRITERS, assert_is_a_run_of, build, random_tree, recurrent, whole_pass
from deep import deep

from core import edits
from core.decoding import Beam, Greedy, compare, counterexample, decode, hypothesis_steps, n_best, prompt_of
from core.decoding.beam import _Search
from core.decoding.choose import LISTED
from core.decoding.counterexample import Letters, LookupModel
from core.decoding.decode import write
from core.decoding.prompt import Prompt
from core.errors import InputError
from core.maths import softmax


def on_tree(table, strategy, n_words, *, end=None, force=None):
    """The steps of a search through a table of probabilities, and what it read."""
    prompt = Prompt((), Letters(), room=n_words + 1, end=end)
    return list(write(LookupModel(table), prompt, strategy, n_words, force or {})), prompt


def test_greedy_can_be_worse_than_the_best():
    assert counterexample.write_sentence(Greedy()) == ("aa", 0.2)
    assert counterexample.write_sentence(Beam(width=2)) == counterexample.best_sentence() == ("bb", 0.36)


@pytest.mark.parametrize("seed", range(12))
def test_a_full_width_beam_finds_the_best_sentence_and_one_of_one_is_greedy(seed):
    tree = random_tree(seed, 3, 4)
    assert counterexample.write_sentence(Beam(width=27), 4, tree) == counterexample.best_sentence(4, tree)
    one, greedy = (counterexample.write_sentence(how, 4, tree) for how in (Beam(width=1), Greedy()))
    assert one == greedy


def test_the_tree_of_the_counterexample():
    model, prompt = counterexample.LookupModel(), Prompt((), Letters(), room=3)
    first, last = (step.tree for step in write(model, prompt, Beam(width=2), 2, {}))
    assert [(n.token, n.parent, round(float(np.exp(n.logprob)), 3)) for n in last.nodes] == [
        *(("a", -1, 0.5), ("b", -1, 0.4), ("c", -1, 0.1), ("b", 1, 0.36)),
        *(("a", 0, 0.2), ("b", 0, 0.15), ("c", 0, 0.15)),
    ]
    assert (first.open, first.finished, first.pruned_nodes()) == ((0, 1), (), frozenset({2}))
    assert last.open == ()
    assert [place for place, _ in last.finished] == [3, 4]
    assert last.finished[0][1] == pytest.approx(np.log(0.36) / 2)
    assert last.pruned_nodes() == {2, 5, 6}
    assert last.path(last.best) == (1, 3)
    run = _Search(Prompt((), Letters(), room=3), Beam(width=2), list(last.nodes))
    assert [run.ids_to(place) for place in (-1, 0, 3, 4)] == [(), (0,), (1, 1), (0, 0)]


def test_a_token_that_cannot_come_adds_nothing_to_the_entropy():
    (step,), _ = on_tree({(): (0.5, 0.5, 0.0)}, Beam(width=2), 1)
    assert step.rows.entropy.tolist() == [pytest.approx(np.log(2))]


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_forcing_a_token_forces_every_branch(name):
    *_, last = decode(build(name), TEXT, Beam(width=3), max_new_tokens=4, force=[(1, 60)])
    assert {node.id for node in last.tree.nodes if node.step == 1} == {60}


# Groups


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
        (*_, last), prompt = on_tree(tree, strategy, 5, end=end)
        found = n_best(last.tree, prompt)
        for number, group in enumerate(wanted):
            mine = {one.ids: one.score for one in found if one.ended and one.group == number}
            assert mine == pytest.approx(group, abs=1e-9)
        assert last.ids in max(wanted, key=lambda group: max(group.values()))
        met.add(last.reason)
    assert met == {"end", "limit"}


def test_a_node_tells_its_group_what_it_cost_and_the_models_own_probability():
    tree = {(): (0.5, 0.4, 0.1), (0,): (0.4, 0.3, 0.3), (1,): (0.05, 0.9, 0.05), (2,): (0.4, 0.3, 0.3)}
    (*_, last), prompt = on_tree(tree, Beam(2, groups=2, diversity=1.0), 2)
    begun = [node for node in last.tree.nodes if node.step == 0]
    told = [(n.token, n.group, round(float(np.exp(n.logprob)), 3), n.cost) for n in begun]
    assert told == [("a", 0, 0.5, 0.0), ("b", 0, 0.4, 0.0), ("b", 1, 0.4, 0.0), ("a", 1, 0.5, 1.0)]
    found = n_best(last.tree, prompt)
    assert [(one.text, one.group, one.cost) for one in found] == [("bb", 1, 0.0), ("aa", 0, 0.0)]
    for one in found:
        assert one.score == pytest.approx((one.logprob - one.cost) / one.divisor)
    assert last.text == "bb"


def test_a_forced_token_costs_no_group_anything():
    (*_, last), _ = on_tree(random_tree(2, 4, 4), Beam(4, groups=2, diversity=2.0), 4, force={0: 3, 1: 1})
    assert {(node.token, node.cost) for node in last.tree.nodes if node.step < 2} == {("d", 0.0), ("b", 0.0)}
    assert any(node.cost for node in last.tree.nodes if node.step == 2)


def test_the_n_best_of_a_plain_beam_while_it_grows_and_at_its_end():
    m = build("gpt")
    steps = list(decode(m, TEXT, Beam(3, length_penalty=0.7), max_new_tokens=5))
    for step in steps:
        found = n_best(step.tree, prompt_of(m, TEXT))
        assert [(one.place, one.score) for one in found if one.ended] == [
            (place, pytest.approx(score)) for place, score in step.tree.finished
        ]
        assert [one.place for one in found if not one.ended] == list(step.tree.open)
        for one in found:
            assert (one.length, one.divisor, one.group, one.cost) == (len(one.ids), len(one.ids) ** 0.7, 0, 0)
    assert (found[0].ids, found[0].text) == (steps[-1].ids, steps[-1].text)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"groups": 0}, {"groups": 3}, {"groups": 2.0}, {"groups": True}, {"width": 1, "groups": 2}),
        *({"diversity": -1}, {"diversity": float("inf")}, {"early_stopping": 1}),
        *({"width": 0}, {"width": 65}, {"width": 2.0}, {"length_penalty": float("nan")}),
    ],
)
def test_a_beam_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        Beam(**wrong)


# The steps of one text

STRATEGIES = [Beam(1), Beam(3), Beam(3, 0.5, False), Beam(6, 0.7, groups=3, diversity=1.5)]


@pytest.fixture(scope="module", params=[name for name in WRITERS if name != "luong-local-m"])
def m(request):
    made = WRITERS[request.param]()
    made.network.embed["token"].weight.data[2] *= 2.0  # END is now and then among the best
    return made


@pytest.mark.quick(4)
@pytest.mark.parametrize("strategy", deep(STRATEGIES, STRATEGIES[2:]), ids=str)
def test_every_text_of_a_beam_has_the_steps_of_a_run_of_it_alone(m, strategy):
    steps, prompt = list(decode(m, TEXT, strategy, max_new_tokens=8)), prompt_of(m, TEXT)
    tree = steps[-1].tree
    assert len(steps) > 1
    found = [one for one in n_best(tree, prompt) if one.ended]
    assert {one.group for one in found} == set(range(strategy.groups))
    lost = max(
        tree.pruned_nodes(), default=tree.best, key=lambda place: (tree.nodes[place].step, place)
    )  # a visitor may ask for it, too
    for place in {tree.best, lost, *(one.place for one in found)}:
        ids = tuple(tree.nodes[at].id for at in tree.path(place))
        assert_is_a_run_of(m, hypothesis_steps(steps, place, prompt), ids)
    winner = hypothesis_steps(steps, tree.best, prompt)
    assert (winner[-1].text, winner[-1].done, winner[-1].reason) == (steps[-1].text, True, steps[-1].reason)
    assert sum(step.logprob for step in winner) == pytest.approx(tree.nodes[tree.best].logprob)
    assert not any(step.done or step.reason for step in winner[:-1])


def test_while_the_beam_grows_the_path_is_that_of_the_best_so_far(m):
    prompt, seen = prompt_of(m, TEXT), []
    for step in decode(m, TEXT, Beam(3), max_new_tokens=5):
        seen.append(step)
        path = hypothesis_steps(seen, step.tree.best, prompt)
        assert (path[-1].ids, path[-1].text, path[-1].pending) == (step.ids, step.text, step.pending)
        assert step.done or not path[-1].done
    early, late = (hypothesis_steps(some, seen[2].tree.best, prompt) for some in (seen[:3], seen))
    assert [s.ids for s in early] == [s.ids for s in late], "places hold while a tree grows"


def test_a_beam_of_one_has_the_steps_of_greedy(m):
    one, prompt = list(decode(m, TEXT, Beam(1), max_new_tokens=6)), prompt_of(m, TEXT)
    greedy = list(decode(m, TEXT, Greedy(), max_new_tokens=6))
    for a, b in zip(hypothesis_steps(one, one[-1].tree.best, prompt), greedy, strict=False):
        assert (a.id, a.text, a.keys, a.n_kept) == (b.id, b.text, b.keys, b.n_kept)
        assert [c.id for c in a.candidates] == [c.id for c in b.candidates]
        np.testing.assert_allclose(
            [c.before for c in a.candidates], [c.before for c in b.candidates], atol=1e-6
        )
        numbers = (b.entropy, b.log_total, b.surprise)
        assert (a.entropy, a.log_total, a.surprise) == pytest.approx(numbers, abs=1e-5)


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_a_changed_model_has_the_attention_of_the_changed_model(name):
    m = build(name)
    changes = [edits.ZeroHead(f"{m.spec.kind('causal').stack}.0.self_attn.heads", 0)]
    steps = list(decode(m, TEXT, Beam(3), max_new_tokens=5, edits=changes))
    path = hypothesis_steps(steps, steps[-1].tree.best, prompt_of(m, TEXT))
    assert_is_a_run_of(m, path, path[-1].ids, changes)


@pytest.mark.parametrize("strategy", [Beam(4), Beam(8, groups=4, diversity=0.5)], ids=str)
def test_a_step_keeps_a_row_for_each_text_and_no_more(strategy):
    m = build("gpt")
    cfg, given = m.config, len(m.tokenizer.encode(TEXT).ids)
    for step in decode(m, TEXT, strategy, max_new_tokens=6):
        n_rows, n_keys = (strategy.width if step.index else 1), given + step.index
        assert step.rows.attention["causal"].shape == (n_rows, cfg.n_layers, cfg.n_heads, n_keys)
        most = 5 * strategy.width * cfg.n_layers * cfg.n_heads * n_keys + strategy.width * (16 * LISTED + 24)
        assert 0 < step.rows.nbytes <= most
        assert {node.row for node in step.tree.nodes if node.step == step.index} <= set(range(n_rows))


@pytest.mark.parametrize("end", [None, 0])
def test_on_paper_each_token_has_the_probability_of_its_own_beginning(end):
    table = random_tree(5, 4, 5)
    steps, prompt = on_tree(table, Beam(4, 1.0, False), 5, end=end)
    for place in range(len(steps[-1].tree.nodes)):
        path = hypothesis_steps(steps, place, prompt)
        for t, step in enumerate(path):
            behind = tuple(table[path[t - 1].ids if t else ()])
            assert {c.id: pytest.approx(c.before) for c in step.candidates} == dict(enumerate(behind))
    reasons = {hypothesis_steps(steps, place, prompt)[-1].reason for place, _ in steps[-1].tree.finished}
    assert reasons <= ({"end", "limit"} if end == 0 else {"limit"})


# Two texts compared

TABLE = {
    (): (0.5, 0.4, 0.1),
    (0,): (0.4, 0.3, 0.3),
    (1,): (0.05, 0.9, 0.05),
    (2,): (0.4, 0.3, 0.3),
    (1, 1): (0.5, 0.25, 0.25),
    (0, 0): (1.0, 0.0, 0.0),
}


def on_paper(*ids):
    return on_tree(TABLE, Greedy(), len(ids), force=dict(enumerate(ids)))[0]


def test_only_a_beam_has_texts_to_choose_from():
    with pytest.raises(AssertionError, match="only a beam"):
        hypothesis_steps(on_paper(0, 0), 0, Prompt((), Letters(), room=3))


def test_by_hand():
    found = compare(on_paper(1, 1, 0), on_paper(1, 1, 1), length_penalty=2.0, costs=(0.0, 1.0))
    told = [(one.token, pytest.approx(one.p)) for one in (*found.common, *found.a.tokens, *found.b.tokens)]
    assert told == [("b", 0.4), ("b", 0.9), ("a", 0.5), ("b", 0.25)]
    assert math.exp(found.log_ratio) == pytest.approx(2.0)
    assert found.a.bits == pytest.approx(-math.log2(0.4 * 0.9 * 0.5) / 3)
    assert (found.a.score, found.b.score) == pytest.approx((math.log(0.18) / 9, (math.log(0.09) - 1) / 9))


def test_from_the_first_token_on_the_same_and_one_within_the_other():
    apart = compare(on_paper(0, 0), on_paper(1, 1))
    assert (apart.common, apart.a.score) == ((), None)
    assert math.exp(apart.log_ratio) == pytest.approx(0.2 / 0.36)
    same = compare(on_paper(1, 1), on_paper(1, 1))
    assert (same.a.tokens, same.b.tokens, same.log_ratio, len(same.common)) == ((), (), 0.0, 2)
    within = compare(on_paper(1), on_paper(1, 1, 0))
    assert within.a.tokens == () and [one.token for one in within.b.tokens] == ["b", "a"]
    assert math.exp(within.log_ratio) == pytest.approx(1 / (0.9 * 0.5))
    assert compare([], on_paper(1)).a.bits == 0.0


def test_one_is_the_other_turned_round():
    one, other = compare(on_paper(1, 1, 0), on_paper(1, 0)), compare(on_paper(1, 0), on_paper(1, 1, 0))
    assert (one.a, one.b, one.common, one.log_ratio) == (other.b, other.a, other.common, -other.log_ratio)


@pytest.mark.parametrize(
    "make",
    [lambda: build("gpt"), lambda: build("transformer"), lambda: recurrent("bahdanau")],
    ids=["gpt", "transformer", "bahdanau"],
)
def test_the_sums_are_those_of_runs_of_both_texts(make):
    m = make()
    steps = list(decode(m, TEXT, Beam(4, 0.6, groups=2, diversity=0.4), max_new_tokens=6))
    prompt = prompt_of(m, TEXT)
    one, other = n_best(steps[-1].tree, prompt)[:2]
    both = (hypothesis_steps(steps, ranked.place, prompt) for ranked in (one, other))
    found = compare(*both, 0.6, (one.cost, other.cost))
    for side, ranked in ((found.a, one), (found.b, other)):
        logits, _, given = whole_pass(m, TEXT, ranked.ids)
        rows = logits[given - 1 : given - 1 + len(ranked.ids)].astype(float)
        tokens = np.log([softmax(row)[token] for row, token in zip(rows, ranked.ids, strict=True)])
        assert side.logprob == pytest.approx(tokens.sum(), abs=1e-4) and side.length == len(ranked.ids)
        assert [t.logprob for t in (*found.common, *side.tokens)] == pytest.approx(tokens.tolist(), abs=1e-4)
        assert side.score == pytest.approx(ranked.score)
        assert side.bits == pytest.approx(-tokens.mean() / math.log(2), abs=1e-4)
    n = len(found.common)
    assert one.ids[:n] == other.ids[:n] and one.ids[n : n + 1] != other.ids[n : n + 1]


def test_forks_are_compared_by_the_models_own_probability():
    m = build("gpt")
    plain = list(decode(m, TEXT, max_new_tokens=5))
    rare = plain[2].candidates[9]
    forked = list(decode(m, TEXT, max_new_tokens=5, force=[(2, rare.id)]))
    found = compare(plain, forked)
    assert len(found.common) == 2 and found.b.tokens[0].id == rare.id
    assert found.b.tokens[0].p == pytest.approx(rare.before)
    assert found.log_ratio == pytest.approx(sum(s.logprob for s in plain) - sum(s.logprob for s in forked))
