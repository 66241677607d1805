"""The class that a model tells of a text, with the probabilities of all."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.guesses import probabilities
from core.analysis.promised import plain
from core.run import Run
from viz.labels import literal, percent


def show(run: Run) -> None:
    """One line: the classes with their probabilities, the most probable first."""
    chances = probabilities(run.classes)
    order = np.argsort(-chances, kind="stable")
    said = [f"{literal(plain(run.model.config.classes[i]))} {percent(chances[i])}" for i in order]
    st.markdown(f"It takes the text for **{said[0]}** :gray[:small[{' · '.join(said[1:])}]]", width="content")
