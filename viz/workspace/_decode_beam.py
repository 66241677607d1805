"""Decode's beam: the tree while it grows, why a text was given up, the one text that is followed, and what scores are made of."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from core.decoding import Beam, Ranked, Step, Tree, along, n_best, prompt_of
from viz.instruments import tree
from viz.instruments.timeline import gone
from viz.instruments.tree import Branch, touched
from viz.labels import visible
from viz.ui import parts, state
from viz.workspace import _decode_pictures as pictures

KEY = "decode.beam.tree"
NODE = "decode.node"
_OF = "decode.node.of"
Path = tuple[int, ...]


def show(data: Any, params: Any, strategy: Beam) -> int | None:
    """The tree of this step and its best text; gives the node that the visitor chose, None where the best is followed."""
    if params.groups != strategy.groups:
        st.text(f"{strategy.width} texts are not divided by {params.groups} groups: they stay one.")
    node = chosen(data, (params.model, data.window.text, strategy))
    tree(branches(data.last, strategy, node), key=KEY, title=f"A beam of {strategy.width}", selected=node, on_node=_choose,
         means={"score": "sum of ln p", "now": "followed below"}, root="" if data.model.spec.has_source else data.window.text)  # fmt: skip
    parts.numbers(sentence(data, strategy))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="stretch"):
            st.text(following(data, node))
        if node is not None:
            label = "Follow the winner" if data.last.done else "Follow the best"
            st.button(label, key="decode.node.back", on_click=lambda: state.write(**{NODE: None}))
    return node


def path(data: Any, node: int | None) -> Path:
    """The nodes of the text that is followed, from the first token."""
    return data.last.tree.path(data.last.tree.best if node is None else node)


def chosen(data: Any, of: object) -> int | None:
    """The node of the link, if this tree has it; the number of a node means nothing in another search, where it is forgotten."""
    node = state.read(NODE, -1, state.whole(0, 10**6))
    before = st.session_state.get(_OF)
    if before and before[0] != of and before[1] == node:
        state.write(**{NODE: None})
        node = -1
    st.session_state[_OF] = of, node
    return node if 0 <= node < len(data.last.tree.nodes) else None


def _choose() -> None:
    """A node was clicked: its text is followed."""
    state.write(**{NODE: touched(KEY)})


def followed(data: Any, nodes: Path) -> Any:
    """The same data with the steps of one text of the beam in place of those of the search."""
    return replace(data, steps=along(data.steps, nodes[-1], prompt_of(data.model, data.window.text)))


def following(data: Any, node: int | None) -> str:
    """One line: whose attention and candidates stand below."""
    if node is None:
        which = "the winner" if data.last.done else "the best text so far"
        return f"Followed below: {which}, token by token. Choose any other text by its last token in the tree."
    found, length = data.last.tree, len(data.last.tree.path(node))
    fates = {"best": "on the way to the winner" if data.last.done else "on the way to the best text so far", "pruned": "given up",
             "finished": "a text that ended", "open": "not wanted any more" if data.last.done else "still open"}  # fmt: skip
    return f"Followed below: the text that you chose, {length} token{'s' * (length > 1)}, {fates[_fates(found)[node]]}."


def back_to(nodes: Path) -> None:
    """A token of the followed text was clicked in the timeline: the text up to it is followed."""
    if (step := gone(pictures.TIMELINE)) is not None and step < len(nodes):
        state.write(**{NODE: nodes[step]})


def branches(step: Step, strategy: Beam, node: int | None = None) -> list[Branch]:
    """The nodes with their state and the reason for it: the sum of ln p, and how it is compared. `node` is followed."""
    found = step.tree
    assert found is not None
    fates, ends, opened = _fates(found), dict(found.finished), set(found.open)
    rows = []
    for place, one in enumerate(found.nodes):
        says = _minus(_reason(found, place, fates[place], ends, opened, strategy))
        fate = "now" if place == node else fates[place]
        rows.append(Branch(one.parent, one.token, fate, one.logprob - one.cost, says, p=_probability(found.alone(place)), ends=place in ends))
    return rows


def _fates(found: Tree) -> list[str]:
    """What became of each node: "pruned", "best" (on the path of the best text), "finished" or "open"."""
    pruned, winner, ends = found.pruned(), set(found.path(found.best)), {place for place, _ in found.finished}
    return [
        "pruned" if place in pruned else "best" if place in winner else "finished" if place in ends else "open" for place in range(len(found.nodes))
    ]


def _minus(text: str) -> str:
    """A hyphen before a number is a minus.

    >>> _minus("a-b (-1.5)")
    'a-b (−1.5)'
    """
    return re.sub(r"(?<![\w-])-(?=\d)", "\u2212", text)


def _probability(logprob: float) -> float:
    return min(1.0, math.exp(logprob))


def _reason(found: Tree, place: int, fate: str, ends: dict[int, float], opened: set[int], strategy: Beam) -> str:
    node = found.nodes[place]
    sum_of = f"sum of ln p = {node.logprob:.2f}" + (f", less {node.cost:.2f} for saying what another group said" if node.cost else "")
    if place in ends:
        length = len(found.path(place))
        return f"{sum_of}, divided by {length}^{strategy.length_penalty:g} = {length**strategy.length_penalty:.2f}: score {ends[place]:.2f}; a text ends here"
    if place in opened:
        return f"{sum_of}; among the {strategy.width // strategy.groups} best that go on"
    if fate == "pruned":
        return f"{sum_of}; others were better, nothing follows"
    return f"{sum_of}; texts go on from here"


def ranked(data: Any) -> tuple[Ranked, ...]:
    """The texts of the beam, best first."""
    return n_best(data.last.tree, prompt_of(data.model, data.window.text))


def sentence(data: Any, strategy: Beam) -> str:
    """The best text so far and its score, with the numbers put in."""
    best = next(one for one in ranked(data) if one.place == data.last.tree.best)
    less = f" - {best.cost:.2f}" if best.cost else ""
    kind = "The best text" if data.last.done else "The best beginning so far"
    said = (
        f"{kind} of {strategy.width}: “{visible(best.text).replace('·', ' ')}”, ({best.logprob:.2f}{less}) / "
        f"{best.length}^{strategy.length_penalty:g} = {best.score:.3f}."
    )
    return _minus(said) + (" Its score is the sum of ln p over its tokens, divided by a power of their number." if data.last.done else "")


def table(data: Any) -> None:
    """All texts of the beam with what their scores are made of."""
    st.markdown("The texts of the beam, best first")
    st.dataframe(
        pd.DataFrame(
            [(visible(one.text), one.score, one.logprob, one.cost, one.length, one.divisor, one.group + 1, one.ended) for one in ranked(data)],
            columns=["text", "score", "sum of ln p", "cost", "tokens", "divided by", "group", "ended"],
        ),
        hide_index=True, key="decode.table.beam",
    )  # fmt: skip
