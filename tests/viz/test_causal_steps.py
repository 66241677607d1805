"""The build-up of the page on masks on the shipped model: leak, sums, mask, lines, finite numbers; the way to the editor."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import bar_labels, drawn, said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from viz.course.self_attention.masks import maths, read
from viz.course.self_attention.masks import maths as leaking
from viz.course.self_attention.masks.charts import sums
from viz.course.self_attention.masks.params import FBI
from viz.course.shared import masks
from viz.labels import percent
from viz.number_text import fine_percent

FOLDS = ("masks.equation", "masks.looking", "Masks.documents", "masks.table", "masks.take")
SHORT = "The little dog ran."


def page(*folded: str, state: dict[str, object] | None = None, text: str = "", **link: str) -> AppTest:
    values = {f"masks.{name}": value for name, value in link.items()} | ({"text": text} if text else {})
    return drawn("masks", values, {f"fold:{name}": True for name in folded} | (state or {}))


def guessed(test: AppTest, question: str) -> AppTest:
    """The same page after the number that the slider stands at was handed in."""
    return test.button(key=f"predict:masks.{question}:commit").click().run()


def titles(test: AppTest) -> list[str]:
    return [
        opened(element.proto.bytes)[0].get("title", "")
        for element in test.get("bidi_component")
        if element.proto.bytes
    ]


@pytest.mark.slow
def test_the_page_opens_with_a_question_and_only_chance_is_drawn():
    test = page()
    assert not test.exception and test.title[0].value == "Masks"
    assert (
        set(bar_labels(test)) == {"?"}
        and drawn_rows(test, mark="rule") == [{"value": 0.1}]
        and "10%" in said(test)
    )
    found, past = leaking.learned("all", 10), leaking.learned("past", 10)
    assert f"{percent(found.inside, 2)}" not in said(test)
    told = guessed(page(*FOLDS), "leak")
    bars = [bar["value"] for bar in drawn_rows(told, mark="bar")]
    assert not told.exception and len(bars) == 16
    np.testing.assert_allclose(bars[::2], found.right)
    np.testing.assert_allclose(bars[1::2], past.right)
    assert states(said(told), percent(found.inside), percent(found.writing))
    with_mask, without = read.surprises(read.TEXT)
    model, n = core.open_model("gpt-mini"), len(core.open_model("gpt-mini").run(read.TEXT, keep=()).tokens)
    free = model.run(
        read.TEXT, keep=(), edits=[core.edits.SetAllowed("layer.*.self_attn.allowed", ((True,) * n,) * n)]
    )
    rows = free.logits[:-1].astype(float)
    logs = (
        np.log(np.exp(rows - rows.max(-1, keepdims=True)).sum(-1))
        + rows.max(-1)
        - rows[np.arange(n - 1), list(free.ids[1:])]
    )
    assert without == pytest.approx(logs.mean(), abs=1e-4) and states(
        said(told), f"{with_mask:.2f} nats", f"{without:.2f}"
    )


@pytest.mark.slow
def test_other_eyes_give_another_answer():
    found = leaking.learned("past", 2)
    told = guessed(page(sees="past", digits="2"), "leak")
    assert f"t is {100 * round(found.inside, 2):g}%." in said(told) and "You said" not in said(told), (
        "half of two is right by chance"
    )
    assert len({bar["group"] for bar in drawn_rows(told, mark="bar")}) == 1


def test_the_sums_are_softmax_over_the_words_so_far():
    layer, head = read.opening().layer, read.opening().head
    run = core.open_model("gpt-mini").run(SHORT)
    scores = run.trace[f"layer.{layer}.self_attn.scores"][head]
    test = page(*FOLDS, step="2", text=SHORT, lines="4")
    assert not test.exception
    weights = np.exp(scores[3, :4]) / np.exp(scores[3, :4]).sum()
    terms = " + ".join(
        f"{w:.2f} “{word}”" for w, word in zip(weights, ("The", "little", "dog", "ran"), strict=True)
    )
    assert states(said(test), terms, "4 terms", "1.000", "5 lines", "15 terms")
    assert "25." in said(test), "every pair"
    cells = drawn_rows(test, mark="rect")
    assert [cell["line"] for cell in cells] == [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]
    assert [cell["exact"] for cell in cells if cell["line"] == 4] == [f"{w:.4f}" for w in weights]
    assert len(drawn_rows(page(step="2", text="I"), mark="rect")) > 0
    names: dict[str, object] = {}
    exec(test.code[-1].value, names)
    np.testing.assert_allclose(names["line_by_line"].weights[3, :4], weights, atol=1e-5)  # pyright: ignore[reportAttributeAccessIssue]


def test_the_mask_gives_the_same_numbers_and_without_it_every_line_moves():
    """C034, C035."""
    test = page(*FOLDS, step="3", text=SHORT, state={"predict:masks.moved": "only the last"})
    assert not test.exception and "Right." in said(test)
    assert states(said(test), "weights differ", "exactly 0")
    assert titles(test)[:3] == ["Scores S", "Mask M", "softmax(S + M)"]
    free = page(step="3", text=SHORT, lifted="1", state={"predict:masks.moved": "only the last"})
    assert "It is “all 5”." in said(free) and "exactly 0, the outputs" not in said(free)
    layer, head = read.opening().layer, read.opening().head
    found = read.reading(SHORT, read.Head(layer, head))
    assert (
        (found.changes[:-1] == 0).all()
        and found.changes[-1] > 0
        and (read.reading(SHORT, read.Head(layer, head), unmasked=True).changes > 0).all()
    )
    np.testing.assert_allclose(maths.mask_form(found.scores, found.values).weights, found.pattern, atol=1e-6)


def test_the_sentence_of_the_documents_has_ten_lines():
    """C011."""
    before = page(step="4")
    assert not before.exception and not any(str(10) + " lines." in line for line in said(before).splitlines())
    test = page(*FOLDS, step="4", state={"predict:masks.count": "9"})
    layer, head = read.opening().layer, read.opening().head
    found = core.open_model("gpt-mini").run(FBI).attention("causal", by="word")
    rows = found.weights[layer, head]
    assert rows.shape == (10, 10) and found.queries[-1] == "." and "It is “10”." in said(test)
    np.testing.assert_allclose(rows.sum(1), 1, atol=1e-5)
    assert (rows[np.triu_indices(10, 1)] == 0).all()
    best = max(range(1, 10), key=lambda i: rows[i, :i].max())
    assert percent(rows[best, :best].max()) in said(test) and f"“{found.queries[best]}”" in said(test)
    assert "Ten lines" not in said(before) and "E55" in said(test) and len(test.dataframe) == 1
    other = page(step="4", text="One two three", state={"predict:masks.count": "3"})
    assert "Right." in said(other)


@pytest.mark.quick(1)
@pytest.mark.parametrize("number", [-5, -10])
def test_the_leak_is_told_for_both_orders_of_mask_and_division(number):
    """Recomputed from q and k: M beside q·k, then divided by √d; and beside q·k / √d, as the model itself does it."""
    test = guessed(page(*FOLDS, step="5", text=SHORT, m=str(number)), "leaks")
    layer, head = read.opening().layer, read.opening().head
    run = core.open_model(read.MODEL).run(SHORT)
    q, k = (run.trace[f"layer.{layer}.self_attn.{side}"][head].astype(np.float64) for side in "qk")
    may, d, leaks = np.tri(len(q), dtype=bool), q.shape[1], []
    for scores in (
        (q @ k.T + np.where(may, 0, number)) / np.sqrt(d),
        q @ k.T / np.sqrt(d) + np.where(may, 0, number),
    ):
        terms = np.exp(scores - scores.max(1, keepdims=True))
        leaks.append(float(np.where(may, 0, terms / terms.sum(1, keepdims=True)).sum(1).max()))
    assert leaks[0] > 5 * leaks[1] and states(said(test), fine_percent(leaks[0]), fine_percent(leaks[1]))


def test_a_finite_number_leaks_and_an_empty_line_is_told():
    """C036, C037."""
    layer, head = read.opening().layer, read.opening().head
    found, p = read.reading(SHORT, read.Head(layer, head)), core.open_model("gpt-mini").config.d_head
    row, most = masks.filled(found.scores, np.tri(5, dtype=bool), -10, p=p, inside=True).worst
    test = guessed(page(*FOLDS, step="5", text=SHORT, m="-10"), "leaks")
    assert not test.exception and states(said(test), f"“{found.words[row]}”", percent(most, 2))
    strict = guessed(page(step="5", text=SHORT, edge="strict", m="-10000"), "leaks")
    assert states(said(strict), "5 cells", "“The”")
    nothing = guessed(page(*FOLDS, step="5", text=SHORT, edge="nothing", m="-10000"), "leaks")
    assert states(said(nothing), "“dog”", "100%")
    names: dict[str, object] = {}
    exec(nothing.code[-1].value, names)
    assert names["leak"].worst[0] == 2 and names["leak"].worst[1] == pytest.approx(1)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("link", [{"kind": "strict"}, {"cell": "0.0"}, {"radius": "3"}, {"fill": "-1"}])
def test_an_old_link_opens_the_editor(link):
    test = page(**link)
    assert not test.exception and "Mask" in titles(test)


@pytest.mark.slow
def test_figures_as_data():
    cells = drawn_rows(sums(np.eye(3), ["<b>", "b", "c"], 2), mark="rect")
    assert [(cell["line"], cell["word"], cell["exact"]) for cell in cells] == [
        (1, "<b>", "1.0000"),
        (2, "<b>", "0.0000"),
        (2, "b", "1.0000"),
    ]
    assert not any(cell["said"] for cell in all_rows(sums(np.eye(30), ["w"] * 30, 30)))
