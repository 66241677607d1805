"""The folds of the first exhibit: the softmax with these numbers, what is seen, the documents, the table, the lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.patches import place_name
from viz.course.shared.maths.weighting import words_of
from viz.labels import distinct
from viz.widgets import lesson, parts


def equation(data: Any, params: Any, picture: bool) -> None:
    """The softmax, with the numbers of the word (or patch) that weighs most."""
    with parts.fold(parts.EQUATION, "weighting.equation") as opened:
        if not opened.open:
            return
        best, row_top = int(data.patches.argmax()), int(np.argmax(data.weights))
        weight, score = (data.patches[best], None) if picture else (data.weights[row_top], data.raw[row_top])
        values = {"a_i": f"{weight:.4f}", "n": "80" if picture else str(len(data.words))} | ({} if score is None else {"s_i": f"{score:.1f}"})
        marks = {"a_i": "how clear a patch is" if picture else "the shade of a word", "s_i": "how near the patch is" if picture else "the slider below a word"}
        lesson.equation("weighting.softmax", "weighting.", values=values, marks=marks)
        if picture:
            i, j = divmod(best, 8)
            (row, column), width = params.at, params.width
            parts.equation(r"s_{ij} = -\frac{(i - i_0)^2 + (j - j_0)^2}{2 w^2}")
            far = ((i - row) ** 2 + (j - column) ** 2) / (2 * width**2)
            st.text(f"The attention stands at row {row + 1:g}, column {column + 1:g} with w = {width:g} patches. Patch {place_name(i, j)}: "
                    f"s = −{far:.3f}, a = {weight:.4f}.")  # fmt: skip
            return
        powers = np.exp(np.asarray(data.raw))
        parts.numbers(f"“{data.words[row_top]}”: e^{data.raw[row_top]:.1f} = {powers[row_top]:.3f}; all {len(data.words)} add up to {powers.sum():.3f}; "
                f"{powers[row_top]:.3f} / {powers.sum():.3f} = {weight:.4f}.")  # fmt: skip
        st.markdown("Why not divide the scores by their sum? Then a score of 0 would always mean weight 0, and negative scores, which the "
                    "models of the later chapters produce, could not be used. With e to the power of it, only differences count.")  # fmt: skip


def looking_at() -> None:
    """What colours and numbers are."""
    with parts.fold(parts.LOOKING, "weighting.looking") as opened:
        if not opened.open:
            return
        st.markdown("The darker a word's ground, the larger its weight; the scale goes from 0 to 1 and never changes. The slider under a word is its score, "
                    "from 0 to 5. On the picture a patch is the clearer the more it weighs; the clearest is the one that weighs most.")  # fmt: skip
        st.markdown("**No model decides here.** The scores that the page opens with are set by hand, so that the words which the slides and the survey print in bold "
                    "weigh most. One choice does come from a model: the surprisal of each word for gpt-mini, −log₂ p(word | the words before it), scaled so that the "
                    "largest is 5. In the rest of the course models compute the scores.")  # fmt: skip
        st.markdown("**Try** to make one word weigh over 90 %. Then bring all words back to the same share.")


def documents() -> None:
    """What the documents show, and what is ours."""
    st.markdown("Slides and survey show the portrait of Mona Lisa with face and smile attended to, and the sentence with *portrait* and *Leonardo da Vinci* in bold. "
                "They give no equation for this; the softmax comes later in them, as Eqs. (5) and (8). The picture here is drawn for this course.")  # fmt: skip


def table(data: Any, picture: bool) -> pd.DataFrame:
    """The weights in words and numbers."""
    if picture:
        names = [str(row + 1) for row in range(10)]
        return pd.DataFrame(data.patches.reshape(10, 8).round(5), index=names, columns=list("ABCDEFGH")).rename_axis("row \\ column")
    rows = {"importance": data.raw, "e to the power": np.exp(np.asarray(data.raw)).round(3), "weight": data.weights.round(4)}
    if data.bits is not None:
        rows["bits"] = data.bits.round(2)
    return pd.DataFrame(rows, index=distinct(data.words)).rename_axis("word")


def arrays(data: Any) -> dict[str, np.ndarray]:
    """What one takes away."""
    return {"words": np.array(data.words), "importances": np.array(data.raw), "weights": data.weights, "patches": data.patches.reshape(10, 8)}


def code(params: Any) -> str:
    """The lines that make the same weights in a notebook."""
    if params.source == "model":
        return ("import core\nfrom viz.course.shared.maths import weighting\n\n"
                f"sentence = {params.text!r}\nwords, text = weighting.words_of(sentence), '\\n' + sentence\n"
                'bits = weighting.word_bits(core.open_model("gpt-mini").run(text), words, text)\n'
                "weights = weighting.softmax(weighting.from_bits(bits))")  # fmt: skip
    raw = {"hand": "weighting.BY_HAND", "equal": f"[1.0] * {len(words_of(params.text))}"}.get(params.source, repr(list(params.own)))
    return (f"from viz.course.shared.maths import weighting\n\nweights = weighting.softmax({raw})\n"
            f"patches = weighting.spot(10, 8, {params.at}, {params.width:g}).reshape(10, 8)")  # fmt: skip
