"""Writing token by token: each step equals one pass over the whole, the choice and its reasons, stopping, replaying."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from decoding_helpers import build, counted, ids_of, whole_pass

from core import edits
from core.decoding import Greedy, Replay, Sample, decode
from core.decoding.choose import choose
from core.decoding.filters import MinP, RepetitionPenalty, Temperature, TopK, TopP


@pytest.fixture(params=["gpt", "transformer"])
def m(request):
    return build(request.param)


@pytest.fixture
def gpt():
    return build("gpt")


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_each_step_equals_one_teacher_forced_pass(name, order):
    m = build(name, order)
    steps = list(decode(m, "the old cat", Sample(seed=5), max_new_tokens=9))
    logits, trace, n_given = whole_pass(m, "the old cat", steps[-1].ids)
    assert len(steps) > 3
    for step in steps:
        row = n_given - 1 + step.index
        for candidate in step.candidates:
            assert candidate.logit == pytest.approx(logits[row, candidate.id], abs=1e-5)
        for kind in m.spec.kinds:
            if kind.queries != "target":
                assert kind.name not in step.attention
                continue
            for layer in range(m.config.n_layers):
                pattern = trace.numpy(kind.path(layer, "pattern"))[0, :, row]
                n_keys = len(step.keys[kind.name])
                np.testing.assert_allclose(step.attention[kind.name][layer], pattern[:, :n_keys], atol=1e-5)
                assert not pattern[:, n_keys:].any()


def test_attention_of_a_step_has_one_row_a_head_that_sums_to_one(m):
    for step in decode(m, "the old cat", Greedy(), max_new_tokens=4):
        assert 0 <= step.seconds < 600
        for kind, rows in step.attention.items():
            assert rows.shape == (2, 3, len(step.keys[kind]))
            assert rows.dtype == np.float32
            np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-5)


def test_labels_are_what_was_read_before_the_token(m):
    first, second = itertools.islice(decode(m, "the old cat", Sample(seed=1)), 2)
    assert second.keys["causal"] == (*first.keys["causal"], first.token)
    if m.spec.has_source:
        assert first.keys["causal"] == ("START",)
        assert first.keys["cross"] == m.tokenizer.encode("the old cat").tokens
    else:
        assert first.keys["causal"] == m.tokenizer.encode("the old cat").tokens


def test_greedy_takes_the_largest_and_agrees_with_the_models_own_translation():
    m = build("transformer")
    steps = list(decode(m, "the old cat", Greedy(), max_new_tokens=20))
    assert all(step.chosen_by == "argmax" and step.id == step.candidates[0].id for step in steps)
    assert m.run("the old cat").target_text.startswith(steps[-1].text)


@pytest.mark.quick(1)
def test_temperature_zero_is_greedy(m):
    assert ids_of(m, "the old cat", Sample(temperature=0, seed=7)) == ids_of(m, "the old cat", Greedy())


def test_top_p_zero_and_top_k_one_keep_only_the_best(gpt):
    greedy = ids_of(gpt, "the old cat", Greedy())
    assert ids_of(gpt, "the old cat", Sample(top_p=0.0, seed=3)) == greedy
    assert ids_of(gpt, "the old cat", Sample(top_k=1, seed=3)) == greedy


@pytest.mark.quick(1)
def test_equal_seeds_write_equal_tokens_and_others_do_not(m):
    runs = [ids_of(m, "the old cat", Sample(seed=seed)) for seed in (4, 4, 5)]
    assert runs[0] == runs[1] != runs[2]


def test_a_shorter_decoding_is_the_beginning_of_a_longer_one(m):
    long, short = (list(decode(m, "a white car", Sample(seed=2), max_new_tokens=n)) for n in (8, 3))
    assert [step.id for step in long[:3]] == [step.id for step in short]
    assert long[2].draw == short[2].draw


def test_the_lot_falls_into_the_part_of_the_chosen_token():
    logits = np.log(np.array([0.2, 0.5, 0.3]))
    for seed in range(40):
        choice = choose(logits, str, seed=(seed, 0), filters=())
        low, high = {1: (0, 0.5), 2: (0.5, 0.8), 0: (0.8, 1.0)}[choice.id]
        assert (choice.draw.low, choice.draw.high) == pytest.approx((low, high))
        assert low <= choice.draw.u < high


@pytest.mark.slow
def test_draws_follow_the_probabilities():
    p = np.array([0.55, 0.3, 0.1, 0.05])
    drawn = np.bincount([choose(np.log(p), str, seed=(0, n)).id for n in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(drawn, p, atol=4 * np.sqrt(p * (1 - p) / 4000).max())


def test_what_a_filter_cuts_is_told():
    p = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
    choice = choose(np.log(p), str, seed=(0, 0), filters=(TopK(4), TopP(0.8)))
    assert [c.cut_by for c in choice.candidates] == [None, None, None, "top_p", "top_k"]
    assert [(c.by, c.tokens) for c in choice.cuts] == [("top_k", 1), ("top_p", 1)]
    assert [c.probability for c in choice.cuts] == pytest.approx([0.04, 0.06])
    np.testing.assert_allclose([c.after for c in choice.candidates], [4 / 9, 3 / 9, 2 / 9, 0, 0])
    np.testing.assert_allclose([c.before for c in choice.candidates], p)
    assert choice.n_kept == 3


def test_the_scores_after_each_filter_stand_beside_the_models_own():
    logits = np.array([2.0, 1.5, -1.0, 0.5])
    filters = (RepetitionPenalty(2.0), Temperature(0.5), MinP(0.3))
    choice = choose(logits, str, filters=filters, ids=(0, 2, 2))
    assert choice.id == 1  # the model's own first, 0, stands in the text already
    told = {c.id: (c.logit, c.scores, c.cut_by) for c in choice.candidates}
    assert told == {
        0: (2.0, (1.0, -1.0, -1.0), None),
        1: (1.5, (1.5, 0.0, 0.0), None),
        2: (-1.0, (-2.0, -7.0, -np.inf), "min_p"),
        3: (0.5, (0.5, -2.0, -np.inf), "min_p"),
    }
    np.testing.assert_allclose(
        [c.before for c in choice.candidates], np.exp([2, 1.5, 0.5, -1]) / np.exp(logits).sum()
    )
    assert (choice.n_kept, [(cut.by, cut.tokens) for cut in choice.cuts]) == (2, [("min_p", 2)])


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_a_penalty_counts_what_is_written_and_its_given_beginning(name):
    m = build(name)
    options = {"prefix": "el gato"} if m.spec.has_source else {}
    given = (
        (m.tokenizer.start, *m.tokenizer.encode("el gato").ids)
        if m.spec.has_source
        else m.tokenizer.encode("the old cat").ids
    )
    for step in decode(m, "the old cat", Sample(seed=2, repetition_penalty=1.5), max_new_tokens=6, **options):
        seen = {*given, *step.ids[:-1]}
        for c in step.candidates:
            wanted = c.logit if c.id not in seen else c.logit / 1.5 if c.logit > 0 else c.logit * 1.5
            assert c.scores == (pytest.approx(wanted),)


def test_numbers_of_a_choice_by_hand():
    choice = choose(np.log(np.array([0.5, 0.25, 0.25])) + 3, str, forced=1)
    assert choice.chosen_by == "forced"
    assert choice.logprob == pytest.approx(np.log(0.25))
    assert choice.surprise == pytest.approx(2)
    assert choice.entropy == pytest.approx(1.5 * np.log(2))
    assert choice.log_total == pytest.approx(3)


def test_an_unlisted_token_that_is_chosen_is_listed():
    logits = -np.arange(50.0)
    choice = choose(logits, str, forced=49)
    assert [c.id for c in choice.candidates] == [*range(20), 49]


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_forced_tokens_are_written_and_the_rest_follows_from_them(name):
    m = build(name)
    wanted = m.tokenizer.encode("m", special=True).ids[-1]
    steps = list(decode(m, "the old cat", Greedy(), force=[(1, wanted)], max_new_tokens=4))
    assert [step.chosen_by for step in steps] == ["argmax", "forced", "argmax", "argmax"]
    assert steps[1].id == wanted
    logits, _, n_given = whole_pass(m, "the old cat", steps[-1].ids)
    assert steps[2].id == logits[n_given + 1].argmax()


def test_a_prefix_is_the_beginning_of_the_translation():
    m = build("transformer")
    begun = m.tokenizer.encode("el gato").ids
    steps = list(decode(m, "the cat", Greedy(), prefix="el gato", max_new_tokens=5))
    logits, _, _ = whole_pass(m, "the cat", (*begun, *steps[-1].ids))
    assert [step.id for step in steps] == [int(logits[len(begun) + n].argmax()) for n in range(len(steps))]
    assert steps[-1].text.startswith("el gato")


def test_edits_act_at_every_step_and_a_neutral_one_changes_nothing(m):
    where = f"{m.spec.kind('causal').stack}.1.self_attn.heads"
    edit = edits.ZeroHead(where, head=2)
    edited, plain, neutral = (
        list(decode(m, "the old cat", Greedy(), edits=changes, max_new_tokens=5))
        for changes in ([edit], [], [edits.ScaleHead(where, 2, 1.0)])
    )
    assert edited[0].candidates[0].logit != pytest.approx(plain[0].candidates[0].logit, abs=1e-4)
    logits, _, n_given = whole_pass(m, "the old cat", edited[-1].ids, [edit])
    for step in edited:
        for candidate in step.candidates:
            assert candidate.logit == pytest.approx(logits[n_given - 1 + step.index, candidate.id], abs=1e-5)
    assert [s.id for s in neutral] == [s.id for s in plain]
    for a, b in zip(neutral, plain, strict=True):
        np.testing.assert_allclose(
            [c.logit for c in a.candidates], [c.logit for c in b.candidates], atol=1e-5
        )


def test_an_edit_that_meets_nothing_is_named(gpt):
    with pytest.raises(ValueError, match=r"layer\.9"):
        next(decode(gpt, "the old cat", edits=[edits.ZeroHead("layer.9.self_attn.heads", head=0)]))


@pytest.fixture
def forwards(m):
    return m, counted(m)


def test_nothing_is_computed_before_it_is_asked_for_and_closing_stops(forwards):
    m, count = forwards
    steps = decode(m, "a", Sample(seed=1), max_new_tokens=20)
    assert count[0] == 0
    next(steps), next(steps)
    before = count[0]
    steps.close()
    assert list(steps) == []
    assert count[0] == before <= 3


def test_a_consumer_is_not_left_in_inference_mode(gpt):
    steps = decode(gpt, "the")
    next(steps)
    assert not torch.is_inference_mode_enabled()


def test_replay_forward_costs_one_step_each_and_back_is_exact(forwards):
    m, count = forwards
    replay = Replay(lambda: decode(m, "the old cat", Sample(seed=1), max_new_tokens=6))
    seen, costs = [], []
    for index in range(5):
        before = count[0]
        seen.append(replay.step(index))
        costs.append(count[0] - before)
    assert costs[1:] == [1, 1, 1, 1]
    again = replay.step(2)
    assert (again.id, again.draw, again.text) == (seen[2].id, seen[2].draw, seen[2].text)
    np.testing.assert_array_equal(again.attention["causal"], seen[2].attention["causal"])
    assert replay.step(3).id == seen[3].id


def test_the_cache_grows_by_one_position_a_step(gpt):
    steps = list(decode(gpt, "the old cat", Sample(seed=1), max_new_tokens=4))
    position = 2 * gpt.config.n_layers * gpt.config.d_model * 4
    assert steps[0].cache_bytes == len(steps[0].keys["causal"]) * position
    assert [b.cache_bytes - a.cache_bytes for a, b in itertools.pairwise(steps)] == [position] * 3


@pytest.mark.quick(1)
@pytest.mark.parametrize("family", ["gpt", "transformer"])
def test_a_run_of_the_text_saves_reading_it_again(family, monkeypatch):
    """And changes nothing, to the last digit: what a page shows does not depend on which page was there before."""
    m = build(family)
    text = "the old cat"
    run = m.run(text, keep=("*.pattern",), reads_on=True)
    wanted = list(decode(m, text, max_new_tokens=4))
    read: list[int] = []
    forward = type(m.network).forward
    monkeypatch.setattr(
        type(m.network),
        "forward",
        lambda self, batch, *given, **more: (
            read.append(batch.ids.shape[1]),
            forward(self, batch, *given, **more),
        )[1],
    )
    found = list(decode(m, text, max_new_tokens=4, run=run))
    assert [step.ids for step in found] == [step.ids for step in wanted] and set(read) <= {1}, (
        "no token but the new ones is read"
    )
    for one, other in zip(found, wanted, strict=True):
        assert [c.logit for c in one.candidates] == [c.logit for c in other.candidates]
        for kind, rows in other.attention.items():
            np.testing.assert_array_equal(one.attention[kind], rows)
            np.testing.assert_array_equal(one.allowed[kind], other.allowed[kind])
    again = list(decode(m, text, max_new_tokens=4, run=run))  # what was read is handed on once
    assert [step.ids for step in again] == [step.ids for step in wanted]
    other = next(decode(m, "the cat", run=m.run(text, keep=("*.pattern",), reads_on=True)))
    assert other.ids == next(decode(m, "the cat")).ids, "a run of another text is of no use"
