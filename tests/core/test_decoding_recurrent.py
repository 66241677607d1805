"""Recurrent translators write with the same loop: one pass over the whole, no cache, many at once, all say the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from decoding_helpers import N_CTX, RECURRENT, build, counted, ids_of, recurrent, whole_pass

from core import edits
from core.decoding import Beam, Greedy, Replay, Sample, decode
from core.errors import InputError
from core.models import Batch, families
from core.run.batched import beam, greedy

TEXT = "the old cat sat on the mat"
NEUTRAL = edits.Scale("decoder.embed.out", 1.0)
"""Changes nothing, but is met at every step: so nothing is kept from step to step."""


@pytest.fixture(params=RECURRENT)
def m(request):
    return recurrent(request.param)


def batch_of(m):
    ids = torch.tensor([m.tokenizer.encode(TEXT).ids])
    return Batch(ids=ids, real=ids >= 0, source=ids, source_real=ids >= 0)


def test_the_families_that_write_are_those_with_a_source_or_a_causal_mask():
    assert {name for name, family in families().items() if family.writes} == {
        *(
            "bloom",
            "captioner",
            "gemma",
            "gpt",
            "gpt_neo",
            "gpt_oss",
            "las",
            "llama",
            "neox",
            "seq2seq",
            "snail",
            "t5",
            "transformer",
        )
    }


def test_each_step_equals_one_teacher_forced_pass(m):
    steps = list(decode(m, TEXT, Sample(seed=7), max_new_tokens=9))
    logits, trace, _ = whole_pass(m, TEXT, steps[-1].ids)
    assert len(steps) > 3
    source = m.tokenizer.encode(TEXT).tokens
    for step in steps:
        for candidate in step.candidates:
            assert candidate.logit == pytest.approx(logits[step.index, candidate.id], abs=1e-5)
        if m.name == "none":
            assert (step.attention, step.allowed, step.keys) == ({}, {}, {})
            continue
        assert step.keys == {"alignment": source}
        for found, name in ((step.attention, "pattern"), (step.allowed, "allowed")):
            assert found["alignment"].shape == (1, 1, len(source))
            np.testing.assert_allclose(
                found["alignment"][0, 0], trace.numpy(f"decoder.attn.{name}")[0, 0, step.index], atol=1e-5
            )


@pytest.mark.quick(3)
@pytest.mark.parametrize("strategy", [Greedy(), Sample(1.2, 30, 0.9, 3), Beam(width=3)])
def test_states_that_are_kept_give_what_reading_everything_anew_gives(m, strategy):
    kept, anew = (
        list(decode(m, TEXT, strategy, max_new_tokens=5, edits=changes)) for changes in ((), [NEUTRAL])
    )
    assert [step.ids for step in kept] == [step.ids for step in anew]
    assert kept[0].cache_bytes > 0 == anew[0].cache_bytes
    for a, b in zip(kept, anew, strict=True):
        np.testing.assert_allclose(
            [c.logit for c in a.candidates], [c.logit for c in b.candidates], atol=1e-4
        )
        for kind in a.attention:
            np.testing.assert_allclose(a.attention[kind], b.attention[kind], atol=1e-5)
            np.testing.assert_array_equal(a.allowed[kind], b.allowed[kind])


def ending(attention, seed):
    """A model for which END is often likely: its row of the output layer is long."""
    made = recurrent(attention, seed)
    made.network.embed["token"].weight[2] *= 3
    return made


@pytest.mark.quick(2)
@pytest.mark.parametrize("attention", RECURRENT)
def test_greedy_is_the_greedy_of_many_at_once(attention):
    for seed in range(2):
        m = ending(attention, seed)
        with torch.inference_mode():
            (many,) = greedy(m.network, batch_of(m), start=1, end=2, limit=20)
        steps = list(decode(m, TEXT, Greedy(), max_new_tokens=20))
        assert [i for i in steps[-1].ids if i != 2] == many
        assert all(step.chosen_by == "argmax" and step.id == step.candidates[0].id for step in steps)


@pytest.mark.quick(2)
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("attention", RECURRENT)
def test_a_beam_is_the_beam_of_many_at_once(attention, width):
    ended = 0
    for seed in range(3):
        m = ending(attention, seed)
        with torch.inference_mode():
            (many,) = beam(m.network, batch_of(m), width=width, start=1, end=2, limit=16)
        *_, last = decode(m, TEXT, Beam(width=width), max_new_tokens=16)
        if last.reason == "end":
            ended += 1
            assert [i for i in last.ids if i != 2] == many
    assert ended


def test_a_forced_beginning_and_forced_tokens_are_read_like_the_models_own(m):
    begun, forced = m.tokenizer.encode("el gato").ids, m.tokenizer.encode("m", special=True).ids[-1]
    steps = list(decode(m, TEXT, prefix="el gato", force=[(1, forced)], max_new_tokens=4))
    logits, _, _ = whole_pass(m, TEXT, (*begun, *steps[-1].ids))
    assert steps[1].id == forced and steps[1].chosen_by == "forced" and steps[0].text.startswith("el gato")
    for step in (steps[0], *steps[2:]):
        assert step.id == logits[len(begun) + step.index].argmax()


@pytest.mark.quick(2)
def test_equal_seeds_write_equal_tokens_and_temperature_zero_is_greedy(m):
    assert ids_of(m, TEXT, Sample(seed=4), max_new_tokens=8) == ids_of(
        m, TEXT, Sample(seed=4), max_new_tokens=8
    )
    assert ids_of(m, TEXT, Sample(0.0, seed=4), max_new_tokens=8) == ids_of(
        m, TEXT, Greedy(), max_new_tokens=8
    )


def test_local_attention_says_where_it_might_look():
    m = recurrent("luong-local-m")
    steps = list(decode(m, TEXT, force=[(n, 50) for n in range(14)], max_new_tokens=14))
    n_source, reach = len(steps[0].keys["alignment"]), m.config.window
    for step in steps:
        near = np.abs(np.arange(n_source) - step.index) <= reach
        np.testing.assert_array_equal(step.allowed["alignment"][0, 0], near)
        assert step.attention["alignment"].sum() == pytest.approx(float(near.any()))
    assert not steps[-1].allowed["alignment"].any()  # it has walked past the source


def test_a_step_forward_costs_one_reading_and_the_states_do_not_grow(m):
    count = counted(m)
    replay = Replay(lambda: decode(m, TEXT, Sample(seed=9), max_new_tokens=6))
    costs, sizes = [], []
    for index in range(3):
        before = count[0]
        sizes.append(replay.step(index).cache_bytes)
        costs.append(count[0] - before)
    assert costs == [1, 1, 1] and len(set(sizes)) == 1


def test_an_edit_of_the_alignment_acts_at_every_step():
    m = recurrent("bahdanau")
    n_source = len(m.tokenizer.encode(TEXT).ids)
    away = edits.SetPattern("decoder.attn.pattern", query=1, weights=(*[0.0] * (n_source - 1), 1.0))
    steps = list(decode(m, TEXT, edits=[away], force=[(n, 50) for n in range(4)], max_new_tokens=4))
    assert [float(step.attention["alignment"][0, 0, -1]) == 1 for step in steps] == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.quick(2)
def test_it_stops_where_the_context_is_full_and_refuses_an_empty_source(m):
    *_, last = decode(m, TEXT, force=[(n, 50) for n in range(99)], max_new_tokens=99)
    assert last.reason == "context" and len(last.ids) == N_CTX - 1
    with pytest.raises(InputError):
        decode(m, " ")


def test_every_kind_that_writes_says_where_it_might_look():
    for name in ("gpt", "transformer"):
        for step in decode(build(name), "the old cat", max_new_tokens=3):
            for kind, rows in step.allowed.items():
                assert rows.shape == step.attention[kind].shape and rows.dtype == bool and rows.all()
