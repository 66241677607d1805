"""The full view of Look: all heads, the chosen one as a heatmap with exact values, the arithmetic of a row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads import Heads
from core.analysis.measures import entropy
from core.lessons.arithmetic import Row, needed, row_of
from core.run import Attention, Run
from viz.instruments import grid, heatmap
from viz.instruments.words import start
from viz.labels import visible
from viz.pages import Page
from viz.ui import compute, controls, parts, state
from viz.workspace._look_heads import Place, crosses, drawn_words, layout, look, several
from viz.workspace._look_heads import show as show_head

KINDS = {
    "self": "The encoder reads itself",
    "causal": "The words written so far",
    "cross": "From the translation to the source",
    "alignment": "From the translation to the source",
}
NOTES = {
    "self": "Rows are the words that look (queries), columns the words looked at (keys); in an encoder every word may look at every word.",
    "causal": "Rows are the words that look (queries), columns the words looked at (keys). A word may look at itself and at what stands before it: the hatched cells are forbidden by the mask.",
    "cross": "Rows are the words being written (queries, named by the word that the row writes), columns the words of the source (keys).",
    "alignment": "Rows are the words being written (queries, named by the word that the row writes), columns the words of the source (keys).",
}
SINK = "Weight on the first word often means that a head has nothing to do here: the first word is a place to rest (an attention sink), not a meaning."
CODE = """import core

model = core.open_model({model!r})
run = model.run({text!r}{target})
attention = run.attention({kind!r}, by="word"{writing})
print(attention.weights[{layer}, {head}])"""


def heads_grid(run: Run, measured: Mapping[str, Heads], place: Place) -> None:
    """Every head of this kind as a thumbnail, the clearest of each habit first; a click swaps the picture above."""
    attention, heads = look(run, place.kind), measured[place.kind]
    rows, columns = (range(n) for n in heads.shape)
    by_kind = controls.toggle("Sort by what they do", "look.sorted", state.read("view", "") != "full")
    habits = list(heads.best())
    order = sorted(((i, j) for i in rows for j in columns), key=lambda p: (habits.index(heads.kind(*p)), -heads.score(*p)))
    picked = grid(
        attention.weights, key=f"look.grid.{place.kind}", kinds=[[heads.word(i, j) for j in columns] for i in rows],
        scores=[[heads.score(i, j) for j in columns] for i in rows], allowed=attention.allowed[0, 0],
        order=order if by_kind else None, selected=(place.layer, place.head),
    ).head  # fmt: skip
    if picked is not None and picked != (place.layer, place.head):
        show_head(Place(place.kind, *picked))
        st.rerun(scope="fragment")


def show(page: Page, run: Run, measured: Mapping[str, Heads], place: Place) -> None:
    """Kinds and pieces, grid, heatmap with exact values, one sentence of numbers, the folds."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(run.kinds) > 1:
            controls.segmented("Which attention", run.kinds, "kind", place.kind, lambda k: KINDS[k])
        by = controls.segmented("Shown by", ("word", "token"), "look.by", "word", lambda b: {"word": "Words", "token": "Pieces"}[b])
        st.button("Close the full view", icon=":material/close_fullscreen:", type="tertiary", on_click=lambda: state.write(view=None))
    if run.source is not None:
        controls.text("Its translation: the model's own, or type another to see how it would be written", "target", run.target_text or "")
    if several(measured):
        heads_grid(run, measured, place)
    attention, heads = look(run, place.kind, by), measured[place.kind]
    queries, keys = ([visible(w) if by == "token" else w for w in axis] for axis in (attention.queries, attention.keys))
    weights, allowed = attention.weights[place.layer, place.head], attention.allowed[place.layer, place.head]
    touched = _touched(attention, place) if by == "word" else None
    left, right = st.columns([3, 2], gap="large")
    with left:
        cell = heatmap(
            weights, queries, keys, key=f"look.heatmap.{place.kind}.{by}", allowed=allowed, numbers=len(keys) <= 16, axis=_axis_names(place.kind),
            selected=touched, title=f"{place}, {heads.word(place.layer, place.head)}: choose a cell",
        ).cell  # fmt: skip
    query, key = (int(i) for i in cell or np.unravel_index(int(np.argmax(weights)), weights.shape))
    with right:
        _steps(attention, place, _deep_row(run, place, *_pieces(run, place.kind, query, key, by)), query, key, by)
    parts.numbers(_sentence(attention, place, query, key))
    _folds(page, run, heads, place, attention, _pieces(run, place.kind, query, key, by)[0])


def _touched(attention: Attention, place: Place) -> tuple[int, int]:
    """The cell of the word that is touched in the picture above: where it looks most, or who looks at it most."""
    weights, allowed = attention.weights[place.layer, place.head], attention.allowed[place.layer, place.head]
    drawn = drawn_words(attention)
    side, index = start(weights, allowed, drawn, len(attention.keys), state.read("look.word", "") or None, layout(place.kind))
    if side == "source":
        return int(weights[:, index].argmax()), int(index)
    row = drawn[int(index)][1]
    return row, int(weights[row].argmax())


def open_arithmetic() -> None:
    st.session_state["fold:look.arithmetic"] = True


def _axis_names(kind: str) -> tuple[str, str]:
    return ("written word (query)", "source word (key)") if crosses(kind) else ("word that looks (query)", "word looked at (key)")


def _sentence(attention: Attention, place: Place, query: int, key: int) -> str:
    row = attention.weights[place.layer, place.head, query]
    doing = "Writing" if crosses(place.kind) else "Reading"
    return (
        f"{doing} “{visible(attention.queries[query])}”, {place} gives {row[key]:.1%} to “{visible(attention.keys[key])}”; "
        f"the row adds up to {row.sum():.3f} and is as spread as an even look at {float(np.exp(entropy(row))):.1f} words."
    )


def _folds(page: Page, run: Run, heads: Heads, place: Place, attention: Attention, piece: int) -> None:
    with parts.fold(parts.EQUATION, "look.arithmetic") as fold:
        if fold.open:
            _arithmetic(_deep_row(run, place, piece)[0])
    with parts.fold(parts.LOOKING, "look.looking") as fold:
        if fold.open:
            word, score = heads.word(place.layer, place.head), heads.score(place.layer, place.head)
            st.markdown(NOTES[place.kind])
            st.markdown(
                f"Layer {place.layer} of {heads.shape[0]} and head {place.head} of {heads.shape[1]}, both counted from 0. The name of a head is its "
                f"habit, measured on {heads.n} sentences of our own, not on this one: *{word}*, score {score:.2f}."
            )
            st.markdown(SINK)
            st.markdown("A large weight says what was looked at, not why the model decided as it did: attention is not an explanation.")
    parts.documents(page)
    parts.as_table(lambda: _table(attention, place), "look")
    weights, allowed = (array[place.layer, place.head] for array in (attention.weights, attention.allowed))
    code = CODE.format(
        model=run.model.name, text=run.source.text if run.source else run.side.text, kind=place.kind, layer=place.layer, head=place.head,
        target=f", target={run.target_text!r}" if run.source else f", pair={run.side.pair!r}" if run.side.pair else "", writing=", writing=True" if crosses(place.kind) else "",
    )  # fmt: skip
    parts.take_away(lambda: {"weights": weights, "allowed": allowed}, code, key="look")


def _pieces(run: Run, kind: str, query: int, key: int, by: str) -> tuple[int, int]:
    """The tokens of a chosen cell: the first piece of each word."""
    if by == "token":
        return query, key
    found = run.model.spec.kind(kind)
    queries, keys = (run.source if axis == "source" and run.source else run.side for axis in (found.queries, found.keys))
    return (queries.written() if crosses(kind) else queries).words[query].pieces[0], keys.words[key].pieces[0]


def _deep_row(run: Run, place: Place, query: int, key: int = 0) -> tuple[Row, int]:
    keep = needed(run, place.kind, place.layer)
    text = run.source.text if run.source else run.side.text
    deep = compute.run(run.model.name, text, target=run.target_text, pair=run.side.pair, keep=keep)
    return row_of(deep, place.kind, place.layer, place.head, query), key


def _steps(attention: Attention, place: Place, at: tuple[Row, int], query: int, key: int, by: str) -> None:
    """The way of one number, from the dot product to the weight."""
    row, token = at
    st.subheader("How this number is computed", anchor=False)
    st.text(f"“{visible(attention.queries[query])}” looks at “{visible(attention.keys[key])}”: {attention.weights[place.layer, place.head, query, key]:.4f}")
    if not row.allowed[token]:
        st.text("The mask forbids this cell: its weight is exactly 0, whatever its score.")
        return
    share, score = row.exps[token] / row.total, f"{row.scores[token]:.4f}"
    steps = [("the score that its network gives this pair", score)] if row.dots is None else [
        ("query · key", f"{row.dots[token]:.4f}"), (f"divided by √{row.d_head}: the score", score)]
    steps += [("e to the (score − largest score)", f"{row.exps[token]:.4f}"),
              ("divided by the sum over the row", f"{row.exps[token]:.4f} / {row.total:.4f} = {share:.4f}")]
    if row.gaussian is not None:
        steps.append(("times the Gaussian around the predicted place", f"{share:.4f} · {row.gaussian[token]:.4f} = {row.weights[token]:.4f}"))
    st.table(pd.DataFrame(steps, columns=["step", "value"]).set_index("step"))
    if by == "word":
        st.caption("Arithmetic is done on pieces: this is the first piece of each word. A word's weight is the sum over its pieces.")


def _arithmetic(row: Row) -> None:
    dotted = row.dots is not None
    parts.equation(r"a_{ij} = \frac{e^{s_{ij}}}{\sum_{k} e^{s_{ik}}}" + (
        r", \qquad s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}}, \qquad d = " + str(row.d_head) if dotted else
        r", \qquad s_{ij} = \mathrm{score}(q_i, k_j)") + ("" if row.gaussian is None else r", \qquad a'_{ij} = a_{ij}\, e^{-(j - p_i)^2 / 2\sigma^2}"))  # fmt: skip
    best = int(np.argmax(row.weights))
    come = f"{row.dots[best]:.4f} / √{row.d_head} = {row.scores[best]:.4f}" if row.dots is not None else f"the score is {row.scores[best]:.4f}"
    factor = "" if row.gaussian is None else f" · {row.gaussian[best]:.4f}"
    st.text(
        f"The row of “{visible(row.query)}” (arithmetic is done on pieces). For “{visible(row.keys[best])}”: "
        f"{come}; the largest allowed score is taken off before e^, which changes nothing: "
        f"{row.exps[best]:.4f} / {row.total:.4f}{factor} = {row.weights[best]:.4f}."
    )
    columns = {
        "key": [visible(key) for key in row.keys], "q · k": row.dots, f"s = q · k / √{row.d_head}" if dotted else "score": row.scores,
        "may look": row.allowed, "e^(s − max)": row.exps, "Gaussian": row.gaussian, "weight": row.weights,
    }  # fmt: skip
    st.dataframe(pd.DataFrame({name: values for name, values in columns.items() if values is not None}).round(4), hide_index=True, key="look.arithmetic.table")
    st.caption(f"Recomputed here in float64; it differs from the tensor of the run by at most {row.residue:.1e}.")


def _table(attention: Attention, place: Place) -> pd.DataFrame:
    """One line a pair of words, strongest first: words repeat, so they are cells and not column names."""
    weights, allowed = attention.weights[place.layer, place.head], attention.allowed[place.layer, place.head]
    rows, columns = np.nonzero(allowed)
    order = np.argsort(-weights[rows, columns], kind="stable")
    return pd.DataFrame({
        "row": rows[order], "query": [visible(attention.queries[i]) for i in rows[order]],
        "column": columns[order], "key": [visible(attention.keys[j]) for j in columns[order]],
        "weight": weights[rows, columns][order].round(4),
    })  # fmt: skip
