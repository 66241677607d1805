"""The tree of everything that was tried: one column a step, one token a node, from left to right.

A fork of a text, or a beam search while it grows: what is open, what ended, what was given up and why, which text wins,
which node the reader is at. Each state has a line or a mark of its own besides its colour. Pointing at a node lights its
path and shows its text without a message; a click sends the node to Python. Where a page compares two texts, Shift and a
click, the key B, or the button "Compare with" and a click choose the other one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
import streamlit as st

from viz.instruments.kit.component import Instrument, latest, nothing, stored
from viz.instruments.kit.payload import Packet, labels
from viz.instruments.kit.spec import Spec, as_function

TREE = Instrument("attention_atlas_tree", "tree/tree")
STATES = ("open", "finished", "pruned", "best", "now")
MOST = 5000
"""More nodes than this nobody reads, and the page would notice them."""


@dataclass(frozen=True)
class Branch:
    """One node of the tree.

    parent: the place of its parent in the list, -1 for the first token of a text. token: what it adds.
    state: "open", "finished" (a text ends here), "pruned", "best" (on the path of the winner), "now" (the reader's
        node). score: the number by which nodes are compared, the sum of ln p from the root, say.
    says: why it is what it is, in plain words. p: probability of this token behind its parent, or None.
    ends: a text ends here, whatever became of it.

    Example:
        >>> Branch(-1, " cat", "open", -0.7, p=0.5).ends
        False
    """

    parent: int
    token: str
    state: str
    score: float
    says: str = ""
    p: float | None = None
    ends: bool = False


@dataclass(frozen=True)
class Node:
    """The visitor's choice: `node` is its place in the list, or None before any choice."""

    node: int | None


@dataclass(frozen=True, eq=False)
class Tree(Spec):
    """Everything that was tried.

    branches: parents before their children; children are drawn in the order of the list, so a tree that grows at its end
        keeps its order. root: the text that all of them continue; its end is shown before the first column.
    selected: the place of the node that is marked as chosen. `node` of the result is the newest choice: click or `selected`.
    height: pixels of the frame, within which a taller tree scrolls.
    url: a query parameter that follows the choice. A number in it that no node has is passed over.
    means: other words for some of the states in the legend. marks: letters beside nodes, {"A": 3}.
    on_node: called, before the page runs again, when the visitor chooses a node: `touched(key)`. on_second: the same for
        the node to compare with: `compared(key)`; without it none can be chosen.

    Raises ValueError that says what is wrong, the rule, and what to do.

    Example:
        >>> packet = Tree([Branch(-1, "The", "best", -0.1, p=0.9), Branch(0, " cat", "now", -0.8, p=0.5)]).packet()
        >>> np.frombuffer(packet.parts[packet.header["parents"]], "<i4").tolist(), packet.header["selected"]
        ([-1, 0], None)
        >>> tree([Branch(-1, "a", "best", -0.1)], key="t").node    # doctest: +SKIP
        0
    """

    branches: Sequence[Branch]
    _: KW_ONLY
    root: str = ""
    selected: int | None = None
    title: str = ""
    height: int | None = None
    url: str | None = None
    means: Mapping[str, str] | None = None
    marks: Mapping[str, int] | None = None
    on_node: Callable[[], None] | None = None
    on_second: Callable[[], None] | None = None

    def show(self) -> Node:
        """Draw it in the page."""
        asked = self.selected if self.selected is not None else _addressed(self.url)
        at, echo = latest(self.key, "node", None if asked is None else (asked,), (len(self.branches),))
        node = at[0] if at else None
        packet = replace(self, selected=node).packet()
        packet.header["echo"] = echo
        TREE.show(
            packet,
            key=self.key,
            on_node_change=self.on_node or nothing,
            on_second_change=self.on_second or nothing,
        )
        return Node(node)

    def packet(self) -> Packet:
        branches, marks = self.branches, self.marks or {}
        _check(branches, self.selected)
        for letter, node in marks.items():
            if not 0 <= node < len(branches):
                raise _refused(
                    f"The mark {letter!r} stands at node {node}.",
                    f"The tree has {len(branches)}, counted from 0.",
                    "Choose one of them.",
                )
        count = len(branches)
        packet = Packet(
            {
                "states": STATES,
                "root": labels([self.root], 1, "root")[0],
                "echo": None,
                "place": self.key,
                "means": dict(self.means or {}),
                "marks": [[node, letter] for letter, node in marks.items()],
                "compares": self.on_second is not None,
                **self.plain("selected", "title", "height", "url", "python"),
            }
        )
        words = {
            "tokens": labels([branch.token for branch in branches], count, "token"),
            "says": labels([branch.says for branch in branches], count, "reason"),
        }
        packet.add("words", json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode())
        packet.add("parents", np.array([branch.parent for branch in branches], "<i4").tobytes())
        packet.add("kinds", np.array([STATES.index(branch.state) for branch in branches], "u1").tobytes())
        packet.add(
            "ends",
            np.array([branch.ends or branch.state == "finished" for branch in branches], "u1").tobytes(),
        )
        packet.add("scores", np.array([branch.score for branch in branches], "<f8").tobytes())
        packet.add(
            "chances",
            np.array([-1 if branch.p is None else branch.p for branch in branches], "<f8").tobytes(),
        )
        return packet


tree_packet = as_function(Tree, Tree.packet)
tree = as_function(Tree, Tree.show)


def chosen_node(key: str) -> int | None:
    """Return the node that the visitor last chose in the tree under `key`."""
    event = stored(key, "node")
    return int(event["at"][0]) if event else None


def compared_node(key: str) -> int | None:
    """Return the node that the visitor last chose to compare with."""
    event = stored(key, "second")
    return int(event["at"][0]) if event else None


def _addressed(url: str | None) -> int | None:
    """Return the number that the address gives under `url`, if it is one of a few digits."""
    text = st.query_params.get(url, "") if url else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) else None


def _check(branches: Sequence[Branch], selected: int | None) -> None:
    if len(branches) > MOST:
        raise _refused(
            f"The tree has {len(branches)} nodes.", f"A picture holds {MOST}.", "Show a part of it."
        )
    if selected is not None and not 0 <= selected < len(branches):
        raise _refused(
            f"selected={selected} is no node of the tree.",
            f"It has {len(branches)}, counted from 0.",
            "Leave it out, or choose one of them.",
        )
    for place, branch in enumerate(branches):
        if not -1 <= branch.parent < place:
            wrong = f"Node {place} ({branch.token!r}) has the parent {branch.parent}."
            raise _refused(
                wrong,
                "A parent comes before its children; -1 is the root.",
                f"Give it one from -1 to {place - 1}, or list the parent first.",
            )
        if branch.state not in STATES:
            raise _refused(
                f"Node {place} ({branch.token!r}) has state={branch.state!r}.",
                f"There are {', '.join(STATES)}.",
                "Choose one of them.",
            )
        if branch.p is not None and not (branch.p != branch.p or 0 <= branch.p <= 1):
            wrong = f"Node {place} ({branch.token!r}) has p={branch.p}."
            raise _refused(
                wrong,
                "A probability lies between 0 and 1.",
                "Give the probability of the token behind its parent, or None.",
            )
    here = [place for place, branch in enumerate(branches) if branch.state == "now"]
    if len(here) > 1:
        raise _refused(
            f'Nodes {here[0]} and {here[1]} both have state="now".',
            "The reader stands at one node.",
            "Give the others another state.",
        )


def _refused(wrong: str, rule: str, remedy: str) -> ValueError:
    return ValueError(f"{wrong} {rule} {remedy}")
