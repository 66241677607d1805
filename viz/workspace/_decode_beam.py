"""Decode's beam: the tree while it grows, why a text was given up, and the best texts with what their scores are made of."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd
import streamlit as st

from core.decoding import Beam, Ranked, Step, Tree, n_best, prompt_of
from viz.instruments import tree
from viz.instruments.tree import Branch
from viz.labels import visible

KEY = "decode.beam.tree"


def show(data: Any, params: Any, strategy: Beam) -> None:
    """The tree of this step."""
    if params.groups != strategy.groups:
        st.text(f"{strategy.width} texts are not divided by {params.groups} groups: they stay one.")
    tree(branches(data.last, strategy), key=KEY, title=f"A beam of {strategy.width}", means={"score": "sum of ln p"},
         root="" if data.model.spec.has_source else data.window.text)  # fmt: skip


def branches(step: Step, strategy: Beam) -> list[Branch]:
    """The nodes with their state and the reason for it: the sum of ln p, and how it is compared."""
    found = step.tree
    assert found is not None
    pruned, winner = found.pruned(), set(found.path(found.best))
    ends, opened = dict(found.finished), set(found.open)
    rows = []
    for place, node in enumerate(found.nodes):
        state = "pruned" if place in pruned else "best" if place in winner else "finished" if place in ends else "open"
        before = found.nodes[node.parent].logprob if node.parent >= 0 else 0.0
        says = _minus(_reason(found, place, state, ends, opened, strategy))
        rows.append(Branch(node.parent, node.token, state, node.logprob - node.cost, says, p=_probability(node.logprob - before), ends=place in ends))
    return rows


def _minus(text: str) -> str:
    """A hyphen before a number is a minus.

    >>> _minus("a-b (-1.5)")
    'a-b (−1.5)'
    """
    return re.sub(r"(?<![\w-])-(?=\d)", "\u2212", text)


def _probability(logprob: float) -> float:
    return min(1.0, math.exp(logprob))


def _reason(found: Tree, place: int, state: str, ends: dict[int, float], opened: set[int], strategy: Beam) -> str:
    node = found.nodes[place]
    sum_of = f"sum of ln p = {node.logprob:.2f}" + (f", less {node.cost:.2f} for saying what another group said" if node.cost else "")
    if place in ends:
        length = len(found.path(place))
        return f"{sum_of}, divided by {length}^{strategy.length_penalty:g} = {length**strategy.length_penalty:.2f}: score {ends[place]:.2f}; a text ends here"
    if place in opened:
        return f"{sum_of}; among the {strategy.width // strategy.groups} best that go on"
    if state == "pruned":
        return f"{sum_of}; others were better, nothing follows"
    return f"{sum_of}; texts go on from here"


def ranked(data: Any) -> tuple[Ranked, ...]:
    """The texts of the beam, best first."""
    return n_best(data.last.tree, prompt_of(data.model, data.window.text))


def sentence(data: Any, strategy: Beam) -> str:
    """The best text so far and its score, with the numbers put in."""
    best = ranked(data)[0]
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
