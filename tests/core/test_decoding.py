"""Writing token by token: each step equals one pass over the whole, the choice and its reasons, stopping, replaying."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from decoding_helpers import (
    RECURRENT,
    TEXT,
    WRITERS,
    assert_is_a_run_of,
    build,
    counted,
    ids_of,
    recurrent,
    whole_pass,
)

import core
from core import edits
from core.decoding import Beam, Greedy, Replay, Sample, decode
from core.decoding.choose import choose
from core.decoding.fast_gpt_step import OneToken
from core.decoding.filters import MinP, RepetitionPenalty, Temperature, TopK, TopP
from core.models import Batch
from core.models.gpt import GPT, GPTConfig
from core.run.batched import beam, greedy
from core.trace import Recorder

NEUTRAL = edits.Scale("decoder.embed.out", 1.0)
"""Changes nothing, but is met at every step: so nothing is kept from step to step."""


@pytest.fixture(params=WRITERS)
def m(request):
    return WRITERS[request.param]()


@pytest.fixture
def gpt():
    return build("gpt")


POST = [partial(build, name, "post") for name in ("gpt", "transformer")]


@pytest.mark.parametrize("make", [*WRITERS.values(), *POST])
def test_each_step_equals_one_teacher_forced_pass(make):
    m = make()
    steps = list(decode(m, TEXT, Sample(seed=5), max_new_tokens=9))
    assert len(steps) > 3 and all(0 <= step.seconds < 600 for step in steps)
    assert_is_a_run_of(m, steps, steps[-1].ids)


def test_attention_of_a_step_has_one_row_a_head_that_sums_to_one(gpt):
    for step in decode(gpt, TEXT, Greedy(), max_new_tokens=4):
        assert 0 <= step.seconds < 600
        for kind, rows in step.attention.items():
            assert rows.shape == (2, 3, len(step.keys[kind]))
            np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-5)


def test_labels_are_what_was_read_before_the_token(m):
    source = m.tokenizer.encode(TEXT).tokens
    own = {"gpt": {"causal": source}, "transformer": {"causal": ("START",), "cross": source}, "none": {}}
    wanted = own.get(m.name, {"alignment": source})
    first, second = itertools.islice(decode(m, TEXT, Sample(seed=1)), 2)
    assert first.keys == wanted
    grown = {"causal": (*wanted["causal"], first.token)} if "causal" in wanted else {}
    assert second.keys == wanted | grown


def ending(name, seed):
    """A model for which END is often likely: its row of the output layer is long, or its logit is 8 more."""
    made = build(name, seed=seed) if name == "transformer" else recurrent(name, seed)
    row = made.network.embed["token"].weight[2]
    if name == "transformer":
        made.network.decoder_norm.bias += 8 * row / row.square().sum()
    else:
        row *= 3
    return made


@pytest.mark.quick(4)
@pytest.mark.parametrize("width", [None, 1, 3])
@pytest.mark.parametrize("name", ["transformer", *RECURRENT])
def test_one_sentence_at_a_time_and_many_at_once_find_the_same(name, width):
    ended = 0
    for seed in range(4):
        m = ending(name, seed)
        ids = torch.tensor([m.tokenizer.encode(TEXT).ids])
        batch = Batch(ids=ids, real=ids >= 0, source=ids, source_real=ids >= 0)
        search = partial(beam, width=width) if width else greedy
        with torch.inference_mode():
            (many,) = search(m.network, batch, start=1, end=2, limit=20)
        *_, last = decode(m, TEXT, Beam(width=width) if width else Greedy(), max_new_tokens=20)
        if last.reason == "end" or not width:
            ended += last.reason == "end"
            assert [i for i in last.ids if i != 2] == many
    assert ended


@pytest.mark.quick(3)
@pytest.mark.parametrize("strategy", [Greedy(), Sample(1.2, 30, 0.9, 3), Beam(width=3)])
@pytest.mark.parametrize("name", RECURRENT)
def test_states_that_are_kept_give_what_reading_everything_anew_gives(name, strategy):
    m = recurrent(name)
    kept, anew = (
        list(decode(m, TEXT, strategy, max_new_tokens=5, edits=changes)) for changes in ((), [NEUTRAL])
    )
    assert [step.ids for step in kept] == [step.ids for step in anew]
    assert kept[0].cache_bytes > 0 == anew[0].cache_bytes
    if not isinstance(strategy, Beam):  # a state does not grow with the text
        assert kept[-1].cache_bytes == kept[0].cache_bytes
    for a, b in zip(kept, anew, strict=True):
        np.testing.assert_allclose(
            [c.logit for c in a.candidates], [c.logit for c in b.candidates], atol=1e-4
        )
        for kind in a.attention:
            np.testing.assert_allclose(a.attention[kind], b.attention[kind], atol=1e-5)
            np.testing.assert_array_equal(a.allowed[kind], b.allowed[kind])


def test_greedy_takes_the_largest_and_agrees_with_the_models_own_translation():
    m = build("transformer")
    steps = list(decode(m, TEXT, Greedy(), max_new_tokens=20))
    assert all(step.chosen_by == "argmax" and step.id == step.candidates[0].id for step in steps)
    assert m.run(TEXT).target_text.startswith(steps[-1].text)


@pytest.mark.quick(3)
def test_equal_seeds_write_equal_tokens_and_filters_that_leave_one_token_are_greedy(m):
    largest = ids_of(m, TEXT, Greedy(), max_new_tokens=8)
    for alone in (Sample(temperature=0, seed=7), Sample(top_p=0.0, seed=3), Sample(top_k=1, seed=3)):
        assert ids_of(m, TEXT, alone, max_new_tokens=8) == largest
    one, again, other, short = (
        list(decode(m, TEXT, Sample(seed=seed), max_new_tokens=n))
        for seed, n in ((4, 8), (4, 8), (5, 8), (4, 3))
    )
    assert one[-1].ids == again[-1].ids != other[-1].ids
    assert one[2].ids == short[-1].ids and one[2].draw == short[2].draw


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
    given, options = m.tokenizer.encode(TEXT).ids, {}
    if m.spec.has_source:
        given, options = (m.tokenizer.start, *m.tokenizer.encode("el gato").ids), {"prefix": "el gato"}
    for step in decode(m, TEXT, Sample(seed=2, repetition_penalty=1.5), max_new_tokens=6, **options):
        seen = {*given, *step.ids[:-1]}
        for c in step.candidates:
            wanted = c.logit if c.id not in seen else c.logit / 1.5 if c.logit > 0 else c.logit * 1.5
            assert c.scores == (pytest.approx(wanted),)


def test_numbers_of_a_choice_by_hand():
    choice = choose(np.log(np.array([0.5, 0.25, 0.25])) + 3, str, forced=1)
    assert choice.chosen_by == "forced"
    numbers = (choice.logprob, choice.surprise, choice.entropy, choice.log_total)
    assert numbers == pytest.approx((np.log(0.25), 2, 1.5 * np.log(2), 3))


def test_an_unlisted_token_that_is_chosen_is_listed():
    choice = choose(-np.arange(50.0), str, forced=49)
    assert [c.id for c in choice.candidates] == [*range(20), 49]


def test_a_forced_beginning_and_forced_tokens_are_read_like_the_models_own(m):
    forced = m.tokenizer.encode("m", special=True).ids[-1]
    prefix = {"prefix": "el gato"} if m.spec.has_source else {}
    begun = m.tokenizer.encode("el gato").ids if prefix else ()
    steps = list(decode(m, TEXT, Greedy(), force=[(1, forced)], max_new_tokens=4, **prefix))
    assert [step.chosen_by for step in steps] == ["argmax", "forced", "argmax", "argmax"]
    logits, _, n_given = whole_pass(m, TEXT, (*begun, *steps[-1].ids))
    own = logits[n_given - 1 + len(begun) :].argmax(-1).tolist()
    assert [step.id for step in steps] == [own[0], forced, *own[2:4]]
    assert steps[0].text.startswith(prefix.get("prefix", TEXT))


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_edits_act_at_every_step_and_a_neutral_one_changes_nothing(name):
    m = build(name)
    where = f"{m.spec.kind('causal').stack}.1.self_attn.heads"
    edit = edits.ZeroHead(where, head=2)
    edited, plain, neutral = (
        list(decode(m, TEXT, Greedy(), edits=changes, max_new_tokens=5))
        for changes in ([edit], [], [edits.ScaleHead(where, 2, 1.0)])
    )
    assert edited[0].candidates[0].logit != pytest.approx(plain[0].candidates[0].logit, abs=1e-4)
    assert_is_a_run_of(m, edited, edited[-1].ids, [edit])
    for a, b in zip(neutral, plain, strict=True):
        assert a.id == b.id
        np.testing.assert_allclose(
            [c.logit for c in a.candidates], [c.logit for c in b.candidates], atol=1e-5
        )


def test_an_edit_of_the_alignment_acts_at_every_step():
    m = recurrent("bahdanau")
    n_source = len(m.tokenizer.encode(TEXT).ids)
    away = edits.SetPattern("decoder.attn.pattern", query=1, weights=(*[0.0] * (n_source - 1), 1.0))
    steps = decode(m, TEXT, edits=[away], force=[(n, 50) for n in range(4)], max_new_tokens=4)
    told = [float(step.attention["alignment"][0, 0, -1]) == 1 for step in steps]
    assert told == [False, True, False, False]


def test_an_edit_that_meets_nothing_is_named(gpt):
    with pytest.raises(ValueError, match=r"layer\.9"):
        next(decode(gpt, TEXT, edits=[edits.ZeroHead("layer.9.self_attn.heads", head=0)]))


def test_local_attention_says_where_it_might_look():
    m = recurrent("luong-local-m")
    steps = list(decode(m, TEXT, force=[(n, 50) for n in range(14)], max_new_tokens=14))
    n_source, reach = len(steps[0].keys["alignment"]), m.config.window
    for step in steps:
        near = np.abs(np.arange(n_source) - step.index) <= reach
        np.testing.assert_array_equal(step.allowed["alignment"][0, 0], near)
        assert step.attention["alignment"].sum() == pytest.approx(float(near.any()))
    assert not steps[-1].allowed["alignment"].any()  # it has walked past the source


@pytest.mark.quick(3)
def test_nothing_is_computed_before_it_is_asked_for_and_closing_stops(m):
    count = counted(m)
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


@pytest.mark.quick(3)
def test_replay_forward_costs_one_step_each_and_back_is_exact(m):
    count = counted(m)
    replay = Replay(lambda: decode(m, TEXT, Sample(seed=1), max_new_tokens=6))
    seen, costs = [], []
    for index in range(4):
        before = count[0]
        seen.append(replay.step(index))
        costs.append(count[0] - before)
    assert costs[1:] == [1, 1, 1]
    again = replay.step(2)
    assert (again.id, again.draw, again.text) == (seen[2].id, seen[2].draw, seen[2].text)
    for kind, rows in seen[2].attention.items():
        np.testing.assert_array_equal(again.attention[kind], rows)
    assert replay.step(3).id == seen[3].id


def test_the_cache_grows_by_one_position_a_step(gpt):
    steps = list(decode(gpt, TEXT, Sample(seed=1), max_new_tokens=4))
    position = 2 * gpt.config.n_layers * gpt.config.d_model * 4
    assert steps[0].cache_bytes == len(steps[0].keys["causal"]) * position
    assert [b.cache_bytes - a.cache_bytes for a, b in itertools.pairwise(steps)] == [position] * 3


@pytest.mark.quick(1)
@pytest.mark.parametrize("family", ["gpt", "transformer"])
def test_a_run_of_the_text_saves_reading_it_again(family, monkeypatch):
    """And changes nothing, to the last digit: what a page shows does not depend on which page was there before."""
    m = build(family)
    run = m.run(TEXT, keep=("*.pattern",), reads_on=True)
    wanted = list(decode(m, TEXT, max_new_tokens=4))
    read = []
    forward = type(m.network).forward

    def noted(self, batch, *given, **more):
        read.append(batch.ids.shape[1])
        return forward(self, batch, *given, **more)

    monkeypatch.setattr(type(m.network), "forward", noted)
    found = list(decode(m, TEXT, max_new_tokens=4, run=run))
    assert set(read) <= {1}, "no token but the new ones is read"
    for one, other in zip(found, wanted, strict=True):
        assert one.ids == other.ids
        assert [c.logit for c in one.candidates] == [c.logit for c in other.candidates]
        for kind, rows in other.attention.items():
            np.testing.assert_array_equal(one.attention[kind], rows)
            np.testing.assert_array_equal(one.allowed[kind], other.allowed[kind])
    again = list(decode(m, TEXT, max_new_tokens=4, run=run))  # what was read is handed on once
    assert [step.ids for step in again] == [step.ids for step in wanted]
    other = next(decode(m, "the cat", run=m.run(TEXT, keep=("*.pattern",), reads_on=True)))
    assert other.ids == next(decode(m, "the cat")).ids, "a run of another text is of no use"


# ---------------- The short way through a GPT for one more token, against the network itself.


def redrawn(cfg: GPTConfig) -> GPT:
    """A frozen network with every parameter redrawn, norms and biases too; wide, so that some weights are large."""
    torch.manual_seed(3)
    network = GPT(cfg).eval().requires_grad_(False)
    for weight in network.parameters():
        weight.normal_()
    return network


@pytest.mark.parametrize("activation", ["gelu_tanh", "relu"])
def test_logits_and_patterns_are_those_of_the_network(activation):
    network = redrawn(replace(GPTConfig.tiny(), activation=activation))
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    tap = Recorder()
    with torch.inference_mode():
        hidden = network(Batch(ids=ids, real=ids >= 0), tap=tap)
        logits, trace = network.logits(hidden)[0].numpy(), tap.close()
        cache, one = network.new_cache(), OneToken(network)
        network(Batch(ids=ids[:, :2], real=ids[:, :2] >= 0), cache=cache)
    for place in range(2, ids.shape[1]):
        found, patterns = one(int(ids[0, place]), cache)
        assert cache.n_read == place + 1
        np.testing.assert_allclose(found, logits[place], atol=1e-4, rtol=1e-4)
        for layer, pattern in enumerate(patterns):
            whole = trace[f"layer.{layer}.self_attn.pattern"][0, :, place, : place + 1]
            np.testing.assert_allclose(pattern, whole, atol=1e-5)
    assert patterns.max() > 0.5


def test_it_is_made_only_of_what_it_computes():
    cfg = GPTConfig.tiny()
    assert OneToken.fits(redrawn(cfg))
    assert not OneToken.fits(redrawn(replace(cfg, order="post")))
    assert not OneToken.fits(redrawn(replace(cfg, attention_only=True)))
    assert not OneToken.fits(redrawn(cfg).requires_grad_(True))
    assert not OneToken.fits(redrawn(cfg).double())
    heard = redrawn(cfg)
    heard.layers[0].register_forward_hook(lambda *_: None)
    assert not OneToken.fits(heard)
    assert not OneToken.fits(core.open_model("translator-en-es").network)


def test_steps_equal_those_of_the_plain_path(monkeypatch):
    """gpt-mini writes the same tokens with the same numbers; a beam passes from one text to several and back."""
    model = core.open_model("gpt-mini")
    for strategy in (Greedy(), Beam(width=3)):
        short = list(decode(model, "The old man", strategy, max_new_tokens=8))
        with monkeypatch.context() as patch:
            patch.setattr(OneToken, "fits", staticmethod(lambda _: False))
            plain = list(decode(model, "The old man", strategy, max_new_tokens=8))
        assert [step.token for step in short] == [step.token for step in plain]
        for a, b in zip(short, plain, strict=True):
            assert a.logprob == pytest.approx(b.logprob, abs=1e-5)
            np.testing.assert_allclose(a.attention["causal"], b.attention["causal"], atol=1e-5)
            assert (a.allowed["causal"] == b.allowed["causal"]).all() and a.cache_bytes == b.cache_bytes
