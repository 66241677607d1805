"""What is written on a share can be read, in both palettes."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from drawn_layers import layer

from viz import theme
from viz.charts import marks
from viz.charts.layers import lens_table
from viz.labels import percent


def between(colours: tuple[str, ...], share: float) -> str:
    """The ramp at a share, as Vega interpolates it."""
    at = share * (len(colours) - 1)
    first = min(int(at), len(colours) - 2)
    one, other = ([int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours[first : first + 2])
    return "#" + "".join(f"{round(a + (b - a) * (at - first)):02x}" for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_on_a_share_can_be_read(dark: bool) -> None:
    seen, palette = (theme.in_dark if dark else lambda colours: colours), theme.DARK if dark else theme.LIGHT
    for share in np.linspace(0, 1, 1001).tolist():
        ground, ink = between(palette.sequential, share), seen([theme.text_colour(share)])[0]
        assert theme.contrast(ink, ground) >= theme.READABLE, (share, ink, ground)
    for share, colours in itertools.product(
        np.linspace(0, 1, 101).tolist(), (theme.LIGHT.sequential, theme.LIGHT.diverging)
    ):
        ground, ink = seen(theme.shade(share, colours))
        assert theme.contrast(ink, ground) >= theme.READABLE, (share, ink, ground)


def test_charts_turn_their_ink_there() -> None:
    lens = layer(lens_table([["a", "b"]], np.array([[0.1, 0.9]]), ["the"], ["in", "0"]), mark="text")
    shares = layer(marks.cells(pd.DataFrame({"A": [0.2], "B": [0.8]})), mark="text")
    for text in (lens, shares):
        assert text["encoding"]["color"] == {
            "condition": {"test": f"datum.value > {theme.INK_TURNS}", "value": theme.HIGH_INK},
            "value": theme.LOW_INK,
        }


def test_a_chart_has_no_node_for_each_mark() -> None:
    config = theme.altair_config()
    assert config["aria"] is False and config["mark"]["aria"] is False


def test_no_bar_calls_a_probability_nought_or_all_that_is_not() -> None:
    chart = marks.bars(pd.Series([0.9995, 0.0002, 0.0], list("abc")), percent).to_dict()
    assert [bar["label"] for bar in chart["data"]["values"]] == [">99.9%", "<0.1%", "0%"]
