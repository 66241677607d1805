"""What is written on a share can be read, in both palettes."""

from __future__ import annotations

import numpy as np
import pytest

from viz import theme
from viz.figures.layers import lens_table


def between(colours: tuple[str, ...], share: float) -> str:
    """The ramp at a share, as Vega interpolates it."""
    at = share * (len(colours) - 1)
    first = min(int(at), len(colours) - 2)
    one, other = ([int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours[first : first + 2])
    return "#" + "".join(f"{round(a + (b - a) * (at - first)):02x}" for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_words_on_a_share_are_in_the_ink_that_is_easier_to_read(palette: theme.Palette) -> None:
    for share in np.linspace(0, 1, 101):
        ground = between(palette.sequential, float(share))
        ink = palette.background if share > theme.INK_TURNS else palette.text
        assert theme.contrast(ink, ground) >= 3.8, (share, ink, ground)


def test_the_logit_lens_turns_its_ink_there() -> None:
    text = lens_table([["a", "b"]], np.array([[0.1, 0.9]]), ["the"], ["in", "0"]).to_dict()["layer"][1]
    assert text["encoding"]["color"]["condition"]["test"] == f"datum.chance > {theme.INK_TURNS}"


def test_a_chart_has_no_node_for_each_mark() -> None:
    config = theme.altair_config()
    assert config["aria"] is False and config["mark"]["aria"] is False
