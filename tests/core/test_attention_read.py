"""Scores and sizes of contributions: the tensors of the run, and where they mean nothing, nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import core
from core.analysis.attention.aggregate import aggregate_heads, rollout
from core.analysis.attention.align import (
    Slot,
    align_tokens,
    align_words,
    merge_alignments,
    pool_pattern,
    pool_patterns,
)
from core.analysis.attention.cautions import cautions
from core.analysis.attention.lenses import log_denominators, scores_and_norms
from core.analysis.attention.measures import contributions
from core.errors import InputError


@pytest.fixture(scope="module")
def model():
    return core.open_model("translator-en-es")


def test_sizes_times_weights_are_the_contributions(model):
    run = model.run("She has a white car.", target="Ella tiene un coche blanco.")
    pattern, v = run.trace["decoder.layer.1.cross_attn.pattern"], run.trace["decoder.layer.1.cross_attn.v"]
    to_out = model.network.decoder[1].cross_attn.to_out.weight.detach().numpy()
    parts = to_out.reshape(to_out.shape[0], len(v), -1).transpose(1, 2, 0)
    scores, sizes = scores_and_norms(run, "cross", 1, 3)
    np.testing.assert_allclose(pattern[3] * sizes, contributions(pattern, v, parts)[3], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(scores, run.trace["decoder.layer.1.cross_attn.scores"][3])


def test_words_of_several_pieces_have_neither(model):
    run = model.run("Unbelievable xylophones.", target="Hola.")
    assert scores_and_norms(run, "cross", 0, 0, "word", writing=True) == (None, None)
    scores, sizes = scores_and_norms(run, "cross", 0, 0, "token")
    assert scores is not None and sizes is not None


def test_what_was_not_recorded_is_none(model):
    run = model.run("She has a white car.", keep=["*.pattern"])
    assert scores_and_norms(run, "cross", 0, 0) == (None, None)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "kind"), [("translator-en-es", "cross"), ("translator-en-es", "causal"), ("gpt-mini", "causal")]
)
def test_a_score_is_the_logarithm_of_its_weight_and_that_of_the_sum(name, kind):
    run = core.open_model(name).run("She has a white car.")
    found = run.model.spec.kind(kind)
    scores, pattern = (run.trace[found.path(1, leaf)][3] for leaf in ("scores", "pattern"))
    with np.errstate(divide="ignore"):
        again = np.log(pattern) + log_denominators(run, kind, 1, 3)[:, None]
    np.testing.assert_allclose(again[pattern > 1e-6], scores[pattern > 1e-6], atol=1e-4)


def test_the_sums_need_queries_and_keys_and_no_scores(model):
    long = model.run(
        "She has a white car. " * 30,
        target="Ella tiene un coche blanco. " * 30,
        keep=["*.pattern", "*.q", "*.k"],
    )
    whole = model.run("She has a white car. " * 30, target="Ella tiene un coche blanco. " * 30)
    np.testing.assert_array_equal(
        log_denominators(long, "cross", 2, 1), log_denominators(whole, "cross", 2, 1)
    )
    assert len(log_denominators(long, "cross", 2, 1)) > 128


def test_weights_that_are_no_softmax_have_no_sums():
    model = core.open_model("gpt-mini")
    halved = model.run("She has a white car.", edits=[core.edits.Scale("layer.1.self_attn.pattern", 0.5)])
    assert log_denominators(halved, "causal", 1, 0) is None
    assert log_denominators(halved, "causal", 2, 0) is not None
    assert log_denominators(model.run("She has a car.", keep=["*.pattern"]), "causal", 1, 0) is None
    assert log_denominators(core.open_model("copy-gru-attention").run("a b c"), "alignment", 0, 0) is None


# ---------------- Heads joined into one picture: means and largest weights by hand, rollout by hand and by its laws.


@pytest.fixture(scope="module")
def gpt():
    return core.open_model("prompt-tiny").run("copy abc")


@pytest.fixture(scope="module")
def translator():
    return core.open_model("translator-en-es").run("She has a white car.", keep=["*.pattern"])


def test_rollout_by_hand():
    even, first = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    rolled = rollout(np.array([[even, first], [first, first]]))
    # layer 0: mean row 1 = (.75, .25), with the residual (.375, .625); layer 1: row 1 = (.5, .5) of rows (1, 0) and (.375, .625)
    np.testing.assert_allclose(rolled[0], [[1, 0], [0.375, 0.625]])
    np.testing.assert_allclose(rolled[1], [[1, 0], [0.6875, 0.3125]])


def test_a_row_that_may_look_at_nothing_stays_what_it_was():
    nothing = np.zeros((1, 1, 3, 3))
    np.testing.assert_allclose(rollout(nothing)[0], np.eye(3))


def test_rollout_of_a_run_is_causal_and_its_rows_sum_to_one(gpt):
    rolled = aggregate_heads(gpt, "causal", "rollout")
    assert rolled.weights.shape == (gpt.model.config.n_layers, 1, len(gpt.tokens), len(gpt.tokens))
    np.testing.assert_allclose(rolled.weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(rolled.weights[-1, 0], 1).any()


@pytest.mark.parametrize(("how", "join"), [("mean", np.mean), ("largest", np.max)])
@pytest.mark.parametrize("by", ["token", "word"])
def test_a_layer_is_the_mean_or_the_largest_of_its_heads(translator, how, join, by):
    whole, joined = (
        translator.attention("cross", by=by, writing=True),
        aggregate_heads(translator, "cross", how, by, writing=True),
    )
    np.testing.assert_allclose(joined.weights[:, 0], join(whole.weights, axis=1), atol=1e-6)
    assert (joined.queries, joined.keys) == (whole.queries, whole.keys) and joined.allowed.all()


def test_rollout_by_word_sums_a_words_pieces(translator):
    by_word = aggregate_heads(translator, "self", "rollout", "word")
    assert by_word.keys == translator.attention("self", by="word").keys
    np.testing.assert_allclose(by_word.weights.sum(-1), 1, atol=1e-5)


def test_rollout_between_two_texts_and_unknown_names_are_refused(translator):
    with pytest.raises(InputError, match="Rollout is not defined for cross"):
        aggregate_heads(translator, "cross", "rollout")
    with pytest.raises(InputError, match="median"):
        aggregate_heads(translator, "cross", "median")


# ---------------- Each caution appears on a pattern made for it, with its share, and on no other.


FULL = np.ones((4, 4), dtype=bool)
SHARP = np.array([[0.1, 0.8, 0.05, 0.05], [0.2, 0.05, 0.05, 0.7], [0.1, 0.1, 0.1, 0.7], [0.1, 0.7, 0.1, 0.1]])


def kinds(weights, allowed=FULL, row=0, marks=(2,), within=True):
    return {
        caution.kind: caution.share
        for caution in cautions(np.asarray(weights), allowed, row, marks, same_text=within)
    }


def test_a_sink_is_the_mean_over_rows_that_have_a_choice():
    weights = np.tile([0.9, 0.1, 0, 0], (4, 1))
    weights[0] = [1, 0, 0, 0]
    assert kinds(weights, np.tri(4, dtype=bool) | np.eye(4, dtype=bool), row=2) == {
        "sink": pytest.approx(0.9)
    }


def test_weight_on_marks_is_named_apart_from_the_first_place():
    weights = np.tile([0.05, 0.05, 0.8, 0.1], (4, 1))
    assert kinds(weights) == {"separator": pytest.approx(0.8)}
    assert kinds(weights, marks=()) == {}


def test_an_even_row_says_how_even():
    weights = SHARP.copy()
    weights[3] = 0.25
    assert kinds(weights, row=3) == {"even": pytest.approx(1.0)} and kinds(weights, row=1) == {}


def test_a_row_on_itself_and_a_row_without_a_choice():
    weights = SHARP.copy()
    weights[1] = [0.1, 0.9, 0, 0]
    assert kinds(weights, row=1) == {"itself": pytest.approx(0.9)}
    only = FULL.copy()
    only[1] = [False, True, False, False]
    weights[1] = [0, 1, 0, 0]
    assert kinds(weights, only, row=1) == {"few": pytest.approx(1.0)}


@pytest.mark.parametrize("rows", [3, 4])
def test_between_two_texts_a_place_is_not_itself_whatever_their_lengths(rows):
    weights = np.eye(rows, 4)
    assert kinds(weights, FULL[:rows], row=1, within=False) == {}
    assert kinds(np.eye(4), row=1) == {"itself": 1.0}


TWO_TEXTS = (
    ("translator-en-es", "She has a white car."),
    ("luong-global-en-es", "She has a white car."),
    ("copy-lstm-attention", "b a d c"),
)


@pytest.mark.parametrize(("model", "text"), TWO_TEXTS)
def test_a_square_map_between_two_texts_never_speaks_of_a_word_s_own_position(model, text):
    """The written text is cut to the length of the source, so that every map is square."""
    run = core.open_model(model).run(text)
    for name in run.kinds:
        kind = run.model.spec.kind(name)
        attention = run.attention(name, by="word", writing=not kind.one_text)
        n = min(attention.weights.shape[-2:])
        found = {
            caution.kind
            for layer, head in np.ndindex(attention.weights.shape[:2])
            for row in range(n)
            for caution in cautions(
                attention.weights[layer, head, :n, :n],
                attention.allowed[layer, head, :n, :n],
                row,
                same_text=kind.one_text,
            )
        }
        assert kind.one_text or "itself" not in found, name


def test_no_words_and_rows_that_may_look_at_nothing():
    assert cautions(np.zeros((0, 0)), np.zeros((0, 0), dtype=bool), 0, same_text=True) == ()
    assert cautions(np.zeros((2, 2)), np.zeros((2, 2), dtype=bool), 1, same_text=False) == ()


# ---------------- Common places of patterns: identity, symmetry, nothing crosses, nothing is lost, rows keep their sums.


WORDS = some.lists(some.sampled_from(["the", "The", "cat", "sat", "mat", ".", "!", "START"]), max_size=8)


def covered(slots: tuple[Slot, ...], side: int) -> list[int]:
    return [place for slot in slots for place in slot[side]]


@some.composite
def tokenized(draw) -> tuple[str, list[list[tuple[int, int] | None]]]:
    """A text and two ways to cut it, each with a mark before it or not."""
    text = draw(some.text("ab c", min_size=1, max_size=12))
    cuts = []
    for _ in range(2):
        places = sorted({0, len(text), *draw(some.lists(some.integers(0, len(text)), max_size=6))})
        spans = list(pairwise(places))
        cuts.append([None, *spans] if draw(some.booleans()) else spans)
    return text, cuts


def names(text: str, spans: list[tuple[int, int] | None]) -> list[str]:
    return ["START" if span is None else text[slice(*span)] for span in spans]


@given(WORDS, WORDS)
def test_words_never_cross_and_none_is_lost(a, b):
    slots = align_words(a, b)
    assert covered(slots, 0) == list(range(len(a))) and covered(slots, 1) == list(range(len(b)))
    assert all(mine or yours for mine, yours in slots)


@given(tokenized())
def test_two_tokenizers_meet_where_they_share_a_letter(case):
    text, (a, b) = case
    slots = align_tokens(text, a, b, names(text, a), names(text, b))
    assert covered(slots, 0) == list(range(len(a))) and covered(slots, 1) == list(range(len(b)))
    home = [{place: number for number, slot in enumerate(slots) for place in slot[side]} for side in (0, 1)]
    for i, mine in enumerate(a):
        for j, yours in enumerate(b):
            shared = (
                "" if mine is None or yours is None else text[max(mine[0], yours[0]) : min(mine[1], yours[1])]
            )
            if shared.strip():
                assert home[0][i] == home[1][j]


@given(tokenized())
def test_spans_are_symmetric_and_the_same_cut_is_the_identity(case):
    text, (a, b) = case
    there, back = (align_tokens(text, x, y, names(text, x), names(text, y)) for x, y in ((a, b), (b, a)))
    assert back == tuple((yours, mine) for mine, yours in there)
    assert align_tokens(text, a, a, names(text, a), names(text, a)) == tuple(
        ((i,), (i,)) for i in range(len(a))
    )


@given(WORDS, WORDS, WORDS)
def test_three_texts_share_their_places(a, b, c):
    slots = merge_alignments([align_words(a, b), align_words(a, c)])
    for side, words in enumerate((a, b, c)):
        assert covered(slots, side) == list(range(len(words)))


def test_two_tokenizers_of_three_are_joined_where_one_is_coarse():
    fine, coarse = [(0, 2), (2, 4), (4, 6)], [(0, 4), (4, 6)]
    text, cut = "abcdef", lambda spans: ["abcdef"[slice(*span)] for span in spans]
    pairs = [align_tokens(text, fine, other, cut(fine), cut(other)) for other in (coarse, fine)]
    assert merge_alignments(pairs) == (((0, 1), (0,), (0, 1)), ((2,), (1,), (2,)))


def test_a_changed_word_stands_opposite_the_other_and_an_added_one_alone():
    a, b = ["it", "was", "too", "tired", "."], ["it", "was", "much", "too", "wide", "."]
    assert align_words(a, b) == (
        ((0,), (0,)),
        ((1,), (1,)),
        ((), (2,)),
        ((2,), (3,)),
        ((3,), (4,)),
        ((4,), (5,)),
    )
    assert align_words(["end"], ["!"]) in ((((0,), ()), ((), (0,))), (((), (0,)), ((0,), ())))


def test_marks_of_one_name_meet_and_others_stand_alone():
    spans = [None, (0, 3), None]
    same = align_tokens("cat", spans, spans, ["START", "cat", "END"], ["START", "cat", "END"])
    assert same == (((0,), (0,)), ((1,), (1,)), ((2,), (2,)))
    other = align_tokens("cat", spans, spans, ["START", "cat", "END"], ["[CLS]", "cat", "[SEP]"])
    assert ((1,), (1,)) in other and len(other) == 5


@given(WORDS, WORDS, some.integers(0, 99))
def test_rows_on_common_places_still_sum_to_one(a, b, seed):
    patterns = [
        np.random.default_rng(seed).dirichlet(np.ones(len(words)), len(words)) for words in (a, b) if words
    ]
    if len(patterns) < 2:
        return
    words = align_words(a, b)
    found = pool_patterns(patterns, words, words)
    assert found[0].shape == found[1].shape == (len(words), len(words))
    for side, pattern in enumerate(found):
        there = np.array([bool(slot[side]) for slot in words])
        np.testing.assert_allclose(pattern.sum(-1), there.astype(float), atol=1e-12)


def test_summed_over_keys_and_averaged_over_queries_by_hand():
    pattern = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    found = pool_pattern(pattern, [(0, 1), (2,)], [(0,), (1, 2)])
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.2, 0.8]])
    np.testing.assert_array_equal(pool_pattern(pattern, [(0,), (1,), (2,)], [(0,), (1,), (2,)]), pattern)


def test_no_alignment_is_no_place():
    assert align_words([], []) == () and merge_alignments([()]) == ()
    assert pool_pattern(np.zeros((0, 0)), [], []).shape == (0, 0)


def test_layers_and_heads_go_along():
    stack = np.random.default_rng(1).random((2, 3, 4, 4))
    words = [(0, 1), (2,), (3,)]
    assert pool_pattern(stack, words, words).shape == (2, 3, 3, 3)
    np.testing.assert_allclose(
        pool_pattern(stack, words, words)[1, 2], pool_pattern(stack[1, 2], words, words)
    )
    assert pool_pattern(stack, words, words)[0, 0, 0, 0] == pytest.approx(stack[0, 0, :2, :2].sum(-1).mean())
