"""The fold "What it writes" of the full view: what attending to the chosen key adds directly to the scores of words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution.score_parts import reaches_words, scores_of_attending
from core.run import Run
from viz.charts import marks
from viz.labels import bare_token, head_name, percent, visible
from viz.languages import _, mark
from viz.number_text import signed
from viz.widgets import engine_client, page_parts
from viz.workspace.shared import model_run
from viz.workspace.shared.head_ref import HeadRef

WORDS = 7
"""Words that are raised most, and as many that are lowered most."""
CODE = """from core.analysis.attribution.score_parts import scores_of_attending

added = scores_of_attending(run, {kind!r}, layer={layer}, head={head}, query={query}, key={key})
for token in added.argsort()[::-1][:{words}]:
    print(model.tokenizer.token(int(token)), {weight:.4f} * added[token])"""


def show(run: Run, place: HeadRef, query: int, key: int) -> None:
    """Draw the fold for a query and a key, both token indices; nothing where the head writes to no stream that words are read from."""
    if not reaches_words(run.model, place.kind):
        return
    with page_parts.fold(mark("What it writes"), "look.writes") as fold:
        if fold.open:
            _words(run, place, query, key)


def _words(run: Run, place: HeadRef, query: int, key: int) -> None:
    model, kind = run.model, run.model.spec.kind(place.kind)
    selection = model_run.selection_of(run)
    keep = tuple(kind.path(place.layer, leaf) for leaf in ("pattern", "v"))
    read = model_run.run_with(selection, keep)
    added = engine_client.submit(
        ("attending", selection, place, query, key),
        lambda: scores_of_attending(read, place.kind, place.layer, place.head, query, key),
        6.0 * len(selection.text) * model.config.n_layers,
    )
    weight = float(read.trace[keep[0]][place.head, query, key])
    order = np.argsort(-added, kind="stable")
    ends = [int(token) for token in (*order[:WORDS], *order[-WORDS:])]
    words, values = (
        [visible(model.tokenizer.token(token)) for token in ends],
        [weight * float(added[t]) for t in ends],
    )
    asks, answers = run.axis(kind.queries).tokens[query], run.axis(kind.keys).tokens[key]
    page_parts.summary(
        _(
            "At “{query}”, {head} gives {share} to “{key}”. Directly, that adds {most} to the score of “{raised}” and {least} to that of “{lowered}”.",
            query=bare_token(asks),
            head=head_name(place.layer, place.head),
            share=percent(weight),
            key=bare_token(answers),
            most=signed(values[0], "+.2f"),
            raised=words[0],
            least=signed(values[-1], "+.2f"),
            lowered=words[-1],
        ),
        "logit",
    )
    page_parts.show(
        marks.bars(pd.Series(values, words), "{:.2f}", title=_("added to the score of a word"), row=30),
        "look.writes.bars",
        _(
            "Words whose scores are raised and lowered most: {listed}",
            listed=", ".join(f"{word} {value:+.2f}" for word, value in zip(words, values, strict=True)),
        ),
    )
    st.caption(
        _(
            "The {n} words that are raised most and the {n} that are lowered most, of {all:,}. The head's value of this key goes through W_O, the norms, with their scales held, and the output layer. Later layers read it, too; what they make of it is not in these numbers.",
            n=WORDS,
            all=len(added),
        )
    )
    st.code(CODE.format(**vars(place), query=query, key=key, words=WORDS, weight=weight), language="python")
