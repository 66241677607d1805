"""What the folds of the exhibit on positions say besides numbers, and where they lead."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.serving.engine import default
from viz.charts.curves import number
from viz.course.self_attention.charts.reordered import share
from viz.course.self_attention.maths.position_criteria import CRITERIA
from viz.course.self_attention.positions.maths import unplaced as analysis
from viz.shell import links
from viz.widgets import compute as ask
from viz.widgets import lesson

SEVERAL = ("You are welcome.", "I am a student.", "She has a white car.", "The cat did not drink the milk because it was sour.", "The old man sat down on the bank of the river.")
"""Sentences for a mean: one sentence alone says little about a model."""
GUESS, IDEAS, TABLE, WAVE, LEARNED, WITHOUT = range(6)
LOOKING = {
    GUESS: "Each line follows two copies of one word through the layers of a model: how far apart their vectors are, as a share of their length. bert-mini looks both ways; without positions "
           "both copies ask, answer and receive the same, layer after layer. A causal model is another matter: the second copy sees more words than the first, so its rows differ even without "
           "positions, and such a model can learn some order from its mask alone.",
    IDEAS: "Each dot is a word, at the number that it would get. The fraction stays between 0 and 1, but one step is a different number in each sentence. The count has steps of 1, but grows without "
           "end: a sentence longer than those of the training brings numbers that the model never saw.",
    TABLE: "Each row is one way to give positions, each column a criterion; every tick is computed. Touch a cell to read on what it rests. The last column is not on the slide: equally many "
           "steps should be equally far apart at the beginning and at the end. “sinusoid, i/d” is the formula as Beigy's slides of 2021 and 2024 print it.",
    WAVE: "The vector of a position holds, for each clock, the sine and the cosine of its angle: where the tip of the hand is. The dots on the rim are the positions 0 to 19. The first clock tells "
          "neighbours apart, the slow ones tell the start from the end: like seconds, minutes and hours.",
    LEARNED: "Each dot is one position of a trained model's table, the first 40, dark ones later, in the plane in which they differ most; at the right the sinusoids of the same width. bert-mini's table "
             "was started from sinusoids and has kept their order. gpt-mini's was started from random numbers.",
    WITHOUT: "The maps show one head, the one that looks most at the word before it. The loss is the mean surprisal −ln p, in nats, of what the model should predict: the next token (gpt-mini), each word hidden in turn "
             "(bert-mini), or its own translation (translator-en-es, whose encoder loses its positions). No model was trained for this: a model that never had positions would do better.",
}  # fmt: skip


def aside(step: int, params: Any) -> None:
    """The criteria in full, the mean over several sentences, and the pages that go on from here."""
    if step == TABLE:
        st.markdown("\n".join(f"{i}. {words}" for i, words in enumerate(CRITERIA, start=1)))
    if step == WITHOUT:
        with st.container():
            several(params.model)
        links.to("what_if", "Change positions and more on the page What if", icon=":material/arrow_forward:", model=params.model, text=params.text)
    links.to("positional_encoding", "All formulas, curves and distances: Positional encoding", icon=":material/arrow_forward:")


def mean_over(model: str) -> dict[str, float]:
    """The mean surprise of a model over `SEVERAL`."""
    return analysis.over(default().open(model), SEVERAL)


def several(model: str) -> None:
    """The same measure over a few sentences."""
    found = ask.submit(("positions.several", model), lambda: mean_over(model), 4000)
    st.text(f"Over {len(SEVERAL)} other sentences: " + ", ".join(f"{way} {number(value)}" for way, value in found.items()) + " nats.")


def causal_too(far: float) -> str:
    """The sentence on a model with a causal mask."""
    return f"In gpt-mini, which looks back only, they are {share(far)} apart even so."


def errata() -> None:
    """What the documents print about positions, with evidence."""
    st.markdown("The slides of 2024 build the code up as here: two ideas that fail, four criteria, then the sinusoids. Their four criteria do not exclude a plain count with a bound; the fifth column is ours.")
    lesson.errata("E3", "E4", "E33", "E34", "E43")


