"""The exhibit on many heads: shapes at every step, the wrong merge, head 1 anew, one against several."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, said, said_and_set
from exhibit_visits import answered
from shown_values import states

from viz import theme
from viz.course.self_attention.many_heads import exhibit, independence, maths
from viz.course.self_attention.many_heads.params import WORDS, Params
from viz.labels import percent

page = StepPages("many_heads", {"b": 2, "n": 4}, ())


@pytest.fixture(scope="module")
def way():
    return exhibit.compute(Params(2, 4)).way


def written(test, place: int) -> list[str]:
    """Return the texts in the cells of a grid, row after row."""
    return [cell["text"] for cell in drawn_rows(test, "xm", place=place)]


def hues(test, place: int) -> list[int]:
    """Return the head whose colour each cell of a grid has."""
    return [theme.HEADS.index(cell["colour"]) for cell in drawn_rows(test, mark="rect", place=place)]


def shapes(test) -> dict[str, str]:
    """Return the shape of each step of the way, as it stands below the picture."""
    line = next(element.value for element in test.markdown if "→" in element.value)
    parts = [part.replace("\u00a0", " ").split("`") for part in line.split(" → ")]
    return {name.strip("* ").replace("\\", ""): "".join(shape[:1]) for name, *shape in parts}


@pytest.mark.slow
def test_the_projection_is_covered_and_then_has_the_colours_of_its_heads(way):
    before = page()
    assert {cell["colour"] for cell in drawn_rows(before, "colour", place=1)} == {theme.HATCH}
    cells = [float(text.replace("−", "-")) for text in written(before, 0)]
    np.testing.assert_allclose(cells, way.x[0].ravel(), atol=0.051)
    assert page.answer(before, "first") == "All 8 numbers" and shapes(before)["?"] == ""
    after = answered(before)
    assert states(said(after), f"{exhibit.compute(Params(2, 4)).chunk:.2f}")
    assert hues(after, 1)[:8] == [0] * 4 + [1] * 4
    assert page.answer(page(d=12, h=3), "first") == "All 12 numbers"


@pytest.mark.slow
def test_the_shape_stands_at_every_step(way):
    """C040."""
    other = exhibit.compute(Params(3, 3, 6, 2)).way
    test = page(2, b=3, n=3, d=6, h=2)
    stages = [str(stage.shape) for stage in maths.stages(other)]
    assert shapes(test) == dict(zip(maths.NAMES, stages, strict=True))
    assert states(said(test), f"{other.q.size} numbers")
    assert written(test, 2) == [word for _ in range(2) for word in WORDS[:3] for _ in range(3)]
    assert written(page(3), 2)[:4] == [f"{value:.1f}" for value in way.pattern[0, 0, 0]]
    assert f"{way.scores[0, 0, 0, 0]:.3f}" in said_and_set(page(3, "equation"))


@pytest.mark.slow
def test_sizes_can_be_chosen_and_heads_that_do_not_fit_are_told():
    """C041."""
    test = page(2, d=8, h=3)
    assert states(said(test), "8 numbers", "3 heads", "cannot be divided")
    assert states(said(test), "d = 6", "d = 9")
    test.number_input[2].set_value(9).run()
    assert "(2, 4, 3, 3)" in shapes(test).values() and "cannot be divided" not in said(test)


@pytest.mark.slow
def test_the_merge_without_the_swap(way):
    """C042."""
    before = page(4)
    assert not before.toggle and page.answer(before, "merge") == 8
    test = answered(before)
    for wrong, words, colours in (
        (False, ["we"] * 8, [0] * 4 + [1] * 4),
        (True, ["we"] * 4 + ["saw"] * 4, [0] * 8),
    ):
        test.toggle[0].set_value(wrong).run()
        assert (written(test, 2)[:8], hues(test, 2)[:8]) == (words, colours)
    assert states(said(test), "8 of 32 numbers", f"{way.off:.2f}")


@pytest.mark.slow
def test_head_1_drawn_anew_and_only_head_1_changes():
    """C048, E15."""
    for step, place in ((5, 2), (6, 0)):
        assert {row["label"] for row in drawn_rows(page(step), mark="bar", place=place)} == {"?"}
    test = page(5, h=4, guess={"redraw": "All heads after it"})
    moved = maths.changed(*(maths.run_layer(maths.Sizes(2, 4, 8, 4), 0, r) for r in (0, 1)))
    bars = drawn_rows(test, mark="bar", place=2)
    assert [bar["label"] for bar in bars] == [f"{moved[0]:.2f}", "0.00", "0.00", "0.00"]
    assert [bar["colour"] for bar in bars] == list(theme.HEADS[:4]) and moved[1:].max() == 0
    assert page.answer(test, "redraw").startswith("Nothing")
    first = written(test, 1)
    test.button(key="many_heads.redrawn.again").click().run()
    again = written(test, 1)
    assert first[:8] != again[:8] and first[8:] == again[8:] and len(first) == 32


def test_one_against_several():
    test = page(6, wanted=4, guess={"several": independence.SPREADS[-1]})
    assert page.answer(test, "several") == independence.SPREADS[-1]
    assert states(said(test), "One head loses 75%", "4 heads lose 0%")
    assert states(said(test), "288", "512", "1,050,624")
    assert all(percent(loss, 1) in said(test) for loss in maths.spreads(4).values())
    bars = drawn_rows(test, "value")
    assert [bar["label"] for bar in bars][::2] == ["0.750", "0.500", "0.250", "0.000"]
    measured = [maths.measured_loss(4, m) for m in range(1, 5)]
    np.testing.assert_allclose([bar["value"] for bar in bars][1::2], measured)
    other = page(6, d=16, wanted=2, guess={"several": independence.SPREADS[0]})
    assert page.answer(other, "several") != independence.SPREADS[0]
    assert "One head loses 50%" in said(other) and f"= {maths.parameters(16)} weights" in said(other)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 2, 2, 1), (4, 6, 16, 8)])
def test_the_smallest_and_the_largest_sizes(sizes):
    for step in range(1, 6):
        test = page(step, **dict(zip("bndh", sizes, strict=True)))
        assert test.get("vega_lite_chart") and "nan" not in said(test).lower().split()
