"""The token strip before it reaches the browser: units, sums, what is refused, how many bytes it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packets import unpacked
from tiny_models import write

from viz.instruments.strip.strip import join_pieces, strip_packet, units


def texts(tokens: list[str], spans: Any = None) -> list[str]:
    return [unit.text for unit in units(tokens, spans)]


def test_pieces_with_one_span_are_one_character() -> None:
    tokens = ["‹F0›", "‹9F›", "‹91›", "‹A9›", " a", "b"]
    assert texts(tokens, [(0, 1)] * 4 + [(2, 3), (3, 4)]) == ["👩", " a", "b"]
    assert texts(tokens) == ["👩", " a", "b"]  # bytes say so themselves where no spans are known
    assert texts(["‹F0 9F›", "‹98 80 F0›", "‹9F 98 81›"], [(0, 1), (0, 2), (1, 2)]) == [
        "😀😁"
    ]  # a piece of two characters ties them


def test_signs_that_are_seen_as_one_are_one() -> None:
    astronaut = ["👩", "\u200d", "🚀"]
    assert texts(astronaut, [(0, 1), (1, 2), (2, 3)]) == ["👩\u200d🚀"]
    assert texts(["👍", "🏽", "!"], [(0, 1), (1, 2), (2, 3)]) == ["👍🏽", "!"]
    assert texts(["e", "\u0301", "a"], [(0, 1), (1, 2), (2, 3)]) == ["e\u0301", "a"]
    assert texts(["🇩", "🇪", "🇪", "🇸"], [(i, i + 1) for i in range(4)]) == ["🇩🇪", "🇪🇸"]
    alif = ["‹D9›", "‹85›", "‹D9›", "‹8E›"]  # meem with a vowel sign: two letters of two bytes, one character
    assert texts(alif, [(0, 1), (0, 1), (1, 2), (1, 2)]) == ["\u0645\u064e"]


def test_added_tokens_stand_alone() -> None:
    found = units(["[CLS]", "The", "[SEP]", "[SEP]"], [None, (0, 3), None, None])
    assert [(u.text, u.glued) for u in found] == [
        ("[CLS]", False),
        ("The", False),
        ("[SEP]", False),
        ("[SEP]", False),
    ]
    assert [u.glued for u in units(["play", "##ing", "now"])] == [False, True, False]
    assert units([], []) == []


@pytest.mark.parametrize("causal", [False, True])
def test_units_keep_rows_at_one_and_nothing_from_forbidden_cells(causal: bool) -> None:
    rng = np.random.default_rng(0)
    may = np.tri(7, dtype=bool) if causal else np.ones((7, 7), dtype=bool)
    weights = np.where(may, rng.random((7, 7)), 0)
    weights /= weights.sum(1, keepdims=True)
    side = units(list("abcdefg"), [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (3, 4), (3, 4)])
    assert [unit.pieces for unit in side] == [(0,), (1, 2, 3), (4,), (5, 6)]
    found, allowed = join_pieces(np.where(may, weights, np.nan), may, side, side)
    assert np.allclose(found.sum(1), 1)
    member = np.zeros((4, 7))
    for row, unit in enumerate(side):
        member[row, list(unit.pieces)] = 1
    assert np.allclose(found, (member / member.sum(1, keepdims=True)) @ weights @ member.T)
    assert allowed is not None and (allowed == (member @ may @ member.T > 0)).all()
    broken = weights.copy()
    broken[6, 0] = np.nan
    assert np.isnan(join_pieces(broken, None, side, side)[0]).sum() == 1  # and spoils no other cell


def test_without_groups_the_tensor_travels_as_it_is() -> None:
    weights = np.random.default_rng(1).random((5, 5))
    assert np.array_equal(
        unpacked(strip_packet(weights, list("abcde")).to_bytes()).astype(np.float32),
        weights.astype(np.float32),
    )


def test_the_selected_position_is_found_inside_its_unit() -> None:
    spans = [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert strip_packet(np.eye(4), list("abcd"), spans=spans, selected=2).header["start"] == ["query", 1]
    assert strip_packet(np.eye(4), list("abcd"), spans=spans, selected="3", direction="to").header[
        "start"
    ] == ["key", 2]
    assert strip_packet(np.eye(4), list("abcd"), keys=list("wxyz"), selected="s2").header["start"] == [
        "key",
        2,
    ]
    for nonsense in ("99", "-1", "x", "", "\u0663"):
        assert strip_packet(np.eye(4), list("abcd"), selected=nonsense).header["start"][0] == "query"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: strip_packet(np.eye(3), "ab"), "2 query labels for 3"),
        (lambda: strip_packet(np.eye(3), "abc", spans=[(0, 1)]), "1 spans for 3 tokens"),
        (lambda: strip_packet(np.zeros((2, 3)), "ab"), "2 queries and 3 keys"),
        (lambda: strip_packet(np.zeros((2, 3)), "ab", keys="ab"), "2 key labels for 3"),
        (lambda: strip_packet(np.zeros((2, 2, 2)), "ab"), "3 axes"),
        (lambda: strip_packet(np.eye(2), "ab", direction="round"), "round"),
        (lambda: strip_packet(np.eye(2), "ab", mode="poem"), "poem"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_of_a_real_run_every_character_is_whole(tmp_path: Path) -> None:
    """Tokens and spans as a model gives them: bytes of an emoji and of Arabic come back as what was typed."""
    import core

    run = core.open_model(str(write(tmp_path, "tiny-gpt"))).run(
        "The 👩\u200d🚀 sees \u0645\u0631\u062d\u0628\u0627."
    )
    found = units(run.tokens, run.spans, run.side.special_positions)
    assert "".join(unit.text for unit in found if unit.text != "START") == run.side.text
    assert "👩\u200d🚀" in [unit.text for unit in found]
    assert len(found) < len(run.tokens)
    attention = run.attention("causal")
    packet = strip_packet(
        attention.weights[0, 0],
        run.tokens,
        spans=run.spans,
        allowed=attention.allowed[0, 0],
        special=run.side.special_positions,
    )
    assert packet.header["shape"] == [len(found)] * 2
    assert np.allclose(unpacked(packet.to_bytes()).sum(1), 1, atol=1e-4)
