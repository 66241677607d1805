"""The plane of the exhibits in a real browser: guess, drag, and the page and Python say the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from settling import in_link, opened, settle

from viz.course.look_up import vectors_link
from viz.course.look_up.retrieval.look_up import look_up
from viz.course.look_up.retrieval.params import OPENING, VALUES

ANSWERED = '.plane[data-found^="{"]'


@pytest.mark.slow
def test_a_dragged_query_changes_weights_and_mix_in_the_page_and_in_python(visitor, app_url) -> None:
    """C015."""
    opened(visitor, f"{app_url}/retrieval?retrieval.step=3&retrieval.sharpness=2", ".plane[data-points]")

    def data(name: str):
        return json.loads(visitor.locator(".plane").get_attribute(f"data-{name}") or "0")

    assert not data("found")
    visitor.get_by_role("radio", name="k1").or_(visitor.get_by_role("button", name="k1")).first.click()
    visitor.wait_for_selector(ANSWERED)
    settle(visitor)
    before = data("found")["mix"]
    grip = visitor.locator('.grip[data-point="0"]').first
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visitor.mouse.move(x, y)
    visitor.mouse.down()
    visitor.mouse.move(x - 130, y + 10, steps=6)
    settle(visitor)
    assert data("found")["mix"] != before
    visitor.mouse.up()
    settle(visitor)
    points, found = data("points"), data("found")
    again = look_up(points[0], points[1:], VALUES[:4], sharpness=2)
    np.testing.assert_allclose(found["weights"], again.weights, rtol=1e-12)
    np.testing.assert_allclose(found["mix"], again.mix, rtol=1e-12)
    visitor.get_by_text(f"Weights {', '.join(f'{w:.3f}' for w in again.weights)}, together").first.wait_for()
    assert in_link(visitor, "retrieval.points") not in ("", vectors_link.pack(OPENING))
    visitor.reload()  # the browser brings the answer back, too
    visitor.wait_for_selector(ANSWERED)
    settle(visitor)
    assert data("points") == points, "the link brings the query back"
