"""The Python side of the instruments: what is sent is true, small enough, and refused when it does not fit."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from packets import KB, SCRIPT, opened, sent, unpacked, unrun
from streamlit.testing.v1 import AppTest

from viz.instruments import WRITING, words_view
from viz.instruments.grid.grid import pool
from viz.instruments.heatmap.heatmap import heatmap
from viz.instruments.kit import component
from viz.instruments.kit.payload import Packet, budget, runs
from viz.instruments.mask_editor.mask_editor import edited_mask, fingerprint
from viz.instruments.words.words import start

FOLDER = Path(component.__file__).parents[1]


def pattern(n: int, m: int | None = None, causal: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    scores = np.random.default_rng(n).normal(size=(n, m or n)) * 3
    allowed = np.tri(n, dtype=bool) if causal else None
    exp = np.exp(scores if allowed is None else np.where(allowed, scores, -np.inf))
    return exp / exp.sum(axis=1, keepdims=True), allowed


@given(arrays(bool, some.integers(0, 300)))
def test_runs_come_back(mask: np.ndarray) -> None:
    assert (mask.size == 0 and runs(mask) == b"") or np.array_equal(unrun(runs(mask), mask.size), mask)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "error"), [(6, 1e-7), (32, 1e-7), (64, 0.5 / 1000), (300, 2**-12)])
def test_values_arrive_as_exactly_as_promised(n: int, error: float, causal: bool) -> None:
    weights, allowed = pattern(n, causal=causal)
    packet = Packet()
    packet.add_matrix(weights, allowed)
    assert np.abs(unpacked(packet.to_bytes()) - weights).max() <= error + 1e-12


def test_scores_keep_zero_and_mark_what_is_not_finite() -> None:
    scores = np.random.default_rng(0).normal(size=(300, 300)) * 4
    scores[3, 4], scores[0, 0] = np.nan, 0.0
    packet = Packet()
    packet.add_matrix(scores, centred=True)
    back = unpacked(packet.to_bytes())
    assert packet.header["kind"] == "steps"
    assert back[0, 0] == 0.0
    assert np.flatnonzero(~np.isfinite(back)).tolist() == [3 * 300 + 4]


def test_a_forbidden_cell_is_not_sent() -> None:
    full, causal = Packet(), Packet()
    full.add_matrix(np.ones((200, 200)))
    causal.add_matrix(np.ones((200, 200)), np.tri(200, dtype=bool))
    twice = 1 + (causal.header["kind"] != full.header["kind"])
    assert len(causal.to_bytes()) < 0.55 * len(full.to_bytes()) * twice


CALLS = {
    "heatmap": 'heatmap(w, words, words, key="k", allowed=may, title="Layer 2, head 5", numbers=True)',
    "words": 'words_view(w, words, words, key="k", allowed=may, layout="one", reading=True)',
    "strip": 'strip(w, words, key="k", allowed=may, title="Layer 2, head 5")',
    "head_view": 'head_view(w[None], words, words, key="k", allowed=may)',
}


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("n", "most"), [(64, 8), (128, 25), (512, 350)])
def test_one_head_stays_within_its_budget(n: int, most: int, call: str, causal: bool) -> None:
    message = sent(CALLS[call], n, causal)
    print(f"{call} n={n} causal={causal}: {message.size / KB:.1f} KB of {most}")
    assert message.size <= most * KB
    assert budget(n) == most * KB


def test_code_and_numbers_travel_once_a_visit() -> None:
    message = sent(CALLS["words"], n=64)
    header, _ = opened(message.proto.bytes)
    assert header["code"] not in header["parts"] and header["values"] in header["parts"]
    assert message.first > message.size + 10 * KB
    assert message.again < message.size - 2 * KB
    assert len(message.proto.js_content) < KB


def test_page_that_lacks_a_part_gets_all_when_it_asks() -> None:
    at = AppTest.from_string(SCRIPT.format(n=4, causal=False, call=CALLS["words"])).run()
    opened(at.get("bidi_component")[0].proto.bytes)
    at.run()
    header, _ = opened(at.get("bidi_component")[0].proto.bytes)
    assert header["parts"] == {} and {header[name] for name in ("kit", "code", "values", "bibtex")} < set(
        header["needs"]
    )
    assert len(header["needs"]) == 5  # and what is steady
    del at.session_state[component._SENT]  # what the callback of the browser's question does
    header, _ = opened(at.run().get("bidi_component")[0].proto.bytes)
    assert set(header["parts"]) == set(header["needs"])


def test_views_of_one_head_share_its_numbers() -> None:
    calls = (call.replace('key="k"', f'key="{name}"') for name, call in CALLS.items())
    at = AppTest.from_string(SCRIPT.format(n=64, causal=False, call="\n".join(calls))).run(timeout=30)
    first, *others = (opened(found.proto.bytes)[0] for found in at.get("bidi_component"))
    for other in others:
        values = other.get("values") or other["h0.values"]
        assert values == first["values"] and values not in other["parts"]


def test_pool_keeps_every_maximum() -> None:
    weights = np.zeros((1, 1, 100, 100))
    weights[0, 0, 57, 99] = 0.5
    thumbs = pool(weights)
    assert thumbs.shape == (1, 1, 32, 32)
    assert thumbs[thumbs > 0].tolist() == [127]
    weights[0, 0, 0, 0] = np.nan
    assert pool(weights)[0, 0, 0, 0] == 255


def test_first_touched_word_is_the_clearest_crossing() -> None:
    weights = np.array([[0.99, 0.01, 0.0], [0.1, 0.1, 0.8], [0.1, 0.7, 0.2]])
    words = [("el", 0), ("auto", 1), ("blanco", 2)]
    assert start(weights, None, words, 3, None, "two") == ["target", 1]
    assert start(weights, None, words, 3, "s2", "two") == ["source", 2]
    for nonsense in ("99", "s9", "-1", "<b>", "", "\u0663"):
        assert start(weights, None, words, 3, nonsense, "two") == ["target", 1]


def test_start_writes_the_first_word() -> None:
    """Writing mode: the word after START is written by row 0; reading mode takes a word's own row."""
    call = 'words_view(np.eye(3), ["START", "la", "casa"], ["the", "house", "."], key="k"{})'
    writing, _ = opened(sent(call.format("")).proto.bytes)
    assert (writing["words"], writing["rows"]) == (["la", "casa"], [0, 1])
    reading, _ = opened(sent(call.format(", reading=True")).proto.bytes)
    assert (reading["words"], reading["rows"]) == (["START", "la", "casa"], [0, 1, 2])
    assert writing["say"]["looks"] == WRITING.looks != reading["say"]["looks"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: words_view(np.eye(3), ["a"], ["a", "b", "c"], key="k"), "1 query labels for 3"),
        (lambda: words_view(np.eye(3), "abc", "abc", key="k", targets=[("x", 7)]), "row 7; this head has 3"),
        (lambda: words_view(np.eye(3), "abc", "abc", key="k", layout="three"), "three"),
        (lambda: heatmap(np.eye(3), "abc", "ab", key="k"), "2 key labels for 3"),
        (lambda: heatmap(np.zeros((2, 2, 2)), "ab", "ab", key="k"), "3 axes"),
        (lambda: heatmap(np.zeros((2000, 2)), ["a"] * 2000, "ab", key="k"), "2000"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_numbers(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_an_edit_of_another_mask_is_not_taken() -> None:
    one, other = np.tri(3, dtype=bool), np.ones((3, 3), dtype=bool)
    answer = {"base": fingerprint(one), "runs": base64.b64encode(runs(~one)).decode()}
    assert np.array_equal(edited_mask(answer, one, fingerprint(one)), ~one)
    assert np.array_equal(edited_mask(answer, other, fingerprint(other)), other)
    with pytest.raises(ValueError, match="4 cells; this one has 9"):
        edited_mask({"base": "x", "runs": base64.b64encode(bytes([4])).decode()}, other, "x")


def test_newest_choice_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", session)

    def now(selected: tuple[int, int] | None) -> tuple[int, ...] | None:
        return component.latest("h", "cell", selected, (4, 4))[0]

    assert now(None) is None
    assert now((0, 0)) == (0, 0)
    session["h"] = {"cell": {"at": [2, 3], "id": "1"}}
    assert now((0, 0)) == (2, 3)  # the click is newer than what the page says
    assert now((2, 3)) == (2, 3)  # the page took it over
    assert now((1, 1)) == (1, 1)  # a preset of the page is newer than the click
    assert now((0, 0)) == (0, 0)  # and the old click does not come back
    session["h"] = {"cell": {"at": [3, 3], "id": "2"}}
    assert now((0, 0)) == (3, 3)
    session["h"] = {"cell": {"at": [9, 9], "id": "3"}}
    assert now((0, 0)) is None  # outside: another sentence


BAD = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://")


def test_no_markup_is_ever_made_from_data() -> None:
    for file in FOLDER.rglob("*.js"):
        text = file.read_text("utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name
        assert not [bad for bad in BAD if bad in text], file.name


@pytest.mark.slow
def test_instruments_need_no_model() -> None:
    code = "import sys, viz.instruments; print(sorted({'torch', 'core.model'} & set(sys.modules)))"
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        cwd=FOLDER.parents[1],
        check=True,
    )
    assert out.stdout.strip() == "[]"
