"""The build-up of the page on masks on the shipped model: leak, sums, mask, lines, finite numbers; the way to the editor."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, drawn, instruments, said
from exhibit_visits import answered
from shown_values import states

import core
from viz.course.self_attention.masks import maths, read
from viz.course.self_attention.masks.params import FBI
from viz.course.shared import masks
from viz.labels import percent
from viz.number_text import fine_percent

SHORT = "The little dog ran."
page = StepPages("masks")


@pytest.fixture
def head() -> read.Head:
    return read.Head(read.opening().layer, read.opening().head)


@pytest.mark.slow
def test_the_page_opens_with_a_question_and_only_chance_is_drawn():
    before = page(1, "looking")
    assert set(bar_labels(before)) == {"?"} and drawn_rows(before, mark="rule") == [{"value": 0.1}]
    found, past = maths.learned("all", 10), maths.learned("past", 10)
    test = answered(before)
    bars = [bar["value"] for bar in drawn_rows(test, mark="bar")]
    np.testing.assert_allclose((bars[::2], bars[1::2]), (found.right, past.right))
    assert states(said(test), percent(found.inside), percent(found.writing))
    with_mask, without = read.surprises(read.TEXT)
    model = core.open_model("gpt-mini")
    n = len(model.run(read.TEXT, keep=()).tokens)
    every = core.edits.SetAllowed("layer.*.self_attn.allowed", ((True,) * n,) * n)
    free = model.run(read.TEXT, keep=(), edits=[every])
    rows = free.logits[:-1].astype(float)
    logs = np.log(np.exp(rows).sum(-1)) - rows[np.arange(n - 1), list(free.ids[1:])]
    assert without == pytest.approx(logs.mean(), abs=1e-4)
    assert states(said(test), f"{with_mask:.2f} nats", f"{without:.2f}")


@pytest.mark.slow
def test_what_is_half_right_by_chance_is_another_answer():
    test = answered(page(sees="past", digits=2))
    assert page.answer(test, "leak") == pytest.approx(maths.learned("past", 2).inside, abs=0.006)
    assert len({bar["group"] for bar in drawn_rows(test, mark="bar")}) == 1


def test_the_sums_are_softmax_over_the_words_so_far(head):
    run, words = core.open_model("gpt-mini").run(SHORT), ("The", "little", "dog", "ran")
    scores = run.trace[f"layer.{head.layer}.self_attn.scores"][head.head]
    weights = np.exp(scores[3, :4]) / np.exp(scores[3, :4]).sum()
    test = page(2, text=SHORT, lines=4)
    terms = " + ".join(f"{w:.2f} “{word}”" for w, word in zip(weights, words, strict=True))
    assert states(said(test), terms, "4 terms", "1.000", "5 lines", "15 terms")
    assert "25." in said(test), "every pair"
    cells = drawn_rows(test, mark="rect")
    assert [cell["line"] for cell in cells] == [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]
    assert [cell["exact"] for cell in cells if cell["line"] == 4] == [f"{w:.4f}" for w in weights]
    assert drawn_rows(page(2, text="I"), mark="rect")


def test_the_mask_gives_the_same_numbers_and_without_it_every_line_moves(head):
    """C034, C035."""
    test, free = (
        page(3, text=SHORT, guess={"moved": "only the last"}, **link) for link in ({}, {"lifted": 1})
    )
    assert states(said(test), "weights differ", "exactly 0")
    assert [page.answer(each, "moved") for each in (test, free)] == ["only the last", "all 5"]
    titles = [header.get("title") for header in instruments(test)]
    assert titles[:3] == ["Scores S", "Mask M", "softmax(S + M)"]
    found, unmasked = read.reading(SHORT, head), read.reading(SHORT, head, unmasked=True)
    assert (found.changes > 0).tolist() == [False] * 4 + [True] and (unmasked.changes > 0).all()
    np.testing.assert_allclose(maths.mask_form(found.scores, found.values).weights, found.pattern, atol=1e-6)


def test_the_sentence_of_the_documents_has_ten_lines(head):
    """C011."""
    test = page(4, guess={"count": "9"})
    found = core.open_model("gpt-mini").run(FBI).attention("causal", by="word")
    rows = found.weights[head.layer, head.head]
    assert rows.shape == (10, 10) and found.queries[-1] == "." and page.answer(test, "count") == "10"
    np.testing.assert_allclose(rows.sum(1), 1, atol=1e-5)
    assert (rows[~np.tri(10, dtype=bool)] == 0).all()
    best = max(range(1, 10), key=lambda i: rows[i, :i].max())
    assert percent(rows[best, :best].max()) in said(test) and f"“{found.queries[best]}”" in said(test)
    assert page.answer(page(4, text="One two three"), "count") == "3"


@pytest.mark.quick(1)
@pytest.mark.parametrize("number", [-5, -10])
def test_the_leak_is_told_for_both_orders_of_mask_and_division(head, number):
    """Recomputed from q and k: M beside q·k, then divided by √d; and beside q·k / √d, as the model itself does it."""
    run = core.open_model(read.MODEL).run(SHORT)
    q, k = (run.trace[f"layer.{head.layer}.self_attn.{side}"][head.head].astype(np.float64) for side in "qk")
    may, d, leaks = np.tri(len(q), dtype=bool), q.shape[1], []
    mask = np.where(may, 0, number)
    for scores in ((q @ k.T + mask) / np.sqrt(d), q @ k.T / np.sqrt(d) + mask):
        terms = np.exp(scores - scores.max(1, keepdims=True))
        leaks.append(float(np.where(may, 0, terms / terms.sum(1, keepdims=True)).sum(1).max()))
    test = answered(page(5, text=SHORT, m=number))
    assert leaks[0] > 5 * leaks[1] and states(said(test), *map(fine_percent, leaks))


def test_a_finite_number_leaks_and_an_empty_line_is_told(head):
    """C036, C037."""
    found, p = read.reading(SHORT, head), core.open_model("gpt-mini").config.d_head
    row, most = masks.filled(found.scores, np.tri(5, dtype=bool), -10, p=p, inside=True).worst
    for link, values in (
        ({"m": -10}, (f"“{found.words[row]}”", percent(most, 2))),
        ({"edge": "strict", "m": -10000}, ("5 cells", "“The”")),
        ({"edge": "nothing", "m": -10000}, ("“dog”", "100%")),
    ):
        assert states(said(answered(page(5, text=SHORT, **link))), *values)


@pytest.mark.parametrize("link", [{"kind": "strict"}, {"cell": "0.0"}, {"radius": "3"}, {"fill": "-1"}])
def test_an_old_link_opens_the_editor(link):
    test = drawn("masks", {f"masks.{name}": value for name, value in link.items()}, {})
    assert "Mask" in {header.get("title") for header in instruments(test)}
