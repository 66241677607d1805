"""The class that a model tells of a text or a picture, with the probabilities of all."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.documents import unknown_words
from core.analysis.guesses import probabilities
from core.analysis.promised import plain
from core.run import Run
from viz.instruments.picture import patches
from viz.labels import literal, percent

MOST, NAMED = 6, 10
"""Unknown words, and classes, that are named."""


def show(run: Run) -> None:
    """The words that it does not know; the most probable classes with their probabilities."""
    scores, names = run.classes, run.model.class_names
    chances = probabilities(scores if scores.ndim == 1 else scores[run.side.n_real - 1])
    order = np.argsort(-chances, kind="stable")
    said = [f"{literal(plain(names[i]))} {percent(chances[i])}" for i in order[:NAMED]]
    said += [f"{len(order) - NAMED:,} more"] if len(order) > NAMED else []
    strange = unknown_words(run) if run.model.spec.sentences else ()
    if strange:
        listed = ", ".join(f"“{literal(word)}”" for word in strange[:MOST])
        more = f" and {len(strange) - MOST} more" if len(strange) > MOST else ""
        st.caption(
            f"Not in its list of words, and read as one unknown word: {listed}{more}.", width="content"
        )
    st.markdown(
        f"It classifies the {'picture' if patches.reads(run.model) else 'text'} as **{said[0]}** :gray[:small[{' · '.join(said[1:])}]]",
        width="content",
    )
