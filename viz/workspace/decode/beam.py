"""Decode's beam: the tree while it grows, why a text was given up, the text that is followed and the one it is compared with, and what scores are made of."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.decoding import Beam, Ranked, Step, Tree, compare, hypothesis_steps, n_best, prompt_of
from viz.instruments import tree
from viz.instruments.tree.tree import Branch
from viz.labels import visible
from viz.number_text import minus_of_numbers
from viz.shell import state
from viz.widgets import page_parts
from viz.workspace.decode import compare as comparison
from viz.workspace.decode import follow


def show(data: Any, params: Any, strategy: Beam) -> int | None:
    """Draw the tree of this step, its best text, and two texts compared; return the node that the visitor chose, None where the best is followed."""
    if params.groups != strategy.groups:
        st.text(f"{strategy.width} texts are not divided by {params.groups} groups: they stay one.")
    follow.draw_inserted(data, params.force)
    node, other = follow.nodes_in_link(data, (params.model, data.window.text, strategy, params.force))
    marks = {} if other is None else {"A": follow.path(data, node)[-1], "B": other}
    shown = (
        _on_the_wall(data.last.tree, (node, other))
        if state.presenting()
        else range(len(data.last.tree.nodes))
    )
    at = {place: row for row, place in enumerate(shown)}
    rows = branches(data.last, strategy, node, frozenset(dict(params.force)))
    tree(
        [replace(rows[place], parent=at.get(rows[place].parent, -1)) for place in shown],
        key=follow.KEY,
        title=f"A beam of {strategy.width}",
        selected=None if node is None else at[node],
        marks={letter: at[place] for letter, place in marks.items()},
        on_node=partial(follow.choose, shown),
        on_second=partial(follow.second, shown),
        means={"score": "sum of ln p", "now": "followed"},
        root="" if data.model.spec.has_source else data.window.text,
    )
    page_parts.summary(sentence(data, strategy))
    if other is not None:
        compared(data, marks["A"], other, strategy)
    if node is not None or not state.presenting():
        follow.line(data, node)
    return node


def _on_the_wall(tree: Tree, also: tuple[int | None, ...]) -> list[int]:
    """Return the nodes that are shown in present mode: what was pruned is shown with the newest step alone."""
    newest, fates = max(node.step for node in tree.nodes), tree.node_fates()
    present = [
        place for place, node in enumerate(tree.nodes) if node.step == newest or fates[place] != "pruned"
    ]
    extra = [place for place in also if place is not None]
    return sorted({part for place in (*present, *extra) for part in tree.path(place)})


def compared(data: Any, a: int, b: int, strategy: Beam) -> None:
    """Draw two nodes of the tree as A and B."""
    nodes, prompt = data.last.tree.nodes, prompt_of(data.model, data.window.text)
    one, other = (hypothesis_steps(data.steps, place, prompt) for place in (a, b))
    found = compare(one, other, strategy.length_penalty, (nodes[a].cost, nodes[b].cost))
    comparison.show(
        found,
        "" if data.model.spec.has_source else data.window.text,
        follow.end_comparison,
        strategy.length_penalty,
    )


def branches(
    step: Step, strategy: Beam, node: int | None = None, forced: frozenset[int] = frozenset()
) -> list[Branch]:
    """Return the nodes with their state and the reason for it: the sum of ln p, and how it is compared. `node` is followed; the tokens of the steps `forced` were put in by the visitor."""
    found = step.tree
    assert found is not None
    fates, ends, opened = found.node_fates(), dict(found.finished), set(found.open)
    rows = []
    for place, one in enumerate(found.nodes):
        says = ("put in by you; " if one.step in forced else "") + minus_of_numbers(
            _reason(found, place, fates[place], ends, opened, strategy)
        )
        fate = "now" if place == node else fates[place]
        rows.append(
            Branch(
                one.parent,
                one.token,
                fate,
                one.logprob - one.cost,
                says,
                p=_probability(found.token_logprob(place)),
                ends=place in ends,
            )
        )
    return rows


def _probability(logprob: float) -> float:
    return min(1.0, math.exp(logprob))


def _reason(
    search_tree: Tree, place: int, fate: str, ends: dict[int, float], opened: set[int], strategy: Beam
) -> str:
    node = search_tree.nodes[place]
    sum_of = f"sum of ln p = {node.logprob:.2f}" + (
        f", less {node.cost:.2f} for saying what another group said" if node.cost else ""
    )
    if place in ends:
        length = len(search_tree.path(place))
        return f"{sum_of}, divided by {length}^{strategy.length_penalty:g} = {length**strategy.length_penalty:.2f}: score {ends[place]:.2f}; a text ends here"
    if place in opened:
        return f"{sum_of}; among the {strategy.width // strategy.groups} best that go on"
    if fate == "pruned":
        return f"{sum_of}; others were better, nothing follows"
    return f"{sum_of}; texts go on from here"


def ranked(data: Any) -> tuple[Ranked, ...]:
    """Return the texts of the beam, best first."""
    return n_best(data.last.tree, prompt_of(data.model, data.window.text))


def sentence(data: Any, strategy: Beam) -> str:
    """Return the best text so far and its score, with the numbers put in."""
    best = next(one for one in ranked(data) if one.place == data.last.tree.best)
    less = f" - {best.cost:.2f}" if best.cost else ""
    kind = "The best text" if data.last.done else "The best beginning so far"
    said = (
        f"{kind} of {strategy.width}: “{visible(best.text).replace('·', ' ')}”, ({best.logprob:.2f}{less}) / "
        f"{best.length}^{strategy.length_penalty:g} = {best.score:.3f}."
    )
    return minus_of_numbers(said) + (
        " Its score is the sum of ln p over its tokens, divided by a power of their number."
        if data.last.done
        else ""
    )


def table(data: Any) -> None:
    """Draw all texts of the beam with the parts of their scores."""
    st.markdown("The texts of the beam, best first")
    page_parts.dataframe(
        pd.DataFrame(
            [
                (
                    visible(one.text),
                    one.score,
                    one.logprob,
                    one.cost,
                    one.length,
                    one.divisor,
                    one.group + 1,
                    one.ended,
                )
                for one in ranked(data)
            ],
            columns=["text", "score", "sum of ln p", "cost", "tokens", "divided by", "group", "ended"],
        ),
        hide_index=True,
        key="decode.table.beam",
    )
