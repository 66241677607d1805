"""All heads in one part: what the browser reads back is each head, as exact as the budget lets it be."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from packets import opened, unpacked, unrun

from viz.instruments import HeadContext, head_view_packet, make_stack
from viz.instruments.heatmap.heatmap import heatmap_packet
from viz.instruments.kit.head_stack import MOST, MOST_CELLS, PARTS, ROOM, SHADES


def heads(layers: int, n_heads: int, n: int, causal: bool) -> tuple[np.ndarray, np.ndarray | None]:
    scores = np.random.default_rng(n).normal(size=(layers, n_heads, n, n)) * 3
    may = np.tri(n, dtype=bool) if causal else None
    exp = np.exp(scores if may is None else np.where(may, scores, -np.inf))
    return exp / exp.sum(-1, keepdims=True), may


@pytest.mark.quick(2)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize(
    ("layers", "n_heads", "n", "kind"), [(2, 3, 8, "f32"), (6, 8, 60, "steps"), (12, 12, 64, "steps")]
)
def test_each_head_comes_back(layers: int, n_heads: int, n: int, kind: str, causal: bool) -> None:
    weights, may = heads(layers, n_heads, n, causal)
    found = make_stack(weights, may)
    assert found and not found.rough
    assert found.fields["kind"] == kind
    words = [str(i) for i in range(n)]
    for at in ((0, 0), (layers - 1, n_heads - 2)):
        packet = heatmap_packet(weights[at], words, words, allowed=may, among=HeadContext(found, at, "3"))
        back = unpacked(packet.to_bytes())
        assert np.abs(back - weights[at]).max() <= max(found.fields["step"] / 2, 1e-7) * 1.0001
        assert (
            packet.header["at"] == list(at) and packet.header["turn"] == "3" and "values" not in packet.header
        )
    assert found.fields["step"] in (0.0, *(1 / parts for parts in PARTS))
    assert len(found.parts["values"]) <= ROOM or found.fields["step"] == 1 / PARTS[-1]


def test_a_number_that_is_none_comes_back_as_none() -> None:
    weights, may = heads(6, 8, 64, True)
    weights[3, 4, 10, 2] = np.nan
    found = make_stack(weights, may)
    assert found and found.fields["kind"] == "steps"
    bad = ~unrun(found.parts["bad"], 48 * int(may.sum()))
    assert np.flatnonzero(bad).tolist() == [28 * int(may.sum()) + 10 * 11 // 2 + 2]


def test_a_long_text_has_a_rough_stack_and_its_own_numbers() -> None:
    weights, may = heads(2, 2, 200, True)
    weights[0, 1, 5, 5] = np.inf
    found = make_stack(weights, may)
    assert found and found.rough
    shades = np.frombuffer(zlib.decompress(found.parts["values"]), np.uint8).reshape(4, -1)
    known = np.isfinite(weights[:, :, may].reshape(4, -1))
    assert (shades[~known] == 255).all() and (shades[known] < 255).all()
    assert np.abs(shades[known] / SHADES - weights[:, :, may].reshape(4, -1)[known]).max() <= 0.5001 / SHADES
    words = [str(i) for i in range(200)]
    packet = head_view_packet(
        weights[1, [1]], words, words, heads=[1], allowed=may, among=HeadContext(found, (1, 1))
    )
    assert packet.header["at"] == [[1, 1]]
    header, _ = opened(packet.to_bytes())
    assert (
        header["parts"][header["stack.values"]][2:] == [1] and header["parts"][header["h0.values"]][2:] == []
    )
    assert np.abs(unpacked(packet.to_bytes(), "h0.") - weights[1, 1]).max() < 0.002


def test_where_there_is_no_stack() -> None:
    weights, _ = heads(1, 2, 6, False)
    other = np.stack([np.tri(6, dtype=bool), np.ones((6, 6), dtype=bool)])[None]
    assert make_stack(weights, other) is None  # masks differ from head to head
    assert make_stack(weights, np.broadcast_to(np.tri(6, dtype=bool), (1, 2, 6, 6))) is not None
    assert make_stack(np.zeros((1, 1, 0, 0))) is None
    assert make_stack(np.broadcast_to(np.float32(0.1), (1, 2 * MOST_CELLS // 160_000 + 1, 400, 400))) is None
    noise = np.random.default_rng(0).random((10, 10, 200, 200)).astype(np.float32)
    assert make_stack(noise) is None and noise.size < MOST_CELLS  # MOST bytes are not enough for noise
    assert MOST <= 1_500_000
    with pytest.raises(ValueError, match=r"got 3 axes of shape \(2, 6, 6\)"):
        make_stack(weights[0])
