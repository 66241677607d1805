"""The steps of one text of a beam: attention, candidates and sums are those of a teacher-forced run of just this text."""

from __future__ import annotations

import numpy as np
import pytest
from decoding_helpers import build, recurrent, whole_pass
from deep import deep
from test_decoding_beam import random_tree

from core import edits
from core.decoding import Beam, Greedy, counterexample, decode, hypothesis_steps, n_best, prompt_of
from core.decoding.choose import LISTED
from core.decoding.counterexample import Letters, LookupModel
from core.decoding.decode import write
from core.decoding.prompt import Prompt
from core.decoding.record import Decoding

TEXT = "the old cat sat on"
MAKERS = {
    "gpt": build,
    "transformer": build,
    "bahdanau": recurrent,
    "luong-global": recurrent,
    "luong-local-p": recurrent,
    "none": recurrent,
}
STRATEGIES = [Beam(1), Beam(3), Beam(3, 0.5, False), Beam(6, 0.7, groups=3, diversity=1.5)]


@pytest.fixture(scope="module", params=MAKERS)
def m(request):
    made = MAKERS[request.param](request.param)
    made.network.embed["token"].weight.data[2] *= 2.0  # END is now and then among the best
    return made


def forced_pass(m, ids, changes=()):
    """The pattern and mask of each kind that a run of the same text has, (written, layer, head, key), and its logits."""
    logits, trace, given = whole_pass(m, TEXT, ids, changes)
    kinds = [kind for kind in m.spec.kinds_of(m.config) if kind.queries == "target"]
    found = {}
    for kind in kinds:
        found[kind.name] = tuple(
            np.stack([trace.numpy(kind.path(i, value))[0] for i in range(kind.n_layers(m.config))])[
                :, :, given - 1 :
            ]
            for value in ("pattern", "allowed")
        )
    return logits[given - 1 :], found


def assert_is_a_run_of(m, path, ids, changes=()):
    logits, kinds = forced_pass(m, ids, changes)
    assert tuple(step.id for step in path) == ids and path[-1].ids == ids
    for t, step in enumerate(path):
        assert set(step.attention) == set(step.allowed) == set(step.keys) == set(kinds)
        for kind, (patterns, masks) in kinds.items():
            n_keys = step.attention[kind].shape[-1]
            assert step.attention[kind].dtype == np.float32 and n_keys == len(step.keys[kind])
            np.testing.assert_allclose(step.attention[kind], patterns[:, :, t, :n_keys], atol=1e-5)
            np.testing.assert_array_equal(step.allowed[kind], masks[:, :, t, :n_keys])
        row = logits[t] - logits[t].max()
        log_p = row - np.log(np.exp(row).sum())
        assert step.logprob == pytest.approx(log_p[step.id], abs=1e-4)
        assert step.entropy == pytest.approx(-(np.exp(log_p) * log_p).sum(), abs=1e-4)
        for candidate in step.candidates:
            assert candidate.logit == pytest.approx(logits[t][candidate.id], abs=1e-4)
            assert candidate.before == pytest.approx(np.exp(log_p[candidate.id]), abs=1e-5)
        assert step.chosen_candidate.id == step.id and len(step.candidates) in (LISTED, LISTED + 1)
        before = [candidate.before for candidate in step.candidates[:LISTED]]
        assert before == sorted(before, reverse=True)


@pytest.mark.quick(4)
@pytest.mark.parametrize("strategy", deep(STRATEGIES, STRATEGIES[2:]), ids=str)
def test_every_text_of_a_beam_has_the_steps_of_a_run_of_it_alone(m, strategy):
    steps, prompt = list(decode(m, TEXT, strategy, max_new_tokens=8)), prompt_of(m, TEXT)
    tree = steps[-1].tree
    assert len(steps) > 1
    lost = max(
        tree.pruned_nodes(), default=tree.best, key=lambda place: (tree.nodes[place].step, place)
    )  # a visitor may ask for it, too
    places = {tree.best, *(one.place for one in n_best(tree, prompt)), lost}
    for place in places:
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
    again = hypothesis_steps(seen[:3], seen[2].tree.best, prompt)
    assert [s.ids for s in again] == [
        s.ids for s in hypothesis_steps(seen, seen[2].tree.best, prompt)
    ]  # places hold while a tree grows


def test_a_beam_of_one_has_the_steps_of_greedy(m):
    one, prompt = list(decode(m, TEXT, Beam(1), max_new_tokens=6)), prompt_of(m, TEXT)
    greedy = list(decode(m, TEXT, Greedy(), max_new_tokens=6))
    path = hypothesis_steps(one, one[-1].tree.best, prompt)
    assert [(s.id, s.text, s.keys, s.n_kept) for s in path] == [
        (s.id, s.text, s.keys, s.n_kept) for s in greedy[: len(path)]
    ]
    for a, b in zip(path, greedy, strict=False):
        assert [c.id for c in a.candidates] == [c.id for c in b.candidates]
        np.testing.assert_allclose(
            [c.before for c in a.candidates], [c.before for c in b.candidates], atol=1e-6
        )
        assert (a.entropy, a.log_total, a.surprise) == pytest.approx(
            (b.entropy, b.log_total, b.surprise), abs=1e-5
        )


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
    steps = list(decode(m, TEXT, strategy, max_new_tokens=6))
    for step in steps:
        n_rows, n_keys = (strategy.width if step.index else 1), given + step.index
        assert step.rows.attention["causal"].shape == (n_rows, cfg.n_layers, cfg.n_heads, n_keys)
        most = 5 * strategy.width * cfg.n_layers * cfg.n_heads * n_keys + strategy.width * (16 * LISTED + 24)
        assert 0 < step.rows.nbytes <= most
        assert {node.row for node in step.tree.nodes if node.step == step.index} <= set(range(n_rows))


def test_a_record_holds_no_attention_and_gives_it_again_when_it_is_run():
    m = build("transformer")
    sent = Decoding("transformer", TEXT, Beam(3), max_new_tokens=5).to_json()
    assert "attention" not in sent and len(sent) < 300
    one, two = (list(Decoding.from_json(sent).run(lambda _: m)) for _ in range(2))
    prompt = prompt_of(m, TEXT)
    for a, b in zip(
        hypothesis_steps(one, one[-1].tree.best, prompt),
        hypothesis_steps(two, two[-1].tree.best, prompt),
        strict=True,
    ):
        for kind in a.attention:
            np.testing.assert_array_equal(a.attention[kind], b.attention[kind])


@pytest.mark.parametrize("end", [None, 0])
def test_on_paper_each_token_has_the_probability_of_its_own_beginning(end):
    table = random_tree(5, 4, 5)
    prompt = Prompt((), Letters(), room=6, end=end)
    steps = list(write(LookupModel(table), prompt, Beam(4, 1.0, False), 5, {}))
    for place in range(len(steps[-1].tree.nodes)):
        path = hypothesis_steps(steps, place, prompt)
        for t, step in enumerate(path):
            behind = tuple(table[path[t - 1].ids if t else ()])
            assert {c.id: pytest.approx(c.before) for c in step.candidates} == dict(enumerate(behind))
    reasons = {hypothesis_steps(steps, place, prompt)[-1].reason for place, _ in steps[-1].tree.finished}
    assert reasons <= ({"end", "limit"} if end == 0 else {"limit"})


def test_only_a_beam_has_texts_to_choose_from():
    steps = list(write(LookupModel(), Prompt((), Letters(), room=3), Greedy(), 2, {}))
    with pytest.raises(AssertionError, match="only a beam"):
        hypothesis_steps(steps, 0, Prompt((), counterexample.Letters(), room=3))
