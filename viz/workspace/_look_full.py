"""The full view of Look: all heads, the chosen one as a heatmap with exact values, the arithmetic of a row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads import Heads, entropy
from core.lessons.arithmetic import Row, row_of
from core.run import Attention, Run
from viz.instruments import grid, heatmap
from viz.labels import visible
from viz.pages import Page
from viz.ui import compute, controls, parts, state
from viz.workspace._look_heads import name

KINDS = {
    "self": "The encoder reads itself",
    "causal": "The words written so far",
    "cross": "From the translation to the source",
}
NOTES = {
    "self": "Rows are the words that look (queries), columns the words looked at (keys); in an encoder every word may look at every word.",
    "causal": "Rows are the words that look (queries), columns the words looked at (keys). A word may look at itself and at what stands before it: the hatched cells are forbidden by the mask.",
    "cross": "Rows are the words being written (queries, named by the word that the row writes), columns the words of the source (keys).",
}
SINK = "Weight on the first word often means that a head has nothing to do here: the first word is a place to rest (an attention sink), not a meaning."
CODE = """import core

model = core.open_model({model!r})
run = model.run({text!r}{target})
attention = run.attention({kind!r}, by="word"{writing})
print(attention.weights[{layer}, {head}])"""


def heads_grid(run: Run, kind: str, heads: Heads, layer: int, head: int) -> None:
    """Every head of this kind as a thumbnail, the clearest of each habit first; a click swaps the picture above."""
    attention = _attention(run, kind, "word")
    places = [(i, j) for i in range(heads.shape[0]) for j in range(heads.shape[1])]
    kinds = [[heads.word(i, j) for j in range(heads.shape[1])] for i in range(heads.shape[0])]
    by_kind = controls.toggle("Sort by what they do", "look.sorted", state.read("view", "") != "full")
    order = sorted(places, key=lambda p: (list(heads.best()).index(heads.kind(*p)), -heads.score(*p))) if by_kind else None
    scores = [[heads.score(i, j) for j in range(heads.shape[1])] for i in range(heads.shape[0])]
    picked = grid(
        attention.weights, key=f"look.grid.{kind}", kinds=kinds, scores=scores, allowed=attention.allowed[0, 0], order=order, selected=(layer, head)
    ).head
    if picked is not None and picked != (layer, head):
        state.write(layer=picked[0], head=picked[1])
        st.rerun(scope="fragment")


def show(page: Page, run: Run, kind: str, heads: Heads, layer: int, head: int) -> None:
    """Kinds and pieces, grid, heatmap with exact values, one sentence of numbers, the folds."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(run.kinds) > 1:
            controls.segmented("Which attention", run.kinds, "kind", kind, lambda k: KINDS[k])
        by = controls.segmented("Shown by", ("word", "token"), "look.by", "word", lambda b: {"word": "Words", "token": "Pieces"}[b])
        st.button("Close the full view", icon=":material/close_fullscreen:", type="tertiary", on_click=lambda: state.write(view=None))
    if run.source is not None:
        controls.text("Its translation: the model's own, or type another to see how it would be written", "target", run.target_text or "")
    heads_grid(run, kind, heads, layer, head)
    attention = _attention(run, kind, by)
    queries, keys = ([visible(w) if by == "token" else w for w in axis] for axis in (attention.queries, attention.keys))
    weights, allowed = attention.weights[layer, head], attention.allowed[layer, head]
    cell = heatmap(
        weights, queries, keys, key=f"look.heatmap.{kind}.{by}", allowed=allowed, numbers=len(keys) <= 16, axis=_axis_names(kind),
        title=f"{run.model.name}, {KINDS[kind].lower()}, {name(layer, head)}: {heads.word(layer, head)}",
    ).cell  # fmt: skip
    query, key = cell or np.unravel_index(int(np.argmax(weights)), weights.shape)
    parts.numbers(_sentence(attention, layer, head, int(query), int(key), kind))
    _folds(page, run, kind, heads, (layer, head), attention, int(query), by)


def open_arithmetic() -> None:
    st.session_state["fold:look.arithmetic"] = True


def _attention(run: Run, kind: str, by: str) -> Attention:
    return run.attention(kind, by=by, writing=kind == "cross")


def _axis_names(kind: str) -> tuple[str, str]:
    return ("written word (query)", "source word (key)") if kind == "cross" else ("word that looks (query)", "word looked at (key)")


def _sentence(attention: Attention, layer: int, head: int, query: int, key: int, kind: str) -> str:
    row = attention.weights[layer, head, query]
    doing = "Writing" if kind == "cross" else "Reading"
    effective = float(np.exp(entropy(row)))
    return (
        f"{doing} “{visible(attention.queries[query])}”, {name(layer, head)} gives {row[key]:.1%} to “{visible(attention.keys[key])}”; "
        f"the row adds up to {row.sum():.3f} and is as spread as an even look at {effective:.1f} words."
    )


def _folds(page: Page, run: Run, kind: str, heads: Heads, place: tuple[int, int], attention: Attention, query: int, by: str) -> None:
    layer, head = place
    with parts.fold(parts.EQUATION, "look.arithmetic") as fold:
        if fold.open:
            _arithmetic(_deep_row(run, kind, layer, head, _first_piece(run, kind, query, by)), kind)
    with parts.fold(parts.LOOKING, "look.looking") as fold:
        if fold.open:
            st.markdown(NOTES[kind])
            st.markdown(
                f"Layer {layer} of {heads.shape[0]} and head {head} of {heads.shape[1]}, both counted from 0. The name of a head is its habit, "
                f"measured on {heads.n} sentences of our own, not on this one: *{heads.word(layer, head)}*, score {heads.score(layer, head):.2f}."
            )
            st.markdown(SINK)
            st.markdown("A large weight says what was looked at, not why the model decided as it did: attention is not an explanation.")
    parts.documents(page)
    parts.as_table(lambda: _table(attention, layer, head), "look")
    parts.take_away(
        lambda: {"weights": attention.weights[layer, head], "allowed": attention.allowed[layer, head]},
        CODE.format(
            model=run.model.name, text=run.source.text if run.source else run.side.text, kind=kind, layer=layer, head=head,
            target=f", target={run.target_text!r}" if run.source else "", writing=", writing=True" if kind == "cross" else "",
        ),
        key="look",
    )  # fmt: skip


def _first_piece(run: Run, kind: str, query: int, by: str) -> int:
    if by == "token":
        return query
    side = run.source if run.model.spec.kind(kind).queries == "source" and run.source else run.side
    words = (side.written() if kind == "cross" else side).words
    return words[query].pieces[0]


def _deep_row(run: Run, kind: str, layer: int, head: int, query: int) -> Row:
    found = run.model.spec.kind(kind)
    keep = tuple(found.path(layer, leaf) for leaf in ("q", "k", "scores", "allowed", "pattern"))
    text = run.source.text if run.source else run.side.text
    return row_of(compute.run(run.model.name, text, target=run.target_text, keep=keep), kind, layer, head, query)


def _arithmetic(row: Row, kind: str) -> None:
    parts.equation(r"a_{ij} = \frac{e^{s_{ij}}}{\sum_{k} e^{s_{ik}}}, \qquad s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}}, \qquad d = " + str(row.d_head))
    best = int(np.argmax(row.weights))
    st.text(
        f"The row of “{visible(row.query)}” (arithmetic is done on pieces). For “{visible(row.keys[best])}”: "
        f"{row.dots[best]:.4f} / √{row.d_head} = {row.scores[best]:.4f}; the largest allowed score is taken off before e^, which changes nothing: "
        f"{row.exps[best]:.4f} / {row.total:.4f} = {row.weights[best]:.4f}."
    )
    st.dataframe(
        pd.DataFrame({
            "key": [visible(key) for key in row.keys], "q · k": row.dots.round(4), f"s = q · k / √{row.d_head}": row.scores.round(4),
            "may look": row.allowed, "e^(s − max)": row.exps.round(4), "weight": row.weights.round(4),
        }),
        hide_index=True, key="look.arithmetic.table",
    )  # fmt: skip
    st.caption(f"Recomputed here in float64; it differs from the tensor of the run by at most {row.residue:.1e}.")


def _table(attention: Attention, layer: int, head: int) -> pd.DataFrame:
    """One line a pair of words, strongest first: words repeat, so they are cells and not column names."""
    weights, allowed = attention.weights[layer, head], attention.allowed[layer, head]
    rows, columns = np.nonzero(allowed)
    order = np.argsort(-weights[rows, columns], kind="stable")
    return pd.DataFrame({
        "row": rows[order], "query": [visible(attention.queries[i]) for i in rows[order]],
        "column": columns[order], "key": [visible(attention.keys[j]) for j in columns[order]],
        "weight": weights[rows, columns][order].round(4),
    })  # fmt: skip
