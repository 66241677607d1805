"""The Python side of the heatmap: what is sent is true, shares one budget, and is refused when it does not fit."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from packets import opened, unstepped
from streamlit.testing.v1 import AppTest

from viz.instruments.heatmap.heatmap import heatmap_packet
from viz.instruments.kit import component
from viz.instruments.kit.payload import Layer, Packet, budget, identity
from viz.instruments.kit.rice import pack, size


def sent(packet: Packet, prefix: str = "") -> np.ndarray:
    """The cells of one matrix as the browser reads them, in row-major order, without the forbidden ones."""
    header, cells = packet.header, packet.parts[packet.header[prefix + "values"]]
    kind, step = header[prefix + "kind"], header[prefix + "step"]
    if kind != "steps":
        return np.frombuffer(cells, dtype={"f32": "<f4", "f16": "<f2"}[kind]).astype(np.float64)
    total = int(np.prod(header[prefix + "shape"]))
    assert "allowed" not in header, "only for matrices without a mask"
    levels = unstepped(cells, total)
    return (
        np.where(levels % 2, -(levels + 1) / 2, levels / 2) * step
        if header[prefix + "signed"]
        else levels * step
    )


def head(n: int, causal: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    scores, allowed = (
        random.normal(size=(n, n)) * 2,
        np.tri(n, dtype=bool) if causal else np.ones((n, n), dtype=bool),
    )
    exp = np.exp(scores) * allowed
    return scores, exp / exp.sum(axis=1, keepdims=True), allowed, np.abs(random.normal(size=n)) + 0.5


def words(n: int) -> list[str]:
    return [f"word{i % 97}" for i in range(n)]


# ---------------------------------------------------------------- steps


@given(arrays(np.uint16, some.integers(0, 400), elements=some.integers(0, 65535) | some.integers(0, 9)))
def test_steps_come_back_and_are_as_long_as_said(levels: np.ndarray) -> None:
    data = pack(levels)
    assert np.array_equal(unstepped(data, levels.size), levels)
    assert size(levels) == len(data)


def test_a_long_text_is_known_better_than_by_bytes() -> None:
    """One byte a cell would round an even look at 512 tokens to nothing; steps keep it, in less room."""
    packet = Packet()
    packet.add_matrix(np.full((512, 512), 1 / 512))
    assert packet.header["kind"] == "steps"
    assert abs(sent(packet) - 1 / 512).max() <= 0.5e-4
    _, weights, _, _ = head(512)
    packet = Packet()
    packet.add_matrix(weights)
    assert len(packet.to_bytes()) < 512 * 512
    assert abs(sent(packet) - weights.ravel()).max() <= 0.5e-4 + 1e-12


def test_the_size_of_very_many_numbers_is_estimated_a_little_high() -> None:
    levels = np.rint(head(512)[1].ravel() * 10000).astype(np.uint16)
    assert len(pack(levels)) <= size(levels) <= 1.05 * len(pack(levels))


# ---------------------------------------------------------------- lenses in one budget


FURTHER: dict[str, Any] = {
    "scores": ("scores",),
    "sizes": ("scores", "sizes"),
    "products": ("scores", "products"),
}


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("further", FURTHER)
@pytest.mark.parametrize("n", [24, 32, 33, 64, 100, 128, 512])
def test_all_lenses_share_the_budget_of_one_head(n: int, further: str, causal: bool) -> None:
    scores, weights, allowed, sizes = head(n, causal)
    given_too = {"scores": scores}
    if "sizes" in FURTHER[further]:
        given_too["values"] = sizes
    if "products" in FURTHER[further]:
        given_too["values"] = weights * sizes
    packet = heatmap_packet(
        weights, words(n), words(n), allowed=allowed, title="Layer 2, head 5", **given_too
    )
    packet.add("code", b"")
    bytes_ = len(packet.to_bytes()) + 2000  # with the loader and Streamlit's own
    print(
        f"n={n} {further} causal={causal}: {bytes_} of {budget(n)}, weights {packet.header['kind']} {packet.header['step']:.2g}, scores {packet.header['scores.step']:.2g}"
    )
    assert bytes_ <= budget(n)
    assert packet.header["step"] <= 8 * (1 / 1000)


def test_a_whole_message_stays_within_its_budget() -> None:
    script = """
import numpy as np
from viz.instruments import heatmap
n = 64
s = np.random.default_rng(0).normal(size=(n, n)) * 2
w = np.exp(s) / np.exp(s).sum(1, keepdims=True)
words = [f"word{i}" for i in range(n)]
heatmap(w, words, words, key="k", scores=s, values=np.ones(n), title="Layer 2, head 5")
"""
    at = AppTest.from_string(script).run(timeout=30)
    first = at.get("bidi_component")[0].proto
    data = first.bytes
    header = opened(data)[0]
    at.session_state[component._SENT] = {identity(component.BOOT), header["code"], header["kit"]}
    message = at.run(timeout=30).get("bidi_component")[0].proto.ByteSize()
    print(f"weights, scores and sizes of 64 tokens: {message} of 8192 bytes")
    assert message <= 8192


def test_short_texts_lose_nothing() -> None:
    scores, weights, _, sizes = head(16)
    packet = heatmap_packet(weights, words(16), words(16), scores=scores, values=sizes)
    for prefix, values in (("", weights), ("scores.", scores)):
        assert np.array_equal(sent(packet, prefix), values.astype(np.float32).ravel())
    assert np.array_equal(
        np.frombuffer(packet.parts[packet.header["sizes"]], "<f4"), sizes.astype(np.float32)
    )


def test_what_is_coarse_is_coarse_by_its_step() -> None:
    scores, weights, _, sizes = head(64)
    packet = heatmap_packet(weights, words(64), words(64), scores=scores, values=weights * sizes)
    for prefix, values in (("", weights), ("scores.", scores), ("contributions.", weights * sizes)):
        step = packet.header[prefix + "step"]
        assert packet.header[prefix + "kind"] == "steps"
        assert abs(sent(packet, prefix) - values.ravel()).max() <= step / 2 + 1e-12, prefix


def test_scores_that_are_not_finite_are_marked() -> None:
    scores, weights, _, _ = head(64)
    scores[3, 4], scores[5, 6] = -np.inf, np.nan
    packet = heatmap_packet(weights, words(64), words(64), scores=scores)
    assert "scores.bad" in packet.header and "bad" not in packet.header
    assert np.isfinite(packet.header["scores.bound"])


def test_a_limit_holds_for_the_score_lens_too() -> None:
    scores, weights, _, _ = head(8)
    assert heatmap_packet(weights, words(8), words(8), scores=scores, limit=9.0).header["scores.bound"] == 9.0
    assert heatmap_packet(scores, words(8), words(8), scale="score", limit=9.0).header["limit"] == 9.0


def test_layers_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(3, 3\)|\(3, 3\).*\(3, 4\)"):
        Packet().add_matrices({"": Layer(np.ones((3, 3))), "scores.": Layer(np.ones((3, 4)))})


# ---------------------------------------------------------------- the face


@pytest.mark.parametrize(
    ("weights", "more", "bars"),
    [
        (np.eye(3), {}, True),
        (np.full((2, 4), 0.25), {}, True),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), {}, True),  # a row that may look at nothing has none
        (np.array([[0.5, np.nan], [0.5, 0.5]]), {}, True),
        (np.ones((3, 3)), {}, False),  # a mask
        (np.eye(3), {"scale": "score"}, False),
        (np.zeros((3, 3)), {}, False),
        (np.zeros((0, 0)), {}, False),
        (np.full((3, 3), 0.2), {}, False),
        (np.full((3, 3), 0.2), {"sink": True}, True),  # a learned sink has the rest
        (np.full((2, 2), 0.5), {"allowed": np.eye(2, dtype=bool)}, False),  # half of each look is hidden
    ],
)
def test_bars_only_where_rows_share_out_one_look(
    weights: np.ndarray, more: dict[str, Any], bars: bool
) -> None:
    rows, columns = weights.shape
    assert heatmap_packet(weights, words(rows), words(columns), **more).header["margins"] is bars


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"values": np.ones(4)}, "4 values for 3 keys"),
        ({"values": np.ones((3, 3, 1))}, "3 axes"),
        ({"scores": np.ones((2, 3))}, r"\(2, 3\)"),
        ({"scores": np.ones((3, 3)), "scale": "score"}, "only a pattern"),
        ({"scale": "rainbow"}, "rainbow"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_numbers(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        heatmap_packet(np.eye(3), words(3), words(3), **more)


@pytest.mark.bench
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_a_rerun_of_128_tokens_costs_at_most_10_ms_of_the_interpreter(causal: bool) -> None:
    scores, weights, allowed, sizes = head(128, causal)
    names, times = words(128), []
    for _ in range(9):
        start = time.process_time()
        heatmap_packet(weights, names, names, allowed=allowed, scores=scores, values=sizes).to_bytes()
        times.append(time.process_time() - start)
    print(f"interpreter time with scores and values: {sorted(times)[4] * 1e3:.1f} ms")
    assert sorted(times)[4] <= 0.010


def test_what_a_page_says_of_a_picture_is_in_its_header() -> None:
    names, may = ["a", "b"], np.tri(2, dtype=bool)
    given = {"group": "pair", "python": "import viz", "selected": (1, 0), "unit": "moved by", "shut": "still"}
    assert given.items() <= heatmap_packet(np.eye(2), names, names, allowed=may, **given).header.items()
    plain = heatmap_packet(np.eye(2), names, names, allowed=may).header
    assert (plain["unit"], plain["shut"]) == ("", "masked")
