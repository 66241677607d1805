"""The whole model in a real browser: one screen, live probabilities that are the decoder's, parts that open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from settling import settle

import core
from core.decoding import Sample

TEXT = "Once upon a time there was a little"
PICTURE = ".whole_model[data-position]"


def shown_chances(page: Any) -> list[float]:
    return [float(p) for p in page.locator(PICTURE).get_attribute("data-chances").split()]


def set_range(page: Any, place: int, value: float) -> None:
    page.locator(".whole_model .knob input").nth(place).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def test_the_right_end_follows_temperature_and_top_k_as_the_decoder_does(visitor: Any, app_url: str) -> None:
    visitor.set_viewport_size({"width": 1366, "height": 768})
    visitor.goto(f"{app_url}/whole_model?model=gpt-mini&text={TEXT.replace(' ', '+')}")
    visitor.locator(PICTURE).wait_for()
    settle(visitor)
    field = visitor.locator(".whole_model .field").bounding_box()
    assert field["y"] + field["height"] <= 768, "tokens, blocks and probabilities on one screen"
    model = core.open_model("gpt-mini")
    for temperature, k in ((1.0, 0), (0.5, 0), (1.7, 3)):
        set_range(visitor, 0, temperature)
        set_range(visitor, 1, k)
        strategy = Sample(temperature=temperature, top_k=k or None, seed=0)
        step = next(iter(core.decode(model, TEXT, strategy, max_new_tokens=1)))
        expected = sorted((candidate.after for candidate in step.candidates), reverse=True)
        seen = shown_chances(visitor)
        size = min(len(seen), len(expected))
        assert seen[:size] == pytest.approx(expected[:size], abs=1e-4), (temperature, k)
        assert len([p for p in seen if p > 0]) == (k or len(seen))


@pytest.mark.slow
def test_a_token_is_clicked_a_head_chosen_and_a_part_opened(visitor: Any, app_url: str) -> None:
    visitor.goto(f"{app_url}/whole_model?model=translator-en-es&text=She+has+a+white+car.")
    picture = visitor.locator(PICTURE)
    picture.wait_for()
    visitor.locator(".whole_model button.token").nth(3).click()
    visitor.wait_for_function("new URLSearchParams(location.search).get('whole_model.position') === '3'")
    settle(visitor)
    run = core.open_model("translator-en-es").run("She has a white car.")
    powers = np.exp(run.logits[3] - run.logits[3].max())
    assert shown_chances(visitor)[0] == pytest.approx(float(powers.max() / powers.sum()), abs=1e-4)
    visitor.get_by_label("Head of the cross-attention in layer 1").select_option("5")
    visitor.wait_for_function(
        "(new URLSearchParams(location.search).get('whole_model.view') ?? '').includes('cross.1:')"
    )
    visitor.get_by_role("button", name="Open the arithmetic of this cross-attention in layer 1").click()
    visitor.wait_for_function("location.pathname === '/' || location.pathname === '/look'")
    visitor.wait_for_function("new URLSearchParams(location.search).get('head') === '5'")
    assert "layer=1" in visitor.url and "kind=cross" in visitor.url and "view=full" in visitor.url
