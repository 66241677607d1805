"""Answers and tags: each step by AppTest on tunings of a few steps, its numbers computed again."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import tuned_runs
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.data import grammar
from core.training.finetune import tuning
from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags import answers, maths, pairs, tags
from viz.course.bert.spans_and_tags.params import SENTENCES, Params
from viz.instruments.marked.marked import marked_packet, picked_words
from viz.labels import percent

SLUG = "spans_and_tags."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with (
        pytest.MonkeyPatch.context() as patch,
        tuned_runs.recorded(
            patch,
            tmp_path_factory.mktemp("runs"),
            "answers-full",
            "answers-frozen",
            "tags-full",
            shipped=True,
        ) as served,
    ):
        yield served


@pytest.fixture
def sent(monkeypatch) -> dict[str, dict]:
    """The headers of the marked texts that a page draws, by key."""
    found: dict[str, dict] = {}

    def marked(words, *, key, on_pick=None, **options):
        found[key] = marked_packet(words, **options).header

    for module in ("answers", "tags", "looks"):
        monkeypatch.setattr(f"viz.course.bert.spans_and_tags.{module}.marked", marked)
    return found


def page(
    step: int = 1, *, guess: tuple[str, object] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {name if name in ("text", "present") else SLUG + name: value for name, value in link.items()}
    return drawn("spans_and_tags", {SLUG + "step": str(step)} | names, answered, guarded=guarded)


def asked(test: AppTest, name: str) -> tuple:
    return test.session_state[f"predict:{SLUG}{name}:asked"]["of"]


def opening(body: str = "full") -> maths.Answer:
    return maths.answer(
        core.serving.engine.default().open(f"recorded: answers-{body}"), Params.question, Params.passage
    )


@pytest.mark.slow
def test_one_marks_the_answer_and_then_sees_where_it_starts_and_ends(sent):
    """C088."""
    one = opening()
    span = one.span(
        *next((item.start, item.end) for item in answers.pool() if item.question == Params.question)
    )
    before = page(mark="-".join(map(str, span)))
    header = sent[SLUG + "text"]
    assert (
        not before.exception
        and header["above"] is None
        and header["below"] is None
        and header["pick"] == "span"
        and header["span"] == list(span)
    )
    assert (
        asked(before, "mark")[1] == "Rosa"
        and "You marked: “Rosa”." in said(before)
        and "most probable" not in said(before)
    )
    told = before.button(key=f"predict:{SLUG}mark:commit").click().run()
    header = sent[SLUG + "text"]
    assert "Right." in said(told) and header["pick"] == "" and header["span"] == list(one.span_scores.best)
    np.testing.assert_allclose(header["above"], one.span_scores.start, atol=1e-6)
    np.testing.assert_allclose(header["below"], one.span_scores.end, atol=1e-6)
    assert sum(header["above"]) == pytest.approx(1, abs=1e-4) == sum(header["below"])
    best = answers.span_text(one, one.span_scores.best)
    assert states(said(told), percent(one.span_scores.probability), f"“{best}”")
    assert ("It is right." in said(told)) == (best == "Rosa") != states(said(told), "wrong", "“Rosa”")
    right = tuning.RecordedRun.read("answers-full").reports[-1].right
    assert states(told.text[0].value, percent(right)), "the first line"
    other = next(item for item in answers.pool() if item.kind == "who")
    assert asked(page(question=other.question, passage=other.passage), "mark")[1] == other.answer


@pytest.mark.slow
def test_a_question_of_each_kind_and_ones_own_text(sent):
    test = page(mark="3-4")
    test.button(key=SLUG + "ask.where").click().run()
    item = next(item for item in answers.pool() if item.kind == "where")
    assert (
        test.text_input[0].value == item.question
        and test.text_input[1].value == item.passage
        and sent[SLUG + "text"]["span"] is None
    )
    own = page(question="Who slept?", passage="A cat slept.", mark="0-1")
    one = maths.answer(
        core.serving.engine.default().open("recorded: answers-full"), "Who slept?", "A cat slept."
    )
    assert asked(own, "mark")[1] == answers.span_text(one, one.span_scores.best)
    told = own.button(key=f"predict:{SLUG}mark:commit").click().run()
    assert "no answer" in said(told) and "It is right" not in said(told)


@pytest.mark.slow
def test_all_pairs_and_ends_that_cross(monkeypatch):
    """C088: what would end before it starts is forbidden, and the best of the others is taken."""
    given: dict = {}
    monkeypatch.setattr(
        pairs,
        "heatmap",
        lambda values, *labels, **options: (
            given.update(options, values=values) or type("Cells", (), {"cell": (2, 1)})
        ),
    )
    one = opening()
    edge, at = pairs.where(one)
    crossed = one.pushed(edge, at, pairs.crossing(one))
    before = page(2)
    n = len(one.tokens)
    assert (
        given["allowed"].sum() == n * (n + 1) // 2
        and not np.tril(given["allowed"], -1).any()
        and given["selected"] == one.span_scores.best
    )
    for i, j in [(0, 3), (5, 5), (2, n - 1)]:
        assert given["values"][i, j] == pytest.approx(one.starts[i] + one.ends[j])
    assert "and masked" in said(before)
    answer = asked(before, "crossed")[2]
    assert (
        answer == answers.span_text(crossed, crossed.span_scores.best)
        and crossed.span_scores.best[0] <= crossed.span_scores.best[1]
    )
    assert "greatest sum" not in said(before)
    told = page(2, guess=("crossed", answer), push="40")
    pushed = one.pushed(edge, at, 40.0)
    assert (
        "Right." in said(told)
        and given["selected"] == pushed.span_scores.best
        and f"“{answers.span_text(pushed, pushed.span_scores.best)}”, {pushed.span_scores.scores[pushed.span_scores.best]:.2f}."
        in said(told)
    )
    assert f"{n * n:,} pairs, {n * (n + 1) // 2:,} allowed" in said(told)
    other = next(item for item in answers.pool() if item.kind == "who")
    assert (
        asked(page(2, question=other.question, passage=other.passage), "crossed")[0]
        != asked(before, "crossed")[0]
    )


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
    text = SENTENCES[-1]
    one = maths.tagged(core.serving.engine.default().open("recorded: tags-full"), text)
    before = page(3, text=text, word="1")
    notes, at = sent[SLUG + "tags"]["notes"], one.firsts[1]
    answer = grammar.TAGS[one.chances[at].argmax()]
    assert asked(before, "tag")[2] == answer and notes[at] == "?" and sent[SLUG + "chances"]["above"] is None
    assert len(notes) == len(one.tokens) > len(one.words)
    told = page(3, text=text, word="1", guess=("tag", answer))
    header = sent[SLUG + "tags"]
    assert "Right." in said(told) and sent[SLUG + "chances"]["words"] == list(grammar.TAGS)
    np.testing.assert_allclose(sent[SLUG + "chances"]["above"], one.chances[at], atol=1e-6)
    for place, note in enumerate(header["notes"]):
        assert note == (grammar.TAGS[one.chances[place].argmax()] if one.begins[place] else "–")
    assert len({tags.HUES[tag] for tag in grammar.TAGS}) == 12 and header["hues"][at] == tags.HUES[answer]
    assert f"{len(one.words)} words, {len(one.tokens)} tokens, {len(one.words)} tags" in said(told)
    assert states(said(told), percent(tuning.RecordedRun.read("tags-full").reports[-1].right, 2))
    assert (
        tags.word_of(
            Params(),
            maths.tagged(core.serving.engine.default().open("recorded: tags-full"), SENTENCES[0]),
        )
        == 4
    )
    known = next(iter(tags.taught()))
    assert re.search(
        r"\d+ of \d+ are right",
        said(page(3, text=known, guess=("tag", asked(page(3, text=known), "tag")[2]))),
    )


@pytest.mark.slow
def test_what_a_head_reads_before_and_after(sent):
    before, after = (
        core.serving.engine.default().open(name).run(Params.question, pair=Params.passage).attention().weights
        for name in (tuning_live.BEFORE, "recorded: answers-full")
    )
    moved = maths.moved_heads(before, after)
    answer = "layers 0 to 2" if moved[:3].mean() > moved[3:].mean() else "layers 3 to 5"
    assert asked(page(4), "layer")[2] == answer and sent[SLUG + "looks"]["below"] is None
    told = page(4, guess=("layer", answer), layer="2", head="1", token="4")
    header = sent[SLUG + "looks"]
    np.testing.assert_allclose(header["above"], before[2, 1, 4], atol=1e-6)
    np.testing.assert_allclose(header["below"], after[2, 1, 4], atol=1e-6)
    assert states(said(told), percent(moved[2, 1]), percent(moved.mean()), f"{moved.size} heads")
    assert asked(page(4, body="frozen"), "layer")[2].startswith("none")


def test_without_a_recorded_run_the_page_says_so_and_offers_one():
    for step, goal in ((3, "tags"), (5, "tags")):
        test = page(step, body="frozen", goal=goal)
        assert (
            not test.exception
            and tuning_live.MISSING in said(test)
            and test.button(key=f"{SLUG}tags-frozen.start").label == "Train it now"
        )
    assert tuning_live.made(tuning_live.using("answers-full", SLUG)) in said(page(5))


def test_the_instrument_sends_what_it_was_given(monkeypatch):
    header = marked_packet(
        ["a", "cat", "."],
        glued=[2],
        above=[0.1, 0.9, 0.0],
        notes=["DET", "NOUN", ""],
        hues=[0, 9, None],
        span=(0, 1),
        pick="span",
    ).header
    assert (header["glued"], header["above"], header["below"], header["hues"], header["span"]) == (
        [2],
        [0.1, 0.9, 0.0],
        None,
        [0, 9, None],
        [0, 1],
    )
    for wrong, options in (
        ("2 above for 3", {"above": [1, 2]}),
        ("pick='x'", {"pick": "x"}),
        ("does not lie in 3", {"span": (1, 3)}),
    ):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            marked_packet(["a", "cat", "."], **options)
    for value, read in (
        ([0, 2], (0, 2)),
        ([2, 1], None),
        ([0, 3], None),
        ("x", None),
        ([0.5, 1], None),
        (None, None),
    ):
        monkeypatch.setattr(
            sys.modules["viz.instruments.marked.marked"], "stored", lambda key, name, value=value: value
        )
        assert picked_words("k", 3) == read
