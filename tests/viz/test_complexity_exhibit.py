"""The exhibit on costs: sliders, crossing, table, path, memory, and the clock."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, chart, said
from exhibit_visits import answered
from shown_values import states

from viz.course.transformer.complexity import charts, exhibit, maths
from viz.course.transformer.complexity.params import N, P, Params

RIGHT = {"more": "recurrence"}
page = StepPages("complexity")


def line(test, name: str) -> list[tuple[float, float]]:
    rows = drawn_rows(test, mark="line")
    return [(row["x"], row["y"]) for row in rows if row["line"].startswith(name)]


@pytest.mark.slow
def test_the_curves_wait_for_the_guess_and_their_crossing_is_marked():
    """C079: sliders n and p; the crossing at n = p."""
    test = page(guess=RIGHT)
    assert drawn_rows(page(), "line") == [] and states(said(test), "1,280,000", "13,107,200", "10 times")
    assert {row["name"]: row["x"] for row in drawn_rows(test, "name")} == {"n = 50": 50, "n = p = 512": 512}
    for name, cost in (("self-attention", maths.attention), ("recurrence", maths.recurrence)):
        assert len(line(test, name)) > 30
        assert line(test, name) == [(n, cost(n, 512).operations) for n, _ in line(test, name)]
    for n, p, answer in ((50, 512, "recurrence"), (4096, 256, "self-attention"), (512, 512, "both the same")):
        assert page.answer(page(n=n, p=p), "more") == answer
    assert states(said(page(guess=RIGHT, n=4096, p=256)), "16 times")


def test_everything_counted_crosses_elsewhere():
    test = page(guess=RIGHT, whole=1, p=256)
    assert "n = 2p = 512" in [row["name"] for row in drawn_rows(test, "name")]
    assert f"{maths.recurrence(50, 256, count_all=True).operations:,} for recurrence" in said(test)


def test_table_1_in_numbers():
    """C079."""
    test = page(2, "table", n=4096)
    labels = " ".join(row["label"] for row in drawn_rows(test, "label"))
    for text in ("8,589,934,592", "1,073,741,824", "O(n² p)", "O(n p²)", "4,096", "4,095"):
        assert text in labels
    frame = test.dataframe[0].value
    assert frame.loc["Self-Attention", "complexity per layer"] == "O(n² p)"
    assert frame.loc["Recurrence", "maximum path length"] == "O(n): 4,095"


@pytest.mark.parametrize("n", [50, 4])
def test_the_path_is_one_step_against_many(n):
    test = answered(page(3, n=n))
    assert page.answer(test, "steps") == n - 1 and states(str(chart(test)), f"{n - 1} steps")
    assert states(said(test), f"{n - 1} steps", 1, f"{0.9 ** (n - 1):.2g}")


def test_the_memory_of_the_scores():
    test = page(4, n=4096)
    assert "537 MB" in said(test) and "4 times as much" in said(test)
    scores = line(test, "scores")
    assert len(scores) > 30 and scores == [(n, maths.score_bytes(n)) for n, _ in scores]


def test_the_recorded_run_comes_first_and_a_press_measures_here(monkeypatch):
    kept = maths.recorded_timings()
    test = page(5)
    assert states(said(test), "512", kept.machine)
    recorded = [1e3 * row.attention for row in kept.of_width(512)]
    assert [y for _, y in line(test, "self-attention")] == pytest.approx(recorded)
    asked: list[int] = []
    monkeypatch.setattr(maths, "measure", lambda n, p: asked.append(n) or maths.Timing(n, p, n * 1e-3, 2e-3))
    test.button(key="complexity.measure").click().run()
    assert not test.exception and asked == list(maths.LENGTHS) and states(said(test), "512")
    assert [y for _, y in line(test, "self-attention")] == pytest.approx([*maths.LENGTHS])
    test.button(key="complexity.recorded").click().run()
    assert kept.machine in said(test)
    test.button(key="complexity.measure").click().run()
    assert len(asked) == 2 * len(maths.LENGTHS), "another press measures anew"


def test_every_length_and_width_can_be_drawn():
    for n in (N[0], N[-1]):
        assert exhibit.compute(Params(n=n, p=P[-1])).attention.operations == n * n * P[-1]
        charts.reach(n)
    assert np.all(np.diff([maths.score_bytes(n) for n in N]) > 0)
