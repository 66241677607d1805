"""The tree of everything tried before it reaches the browser: what is sent, what is refused, how many bytes it takes."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from packets import KB, opened

from viz.instruments.tree.tree import MOST, STATES, Branch, tree_packet

SMALL = [
    Branch(-1, " <b>", "best", -0.5, "kept", 0.6),
    Branch(0, " cat", "finished", -0.7),
    Branch(0, "", "pruned", math.nan, p=math.nan),
]


def part(packet: Any, name: str) -> bytes:
    return packet.parts[packet.header[name]]


def test_every_field_of_a_branch_travels() -> None:
    packet = tree_packet(
        SMALL, root="Once", selected=2, title="Tried", height=300, python="viz.tree()", url="tree", key="t"
    )
    assert json.loads(part(packet, "words")) == {"tokens": [" <b>", " cat", ""], "says": ["kept", "", ""]}
    assert np.frombuffer(part(packet, "parents"), "<i4").tolist() == [-1, 0, 0]
    assert [STATES[kind] for kind in part(packet, "kinds")] == ["best", "finished", "pruned"]
    assert np.array_equal(
        np.frombuffer(part(packet, "scores"), "<f8"), [-0.5, -0.7, math.nan], equal_nan=True
    )
    assert np.array_equal(np.frombuffer(part(packet, "chances"), "<f8"), [0.6, -1, math.nan], equal_nan=True)
    header, _ = opened(packet.to_bytes())
    sent = {name: header[name] for name in ("root", "selected", "title", "height", "python", "url", "place")}
    assert sent == {
        "root": "Once",
        "selected": 2,
        "title": "Tried",
        "height": 300,
        "python": "viz.tree()",
        "url": "tree",
        "place": "t",
    }


def test_a_text_may_end_in_any_state() -> None:
    ended = [
        Branch(-1, "a", state, 0.0, ends=ends)
        for state, ends in [("finished", False), ("best", True), ("pruned", True), ("open", False)]
    ]
    assert list(part(tree_packet(ended), "ends")) == [1, 1, 1, 0]


def test_scores_that_are_no_numbers_and_no_branches_are_a_tree() -> None:
    assert tree_packet([]).header["selected"] is None
    packet = tree_packet([Branch(-1, "a", "open", -math.inf), Branch(0, "\ud83d", "open", math.inf)])
    assert np.frombuffer(part(packet, "scores"), "<f8").tolist() == [-math.inf, math.inf]
    assert json.loads(part(packet, "words"))["tokens"] == ["a", "\ufffd"]  # half of a pair cannot be sent


@pytest.mark.parametrize(
    ("branches", "selected", "wrong", "rule", "remedy"),
    [
        (
            [Branch(1, "a", "open", 0), Branch(-1, "b", "open", 0)],
            None,
            "Node 0 ('a') has the parent 1",
            "A parent comes before",
            "list the parent first",
        ),
        (
            [Branch(-1, "a", "open", 0), Branch(1, "b", "open", 0)],
            None,
            "Node 1 ('b') has the parent 1",
            "A parent comes before",
            "from -1 to 0",
        ),
        ([Branch(-2, "a", "open", 0)], None, "the parent -2", "-1 is the root", "from -1 to -1"),
        (
            [Branch(-1, "a", "dead", 0)],
            None,
            "state='dead'",
            "open, finished, pruned, best, now",
            "Choose one",
        ),
        ([Branch(-1, "a", "open", 0, p=1.5)], None, "p=1.5", "between 0 and 1", "or None"),
        (
            [Branch(-1, "a", "now", 0), Branch(0, "b", "now", 0)],
            None,
            "Nodes 0 and 1",
            "stands at one node",
            "another state",
        ),
        (SMALL, 3, "selected=3", "It has 3, counted from 0", "Leave it out"),
        (
            [Branch(-1, "a", "open", 0)] * (MOST + 1),
            None,
            f"{MOST + 1} nodes",
            f"holds {MOST}",
            "Show a part",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    branches: list[Branch], selected: int | None, wrong: str, rule: str, remedy: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)) as caught:
        tree_packet(branches, selected=selected)
    assert all(part in str(caught.value) for part in (wrong, rule, remedy))


def test_500_nodes_are_a_small_message() -> None:
    found = [
        Branch(i - 1, " word", "open", -i / 3, f"sum of ln p {-i / 3:.2f}; not among the 4 best", 0.25)
        for i in range(500)
    ]
    size = len(tree_packet(found).to_bytes())
    print(f"tree of 500 nodes: {size / KB:.1f} KB")
    assert size <= 50 * KB


def test_marks_and_whether_a_second_node_can_be_chosen():
    packet = tree_packet(SMALL, marks={"A": 2, "B": 0}, on_second=lambda: None)
    assert (packet.header["marks"], packet.header["compares"]) == ([[2, "A"], [0, "B"]], True)
    assert (tree_packet(SMALL).header["marks"], tree_packet(SMALL).header["compares"]) == ([], False)
    for node in (-1, len(SMALL)):
        with pytest.raises(ValueError, match="mark 'A' stands at node"):
            tree_packet(SMALL, marks={"A": node})
