"""The first exhibit in a real browser: a slider shades all words at once, and Python hears it when it is let go."""

from __future__ import annotations

import numpy as np
import pytest

from viz.course.shared.weighting import BY_HAND, softmax
from viz.labels import percent


@pytest.mark.slow
def test_a_slider_shades_the_words_and_reaches_the_sentence_and_the_link(visitor, app_url: str) -> None:
    """C001."""
    visitor.goto(f"{app_url}/weighting?weighting.step=2")
    words = visitor.locator(".weighing")
    words.locator(".share").first.wait_for()
    shown = np.array([float(x) for x in words.get_attribute("data-weights").split()])
    np.testing.assert_allclose(shown, softmax(BY_HAND), atol=1e-4)
    slider = words.locator(".slider").nth(2)
    slider.focus()
    slider.press("End")
    raw = [*BY_HAND[:2], 5.0, *BY_HAND[3:]]
    visitor.wait_for_url("**weighting.source=own**")
    visitor.get_by_text(f"“is” gets {percent(softmax(raw)[2], 2)}").wait_for()
    shown = np.array([float(x) for x in words.get_attribute("data-weights").split()])
    np.testing.assert_allclose(shown, softmax(raw), atol=1e-4)
    visitor.reload()
    visitor.get_by_text(f"“is” gets {percent(softmax(raw)[2], 2)}").wait_for()
