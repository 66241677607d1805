"""Sentence pairs: its numbers computed again on a small random model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, bar_labels, said
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.checkpoints.scores import Score
from core.serving.engine import default
from viz.course.bert.sentence_pairs import exhibit, game, next_pairs, next_sentence, reading
from viz.course.bert.sentence_pairs.params import EXAMPLES, Params
from viz.labels import percent, shorten

A, B = "She has a white car.", "It was too tired to cross the street."
engine = stand_ins({"bert-mini": ("bert", {})})
page = StepPages("sentence_pairs", {"a": A, "b": B}, ())


@pytest.fixture(autouse=True)
def _fresh():
    game.scored.cache_clear()
    yield
    game.scored.cache_clear()


def bert():
    return default().open("bert-mini")


def follows(*pairs: tuple[str, str]) -> np.ndarray:
    return next_sentence.follows(bert(), pairs)


def tokens(test) -> list[str]:
    return [cell["exact"] for cell in drawn_rows(test, "text")]


@pytest.mark.slow
def test_what_cls_says_is_covered_until_one_guessed():
    """C084."""
    (chance,), run, before = follows((A, B)), exhibit.compute(Params(a=A, b=B)), page()
    assert tokens(before) == list(run.tokens)
    assert [cell["text"] for cell in drawn_rows(before, "text")] == ["AB"[s] for s in run.segments]
    after = answered(before)
    assert page.answer(after, "one") == game.SAYS[int(chance < 0.5)]
    bars = [row["value"] for row in drawn_rows(after, mark="bar", place=1)]
    assert bars == pytest.approx([chance, 1 - chance]) and f"P(IsNext) = {percent(chance)}" in said(after)
    for row in next_pairs.labelled_pairs()[:3]:
        (chance,) = follows((row.first, row.second))
        assert page.answer(page(a=row.first, b=row.second), "one") == game.SAYS[int(chance < 0.5)]
    known, (a, b, _) = page(a=EXAMPLES[1][0], b=EXAMPLES[1][1]), EXAMPLES[2]
    assert known.pills(key="sentence_pairs.ready").value is not None
    known.pills(key="sentence_pairs.ready").set_value(f"{shorten(a, 26)} / {shorten(b, 26)}").run()
    assert tokens(known)[1] == bert().tokenizer.encode(a).tokens[0]


@pytest.mark.slow
def test_draws_are_half_and_half_and_counted():
    """C084."""
    rows = next_pairs.draws(4, 30)
    count, (chance,) = next_pairs.count(rows), follows((rows[-1].first, rows[-1].second))
    test = page(2, draw=4, draws=30)
    assert bar_labels(test, 1) == [str(count.follow), str(30 - count.follow)]
    assert states(said(test), percent(chance), f"{count.follow} of 30", "15", f"{3 * 7.5**0.5:.1f}")
    test.button(key="sentence_pairs.more").click().run()
    last = "IsNext" if next_pairs.draws(4, 31)[-1].follows else "NotNext"
    assert states(said(test), "31", f"“{last}”")
    test.button(key="sentence_pairs.many").click().run()
    assert "Pair 81:" in said(test)
    test.button(key="sentence_pairs.draw.again").click().run()
    assert "Pair 10:" in said(test)
    assert tokens(test)[1] == bert().tokenizer.encode(next_pairs.draws(5, 10)[-1].first).tokens[0]


@pytest.mark.slow
def test_all_our_pairs_are_judged_and_what_was_recorded_is_said(monkeypatch):
    rows = next_pairs.labelled_pairs()
    values = follows(*((row.first, row.second) for row in rows))
    half = sum((v >= 0.5) == row.follows for v, row in zip(values, rows, strict=True))
    better, firsts = next_pairs.preferred(values)
    test = answered(page(3))
    dots = drawn_rows(test, "kind", mark="point")
    np.testing.assert_allclose([row["x"] for row in dots], values, rtol=1e-5)
    assert page.answer(test, "known") == half == sum(row["kind"] == "right" for row in dots)
    assert f"Threshold 50%: {half} of 64 right" in said(test)
    assert f"in {better} of {firsts} cases" in said(test)
    test.slider[-1].set_value(0.6).run()
    assert f"Threshold 60%: {next_pairs.right(values, rows, 0.6)} of 64 right" in said(test)
    scores = {"bert-mini": 0.25, "always no": 0.75}
    recorded = tuple(Score(game.MEASURE, "the test", name, value) for name, value in scores.items())
    monkeypatch.setattr(game, "read_scores", lambda folder: recorded)
    game.scored.cache_clear()
    assert states(game.record(), "25.0%", "75.0%")


@pytest.mark.slow
def test_who_looks_at_which_text():
    run = exhibit.compute(Params(a=A, b=B))
    found = next_sentence.blocks(run.attention("self").weights, next_sentence.groups(run))
    best = reading.GROUP_LABELS[int(found.mean((0, 1))[1].argmax())]
    test = page(4, guess={"who": best}, block="[CLS] → B")
    assert page.answer(test, "who") == best
    for place, wanted in enumerate((found.mean((0, 1))[:3], found[..., 0, 2])):
        cells = [cell["value"] for cell in drawn_rows(test, "value", place=place)]
        np.testing.assert_allclose(cells, wanted.ravel(), atol=1e-4)
    head = found.shape[1] + 1
    one = page(4, guess={"who": best}, head=head)
    assert states(said(one), "L1.H1", percent(found[1, 1, 1, 1], 2), percent(found[1, 1, 1, 2], 2))
    cells = drawn_rows(one, "value", place=1)
    assert [at for at, cell in enumerate(cells) if cell["highlighted"]] == [head]


@pytest.mark.slow
def test_the_loss_is_two_means_added_and_turning_the_answer_moves_one():
    """C085."""
    rows = [next_pairs.SampledPair(A, B, True), *next_pairs.draws(3, 3)]
    pairs = [(row.first, row.second) for row in rows]
    found = next_sentence.loss(bert(), pairs, [row.follows for row in rows], 3)
    answer = reading.GAMES[0 if found.masked > found.next else 1]
    test, other = (page(5, batch=4, guess={"loss": answer}, **link) for link in ({}, {"follows": 0}))
    assert page.answer(test, "loss") == answer and f"loss = {found.total:.3f}" in said(test)
    bars = [bar["value"] for bar in drawn_rows(test, mark="bar", place=1)]
    assert bars[-2:] == pytest.approx([found.words.mean(), found.pairs.mean()], rel=1e-4)
    assert all_rows(test, mark="text", place=1)[-1]["label"] == f"{found.total:.2f}"
    assert tokens(test) == list(found.read[0])
    for drawn, name, chance in (
        (test, "IsNext", float(found.chances[0])),
        (other, "NotNext", 1 - float(found.chances[0])),
    ):
        assert f"P({name}) = {percent(chance)}, loss {-math.log(chance):.3f}" in said(drawn)
    assert bar_labels(other, 1)[0] == bar_labels(test, 1)[0]


@pytest.mark.slow
def test_the_order_of_the_texts_and_their_vectors():
    found = next_sentence.ways(bert(), A, B)
    most = max(next_sentence.WAYS[1:], key=lambda way: abs(found[way] - found["as trained"]))
    test = answered(page(6))
    assert page.answer(test, "swap") == most
    assert [row["value"] for row in drawn_rows(test, mark="bar")] == pytest.approx(list(found.values()))
    test.button(key="sentence_pairs.turn").click().run()
    assert test.session_state["atlas.chosen"]["sentence_pairs.a"] == B
