"""Answers and tags: their numbers computed again on tunings of a few steps."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import tuned_runs
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

from core.data import grammar
from core.serving.engine import default
from core.training.finetune import tuning
from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags import answers, maths, pairs, tags
from viz.course.bert.spans_and_tags.params import SENTENCES, Params
from viz.instruments.marked.marked import marked_packet, picked_words
from viz.labels import percent

ANSWERS, TAGS = "recorded: answers-full", "recorded: tags-full"
page = StepPages("spans_and_tags")


@pytest.fixture(scope="module", autouse=True)
def _runs(tmp_path_factory) -> Iterator[None]:
    names = ("answers-full", "answers-frozen", "tags-full")
    with (
        pytest.MonkeyPatch.context() as patch,
        tuned_runs.recorded(patch, tmp_path_factory.mktemp("runs"), *names, shipped=True),
    ):
        yield


@pytest.fixture
def sent(monkeypatch) -> dict[str, dict]:
    """Return the headers of the marked texts that a page draws, by their name."""
    found: dict[str, dict] = {}

    def marked(words, *, key, on_pick=None, **options):
        found[key.removeprefix("spans_and_tags.")] = marked_packet(words, **options).header

    for module in ("answers", "tags", "looks"):
        monkeypatch.setattr(f"viz.course.bert.spans_and_tags.{module}.marked", marked)
    return found


@pytest.fixture
def one() -> maths.Answer:
    return maths.answer(default().open(ANSWERS), Params.question, Params.passage)


@pytest.fixture
def who():
    return next(item for item in answers.pool() if item.kind == "who")


@pytest.mark.slow
def test_one_marks_the_answer_and_then_sees_where_it_starts_and_ends(sent, one, who):
    """C088."""
    item = next(item for item in answers.pool() if item.question == Params.question)
    span, scores = one.span(item.start, item.end), one.span_scores
    before = page(mark="-".join(map(str, span)))
    header = sent["text"]
    assert (header["above"], header["below"], header["pick"], header["span"]) == (None, None, "span", [*span])
    asked = before.session_state["predict:spans_and_tags.mark:asked"]["of"]
    assert asked[1] == "Rosa" and "You marked: “Rosa”." in said(before)
    test = answered(before)
    header = sent["text"]
    assert header["pick"] == "" and header["span"] == [*scores.best]
    np.testing.assert_allclose(header["above"], scores.start, atol=1e-6)
    np.testing.assert_allclose(header["below"], scores.end, atol=1e-6)
    assert sum(header["above"]) == pytest.approx(1, abs=1e-4) == sum(header["below"])
    best = answers.span_text(one, scores.best)
    assert states(said(test), percent(scores.probability), f"“{best}”")
    assert ("It is right." in said(test)) == (best == "Rosa") != states(said(test), "wrong", "“Rosa”")
    right = tuning.RecordedRun.read("answers-full").reports[-1].right
    assert states(test.text[0].value, percent(right)), "the first line"
    assert page.answer(page(question=who.question, passage=who.passage), "mark") == who.answer


@pytest.mark.slow
def test_a_question_of_each_kind_and_ones_own_text(sent):
    test = page(mark="3-4")
    test.button(key="spans_and_tags.ask.where").click().run()
    item = next(item for item in answers.pool() if item.kind == "where")
    assert [box.value for box in test.text_input[:2]] == [item.question, item.passage]
    assert sent["text"]["span"] is None
    own, one = (
        ("Who slept?", "A cat slept."),
        maths.answer(default().open(ANSWERS), "Who slept?", "A cat slept."),
    )
    test = answered(page(question=own[0], passage=own[1], mark="0-1"))
    assert page.answer(test, "mark") == answers.span_text(one, one.span_scores.best)
    assert "no answer" in said(test) and "It is right" not in said(test)


@pytest.mark.slow
def test_all_pairs_and_ends_that_cross(monkeypatch, one, who):
    """C088: what would end before it starts is forbidden, and the best of the others is taken."""
    given: dict = {}

    def heatmap(values, *labels, **options):
        given.update(options, values=values)
        return type("Cells", (), {"cell": (2, 1)})

    monkeypatch.setattr(pairs, "heatmap", heatmap)
    edge, at = pairs.where(one)
    crossed, pushed = (one.pushed(edge, at, push) for push in (pairs.crossing(one), 40.0))
    before, n = page(2), len(one.tokens)
    assert np.array_equal(given["allowed"], ~np.tri(n, k=-1, dtype=bool))
    assert given["selected"] == one.span_scores.best and "and masked" in said(before)
    np.testing.assert_allclose(
        np.triu(given["values"]), np.triu(np.add.outer(one.starts, one.ends)), rtol=1e-5
    )
    answer = page.answer(before, "crossed")
    start, end = crossed.span_scores.best
    assert answer == answers.span_text(crossed, (start, end)) and start <= end
    test, best = page(2, guess={"crossed": answer}, push=40), pushed.span_scores.best
    assert given["selected"] == best
    score = f"{pushed.span_scores.scores[best]:.2f}"
    assert f"“{answers.span_text(pushed, best)}”, {score}." in said(test)
    assert f"{n * n:,} pairs, {n * (n + 1) // 2:,} allowed" in said(test)


def test_a_push_that_crosses_is_found_for_any_scores():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(2, 9))
        one = maths.Answer("", 0, ("x",) * n, (None,) * n, rng.normal(size=n), rng.normal(size=n))
        edge, at = pairs.where(one)
        start, end = one.pushed(edge, at, pairs.crossing(one)).separate_choices
        assert (end == at) if edge == "end" else (start == at)
        assert end < start or one.separate_choices[0] == 0


@pytest.mark.slow
def test_a_tag_for_each_word_at_its_first_piece(sent):
    """C089."""
    text, model = SENTENCES[-1], default().open(TAGS)
    one = maths.tagged(model, text)
    before, at = page(3, text=text, word=1), one.firsts[1]
    answer = grammar.TAGS[one.chances[at].argmax()]
    assert page.answer(before, "tag") == answer and sent["chances"]["above"] is None
    assert sent["tags"]["notes"][at] == "?" and len(one.tokens) > len(one.words)
    test = answered(before)
    notes = [
        grammar.TAGS[chance.argmax()] if begins else "–"
        for chance, begins in zip(one.chances, one.begins, strict=True)
    ]
    assert sent["tags"]["notes"] == notes and sent["chances"]["words"] == list(grammar.TAGS)
    np.testing.assert_allclose(sent["chances"]["above"], one.chances[at], atol=1e-6)
    assert len({tags.HUES[tag] for tag in grammar.TAGS}) == 12
    assert sent["tags"]["hues"][at] == tags.HUES[answer]
    assert f"{len(one.words)} words, {len(one.tokens)} tokens, {len(one.words)} tags" in said(test)
    assert states(said(test), percent(tuning.RecordedRun.read("tags-full").reports[-1].right, 2))
    assert tags.word_of(Params(), maths.tagged(model, SENTENCES[0])) == 4
    known = answered(page(3, text=next(iter(tags.taught()))))
    assert re.search(r"\d+ of \d+ are right", said(known))


@pytest.mark.slow
def test_what_a_head_reads_before_and_after(sent):
    before, after = (
        default().open(name).run(Params.question, pair=Params.passage).attention().weights
        for name in (tuning_live.BEFORE, ANSWERS)
    )
    moved = maths.moved_heads(before, after)
    answer = "layers 0 to 2" if moved[:3].mean() > moved[3:].mean() else "layers 3 to 5"
    test = page(4, guess={"layer": answer}, layer=2, head=1, token=4)
    assert page.answer(test, "layer") == answer
    np.testing.assert_allclose(sent["looks"]["above"], before[2, 1, 4], atol=1e-6)
    np.testing.assert_allclose(sent["looks"]["below"], after[2, 1, 4], atol=1e-6)
    assert states(said(test), percent(moved[2, 1]), percent(moved.mean()), f"{moved.size} heads")
    assert page.answer(page(4, body="frozen"), "layer").startswith("none")


def test_without_a_recorded_run_the_page_says_so_and_offers_one():
    for step in (3, 5):
        test = page(step, body="frozen", goal="tags")
        assert tuning_live.MISSING in said(test)
        assert test.button(key="spans_and_tags.tags-frozen.start").label == "Train it now"
    assert tuning_live.made(tuning_live.using("answers-full", "spans_and_tags.")) in said(page(5))


def test_the_instrument_sends_what_it_was_given(monkeypatch):
    words = ["a", "cat", "."]
    given = {"glued": [2], "above": [0.1, 0.9, 0.0], "hues": [0, 9, None], "span": [0, 1]}
    header = marked_packet(words, **given, notes=["DET", "NOUN", ""], pick="span").header
    assert {name: header[name] for name in given} == given and header["below"] is None
    for wrong, options in (
        ("2 above for 3", {"above": [1, 2]}),
        ("pick='x'", {"pick": "x"}),
        ("does not lie in 3", {"span": (1, 3)}),
    ):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            marked_packet(words, **options)
    module = sys.modules["viz.instruments.marked.marked"]
    for value in ([0, 2], [2, 1], [0, 3], "x", [0.5, 1], None):
        monkeypatch.setattr(module, "stored", lambda key, name, value=value: value)
        assert picked_words("k", 3) == ((0, 2) if value == [0, 2] else None)
