"""The Python side of the head view: what is sent is true, shared and small enough; colours that eyes can tell apart."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packets import opened, unpacked
from streamlit.testing.v1 import AppTest

from viz.instruments import head_view_packet
from viz.instruments.head_view.head_view import HEAD_VIEW, LAYOUTS
from viz.instruments.kit import component
from viz.theme import DARK, LIGHT, contrast

KB = 1024
COLOURS = (Path(component.__file__).parents[1] / "head_view" / "head_colours.js").read_text("utf-8")


def heads(n_heads: int, n: int, m: int | None = None) -> np.ndarray:
    return np.random.default_rng(n).dirichlet(np.full(m or n, 0.3), size=(n_heads, n))


def words(n: int) -> list[str]:
    return [f"word{i % 97}" for i in range(n)]


def sent_matrix(packet: Any, h: int) -> np.ndarray:
    """Head `h` as the browser rebuilds it."""
    return unpacked(packet.to_bytes(), f"h{h}.")


@pytest.mark.parametrize(("n", "m", "error"), [(5, 7, 1e-7), (40, 40, 1e-3), (64, 64, 0.5 / 1000)])
def test_each_head_arrives(n: int, m: int, error: float) -> None:
    stack = heads(3, n, m)
    packet = head_view_packet(stack, words(n), words(m), heads=[2, 7, "mean"])
    assert packet.header["heads"] == [2, 7, "mean"]
    assert packet.header["inks"] == [2, 7, 2]
    for h in range(3):
        assert np.abs(sent_matrix(packet, h) - stack[h]).max() <= error + 1e-12


def test_one_matrix_is_one_head() -> None:
    packet = head_view_packet(heads(1, 5)[0], words(5), words(5))
    assert (packet.header["heads"], packet.header["h0.shape"]) == ([0], [5, 5])


BOTH = """
import numpy as np
from viz.instruments import head_view, heatmap
n, causal = {n}, {causal}
w = np.random.default_rng(0).dirichlet(np.full(n, .3), size=(4, n))
may = np.tri(n, dtype=bool) if causal else None
words = [f"word{{i % 97}}" for i in range(n)]
heatmap(w[2], words, words, key="h", allowed=may, title="Layer 2, head 2")
head_view(w, words, words, key="v", allowed=may)
"""


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("n", [8, 24, 64, 128, 256])
def test_a_head_is_shared_with_its_heatmap(n: int, causal: bool) -> None:
    at = AppTest.from_string(BOTH.format(n=n, causal=causal)).run(timeout=30)
    assert not at.exception
    one, two = (opened(found.proto.bytes)[0] for found in at.get("bidi_component"))
    assert two["h2.values"] == one["values"]
    assert two["h2.values"] not in two["parts"]
    assert {two[f"h{h}.values"] for h in (0, 1, 3)} <= set(two["parts"])
    if causal:
        assert {two[f"h{h}.allowed"] for h in range(4)} == {one["allowed"]}


def test_the_code_is_small() -> None:
    print(f"code of the head view: {len(HEAD_VIEW.source) / KB:.0f} KB, once a visit")
    assert len(HEAD_VIEW.source) <= 160 * KB


def test_more_than_a_view_may_carry_is_refused_with_what_fits() -> None:
    with pytest.raises(
        ValueError,
        match=r"8 heads of 512 x 512 tokens are 1\.\d MB; one view carries 1\.5 MB: give it [67] heads, or a window",
    ):
        head_view_packet(heads(8, 512), words(512), words(512))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": np.zeros((2, 2, 2, 2))}, "4 axes"),
        ({"weights": np.zeros((0, 3, 3))}, "0 heads"),
        ({"queries": ["a"]}, "1 query labels for 3"),
        ({"keys": ["a"]}, "1 key labels for 3"),
        ({"heads": [1]}, "1 names for 2 heads"),
        ({"heads": [1, 1]}, "2 heads have 1 different names"),
        ({"heads": [-1, 1]}, "head -1"),
        ({"layout": "spiral"}, "spiral"),
        ({"segments": [0, 1]}, "2 segments for 3 query positions"),
        ({"segments": ([0, 0, 1], [0, 1])}, "2 segments for 3 key positions"),
        ({"segments": [0, 1, 2]}, "a pair has 0"),
        ({"weights": np.zeros((1, 2000, 2)), "queries": words(2000), "keys": words(2)}, "2000"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_numbers(given: dict[str, Any], message: str) -> None:
    fine: dict[str, Any] = {"weights": heads(2, 3), "queries": words(3), "keys": words(3)}
    with pytest.raises(ValueError, match=message):
        head_view_packet(**(fine | given))


def test_segments_of_one_text_or_of_two() -> None:
    one = head_view_packet(heads(1, 3), words(3), words(3), segments=[0, None, 1])
    assert one.header["segments"] == [[0, None, 1], [0, None, 1]]
    two = head_view_packet(heads(1, 3, 2), words(3), words(2), segments=([0, 0, 1], np.array([1, 0])))
    assert two.header["segments"] == [[0, 0, 1], [1, 0]]
    tiny = head_view_packet(heads(1, 2), words(2), words(2), segments=[0, 1])
    assert tiny.header["segments"] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("selected", "start"),
    [("4", [0, 4]), ("s1", [1, 1]), ("s3", None), (5, None), ("<b>", None), (-1, None), (None, None)],
)
def test_what_is_selected_and_how_it_is_laid_out_travels(selected: Any, start: list[int] | None) -> None:
    given = {"layout": LAYOUTS[-1], "python": "viz.head_view(run)", "group": "g"}
    header = head_view_packet(heads(1, 5, 3), words(5), words(3), selected=selected, **given).header
    assert header["selected"] == start and given.items() <= header.items() and "tell" not in header


ASKED = """
import numpy as np, streamlit as st
from viz.instruments import head_view
words = ["a", "b", "c"]
got = head_view(np.full((2, 3, 3), 1 / 3), words, words, key="v", heads=[4, 5], selected={selected!r}{more})
st.text(repr(got))
"""


def test_the_result_is_what_the_arguments_said_unless_python_asks() -> None:
    at = AppTest.from_string(ASKED.format(selected="s1", more="")).run()
    assert at.text[0].value == "Lines(pinned=('key', 1), heads=(4, 5))"
    asked = AppTest.from_string(ASKED.format(selected=None, more=", on_touched_change=lambda: None")).run()
    assert asked.text[0].value == "Lines(pinned=None, heads=(4, 5))"
    header = opened(asked.get("bidi_component")[0].proto.bytes)[0]
    assert (header["tell"], header["echo"]) == (True, None)


@pytest.mark.parametrize(
    ("event", "result"),
    [
        ({"at": [0, 2], "heads": [1], "names": [4, 5]}, (("query", 2), (5,))),
        ({"at": [1, 1], "heads": [], "names": [4, 5]}, (("key", 1), ())),
        ({"at": [], "heads": [0, 1], "names": [4, 5]}, (None, (4, 5))),
        ({"at": [0, 9], "heads": [0], "names": [1, 2, 3]}, (None, (4, 5))),  # of another text, of other heads
    ],
)
def test_what_was_pinned_is_read(monkeypatch: pytest.MonkeyPatch, event: dict[str, Any], result: Any) -> None:
    import streamlit as st

    from viz.instruments import head_view
    from viz.instruments.head_view.head_view import Instrument

    monkeypatch.setattr(st, "session_state", {"v": {"touched": event | {"id": "1"}}})
    monkeypatch.setattr(Instrument, "show", lambda self, packet, **states: None)
    got = head_view(heads(2, 3), words(3), words(3), key="v", heads=[4, 5], on_touched_change=lambda: None)
    assert (got.pinned, got.heads) == result


# ---------------------------------------------------------------- colours

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def oklab(colour: str, eyes: str) -> np.ndarray:
    """OKLab (Ottosson 2020), times 100, of a colour as these eyes see it: 2 is a difference just noticeable."""
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(EYES[eyes] @ linear, 0, 1)
    lms = np.cbrt(
        np.array(
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ]
        )
        @ seen
    )
    mixed = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return 100 * mixed @ lms


def palette(mode: str) -> list[str]:
    return list((LIGHT if mode == "light" else DARK).heads)


@pytest.mark.parametrize(("mode", "paper"), [("light", LIGHT.background), ("dark", DARK.background)])
def test_twelve_heads_can_be_told_apart_by_any_eyes(mode: str, paper: str) -> None:
    colours = palette(mode)
    assert len(set(colours)) == 12
    assert min(contrast(colour, paper) for colour in colours) >= 3
    smallest = {}
    for eyes in EYES:
        points = [oklab(colour, eyes) for colour in colours]
        smallest[eyes] = min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(points, 2))
    print(f"{mode}: smallest distance { ({eyes: round(d, 1) for eyes, d in smallest.items()}) }")
    assert smallest["normal"] >= 13
    assert min(smallest.values()) >= 8.4


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_dashes_help_where_colours_are_closest(mode: str) -> None:
    """Heads with the same dash, and neighbours, lie further apart in colour than the closest two do."""
    colours = palette(mode)
    dashes = len(re.findall(r"\[[^\[\]]*\]", COLOURS.split("DASHES = ")[1].split(";")[0]))
    assert np.gcd(dashes, len(colours)) == 1  # 60 heads before a pair of colour and dash comes again
    alike = [
        (i, j) for i, j in itertools.combinations(range(12), 2) if i % dashes == j % dashes or j == i + 1
    ]
    assert (
        min(
            np.linalg.norm(oklab(colours[i], eyes) - oklab(colours[j], eyes))
            for i, j in alike
            for eyes in EYES
        )
        >= 10
    )
