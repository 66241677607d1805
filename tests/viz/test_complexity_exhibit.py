"""The exhibit on costs: sliders, crossing, table, path, memory, and the clock."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import chart, drawn, said, said_and_set
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.course.transformer.complexity import charts, clock, exhibit, maths
from viz.course.transformer.complexity.params import N, P, Params

SLUG = "complexity."
FOLDS = [f"fold:complexity.{name}" for name in ("equation", "looking", "table", "take")] + [
    f"fold:{exhibit.EXHIBIT.text.info.title}.documents"
]
RIGHT = ("more", "recurrence")


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    return drawn(
        "complexity",
        {SLUG + "step": str(step)} | {SLUG + name: value for name, value in link.items()},
        dict.fromkeys(folds, True) | answered,
        guarded=True,
    )


@pytest.mark.slow
def test_the_curves_wait_for_the_guess_and_their_crossing_is_marked():
    """C079: sliders n and p; the crossing at n = p."""
    before, after = page(1, *FOLDS), page(1, guess=RIGHT)
    assert drawn_rows(before, "line") == [] and "13,107,200" not in said_and_set(before)
    assert "Right" in said(after) and states(said(after), "1,280,000", "13,107,200", "10 times")
    assert {row["name"]: row["x"] for row in drawn_rows(after, "name")} == {"n = 50": 50, "n = p = 512": 512}
    for name, cost in (("self-attention", maths.attention), ("recurrence", maths.recurrence)):
        line = [row for row in drawn_rows(after, mark="line") if row["line"] == name]
        assert len(line) > 30 and [row["y"] for row in line] == [
            cost(row["x"], 512).operations for row in line
        ]
    other = page(1, guess=("more", "self-attention"), n="4096", p="256")
    assert "Right" in said(other) and "16 times more expensive" in said(other)
    assert "Right" in said(page(1, guess=("more", "both the same"), n="512"))


def test_everything_counted_crosses_elsewhere():
    test = page(1, guess=RIGHT, whole="1", p="256")
    assert "n = 2p = 512" in [row["name"] for row in drawn_rows(test, "name")]
    assert f"{maths.recurrence(50, 256, count_all=True).operations:,} for recurrence" in said(test)


def test_table_1_in_numbers():
    """C079."""
    test = page(2, *FOLDS, n="4096")
    shown = " ".join(row["label"] for row in drawn_rows(test, "label"))
    for text in ("8,589,934,592", "1,073,741,824", "O(n² p)", "O(n p²)", "4,096", "4,095"):
        assert text in shown
    frame = test.dataframe[0].value
    assert (
        frame.loc["Self-Attention", "complexity per layer"] == "O(n² p)"
        and frame.loc["Recurrence", "maximum path length"] == "O(n): 4,095"
    )


def test_the_path_is_one_step_against_many():
    before = page(3, *FOLDS)
    assert "49" not in said_and_set(before)
    after = page(3, guess=("steps", 49)).button(key=f"predict:{SLUG}steps:commit").click().run()
    assert "49 steps" not in str(chart(before)) and states(str(chart(after)), "49 steps")
    assert "49 steps against 1" in said(after) and f"{0.9**49:.2g}" in said(after)
    few = page(3, guess=("steps", 3), n="4").button(key=f"predict:{SLUG}steps:commit").click().run()
    assert "it is 3 steps" in said(few).lower() and states(str(chart(few)), "3 steps")


def test_the_memory_of_the_scores():
    test = page(4, n="4096")
    assert "537 MB" in said(test) and "4 times as much" in said(test)
    line = [row for row in drawn_rows(test, mark="line") if row["line"].startswith("scores")]
    assert len(line) > 30 and [row["y"] for row in line] == [maths.score_bytes(row["x"]) for row in line]


def test_the_recorded_run_comes_first_and_a_press_measures_here(monkeypatch):
    kept = maths.recorded_timings()
    test = page(5)
    assert states(said(test), "512", kept.machine)
    assert [
        row["y"] for row in drawn_rows(test, mark="line") if row["line"] == "self-attention"
    ] == pytest.approx([1e3 * row.attention for row in kept.of_width(512)])
    asked: list[int] = []
    monkeypatch.setattr(maths, "measure", lambda n, p: asked.append(n) or maths.Timing(n, p, n * 1e-3, 2e-3))
    test = test.button(key=SLUG + "measure").click().run()
    assert not test.exception and asked == list(maths.LENGTHS) and states(said(test), "512")
    assert [
        row["y"] for row in drawn_rows(test, mark="line") if row["line"] == "self-attention"
    ] == pytest.approx([float(n) for n in maths.LENGTHS])
    test = test.button(key=SLUG + "recorded").click().run()
    assert kept.machine in said(test)
    test.button(key=SLUG + "measure").click().run()
    assert len(asked) == 2 * len(maths.LENGTHS), "another press measures anew"
    assert len(clock.measured.__doc__ or "") > 10


def test_every_length_and_width_can_be_drawn():
    for n in (N[0], N[-1]):
        data = exhibit.compute(Params(n=n, p=P[-1]))
        assert data.attention.operations == n * n * P[-1]
        charts.reach(n)
    assert exhibit.thumbnail().count("<polyline") == 2


def test_longer_texts_need_more_memory():
    assert np.all(np.diff([maths.score_bytes(n) for n in N]) > 0)
