"""What a line that invites to try something foretells comes true with the models that ship."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest

from viz.course.transformer import depth
from viz.course.transformer.feed_forward import exhibit as feed_forward
from viz.course.transformer.feed_forward import maths, units
from viz.course.transformer.feed_forward.params import MODELS, SENTENCES, Params
from viz.course.transformer.residual_norm import exhibit as residual
from viz.course.transformer.residual_norm import norms, sums


def tries(exhibit: ModuleType) -> list[str]:
    """What is invited to at each step."""
    return [step.tries for step in exhibit.EXHIBIT.text.steps]


@pytest.mark.parametrize("lot", range(4))
def test_sums_alone_grow_by_hundreds_and_without_them_the_first_layers_cannot_learn(lot: int):
    on, off = (
        depth.by_depth("none", residual=residual_on, size=1.0, n_layers=sums.LAYERS, lot=lot)
        for residual_on in (True, False)
    )
    assert "hundred" in tries(residual)[1] and 100 < on.signal[-1] / on.signal[0] < 1000
    assert on.gradient[0] >= on.gradient[-1], "“it never dies” is said with sums"
    assert off.gradient[0] < 0.1 * off.gradient[-1], "“the first layers can hardly learn” without"


@pytest.mark.quick(1)
@pytest.mark.parametrize("lot", range(4))
def test_of_three_orders_one_does_not_notice_how_small_its_parts_are(lot: int):
    grown = {
        order: [depth.by_depth(order, size=size, lot=lot).signal for size in (0.1, 1.0)]
        for order in ("post", "pre", "worded")
    }
    assert all(abs(grown[order][0][-1] / grown[order][0][0] - 1) < 0.15 for order in ("post", "pre"))
    assert grown["worded"][0][-1] / grown["worded"][0][0] > 3
    np.testing.assert_allclose(*grown["worded"], rtol=0.35)


def test_the_printed_deviation_leaves_the_variance_it_foretells():
    drawn = np.random.default_rng(0).normal(size=(1, 512))
    assert f"the variance is {1 / 512:.6f}" in tries(residual)[3]
    assert norms.maths.layer_norm(drawn, printed=True).var() == pytest.approx(1 / 512, rel=1e-3)
    assert (norms.maths.layer_norm(drawn, gain=0.0, bias=0.3) == 0.3).all()


def test_the_lines_of_the_feed_forward_network():
    fires = {model: feed_forward.compute(Params(model=model)) for model in MODELS[:2]}
    assert (
        "gpt-mini" in tries(feed_forward)[0]
        and fires["gpt-mini"].fires.mean() > 3 * fires["translator-en-es"].fires.mean()
    )
    longer = feed_forward.compute(Params(text=f"{SENTENCES[0]} It was a long and very warm day."))
    assert "fewer units" in tries(feed_forward)[2] and longer.dead < fires["translator-en-es"].dead
    x = np.linspace(-3, 0, 3001)
    lowest = x[np.argmin([value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in x])]
    assert f"near −{abs(lowest):.2f}" in tries(feed_forward)[1]
    wide, narrow = (maths.closed_form(units.BASE, d_ff) for d_ff in (4 * units.BASE, units.BASE))
    attention = 4 * units.BASE * (units.BASE + 1)
    assert f"**Try** {units.BASE}:" in tries(feed_forward)[5] and (attention + narrow) / (
        attention + wide
    ) == pytest.approx(1 / 2, abs=0.01)
