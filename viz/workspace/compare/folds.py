"""The folds of Compare: the divergence with these numbers, how to read the pictures, tables, lines of Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attention.measures import entropy, mean_distance
from core.analysis.heads.habits import HABIT_NAMES, HeadHabits
from core.analysis.heads.patch_habits import mean_patch_distance
from viz.labels import distinct, head_name
from viz.languages import _, mark
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.widgets.export import Labelled
from viz.widgets.pins import AGGREGATES
from viz.workspace.compare.compared import LETTERS, Compared, Pair, Pane
from viz.workspace.shared import attention_kinds, head_ref

DIVERGENCE = r"\mathrm{JSD}(a, b) = H\left(\tfrac{a + b}{2}\right) - \tfrac{1}{2}\left(H(a) + H(b)\right)"
LIKENESS = r"\text{%s} = \frac{\sum_{ij} a_{ij} b_{ij}}{\lVert a \rVert \, \lVert b \rVert}, \qquad \text{%s} = \text{%s}"
LOOKING = mark(
    "Rows are the queries (the words that attend), columns the keys (the words attended to). All patterns share one scale from 0 to 1. The scale of the difference is centred on 0: one colour where A gives more weight, the other where B does. Hatched cells are masked; grey ones belong to a word that has no counterpart, because one of the two lacks it.\n\n"
    "The divergence is 0 bits for equal rows and 1 bit for rows that have no word in common; weight on a word that the other sentence lacks counts as a difference. "
    "Where two models cut a text into different tokens, tokens that share letters are aligned: weights are added up over the keys and averaged over the queries. Two different texts are aligned word by word so that as many words as possible are the same "
    "(Needleman and Wunsch 1970).\n\n"
    "The heads of a layer work in parallel and none comes after another; none attends to pairs of words (the survey of Ghojogh and Ghodsi 2020 suggests that some do)."
)
CODE = """import numpy as np

import core
from core.analysis.attention.align import pool_patterns, {how}
{joins}from core.analysis.heads.pattern_distance import compare_patterns
{changes}
{panes}
rows = {rows}
columns = {columns}
first, second = pool_patterns([{one}, {two}], rows, columns)
may, also = pool_patterns([{one_may}, {two_may}], rows, columns)
both = np.array([all(slot) for slot in rows])   # rows whose word both have; cells that either may look at
cells = ((may > 0) | (also > 0)) & both[:, None]
print(compare_patterns(first, second, cells))   # bits a row and over all, correlation, cosine"""


def show(page: Page, comparison: Compared, pair: Pair, by: str) -> None:
    with page_parts.fold(_("Every head of A in numbers"), "compare.figures") as fold:
        if fold.open:
            pane = comparison.panes[0]
            attention = head_ref.attention_of(pane.run, pane.view.kind)
            page_parts.dataframe(
                figures(pane.heads[pane.view.kind], attention.weights, patches=pane.is_picture),
                hide_index=True,
                key="compare.heads",
            )
    with page_parts.fold(page_parts.EQUATION, "compare.equation") as fold:
        if fold.open:
            _equation(comparison, pair)
    with page_parts.fold(page_parts.LOOKING, "compare.looking") as fold:
        if fold.open:
            st.markdown(_(LOOKING))
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: table(comparison, pair), "compare")
    page_parts.export_fold(
        lambda: _arrays(comparison, pair),
        code(comparison.panes[pair.a], comparison.panes[pair.b], pair, by),
        key="compare",
    )


def table(comparison: Compared, pair: Pair) -> pd.DataFrame:
    """Return every row of the two: its words, how different it is, where each looks most."""
    rows = [row for row in range(len(comparison.rows)) if row in pair.order]

    def column(pane: int) -> dict[str, list[object]]:
        best = [int(comparison.weights[pane][row].argmax()) for row in rows]
        letter = LETTERS[pane]
        return {
            _("word, {letter}", letter=letter): [
                comparison.visible_word("queries", row, pane) for row in rows
            ],
            _("{letter} looks most at", letter=letter): [
                comparison.visible_word("keys", key, pane) for key in best
            ],
            _("with, {letter}", letter=letter): [
                round(float(comparison.weights[pane][row, key]), 4)
                for row, key in zip(rows, best, strict=True)
            ],
        }

    return pd.DataFrame(
        column(pair.a)
        | column(pair.b)
        | {_("divergence in bits"): [round(float(pair.likeness.rows[row]), 4) for row in rows]}
    )


def figures(measured: HeadHabits, w: np.ndarray, *, patches: bool = False) -> pd.DataFrame:
    """Return every head in figures: its habit on the battery, entropy and distance on this sentence."""
    places = [(i, j) for i in range(w.shape[0]) for j in range(w.shape[1])]
    bits = entropy(w).mean(-1) / np.log(2)
    far, distance = (
        (mean_patch_distance(w), _("mean distance here, patches"))
        if patches
        else (mean_distance(w), _("mean distance here, words"))
    )
    return pd.DataFrame(
        {
            _("head"): [head_name(*p) for p in places],
            _("habit"): [_(measured.label(*p)) for p in places],
            _("entropy here, bits"): [round(float(bits[p]), 2) for p in places],
            distance: [round(float(far[p]), 2) for p in places],
            **{
                _("on {habit}, battery", habit=_(HABIT_NAMES[name])): [
                    round(float(score[p]), 2) for p in places
                ]
                for name, score in measured.scores.items()
            },
        }
    )


def _equation(comparison: Compared, pair: Pair) -> None:
    page_parts.equation(DIVERGENCE)
    page_parts.equation(LIKENESS % (_("cosine"), _("correlation"), _("the same after taking off the means")))
    if not pair.order:
        return
    row = pair.order[0]
    a, b = (comparison.weights[pane][row] / comparison.weights[pane][row].sum() for pane in (pair.a, pair.b))
    h = [float(entropy(p) / np.log(2)) for p in ((a + b) / 2, a, b)]
    word = comparison.visible_word("queries", row, pair.a)
    st.text(
        _(
            "At “{word}”: {joint:.4f} \u2212 ({a:.4f} + {b:.4f}) / 2 = {result:.4f} bits. The mean over {n} rows is {mean:.4f} bits.",
            word=word,
            joint=h[0],
            a=h[1],
            b=h[2],
            result=h[0] - (h[1] + h[2]) / 2,
            n=len(pair.order),
            mean=pair.likeness.bits,
        )
    )


def _arrays(comparison: Compared, pair: Pair) -> dict[str, np.ndarray | Labelled]:
    """Return the patterns on common words, their difference and that of each row, with the words of both axes."""
    words = {side: distinct(comparison.words(side, pair.a)) for side in ("queries", "keys")}
    axes = {"query": words["queries"], "key": words["keys"]}
    named = {LETTERS[pane]: Labelled(weights, axes) for pane, weights in enumerate(comparison.weights)}
    return {
        **named,
        **{side: np.array(names) for side, names in words.items()},
        "difference": Labelled(pair.difference, axes),
        "bits": Labelled(pair.likeness.rows, {"query": words["queries"]}),
    }


def code(a: Pane, b: Pane, pair: Pair, by: str) -> str:
    """Return lines that compute the same comparison in a notebook."""
    panes, names = (a, b), [LETTERS[place].lower() for place in (pair.a, pair.b)]
    pieces = by == "token" and a.queries.text == b.queries.text and a.keys.text == b.keys.text
    lines = [line for pane, name in zip(panes, names, strict=True) for line in _lines(pane, name, by)]

    def slots(side: str) -> str:
        if not pieces:
            return f"align_words({names[0]}.{side}, {names[1]}.{side})"
        one, two = (_side(pane, name, side) for pane, name in zip(panes, names, strict=True))
        return f"align_tokens({one}.text, {one}.spans, {two}.spans, {names[0]}.{side}, {names[1]}.{side})"

    return CODE.format(
        how="align_tokens" if pieces else "align_words",
        panes="\n".join(lines),
        rows=slots("queries"),
        columns=slots("keys"),
        changes="from core.edits.serialize import from_text\n"
        if any(pane.view.edits for pane in panes)
        else "",
        joins=""
        if all(isinstance(pane.view.head, int) for pane in panes)
        else "from core.analysis.attention.aggregate import aggregate_heads\n",
        **{
            key: f"{name}.weights[{pane.view.layer}, {pane.view.head if isinstance(pane.view.head, int) else 0}]"
            for key, pane, name in zip(("one", "two"), panes, names, strict=True)
        },
        **{
            f"{key}_may": f"{name}.allowed[{pane.view.layer}, {_mask_head(pane)}]"
            for key, pane, name in zip(("one", "two"), panes, names, strict=True)
        },
    )


def _mask_head(pane: Pane) -> int:
    """Return the head of a pane in the masks of its run, of which all heads may share one."""
    path = pane.run.model.spec.kind(pane.view.kind).path(pane.view.layer, "allowed")
    return min(pane.view.head, len(pane.run.trace[path]) - 1) if isinstance(pane.view.head, int) else 0


def _lines(pane: Pane, name: str, by: str) -> list[str]:
    """Return the lines that run a pane and take its patterns."""
    view, run = pane.view, pane.run
    given = {
        "target": run.target_text if (view.strategy or view.edits) and run.source else view.target,
        "pair": view.pair,
    }
    more = "".join(f", {key}={value!r}" for key, value in given.items() if value) + (
        f", edits=from_text({view.edits!r})" if view.edits else ""
    )
    text = run.source.text if run.source else run.side.text
    writing = ", writing=True" if attention_kinds.crosses(view.kind) else ""
    found = f"{name}_run.attention({view.kind!r}, by={by!r}{writing})"
    if not isinstance(view.head, int):
        found = f"aggregate_heads({name}_run, {view.kind!r}, {AGGREGATES[view.head]!r}, {by!r}{writing})"
    return [f"{name}_run = core.open_model({view.model!r}).run({text!r}{more})", f"{name} = {found}"]


def _side(pane: Pane, name: str, side: str) -> str:
    """Return the sequence along one side of a pattern, by its name in the run."""
    found = pane.run.model.spec.kind(pane.view.kind)
    reads = getattr(found, side) == "source" and pane.run.source is not None
    return (
        f"{name}_run.source"
        if reads
        else f"{name}_run.side.next_tokens()"
        if side == "queries" and attention_kinds.crosses(pane.view.kind)
        else f"{name}_run.side"
    )
