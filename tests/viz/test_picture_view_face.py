"""A picture under cells before it reaches the browser: what travels, what is refused, how many bytes it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from packets import KB, opened, unpacked

from viz import picture_view as in_a_notebook
from viz.instruments.kit.head_stack import HeadContext, make_stack
from viz.instruments.picture.picture import PictureView, picture_packet

GREY = np.arange(28 * 21, dtype=np.uint8).reshape(28, 21)
LOOK = np.random.default_rng(0).dirichlet(np.full(7, 0.3), size=7)


def test_all_rows_and_the_pixels_as_they_are_travel_in_one_packet() -> None:
    packet = picture_packet(GREY, LOOK, (2, 3), special=["class token"])
    data = packet.to_bytes()
    header, body = opened(data)
    at, size = header["parts"][header["pixels"]][:2]
    assert np.array_equal(np.frombuffer(body[at : at + size], np.uint8).reshape(header["image"]), GREY)
    assert np.array_equal(unpacked(data).astype(np.float32), LOOK.astype(np.float32))
    assert header["keys"][:3] == ["class token", "row 1, column 1", "row 1, column 2"]
    assert header["asks"] is None and header["limit"] == pytest.approx(LOOK[:, 1:].max())


def test_all_heads_come_along_and_one_is_named() -> None:
    heads = np.random.default_rng(1).dirichlet(np.full(7, 0.3), size=(2, 3, 7))
    packet = picture_packet(
        GREY, heads[1, 2], (2, 3), special=["class token"], among=HeadContext(make_stack(heads), (1, 2))
    )
    assert packet.header["at"] == [1, 2] and "values" not in packet.header
    assert packet.header["limit"] == pytest.approx(heads[1, 2, :, 1:].max())


def test_what_is_masked_or_not_finite_does_not_stretch_the_scale() -> None:
    look, may = LOOK.copy(), np.ones_like(LOOK, dtype=bool)
    look[0, 3], look[1, 4], may[1, 4] = np.inf, 9.0, False
    header = picture_packet(GREY, look, (2, 3), special=["class token"], allowed=may).header
    assert header["limit"] == pytest.approx(look[:, 1:][np.isfinite(look[:, 1:]) & may[:, 1:]].max())
    assert picture_packet(GREY, LOOK, (2, 3), special=["cls"], limit=0.5).header["limit"] == 0.5
    assert picture_packet(GREY, np.zeros((0, 6)), (2, 3), rows=[]).header["selected"] is None


def test_ground_is_measured_and_cells_have_the_names_that_are_given() -> None:
    for pixels, ground in ((GREY // 4, "dark"), (255 - GREY // 4, "light")):
        assert (
            picture_packet(pixels, LOOK[:, 1:], (2, 3), rows=["a", "b", "c", "d", "e", "f", "g"]).header[
                "ground"
            ]
            == ground
        )
    sound = picture_packet(GREY, LOOK[:1], (1, 7), rows=["s"], called=[f"{i} s" for i in range(7)]).header
    assert sound["keys"][6] == "6 s" and sound["asks"] == ["s"]
    assert (
        "the model"
        in picture_packet(GREY, LOOK, (1, 7), subject="the model", rows="abcdefg").header["say"]["looks"]
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"pixels": np.zeros((2, 2, 4))}, "2, 2, 4"),
        ({"pixels": np.zeros((0, 4))}, "0, 4"),
        ({"pixels": np.full((2, 2), 300)}, "300"),
        ({"pixels": np.full((2, 2), np.nan)}, "nan"),
        ({"pixels": np.zeros((1001, 1000))}, "1,001,000"),
        ({"cells": (2, 2)}, "5 key labels for 7"),
        ({"cells": (0, 7)}, "0 by 7"),
        ({"cells": (40, 40)}, "1,024"),
        ({"rows": ["one"]}, "1 query labels for 7"),
        ({"weights": LOOK[:2]}, "2 queries and 7 keys"),
        ({"called": ["x"]}, "1 cell labels for 6"),
        ({"ground": "grey"}, "dark, light"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_numbers(change: dict[str, Any], told: str) -> None:
    given = {"pixels": GREY, "weights": LOOK, "cells": (2, 3), "special": ["cls"]} | change
    with pytest.raises(ValueError, match=told):
        PictureView(**given).packet()


def test_a_caption_over_a_scene_takes_less_than_25_kb() -> None:
    look = np.random.default_rng(0).dirichlet(np.ones(64), 14)
    packet = picture_packet(np.zeros((64, 64, 3)), look, (8, 8), rows=["word"] * 14)
    assert packet.header["kind"] == "f32" and len(packet.to_bytes()) < 25 * KB


def test_a_notebook_shows_it_with_numbers_of_any_program() -> None:
    picture = in_a_notebook(GREY, LOOK, (2, 3), special=["<b>"], title="Layer 0, head 1")
    assert repr(picture) == "<Picture: Layer 0, head 1>" and "<b>" not in picture.html().split("</script>")[0]
