"""The exhibit on many heads without a browser: shapes at every step, the wrong merge, head 1 anew, one against several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers, layer
from exhibit_pages import drawn, said, said_and_set
from shown_values import states

from viz import theme
from viz.course.self_attention.charts.head_grids import ABOVE, head_grid
from viz.course.self_attention.many_heads import exhibit, independence, maths
from viz.course.self_attention.many_heads.params import WORDS, Params
from viz.labels import percent

DATA = exhibit.compute(Params(2, 4))


def page(*folded: str, state: dict[str, object] | None = None, **link: str):
    return drawn(
        "many_heads",
        {f"many_heads.{name}": value for name, value in ({"b": "2", "n": "4"} | link).items()},
        {f"fold:{name}": True for name in folded} | (state or {}),
        guarded=True,
    )


def written(test: Any, place: int) -> list[str]:
    """What stands in the cells of a grid, row after row."""
    cells = drawn_rows(test, "colour", place=place)
    assert cells == drawn_rows(test, "xm", place=place), "the cells, and their texts"
    return [cell["text"] for cell in cells]


def told(name: str, answer: object) -> dict[str, object]:
    """What the session holds once that question has been answered."""
    return {f"predict:many_heads.{name}": answer}


@pytest.mark.slow
def test_the_page_opens_with_a_question_and_covers_the_projection():
    test = page()
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    assert not test.get("plotly_chart") and len(test.get("vega_lite_chart")) == 2
    covered = drawn_rows(test, "colour", place=1)
    assert (
        all(
            set(cell) == {"x", "x2", "y", "y2", "colour"} and cell["colour"] == theme.HATCH
            for cell in covered
        )
        and len(covered) == 4 * 8
        and "?" in [each["mark"].get("text") for each in find_layers(test, mark="text", place=1)]
    )
    np.testing.assert_allclose(
        [float(text.replace("−", "-")) for text in written(test, 0)], DATA.way.x[0].ravel(), atol=0.051
    )
    assert "(2, 4, 2, 4)" not in said(test).replace("\u00a0", " ") and "sum over all 8" not in said(test)
    known = page(state=told("first", "All 8 numbers"))
    assert "Right." in said(known) and states(said(known), f"{DATA.chunk:.2f}")
    words = [row["text"] for row in all_rows(known, "text", mark="text", place=1)]
    assert {"head 1", "head 2", "project", "(2, 4, 8)", "to_q(x)"} <= {*words}
    hues = [cell["colour"] for cell in drawn_rows(known, "colour", place=1)]
    assert hues[:8] == [theme.HEADS[0]] * 4 + [theme.HEADS[1]] * 4
    wider = page(d="12", h="3", state=told("first", "Its own piece, 4 of 12"))
    assert states(said(wider), "“All 12 numbers”")


@pytest.mark.slow
def test_the_shape_stands_at_every_step():
    """C040."""
    way = exhibit.compute(Params(3, 3, 6, 2)).way
    test = page(step="2", b="3", n="3", d="6", h="2")
    line = next(element.value for element in test.markdown if "→" in element.value).replace("\u00a0", " ")
    assert [part.split("`")[1] for part in line.split(" → ")] == [
        str(stage.shape) for stage in maths.stages(way)
    ]
    assert [part.split("`")[0].strip("* ").replace("\\", "") for part in line.split(" → ")] == list(
        maths.NAMES
    )
    assert states(said(test), f"{way.q.size} numbers")
    words = written(test, 2)
    assert words == [word for _ in range(2) for word in WORDS[:3] for _ in range(3)]
    values = written(page(step="3"), 2)
    assert values[:4] == [f"{value:.1f}" for value in DATA.way.pattern[0, 0, 0]]


@pytest.mark.slow
def test_sizes_can_be_chosen_and_heads_that_do_not_fit_are_told():
    """C041."""
    test = page(d="8", h="3", step="2")
    assert not test.exception and states(said(test), "8 numbers", "3 heads", "cannot be divided")
    assert states(said(test), "d = 6", "d = 9")
    assert [(box.label.rpartition(", ")[2], box.value) for box in test.number_input] == [
        ("B", 2),
        ("n", 4),
        ("d", 8),
        ("h", 3),
        ("Draw", 0),
    ]
    test.number_input[2].set_value(9).run()
    assert "(2, 4, 3, 3)" in said(test).replace("\u00a0", " ") and "cannot be divided" not in said(test)


@pytest.mark.slow
def test_the_merge_without_the_swap():
    """C042."""
    way = DATA.way
    before = page(step="4")
    assert not before.toggle and "8 of 32" not in said(before)
    test = before
    test.slider(key="predict:many_heads.merge").set_value(8)
    test.button(key="predict:many_heads.merge:commit").click().run()
    assert written(test, 2)[:8] == ["we"] * 8
    test.toggle[0].set_value(True).run()
    assert "Exactly: it is 8." in said(test)
    assert states(said(test), "8 of 32 numbers", f"{way.off:.2f}")
    assert written(test, 2)[:8] == ["we"] * 4 + ["saw"] * 4
    assert hues(test, 2)[:8] == [0] * 8
    test.toggle[0].set_value(False).run()
    assert written(test, 2)[:8] == ["we"] * 8 and hues(test, 2)[:8] == [0] * 4 + [1] * 4


@pytest.mark.slow
def test_head_1_drawn_anew_and_only_head_1_changes():
    """C048, E15."""
    covered = page(step="5")
    assert {(row["value"], row["label"]) for row in drawn_rows(covered, mark="bar", place=2)} == {(0.0, "?")}
    test = page(step="5", h="4", state=told("redraw", "All heads after it"))
    moved = maths.changed(*(maths.run_layer(maths.Sizes(2, 4, 8, 4), 0, r) for r in (0, 1)))
    assert "“Nothing" in said(test) and "the others by 0." in said(test)
    bars = drawn_rows(test, mark="bar", place=2)
    assert [bar["label"] for bar in bars] == [f"{moved[0]:.2f}", "0.00", "0.00", "0.00"] and moved[
        1:
    ].max() == 0
    assert [bar["colour"] for bar in bars] == list(theme.HEADS[:4])
    first = written(test, 1)
    test.button(key="many_heads.redrawn.again").click().run()
    again = written(test, 1)
    assert first[:8] != again[:8] and first[8:] == again[8:] and len(first) == 32


def test_one_against_several():
    test = page(step="6", wanted="4")
    assert (
        [(bar["value"], bar["label"]) for bar in drawn_rows(test, "value")] == [(0.0, "?")] * 8
        and "75" not in said(test)
        and states(said(test), "288", "512", "1,050,624")
    )
    test = page(step="6", wanted="4", state={"predict:many_heads.several": independence.SPREADS[-1]})
    assert "Right." in said(test) and states(said(test), "One head loses 75%", "4 heads lose 0%")
    assert all(percent(loss, 1) in said(test) for loss in maths.spreads(4).values())
    assert [bar["label"] for bar in drawn_rows(test, "value")][::2] == ["0.750", "0.500", "0.250", "0.000"]
    np.testing.assert_allclose(
        [bar["value"] for bar in drawn_rows(test, "value")][1::2],
        [maths.measured_loss(4, m) for m in range(1, 5)],
    )
    other = page(step="6", d="16", wanted="2", state={"predict:many_heads.several": independence.SPREADS[0]})
    assert (
        "Right." not in said(other)
        and "One head loses 50%" in said(other)
        and f"= {maths.parameters(16)} weights" in said(other)
    )


def test_the_numbers_of_a_row_stand_below_the_equation():
    test = page("many_heads.equation", step="3")
    assert f"{DATA.way.scores[0, 0, 0, 0]:.3f}" in said_and_set(test)
    assert "second repeat" in said(page("Many heads.documents", step="3"))


@pytest.mark.slow
def test_the_smallest_and_the_largest_sizes():
    every: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
        ({"b": "1", "n": "2", "d": "2", "h": "1"}, (1, 4, 5)),
        ({"b": "4", "n": "6", "d": "16", "h": "8"}, (2, 3, 5)),
    )
    for link, steps_shown in every:
        for step in steps_shown:
            test = page(step=str(step), **link)
            assert (
                not test.exception and test.get("vega_lite_chart") and "nan" not in said(test).lower().split()
            )


def test_figures_as_data():
    shown = head_grid(np.array([[0, 1]]), np.array([["<b>", "x"]]), ["<i>"], title="t", shape="(1)").to_dict()
    assert [cell["text"] for cell in shown["data"]["values"]] == ["<b>", "x"] and layer(shown, "colour")[
        "encoding"
    ]["y"]["axis"]["labelExpr"].startswith('["<i>"][')
    stacked = head_grid(
        np.array([[[0]], [[1]]]),
        np.array([[["a"]], [["b"]]]),
        ["w"],
        title="t",
        shape="(1)",
        stacked=True,
        pixels=20,
    ).to_dict()
    upper, lower = drawn_rows(stacked, "colour")
    names = drawn_rows(stacked, "text", "x", "y", mark="text")
    assert upper["y2"] + ABOVE * 20 == lower["y"] and [name["y"] for name in names] == [
        upper["y"],
        lower["y"],
    ]
    small = head_grid(
        np.array([[0, 1]]), np.array([["a", "b"]]), ["w"], title="t", shape="(1)", pixels=8
    ).to_dict()
    assert [layer["mark"]["type"] for layer in small["layer"]] == [
        "rect",
        "text",
        "text",
        "text",
    ] and not layer(small, "colour")["encoding"]["y"]["axis"]["labels"]  # no text in the cells
    assert exhibit.thumbnail().count("<rect") == 3 * 6


def hues(test: Any, place: int) -> list[int]:
    """The head whose colour each cell of a grid has."""
    return [theme.HEADS.index(cell["colour"]) for cell in drawn_rows(test, mark="rect", place=place)]


@pytest.mark.slow
def test_before_a_room_the_merge_has_three_grids_without_code():
    test = drawn("many_heads", {"present": "1", "many_heads.step": "4"}, {})
    assert not test.exception and len(test.get("vega_lite_chart")) == 3
    assert not any(".transpose(" in str(row) for row in all_rows(test, mark="text", place=1))
    assert [part.split("`")[0].strip("* ").replace("\\", "") for part in shape_line(test).split(" → ")] == [
        "…",
        "softmax",
        "out",
        "transpose back",
        "flatten",
        "W_O",
    ]


def test_before_a_room_the_shapes_end_where_nothing_is_told_yet():
    test = drawn("many_heads", {"present": "1"}, {})
    assert shape_line(test).replace("\u00a0", " ") == "**x** `(1, 3, 8)` → ?"
    told_all = drawn("many_heads", {"present": "1"}, told("first", "All 8 numbers"))
    assert [part.split("`")[0].strip("* ") for part in shape_line(told_all).split(" → ")] == [
        "x",
        "project",
        "view",
        "…",
    ]


def shape_line(test: Any) -> str:
    return next(element.value for element in test.markdown if "→" in element.value)
