"""The bars of candidates and the timeline as data: what was cut, the lot, what a click asks for."""

from __future__ import annotations

import pytest
from packets import opened

from viz.instruments.candidates.candidates import Bar, SampledNumber, Way, candidates_packet
from viz.instruments.timeline.timeline import Moment, timeline_packet


def rows(packet):
    return opened(packet.to_bytes())[0]["rows"]


def test_bars_show_what_the_choice_was_made_from():
    found = rows(
        candidates_packet([Bar(5, "a", 0.6, 0.6), Bar(7, " b", 0.3, 0.3)], taken_id=5, others=(7, 0.1, 0.1))
    )
    assert [row["after"] for row in found] == [0.6, 0.3, 0.1]
    assert [(row["token"], row["id"]) for row in found] == [("a", 5), (" b", 7), ("7 others", None)]
    assert [row["says"] for row in found] == ["60%", "30%", "10%"]


def test_cut_tokens_say_what_cut_them():
    bars = [
        Bar(1, "a", 0.5, 0.8),
        Bar(2, "b", 0.2, 0.2),
        Bar(3, "c", 0.2, 0.0, "top_k"),
        Bar(4, "d", 0.05, 0.0, "top_p"),
    ]
    found = rows(candidates_packet(bars, taken_id=1, others=(9, 0.05, 0.0)))
    assert [row["says"] for row in found][2:] == ["20%, cut by top-k", "5.0%, cut by top-p", "5.0%, cut"]
    assert [row["cut"] for row in found] == ["", "", "cut by top-k", "cut by top-p", "cut"]


def test_the_lot_lies_in_the_part_of_the_taken_token():
    packet = candidates_packet(
        [Bar(1, "a", 0.6, 0.6), Bar(2, "b", 0.4, 0.4)], taken_id=2, lot=SampledNumber(0.71, 0.6, 1.0)
    )
    assert packet.header["lot"] == {"u": 0.71, "low": 0.6, "high": 1.0, "edges": [0.6]}
    assert candidates_packet([Bar(1, "a", 1.0, 1.0)], taken_id=1).header["lot"] is None


def test_a_way_travels_with_its_bar_and_says_no_infinity():
    way = Way(
        "score 1.0 → cut by top-k 1: it is 2nd",
        (("logit z", "", "1.0"),),
        (1.0, float("-inf")),
        "top-k 1: it is 2nd",
    )
    packet = candidates_packet(
        [Bar(1, "a", 0.7, 1.0), Bar(2, "b", 0.3, 0.0, "top_k", way)], taken_id=1, filters=["top-k 1"]
    )
    first, second = rows(packet)
    assert "way" not in first and packet.header["filters"] == ["top-k 1"]
    assert (
        second["way"]["scores"] == [1.0, None]
        and second["way"]["line"] == way.line
        and second["way"]["rule"] == way.rule
    )


@pytest.mark.parametrize("token", ["<b>bold</b>", "\n", "", "x" * 99, "&amp;", "\u202e"])
def test_tokens_are_data(token):
    assert rows(candidates_packet([Bar(3, token, 1.0, 1.0)], taken_id=3))[0]["token"] == token
    assert (
        opened(timeline_packet([Moment(token, 0.5, 1.0, 2.0)]).to_bytes())[0]["moments"][0]["token"] == token
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: candidates_packet([Bar(1, "a", 1.0, 1.0)], taken_id=2), "token 2 was taken and has no bar"),
        (
            lambda: candidates_packet([Bar(1, "a", 1.0, 1.0, None, Way("", (), (2.0, 1.0)))], taken_id=1),
            "token 1 has 2 scores",
        ),
        (lambda: candidates_packet([Bar(1, "a", 1.5, 1.0)], taken_id=1), "1.5; they lie from 0 to 1"),
        (lambda: timeline_packet([Moment("a", -0.5, 1.0, 1.0)]), "-0.5; they lie from 0 to 1"),
        (lambda: timeline_packet([Moment("a", 0.5, 1.0, 1.0)], step=4), "step 4 of 1 steps"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_timeline_shows_its_last_step_unless_told_otherwise():
    moments = [Moment("a", 0.5, 1.0, 1.5), Moment(" b", 0.25, 2.0, 2.5, "put in by you")]
    assert timeline_packet(moments).header["at"] == 1 and timeline_packet(moments, step=0).header["at"] == 0
    assert timeline_packet(moments).header["moments"][1]["note"] == "put in by you"
    assert timeline_packet([]).header["at"] == -1
