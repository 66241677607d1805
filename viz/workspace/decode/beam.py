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
from viz.languages import _
from viz.number_text import minus_of_numbers, number
from viz.shell import state
from viz.widgets import page_parts
from viz.workspace.decode import compare as comparison
from viz.workspace.decode import follow


def show(data: Any, params: Any, strategy: Beam) -> int | None:
    """Draw the tree of this step, its best text, and two texts compared; return the node that the visitor chose, None where the best is followed."""
    if params.groups != strategy.groups:
        st.text(
            _(
                "{width} texts are not divided by {groups} groups: they stay one.",
                width=strategy.width,
                groups=params.groups,
            )
        )
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
        title=_("A beam of {width}", width=strategy.width),
        selected=None if node is None else at[node],
        marks={letter: at[place] for letter, place in marks.items()},
        on_node=partial(follow.choose, shown),
        on_second=partial(follow.second, shown),
        means={"score": _("sum of ln p"), "now": _("followed")},
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
        says = minus_of_numbers(_reason(found, place, fates[place], ends, opened, strategy))
        if one.step in forced:
            says = _("put in by you; {reason}", reason=says)
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
    sum_of = (
        _(
            "sum of ln p = {sum:.2f}, less {cost:.2f} for saying what another group said",
            sum=node.logprob,
            cost=node.cost,
        )
        if node.cost
        else _("sum of ln p = {sum:.2f}", sum=node.logprob)
    )
    if place in ends:
        length = len(search_tree.path(place))
        return _(
            "{sum}, divided by {length}^{penalty:g} = {divisor:.2f}: score {score:.2f}; a text ends here",
            sum=sum_of,
            length=length,
            penalty=strategy.length_penalty,
            divisor=length**strategy.length_penalty,
            score=ends[place],
        )
    if place in opened:
        return _("{sum}; among the {n} best that go on", sum=sum_of, n=strategy.width // strategy.groups)
    if fate == "pruned":
        return _("{sum}; others were better, nothing follows", sum=sum_of)
    return _("{sum}; texts go on from here", sum=sum_of)


def ranked(data: Any) -> tuple[Ranked, ...]:
    """Return the texts of the beam, best first."""
    return n_best(data.last.tree, prompt_of(data.model, data.window.text))


def sentence(data: Any, strategy: Beam) -> str:
    """Return the best text so far and its score, with the numbers put in."""
    best = next(one for one in ranked(data) if one.place == data.last.tree.best)
    values = {
        "width": strategy.width,
        "text": visible(best.text).replace("·", " "),
        "sum": f"{number(best.logprob)} - {number(best.cost)}" if best.cost else number(best.logprob),
        "length": best.length,
        "penalty": strategy.length_penalty,
        "score": best.score,
    }
    return minus_of_numbers(
        _(
            "The best text of {width}: “{text}”, ({sum}) / {length}^{penalty:g} = {score:.3f}. Its score is the sum of ln p over its tokens, divided by a power of their number.",
            **values,
        )
        if data.last.done
        else _(
            "The best beginning so far of {width}: “{text}”, ({sum}) / {length}^{penalty:g} = {score:.3f}.",
            **values,
        )
    )


def table(data: Any) -> None:
    """Draw all texts of the beam with the parts of their scores."""
    st.markdown(_("The texts of the beam, best first"))
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
            columns=[
                _("text"),
                _("score"),
                _("sum of ln p"),
                _("cost"),
                _("tokens"),
                _("divided by"),
                _("group"),
                _("ended"),
            ],
        ),
        hide_index=True,
        key="decode.table.beam",
    )
