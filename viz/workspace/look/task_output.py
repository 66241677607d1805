"""The output of a model that classifies, tags, scores or finds an answer, as a line below its words."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.documents import unknown_words
from core.analysis.preset_checks import label_text
from core.analysis.task_outputs import answer_span, chances, tagged_words
from core.maths import sigmoid
from core.run import Run
from viz.instruments.picture import patches
from viz.labels import literal, percent
from viz.languages import _

MOST, NAMED, WORDS = 6, 10, 60
"""Unknown words, classes, and words with tags that are named."""
OUTSIDE = "O"
"""The tag of a word that belongs to nothing, in the usual sets of tags."""


def show(run: Run) -> None:
    """Draw the line of the outputs that this model has."""
    for name, line in LINES.items():
        if name in run.model.outputs:
            line(run)


def classes(run: Run) -> None:
    """Draw the words that the model does not know; the most probable classes with their probabilities."""
    scores, names = run.classes, run.model.class_names
    shares = chances(run.model, scores if scores.ndim == 1 else scores[run.side.n_real - 1])
    order = np.argsort(-shares, kind="stable")
    said = [f"{literal(label_text(names[i]))} {percent(shares[i])}" for i in order[:NAMED]]
    said += [_("{n:,} more", n=len(order) - NAMED)] if len(order) > NAMED else []
    strange = unknown_words(run) if run.model.spec.sentences else ()
    if strange:
        listed = ", ".join(_("“{answer}”", answer=literal(word)) for word in strange[:MOST])
        more = _(" and {n} more", n=len(strange) - MOST) if len(strange) > MOST else ""
        st.caption(
            _(
                "Not in its list of words, and read as one unknown word: {listed}{more}.",
                listed=listed,
                more=more,
            ),
            width="content",
        )
    if run.model.head is not None and run.model.head.several:
        st.markdown(
            _(
                "Each class by itself (several may hold): **{best}** :gray[:small[{others}]]",
                best=said[0],
                others=" · ".join(said[1:]),
            ),
            width="content",
        )
        return
    st.markdown(
        (
            _(
                "It classifies the picture as **{best}** :gray[:small[{others}]]",
                best=said[0],
                others=" · ".join(said[1:]),
            )
            if patches.reads_patches(run.model)
            else _(
                "It classifies the text as **{best}** :gray[:small[{others}]]",
                best=said[0],
                others=" · ".join(said[1:]),
            )
        ),
        width="content",
    )


def score(run: Run) -> None:
    """Draw the one number of a reranker or a regression, and its value as a probability."""
    value = float(run.score[0])
    st.markdown(
        _(
            "Its score of {texts}: **{score:.3f}** :gray[:small[as a probability, where it was trained to be one (sigmoid): {share}]]",
            texts=_("the two texts") if run.side.pair else _("the text"),
            score=value,
            share=percent(sigmoid(run.score)[0]),
        ),
        width="content",
    )


def tags(run: Run) -> None:
    """Draw each word with its tag; words outside of everything in grey."""
    words = tagged_words(run)
    shown = [
        f":gray[{literal(each.word)}]"
        if each.tag == OUTSIDE
        else f"**{literal(each.word)}** :small[{literal(each.tag)} {percent(each.chance)}]"
        for each in words[:WORDS]
    ]
    more = _(" … and {n:,} words more", n=len(words) - WORDS) if len(words) > WORDS else ""
    st.markdown(_("Its tags: {shown}{more}", shown=" · ".join(shown), more=more), width="content")


def answer(run: Run) -> None:
    """Draw the span of the answer, with the probabilities of both ends."""
    found = answer_span(run)
    if found is None:
        st.markdown(_("There is no word in which it could find an answer."), width="content")
        return
    where = (
        ""
        if run.side.pair or run.source
        else " :gray[:small[in one text; it was trained with a question before it]]"
    )
    st.markdown(
        _(
            "The answer it marks: **{text}** :gray[:small[begins there {begins} · ends there {ends}]]{where}",
            text=literal(found.text),
            begins=percent(found.begins),
            ends=percent(found.ends),
            where=where,
        ),
        width="content",
    )


LINES = {"classes": classes, "score": score, "tags": tags, "answer": answer}
