"""Two texts compared: by hand on paper, and against teacher-forced runs of both on small random models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from decoding_helpers import build, recurrent, whole_pass

from core.decoding import Beam, Greedy, compare, decode, hypothesis_steps, n_best, prompt_of
from core.decoding.counterexample import Letters, LookupModel
from core.decoding.decode import write
from core.decoding.prompt import Prompt

TEXT = "the old cat"
TABLE = {
    (): (0.5, 0.4, 0.1),
    (0,): (0.4, 0.3, 0.3),
    (1,): (0.05, 0.9, 0.05),
    (2,): (0.4, 0.3, 0.3),
    (1, 1): (0.5, 0.25, 0.25),
    (0, 0): (1.0, 0.0, 0.0),
}


def on_paper(*ids):
    force = dict(enumerate(ids))
    return list(write(LookupModel(TABLE), Prompt((), Letters(), room=9), Greedy(), len(ids), force))


def test_by_hand():
    found = compare(on_paper(1, 1, 0), on_paper(1, 1, 1), length_penalty=2.0, costs=(0.0, 1.0))
    assert [one.token for one in found.common] == ["b", "b"] and [
        one.p for one in found.common
    ] == pytest.approx([0.4, 0.9])
    assert [(one.token, pytest.approx(one.p)) for one in (*found.a.tokens, *found.b.tokens)] == [
        ("a", 0.5),
        ("b", 0.25),
    ]
    assert math.exp(found.log_ratio) == pytest.approx(2.0)
    assert found.a.bits == pytest.approx(-math.log2(0.4 * 0.9 * 0.5) / 3)
    assert (found.a.score, found.b.score) == pytest.approx((math.log(0.18) / 9, (math.log(0.09) - 1) / 9))


def test_from_the_first_token_on_the_same_and_one_within_the_other():
    apart = compare(on_paper(0, 0), on_paper(1, 1))
    assert (
        apart.common == ()
        and math.exp(apart.log_ratio) == pytest.approx(0.2 / 0.36)
        and apart.a.score is None
    )
    same = compare(on_paper(1, 1), on_paper(1, 1))
    assert (same.a.tokens, same.b.tokens, same.log_ratio) == ((), (), 0.0) and len(same.common) == 2
    within = compare(on_paper(1), on_paper(1, 1, 0))
    assert within.a.tokens == () and [one.token for one in within.b.tokens] == ["b", "a"]
    assert math.exp(within.log_ratio) == pytest.approx(1 / (0.9 * 0.5))
    assert compare([], on_paper(1)).a.bits == 0.0


def test_one_is_the_other_turned_round():
    one, other = compare(on_paper(1, 1, 0), on_paper(1, 0)), compare(on_paper(1, 0), on_paper(1, 1, 0))
    assert (one.a, one.b, one.common, one.log_ratio) == (other.b, other.a, other.common, -other.log_ratio)


def by_run(m, ids):
    logits, _, given = whole_pass(m, TEXT, ids)
    rows = logits[given - 1 : given - 1 + len(ids)].astype(float)
    log_p = (
        rows
        - np.log(np.exp(rows - rows.max(-1, keepdims=True)).sum(-1, keepdims=True))
        - rows.max(-1, keepdims=True)
    )
    return log_p[np.arange(len(ids)), list(ids)]


@pytest.mark.parametrize(
    "make",
    [lambda: build("gpt"), lambda: build("transformer"), lambda: recurrent("bahdanau")],
    ids=["gpt", "transformer", "bahdanau"],
)
def test_the_sums_are_those_of_runs_of_both_texts(make):
    m = make()
    strategy = Beam(4, 0.6, groups=2, diversity=0.4)
    steps, prompt = list(decode(m, TEXT, strategy, max_new_tokens=6)), prompt_of(m, TEXT)
    one, other = n_best(steps[-1].tree, prompt)[:2]
    found = compare(
        hypothesis_steps(steps, one.place, prompt),
        hypothesis_steps(steps, other.place, prompt),
        0.6,
        (one.cost, other.cost),
    )
    for side, ranked in ((found.a, one), (found.b, other)):
        tokens = by_run(m, ranked.ids)
        assert side.logprob == pytest.approx(tokens.sum(), abs=1e-4) and side.length == len(ranked.ids)
        assert [t.logprob for t in (*found.common, *side.tokens)] == pytest.approx(tokens.tolist(), abs=1e-4)
        assert side.score == pytest.approx(ranked.score) and side.bits == pytest.approx(
            -tokens.mean() / math.log(2), abs=1e-4
        )
    shared = len(found.common)
    assert (
        one.ids[:shared] == other.ids[:shared]
        and one.ids[shared : shared + 1] != other.ids[shared : shared + 1]
    )


def test_forks_are_compared_by_the_models_own_probability():
    m = build("gpt")
    plain = list(decode(m, TEXT, max_new_tokens=5))
    rare = plain[2].candidates[9].id
    forked = list(decode(m, TEXT, max_new_tokens=5, force=[(2, rare)]))
    found = compare(plain, forked)
    assert len(found.common) == 2 and found.b.tokens[0].id == rare
    assert found.b.tokens[0].p == pytest.approx(plain[2].candidates[9].before)
    assert found.log_ratio == pytest.approx(sum(s.logprob for s in plain) - sum(s.logprob for s in forked))
