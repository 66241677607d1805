"""The plane in a real browser: what the page computes while a vector is dragged is what Python computes when it is let go."""

from __future__ import annotations

import json

import numpy as np
import pytest
from settling import settle, until
from shown_values import states

from viz.course.look_up.retrieval.look_up import look_up

APP = """
import streamlit as st
from viz.course.look_up.retrieval.look_up import look_up
from viz.instruments import Point, Score, moved_points, plane
st.set_page_config(layout="wide")
W = ((0.4, -1.2), (0.7, 0.3))
ALL = (Score("dot", label="dot"), Score("scaled", label="scaled"), Score("cosine", label="cosine"), Score("cosine", 5, label="with beta"), Score("general", label="general", w=W),
       Score("linear", label="linear", q=(1, 2), k=(-1, 0.5)), Score("additive", label="additive", w=((1, 0.5, -1, 2), (0.3, 1, 1, -1), (2, 2, 0, 1)), v=(1, -2, 0.5)),
       Score("location", label="location", w=((1, 0), (0, 1), (-1, 1), (2, 2))))
show = st.query_params.get("show", "one")
if show == "sum":
    words = [Point(n, at, "word") for n, at in dict(king=(1, 1), man=(1, 0), woman=(0, 0), queen=(0, 1), apple=(-1, -1)).items()]
    put = moved_points("p", words)
    if put: words = [Point(w.name, at, "word") for w, at in zip(words, put[0])]
    plane(words, key="p", plus=(0, 2), minus=(1,))
    st.stop()
opening = [Point("query", (1.2, 0.6), "query"), Point("k1", (1.5, 0.2)), Point("k2", (0.2, 1.4)), Point("k3", (-1.3, 0.4)), Point("<b>k4</b>", (-0.3, -1.4))]
values = [(1.5, 1.5), (-1.5, 1), (-1, -1.5), (1.2, -1)]
put = moved_points("p", opening, values=4)
points = [Point(p.name, at, p.role) for p, at in zip(opening, put[0])] if put else opening
values = put[1] if put else values
plane(points, key="p", values=values, scores=ALL if show == "all" else (Score("dot", 2),), on_move=lambda: None)
if show == "one":
    plane(opening, key="b", values=values, scores=(Score("dot", 2),), blind=True)
found = look_up(points[0].position, [p.position for p in points[1:]], values, sharpness=2)
st.text("python " + " ".join(f"{v:.6f}" for v in (*found.weights, *found.mix)))
"""


def move(seen, number: int, dx: float, dy: float) -> None:
    box = seen.page.locator(f'.board:first-of-type .grip[data-point="{number}"]').first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + dx, y + dy, steps=8)


def agree(seen, scores: list[dict]) -> dict:
    """What the page found, after it was computed again here from where its points are."""
    points, values, found = (json.loads(seen.attribute(name)) for name in ("points", "values", "found"))
    for score, every in zip(scores, found["every"], strict=True):
        again = look_up(points[0], points[1:], values or points[1:], **score)
        np.testing.assert_allclose(every["scores"], again.scores, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(every["weights"], again.weights, rtol=1e-12, atol=1e-12)
    shown = look_up(points[0], points[1:], values or points[1:], **scores[0])
    np.testing.assert_allclose(found["mix"], shown.mix, rtol=1e-12, atol=1e-12)
    return found


def test_a_dragged_query_is_computed_alike_in_the_page_and_in_python_and_a_blind_plane_gives_nothing_away(
    visit,
) -> None:
    seen = visit("one")
    blind = seen.page.locator(".atlas").nth(1)
    assert not seen.attribute("found", 1) and blind.locator(".grip").count() == 0
    assert not blind.locator(".rows").is_visible() and blind.locator(".told").inner_text() == ""
    before = agree(seen, [{"rule": "dot", "sharpness": 2}])
    sent = len(seen.sent)
    move(seen, 0, -150, 40)
    settle(seen.page)
    during = agree(seen, [{"rule": "dot", "sharpness": 2}])
    assert during["weights"] != before["weights"] and len(seen.sent) == sent, (
        "nothing is sent while it is dragged"
    )
    seen.page.mouse.up()
    settle(seen.page)
    found = agree(seen, [{"rule": "dot", "sharpness": 2}])
    assert found == during
    seen.says("python " + " ".join(f"{v:.6f}" for v in (*found["weights"], *found["mix"])))
    seen.page.locator('.grip[data-point="0"]').first.focus()
    x, y = json.loads(seen.attribute("points"))[0]
    seen.press("ArrowRight", "ArrowRight", "Shift+ArrowUp")
    until(seen.page, lambda: np.allclose(json.loads(seen.attribute("points"))[0], [x + 0.2, y + 0.01]))
    found = agree(seen, [{"rule": "dot", "sharpness": 2}])
    seen.says("python " + " ".join(f"{v:.6f}" for v in (*found["weights"], *found["mix"])))
    assert "<b>k4</b>" in seen.text(".plane .rows")


@pytest.mark.slow
def test_all_scores_at_once_and_a_phone(visit) -> None:
    w = ((0.4, -1.2), (0.7, 0.3))
    every = [
        {"rule": "dot"},
        {"rule": "scaled"},
        {"rule": "cosine"},
        {"rule": "cosine", "sharpness": 5},
        {"rule": "general", "w": w},
        {"rule": "linear", "q": (1, 2), "k": (-1, 0.5)},
        {"rule": "additive", "w": ((1, 0.5, -1, 2), (0.3, 1, 1, -1), (2, 2, 0, 1)), "v": (1, -2, 0.5)},
        {"rule": "location", "w": ((1, 0), (0, 1), (-1, 1), (2, 2))},
    ]
    seen = visit("all")
    before = agree(seen, every)
    move(seen, 0, -120, -60)
    seen.page.mouse.up()
    settle(seen.page)
    after = agree(seen, every)
    assert np.allclose(before["every"][5]["weights"], after["every"][5]["weights"]), (
        "linear additive does not see the query"
    )
    phone = visit("all", 390)
    assert phone.width() <= 390 and phone.attribute("layout") == "stack"


@pytest.mark.slow
def test_words_are_added_and_the_nearest_follows_the_hand(visit, tmp_path) -> None:
    seen = visit("sum")
    found = json.loads(seen.attribute("found"))
    assert found["target"] == [0, 1] and found["order"][0] == [3, 0]
    assert states(seen.text(".plane .told"), "king − man + woman = (0.00, 1.00)", "queen, 0.00")
    move(seen, 3, 0, 250)
    seen.page.mouse.up()
    settle(seen.page)
    points, found = json.loads(seen.attribute("points")), json.loads(seen.attribute("found"))
    distance = [np.hypot(*np.subtract(points[i], [0, 1])) for i in (3, 4)]
    assert [i for i, _ in found["order"]] == [3 + int(i) for i in np.argsort(distance)]
    assert seen.saved("svg", tmp_path).read_text("utf-8").count("queen") >= 1
