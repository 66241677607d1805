"""The closed folds of the full view: the row with its numbers, what one looks at, documents, table, take-away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.arithmetic.cell import AttentionRow, attention_row
from core.analysis.heads.habits import HeadHabits
from core.layers.score_terms import columns as beside_keys
from core.layers.score_terms import in_latex, in_short
from core.run import Run
from viz.labels import distinct, percent, visible
from viz.languages import _, mark
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.widgets.export import Labelled
from viz.workspace.look import cell, head_output, relative_bias, score_sum
from viz.workspace.shared.attention_kinds import crosses
from viz.workspace.shared.head_ref import HeadRef, HeadView

NOTES = {
    "self": mark(
        "Rows are the words that look (queries), columns the words looked at (keys); in an encoder every word may look at every word."
    ),
    "causal": mark(
        "Rows are the words that look (queries), columns the words looked at (keys). A word may look at itself and at what stands before it: the hatched cells are masked."
    ),
    "decoder": mark(
        "Rows are the patches that look (queries), columns those looked at (keys); a decoder that fills in a picture sees every place, where a patch is hidden one learned vector in its stead."
    ),
    "cross": mark(
        "Rows are the words being written (queries, named by the word that the row writes), columns the words of the source (keys)."
    ),
    "alignment": mark(
        "Rows are the words being written (queries, named by the word that the row writes), columns the words of the source (keys)."
    ),
    "words": mark(
        "Rows are the sentences, columns the words (keys). The query is not a word but one learned vector, the same for every text, that looks for the informative words of each sentence. The hatched cells are the words of other sentences."
    ),
    "sentences": mark(
        "The one row is the document, columns are the sentences (keys). The query is one learned vector, the same for every text."
    ),
}
CODE = """import core

model = core.open_model({model!r})
run = model.run({text!r}{target})
attention = run.attention({kind!r}, by="word"{writing})
print(attention.weights[{layer}, {head}])"""


def show(
    page: Page,
    run: Run,
    heads: HeadHabits,
    place: HeadRef,
    head_pattern: HeadView,
    piece: tuple[int, int],
    *,
    one: bool,
) -> None:
    """Draw the folds; `piece` are query and key as token indices, `one` says that a single head is shown."""
    relative_bias.show(run, place)
    if one:
        score_sum.show(run, place, *piece)
        head_output.show(run, place, *piece)
    with page_parts.fold(page_parts.EQUATION, "look.arithmetic") as fold:
        if fold.open:
            _row(attention_row(cell.deep(run, place), place.kind, place.layer, place.head, piece[0]))
    with page_parts.fold(page_parts.LOOKING, "look.looking") as fold:
        if fold.open:
            word, score = heads.label(place.layer, place.head), heads.score(place.layer, place.head)
            st.markdown(_(NOTES[place.kind]))
            st.markdown(
                _(
                    "Layer {layer} of {layers} and head {head} of {heads}, both counted from 0. The name of a head is its habit, measured on {n} sentences of our own, not on this one: *{habit}*, score {score:.2f}.",
                    layer=place.layer,
                    layers=heads.shape[0],
                    head=place.head,
                    heads=heads.shape[1],
                    n=heads.n,
                    habit=_(word),
                    score=score,
                )
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(lambda: _table(head_pattern), "look")
    code = CODE.format(
        **vars(place),
        model=run.model.name,
        text=(run.source or run.side).text,
        target=f", target={run.target_text!r}"
        if run.source
        else f", pair={run.side.pair!r}"
        if run.side.pair
        else "",
        writing=", writing=True" if crosses(place.kind) else "",
    )
    words = {
        "queries": np.array(head_pattern.attention.queries),
        "keys": np.array(head_pattern.attention.keys),
    }
    axes = {"query": distinct(head_pattern.attention.queries), "key": distinct(head_pattern.attention.keys)}
    page_parts.export_fold(
        lambda: {
            "weights": Labelled(head_pattern.weights, axes),
            "allowed": Labelled(head_pattern.allowed, axes),
            **words,
        },
        code,
        key="look",
    )


def _row(row: AttentionRow) -> None:
    """Draw the whole row of the chosen query, from scores to weights."""
    below = " + ".join([r"\sum_{k} e^{s_{ik}}", *(term.latex for term in beside_keys(row.terms))])
    page_parts.equation(
        rf"a_{{ij}} = \frac{{e^{{s_{{ij}}}}}}{{{below}}}"
        + r", \qquad "
        + (in_latex(row.terms) if row.terms else r"s_{ij} = \mathrm{score}(q_i, k_j)")
        + ("" if row.gaussian is None else r", \qquad a'_{ij} = a_{ij}\, e^{-(j - p_i)^2 / 2\sigma^2}")
    )
    columns = {
        _("key"): [visible(key) for key in row.keys],
        "q · k": row.dots,
        **{term.letter: row.added_scores[term.leaf] for term in row.terms if term.leaf in row.added_scores},
        f"s = {in_short(row.terms)}" if row.terms else _("score"): row.scores,
        _("allowed"): row.allowed,
        "exp(s − max)": row.exps,
        _("Gaussian"): row.gaussian,
        _("weight"): row.weights,
    }
    found = {name: values for name, values in columns.items() if values is not None}
    page_parts.dataframe(pd.DataFrame(found), hide_index=True, key="look.arithmetic.table")
    about = _(
        "The row of the chosen query, by tokens; recomputed here in float64, it differs from the tensor of the run by at most {most:.1e}.",
        most=row.residue,
    )
    notes = " ".join(_(term.note) for term in row.terms if term.note)
    if sink := row.sink_weight:
        notes += _(" Here the keys have {keys}, the sink {sink}.", keys=percent(1 - sink), sink=percent(sink))
    st.caption(f"{about} {notes}")


def _table(head_pattern: HeadView) -> pd.DataFrame:
    """Return one line for each pair of words, strongest first: words repeat, so they are cells and not column names."""
    rows, columns = np.nonzero(head_pattern.allowed)
    order = np.argsort(-head_pattern.weights[rows, columns], kind="stable")
    return pd.DataFrame(
        {
            _("row"): rows[order],
            _("query"): [visible(head_pattern.attention.queries[i]) for i in rows[order]],
            _("column"): columns[order],
            _("key"): [visible(head_pattern.attention.keys[j]) for j in columns[order]],
            _("weight"): head_pattern.weights[rows, columns][order].round(4),
        }
    )
