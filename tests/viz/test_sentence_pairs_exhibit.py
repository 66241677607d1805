"""Sentence pairs: each step by AppTest on a small random model, its numbers computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import bar_labels, drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.checkpoints.scores import Score
from viz.course.bert.sentence_pairs import exhibit, game, next_pairs, next_sentence, reading
from viz.course.bert.sentence_pairs.params import EXAMPLES, Params
from viz.labels import percent, shorten

SLUG = "sentence_pairs."
A, B = "She has a white car.", "It was too tired to cross the street."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "bert-mini") as served:
            game.scored.cache_clear()
            yield served
    game.scored.cache_clear()


def page(
    step: int = 1, *, guess: tuple[str, object] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {SLUG + name: value for name, value in ({"a": A, "b": B} | link).items()}
    return drawn("sentence_pairs", {SLUG + "step": str(step)} | names, answered, guarded=guarded)


def asked(test: AppTest, name: str) -> tuple:
    return test.session_state[f"predict:{SLUG}{name}:asked"]["of"]


def bert():
    return core.serving.engine.default().open("bert-mini")


@pytest.mark.slow
def test_what_cls_says_is_covered_until_one_guessed():
    """C084."""
    chance = next_sentence.follows(bert(), [(A, B)])[0]
    run = exhibit.compute(Params(a=A, b=B))
    before = page()
    assert not before.exception and asked(before, "one")[2] == game.SAYS[int(chance < 0.5)]
    cells = drawn_rows(before, "text")
    assert [cell["exact"] for cell in cells] == list(run.tokens) and [cell["text"] for cell in cells] == [
        "AB"[s] for s in run.segments
    ]
    assert set(bar_labels(before, 1)) == {"?"} and f"{percent(chance)}" not in said(before)
    told = page(guess=("one", game.SAYS[int(chance < 0.5)]))
    assert [row["value"] for row in drawn_rows(told, mark="bar", place=1)] == pytest.approx(
        [chance, 1 - chance]
    ) and f"P(IsNext) = {percent(chance)}" in said(told)
    answers = {asked(page(a=row.first, b=row.second), "one")[2] for row in next_pairs.labelled_pairs()[:3]}
    pairs = next_sentence.follows(
        bert(), [(row.first, row.second) for row in next_pairs.labelled_pairs()[:3]]
    )
    assert answers == {game.SAYS[int(chance < 0.5)] for chance in pairs}
    known = page(a=EXAMPLES[1][0], b=EXAMPLES[1][1])
    assert (
        known.pills(key=SLUG + "ready").value is not None and before.pills(key=SLUG + "ready").value is None
    )
    a, b, _ = EXAMPLES[2]
    known.pills(key=SLUG + "ready").set_value(f"{shorten(a, 26)} / {shorten(b, 26)}").run()
    assert [cell["exact"] for cell in drawn_rows(known, "text")][1] == bert().tokenizer.encode(
        EXAMPLES[2][0]
    ).tokens[0]


@pytest.mark.slow
def test_draws_are_half_and_half_and_counted():
    """C084."""
    rows = next_pairs.draws(4, 30)
    count, last = next_pairs.count(rows), rows[-1]
    test = page(2, draw="4", draws="30")
    assert bar_labels(test, 1) == [str(count.follow), str(30 - count.follow)]
    chance = next_sentence.follows(bert(), [(last.first, last.second)])[0]
    assert states(said(test), percent(chance), f"{count.follow} of 30", "15", f"{3 * 7.5**0.5:.1f}")
    test.button(key=SLUG + "more").click().run()
    assert states(said(test), "31", f"“{('IsNext' if next_pairs.draws(4, 31)[-1].follows else 'NotNext')}”")
    test.button(key=SLUG + "many").click().run()
    assert "Pair 81:" in said(test)
    test.button(key=SLUG + "draw.again").click().run()
    assert (
        "Pair 10:" in said(test)
        and [cell["exact"] for cell in drawn_rows(test, "text")][1]
        == bert().tokenizer.encode(next_pairs.draws(5, 10)[-1].first).tokens[0]
    )


@pytest.mark.slow
def test_all_our_pairs_are_judged_and_what_was_recorded_is_said(monkeypatch):
    rows = next_pairs.labelled_pairs()
    values = next_sentence.follows(bert(), [(row.first, row.second) for row in rows])
    half, (better, firsts) = next_pairs.right(values, rows, 0.5), next_pairs.preferred(values)
    before = page(3)
    assert (
        asked(before, "known")[3] == half
        and not drawn_rows(before, "kind", mark="point")
        and "cases" not in said(before)
    )
    told = before.button(key=f"predict:{SLUG}known:commit").click().run()
    dots = drawn_rows(told, "kind", mark="point")
    np.testing.assert_allclose([row["x"] for row in dots], values, rtol=1e-5)
    assert f"Threshold 50%: {half} of 64 right" in said(told) and f"in {better} of {firsts} cases" in said(
        told
    )
    assert (
        sum(row["kind"] == "right" for row in dots)
        == half
        == sum((v >= 0.5) == r.follows for v, r in zip(values, rows, strict=True))
    )
    told.slider[-1].set_value(0.6).run()
    assert f"Threshold 60%: {next_pairs.right(values, rows, 0.6)} of 64 right" in said(told)
    monkeypatch.setattr(
        game,
        "read_scores",
        lambda folder: (
            Score(game.MEASURE, "the test", "bert-mini", 0.25),
            Score(game.MEASURE, "the test", "always no", 0.75),
        ),
    )
    game.scored.cache_clear()
    assert states(game.record(), "25.0%", "75.0%")
    game.scored.cache_clear()


@pytest.mark.slow
def test_who_looks_at_which_text():
    run = exhibit.compute(Params(a=A, b=B))
    found = next_sentence.blocks(run.attention("self").weights, next_sentence.groups(run))
    best = reading.GROUP_LABELS[int(found.mean((0, 1))[1].argmax())]
    before, told = page(4), page(4, guess=("who", best), block="[CLS] → B")
    assert asked(before, "who")[2] == best and {
        cell["label"] for cell in [*drawn_rows(before, "value"), *drawn_rows(before, "value", place=1)]
    } == {"?"}
    np.testing.assert_allclose(
        [cell["value"] for cell in drawn_rows(told, "value")], found.mean((0, 1))[:3].ravel(), atol=1e-4
    )
    np.testing.assert_allclose(
        [cell["value"] for cell in drawn_rows(told, "value", place=1)], found[..., 0, 2].ravel(), atol=1e-4
    )
    n_heads = found.shape[1]
    one = page(4, guess=("who", best), head=str(n_heads + 1))
    assert states(said(one), "L1.H1", percent(found[1, 1, 1, 1], 2), percent(found[1, 1, 1, 2], 2))
    cells = drawn_rows(one, "value", place=1)
    assert [at for at, cell in enumerate(cells) if cell["highlighted"]] == [n_heads + 1]


@pytest.mark.slow
def test_the_loss_is_two_means_added_and_turning_the_answer_moves_one():
    """C085."""
    rows = [next_pairs.SampledPair(A, B, True), *next_pairs.draws(3, 3)]
    found = next_sentence.loss(
        bert(), [(row.first, row.second) for row in rows], [row.follows for row in rows], 3
    )
    answer = reading.GAMES[0 if found.masked > found.next else 1]
    before, told = page(5, batch="4"), page(5, batch="4", guess=("loss", answer))
    assert (
        asked(before, "loss")[2] == answer
        and {bar["label"] for bar in all_rows(before, mark="text", place=1)} == {"?"}
        and "loss =" not in said(before)
    )
    last = [bar["value"] for bar in drawn_rows(told, mark="bar", place=1)][-2:]
    assert last == pytest.approx([found.words.mean(), found.pairs.mean()], rel=1e-4)
    assert all_rows(told, mark="text", place=1)[-1][
        "label"
    ] == f"{found.total:.2f}" and f"loss = {found.total:.3f}" in said(told)
    assert [cell["exact"] for cell in drawn_rows(told, "text")] == list(found.read[0])
    other = page(5, batch="4", follows="0", guess=("loss", answer))
    chance = float(found.chances[0])
    assert f"P(IsNext) = {percent(chance)}, loss {-math.log(chance):.3f}" in said(
        told
    ) and f"P(NotNext) = {percent(1 - chance)}, loss {-math.log(1 - chance):.3f}" in said(other)
    assert bar_labels(other, 1)[0] == bar_labels(told, 1)[0]
    told.button(key=SLUG + "draw.again").click().run()
    assert told.session_state["atlas.chosen"][SLUG + "draw"] == "4"


@pytest.mark.slow
def test_the_order_of_the_texts_and_their_vectors():
    found = next_sentence.ways(bert(), A, B)
    most = max(next_sentence.WAYS[1:], key=lambda way: abs(found[way] - found["as trained"]))
    before, told = page(6), page(6, guess=("swap", most))
    assert asked(before, "swap")[2] == most and bar_labels(before)[1:] == ["?"] * 3
    assert [row["value"] for row in drawn_rows(told, mark="bar")] == pytest.approx(
        list(found.values())
    ) and "Right." in said(told)
    told.button(key=SLUG + "turn").click().run()
    assert told.session_state["atlas.chosen"][SLUG + "a"] == B
