"""The plane of the exhibits in a real browser: guess, drag, and the page and Python say the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from settling import settle
from shown_values import stating

from viz.course.look_up import vectors_link
from viz.course.look_up.retrieval.look_up import look_up
from viz.course.look_up.retrieval.params import OPENING, VALUES


def drag(page, number: int, dx: float, dy: float) -> None:
    page.locator(f'.grip[data-point="{number}"]').first.scroll_into_view_if_needed()
    box = page.locator(f'.grip[data-point="{number}"]').first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=6)


def found(page) -> dict:
    return json.loads(page.locator(".plane").get_attribute("data-found"))


@pytest.mark.slow
def test_a_dragged_query_changes_weights_and_mix_in_the_page_and_in_python(visitor, app_url) -> None:
    """C015."""
    visitor.goto(f"{app_url}/retrieval?retrieval.step=3&retrieval.sharpness=2")
    visitor.wait_for_selector(".plane[data-points]")
    assert not visitor.locator(".plane").get_attribute("data-found")
    visitor.get_by_role("radio", name="k1").or_(visitor.get_by_role("button", name="k1")).first.click()
    visitor.wait_for_selector('.plane[data-found^="{"]')
    settle(visitor)
    before = found(visitor)
    drag(visitor, 0, -130, 10)
    settle(visitor)
    during = found(visitor)
    assert during["mix"] != before["mix"]
    visitor.mouse.up()
    settle(visitor)
    points = json.loads(visitor.locator(".plane").get_attribute("data-points"))
    again = look_up(points[0], points[1:], VALUES[:4], sharpness=2)
    np.testing.assert_allclose(found(visitor)["weights"], again.weights, rtol=1e-12)
    np.testing.assert_allclose(found(visitor)["mix"], again.mix, rtol=1e-12)
    visitor.get_by_text(f"Weights {', '.join(f'{w:.3f}' for w in again.weights)}, together").first.wait_for()
    opening = vectors_link.pack(OPENING)
    assert (
        opening not in visitor.url.split("retrieval.points=")[-1].split("&")[0]
        and "retrieval.points=" in visitor.url
    )
    visitor.reload()  # the browser brings the answer back, too
    visitor.wait_for_selector(".plane[data-points]")
    visitor.wait_for_selector('.plane[data-found^="{"]')
    settle(visitor)
    assert json.loads(visitor.locator(".plane").get_attribute("data-points")) == points, (
        "the link brings the query back"
    )


@pytest.mark.slow
def test_another_word_in_the_ring_is_the_answer(visitor, app_url) -> None:
    visitor.goto(f"{app_url}/word_vectors")
    visitor.wait_for_selector(".plane[data-points]")
    visitor.get_by_role("radio", name="queen").or_(visitor.get_by_role("button", name="queen")).first.click()
    visitor.wait_for_selector('.plane[data-found^="{"]')
    settle(visitor)
    assert found(visitor)["target"] == [0, 1]
    drag(visitor, 3, -150, 150)
    visitor.mouse.up()
    settle(visitor)
    points, other = json.loads(visitor.locator(".plane").get_attribute("data-points")), found(visitor)
    far = {i: float(np.hypot(points[i][0], points[i][1] - 1)) for i in (3, 4, 5, 6)}
    nearest = min(far, key=far.get)
    assert other["order"][0][0] == nearest and nearest != 3
    name = ["king", "man", "woman", "queen", "boy", "girl", "apple"][nearest]
    visitor.get_by_text(stating("nearest", f"“{name}”")).first.wait_for()
