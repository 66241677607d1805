"""The plane of the eight score functions in a real browser: a dragged query goes into the link, and all tables follow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from settling import settle

from viz.course.look_up.score_functions import params
from viz.course.look_up.score_functions.maths import eight


@pytest.mark.slow
def test_a_dragged_query_moves_every_table_but_the_linear_one(visitor, app_url) -> None:
    """C017, C018."""
    visitor.goto(f"{app_url}/score_functions?score_functions.step=2")
    visitor.wait_for_selector('.plane[data-found^="{"]')
    settle(visitor)
    before = json.loads(visitor.locator(".plane").get_attribute("data-found"))["every"]
    grip = visitor.locator('.grip[data-point="0"]').first
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visitor.mouse.move(x, y)
    visitor.mouse.down()
    visitor.mouse.move(x - 90, y - 40, steps=6)
    visitor.mouse.up()
    settle(visitor)
    points = json.loads(visitor.locator(".plane").get_attribute("data-points"))
    after = json.loads(visitor.locator(".plane").get_attribute("data-found"))["every"]
    for function, found, old in zip(eight(), after, before, strict=True):
        np.testing.assert_allclose(found["weights"], function.weights(points[0], points[1:]), atol=1e-9)
        moved = float(np.abs(np.subtract(found["weights"], old["weights"])).max())
        assert moved < 1e-12 if function.name == "linear" else moved > 1e-4, function.name
    visitor.wait_for_url("**score_functions.at=**")
    kept = visitor.evaluate("new URL(location.href).searchParams.get('score_functions.at')")
    np.testing.assert_allclose(params.places(kept)[0], points[0], atol=0.006)
