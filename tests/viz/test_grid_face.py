"""The grid before it reaches the browser: kinds in order, measures, what is not sent, how many bytes it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from packets import KB, opened, sent, unrun

from viz.instruments.grid.grid import grid_packet, pool


def part(packet: Any, name: str) -> bytes:
    return packet.parts[packet.header[name]]


def test_kinds_come_in_the_order_given_then_the_clearest_first() -> None:
    kinds = [["spread", "first", "before"], ["first", "before", "spread"]]
    scores = [[0.9, 0.3, 0.5], [0.4, 0.8, 0.95]]
    header = grid_packet(np.ones((2, 3, 2, 2)), kinds=kinds, scores=scores).header
    assert header["kinds"] == ["spread", "before", "first"]
    assert [[header["kinds"][k] for k in row] for row in header["kind"]] == kinds
    assert grid_packet(np.ones((2, 3, 2, 2)), kinds=kinds, scores=scores, kind_order=["first"]).header[
        "kinds"
    ] == ["first", "spread", "before"]


def test_measures_travel_by_name_and_keep_what_is_no_number() -> None:
    entropy = np.array([[1.5, np.nan, 0.25]])
    packet = grid_packet(
        np.ones((1, 3, 2, 2)), measures={"entropy": entropy, "reach": [[1, 2, 3]]}, scores=[[0.5, np.nan, 1]]
    )
    assert packet.header["measures"] == ["entropy", "reach"]
    values = np.frombuffer(part(packet, "numbers"), "<f4").reshape(2, 1, 3)
    assert np.array_equal(values, np.stack([entropy, [[1, 2, 3]]]).astype(np.float32), equal_nan=True)
    assert packet.header["scores"] == [[0.5, None, 1.0]]
    opened(packet.to_bytes())  # no NaN in the JSON


def test_forbidden_cells_are_not_sent() -> None:
    weights = np.tril(np.random.default_rng(0).random((2, 3, 50, 50)))
    may = np.tri(50, dtype=bool)
    packet = grid_packet(weights, allowed=may)
    thumbs = pool(weights)
    open_ = unrun(part(packet, "allowed"), 32 * 32).reshape(32, 32)
    assert open_.sum() < 0.55 * 32 * 32
    levels = np.zeros_like(thumbs)
    levels[:, :, open_] = np.frombuffer(part(packet, "thumbs"), np.uint8).reshape(2, 3, -1)
    assert np.array_equal(levels, thumbs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grid_packet(np.zeros((2, 2, 2))), "3 axes"),
        (lambda: grid_packet(np.zeros((2, 2, 2, 2)), kinds=[["a"]]), "2 layers of 2"),
        (
            lambda: grid_packet(np.zeros((2, 3, 2, 2)), measures={"reach": np.zeros((3, 2))}),
            "'reach' has shape \\(3, 2\\); this run has 2 layers of 3",
        ),
        (lambda: grid_packet(np.zeros((2, 3, 2, 2)), scores=np.zeros(6)), "'scores' has shape"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


CALL = """luck = np.random.default_rng(0)
grid({weights}, key="k", kinds=[["previous word"] * 12] * 12, scores=luck.random((12, 12)), {allowed}
     measures={{name: luck.random((12, 12)) for name in "abcdefghijkl"}})"""


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_144_heads_with_12_measures_stay_within_210_kb(causal: bool) -> None:
    weights = "np.tril(luck.random((12, 12, 64, 64)))" if causal else "luck.random((12, 12, 64, 64))"
    message = sent(CALL.format(weights=weights, allowed="allowed=np.tri(64, dtype=bool)," if causal else ""))
    print(
        f"grid, 144 heads of 64 tokens, 12 measures, {'causal' if causal else 'full'}: {message.size / KB:.1f} KB of 210"
    )
    assert message.size <= (110 if causal else 210) * KB
    assert message.again <= 15 * KB
